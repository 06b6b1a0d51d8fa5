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
            asked.then(|| evidence::of(&claim.check, cells))
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
            let (verdict, measured, reason) = match evidence {
                Some(evidence) => verdict(evidence, &own),
                None => (ClaimVerdict::NotMeasurable, String::new(), why_not(claim, effort, lacking)),
            };
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

/// What the evidence says, in words, with the p-values after correction.
fn verdict(evidence: &Evidence, corrected: &[f64]) -> (ClaimVerdict, String, String) {
    let measured = evidence.words.clone();
    let worst = corrected.iter().copied().fold(0.0, f64::max);
    let least = corrected.iter().copied().fold(1.0, f64::min);
    let blocks = evidence.blocks();
    let few = || {
        format!(
            "{} repeats are too few to test it ({MIN_TO_JUDGE} or more are needed); use --full",
            evidence.n
        )
    };
    match evidence.finding {
        Finding::Nothing => {
            (ClaimVerdict::NotMeasurable, measured, "what it compares was not measured".to_owned())
        }
        Finding::Holds => (ClaimVerdict::Reproduced, measured, "the medians keep to it".to_owned()),
        Finding::HoldsIfTested | Finding::Missed if corrected.is_empty() => {
            (ClaimVerdict::NotMeasurable, measured, few())
        }
        // It speaks of every one of its places.
        Finding::HoldsIfTested if !evidence.untested.is_empty() => {
            let reason = format!(
                "too few repeats to test it at {} ({MIN_TO_JUDGE} or more are needed at each place)",
                evidence.untested.join(", ")
            );
            (ClaimVerdict::NotMeasurable, measured, reason)
        }
        Finding::HoldsIfTested if worst <= LEVEL => {
            (ClaimVerdict::Reproduced, measured, words::test(worst, blocks))
        }
        Finding::HoldsIfTested => {
            let reason = format!("it points that way, but {}", words::accident(worst, blocks));
            (ClaimVerdict::NotMeasurable, measured, reason)
        }
        Finding::Missed if least <= LEVEL => (ClaimVerdict::Differs, measured, words::test(least, blocks)),
        Finding::Missed => {
            let reason = format!("it is missed, but {}", words::accident(least, blocks));
            (ClaimVerdict::NotMeasurable, measured, reason)
        }
    }
}

#[cfg(test)]
mod tests;
