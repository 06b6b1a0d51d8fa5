//! Whether the claims of a study hold in what was measured.
//!
//! Whatever says *differs* rests on a paired sign-flip test over the blocks, corrected for all comparisons of the study
//! (Holm): a claim that is missed by less than chance can make is "not measurable here", with its figures.

mod evidence;
mod words;

use std::collections::BTreeMap;

use results::study::{ClaimResult, ClaimVerdict, Effort};
use stats::{MIN_TO_JUDGE, holm};

use super::claim::Claim;
use super::summary::Cells;
use evidence::{Evidence, Finding};

/// The level of a test.
///
/// Source: the usual 5 %, after correction for the number of comparisons.
pub(super) const LEVEL: f64 = 0.05;

/// Judges every claim; `lacking` says of some why this host cannot tell.
pub(super) fn judge(
    claims: &[Claim],
    effort: Effort,
    cells: Cells<'_>,
    lacking: &BTreeMap<String, String>,
) -> Vec<ClaimResult> {
    let evidence: Vec<Option<Evidence>> = claims
        .iter()
        .map(|claim| {
            let asked = claim.is_for(effort) && !lacking.contains_key(&claim.id);
            asked.then(|| evidence::of(&claim.check, claim.bound, cells))
        })
        .collect();
    let all: Vec<f64> = evidence.iter().flatten().flat_map(|evidence| evidence.p_values()).collect();
    let mut corrected = holm(&all).into_iter();
    claims
        .iter()
        .zip(&evidence)
        .map(|(claim, evidence)| {
            let own: Vec<f64> = match evidence {
                Some(evidence) => corrected.by_ref().take(evidence.p_values().len()).collect(),
                None => Vec::new(),
            };
            let Judged { verdict, reason, host_disturbed } = match evidence {
                Some(evidence) => verdict(evidence, &own),
                None => Judged::not_measurable(why_not(claim, effort, lacking)),
            };
            let measured = evidence.as_ref().map_or(String::new(), |evidence| evidence.words.clone());
            // Of what is missed one comparison must show it, of what holds each.
            let missed = evidence.as_ref().is_some_and(|evidence| evidence.finding == Finding::Missed);
            let decides = if missed { f64::min } else { f64::max };
            ClaimResult {
                id: claim.id.clone(),
                text: claim.text.clone(),
                source: claim.source.clone(),
                verdict,
                measured,
                reason,
                p_value: own.iter().copied().reduce(decides),
                host_disturbed,
            }
        })
        .collect()
}

fn why_not(claim: &Claim, effort: Effort, lacking: &BTreeMap<String, String>) -> String {
    match lacking.get(&claim.id) {
        Some(reason) => reason.clone(),
        None if effort == Effort::Smoke => {
            "the smoke run looks whether the study runs; its figures mean nothing".into()
        }
        None => format!("the {} run does not measure what it takes; use --full", effort.words()),
    }
}

/// What came of a claim, and why.
struct Judged {
    verdict: ClaimVerdict,
    reason: String,
    /// Whether it is the host that kept it from being judged.
    host_disturbed: bool,
}

impl Judged {
    fn not_measurable(reason: String) -> Judged {
        Judged { verdict: ClaimVerdict::NotMeasurable, reason, host_disturbed: false }
    }

    /// Too few repeats are left of it; that is the host's doing where it disturbed some.
    fn too_few(evidence: &Evidence, reason: String) -> Judged {
        let lost = &evidence.lost.words;
        if lost.is_empty() {
            return Judged::not_measurable(reason);
        }
        let reason = format!("not measurable on this host now: {reason}; {lost}");
        Judged { host_disturbed: true, ..Judged::not_measurable(reason) }
    }
}

/// What the evidence says, in words, with the p-values after correction.
fn verdict(evidence: &Evidence, corrected: &[f64]) -> Judged {
    let worst = corrected.iter().copied().fold(0.0, f64::max);
    let least = corrected.iter().copied().fold(1.0, f64::min);
    let blocks = evidence.blocks();
    let judged = |verdict, reason| Judged { verdict, reason, host_disturbed: false };
    if evidence.lost.too_many {
        let quiet = if evidence.lost.words.is_empty() { "" } else { "; measure again on a quiet host" };
        let reason = format!("too few measurements are left to judge it{quiet}");
        return Judged::too_few(evidence, reason);
    }
    match evidence.finding {
        Finding::Nothing => Judged::too_few(evidence, "what it compares was not measured".to_owned()),
        Finding::Holds => judged(ClaimVerdict::Reproduced, "the medians keep to it".to_owned()),
        Finding::Wide if evidence.n < MIN_TO_JUDGE => {
            let reason = format!(
                "{} repeats are too few for an interval, which has to keep to it ({MIN_TO_JUDGE} or more are needed); use --full",
                evidence.n
            );
            Judged::too_few(evidence, reason)
        }
        Finding::Wide => {
            Judged::not_measurable("what it may be by chance reaches beyond what is claimed".into())
        }
        Finding::HoldsIfTested | Finding::Missed if corrected.is_empty() => {
            let reason = format!(
                "{} repeats are too few to test it ({MIN_TO_JUDGE} or more are needed); use --full",
                evidence.n
            );
            Judged::too_few(evidence, reason)
        }
        // It speaks of every one of its places.
        Finding::HoldsIfTested if !evidence.untested.is_empty() => {
            let reason = format!(
                "too few repeats to test it at {} ({MIN_TO_JUDGE} or more are needed at each place)",
                evidence.untested.join(", ")
            );
            Judged::too_few(evidence, reason)
        }
        Finding::HoldsIfTested if worst <= LEVEL => {
            judged(ClaimVerdict::Reproduced, words::test(worst, blocks))
        }
        Finding::HoldsIfTested => {
            Judged::not_measurable(format!("it points that way, but {}", words::accident(worst, blocks)))
        }
        Finding::Missed if least <= LEVEL => judged(ClaimVerdict::Differs, words::test(least, blocks)),
        Finding::Missed => {
            Judged::not_measurable(format!("it is missed, but {}", words::accident(least, blocks)))
        }
    }
}

#[cfg(test)]
mod tests;
