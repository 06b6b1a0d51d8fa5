//! Judges the claims of a study by the measurements.
//!
//! A claim is a range for the centre of figures, with one figure per block. It is *reproduced* if the interval over the
//! blocks lies within the range, *differs* if it lies outside, and is *open* otherwise, with an estimate of the further
//! blocks needed. Intervals and tests come from the signed-rank test, corrected for all claims of the study (Holm).

mod evidence;
mod example;
mod words;

use std::collections::BTreeMap;

use results::study::{ClaimResult, ClaimVerdict, Effort};
use stats::{LEVEL, holm};

use super::claim::Claim;
use super::summary::Cells;
use evidence::{Evidence, SelectionResult};
pub(super) use example::check as check_examples;

/// More blocks than this are not counted.
const MANY: usize = 1000;

/// Claims that the cells do not decide, each with the reason.
#[derive(Debug, Default)]
pub(super) struct Unjudged {
    /// Hardware or a program is missing.
    pub(super) lacking: BTreeMap<String, String>,
    /// Some of their places were planned and not measured.
    pub(super) unmeasured: BTreeMap<String, String>,
}

/// Judges all claims at a two-sided `error`: the chance of a false verdict on any of them.
///
/// A run until settled is judged at looks fixed beforehand, each at an error of its own, and ends at one of them. At each
/// look Holm's correction keeps the chance of a false verdict on any claim below the error of that look, and the errors of
/// all looks add up to at most 5 %. So the chance of a false verdict at any look is at most 5 %, whatever ends the run.
pub(super) fn judge(
    claims: &[Claim],
    effort: Effort,
    cells: Cells<'_>,
    unjudged: &Unjudged,
    error: f64,
) -> Vec<ClaimResult> {
    let evidence: Vec<Result<Evidence, JudgedClaim>> = claims
        .iter()
        .map(|claim| match why_not(claim, effort, unjudged) {
            Some(why_not) => Err(why_not),
            None => Ok(evidence::of(&claim.check, cells)),
        })
        .collect();
    let tested = evidence.iter().flatten().map(|evidence| &evidence.all).filter(|found| found.is_tested());
    let p_values: Vec<f64> = tested.map(two_sided).collect();
    let level = error / p_values.len().max(1) as f64;
    let mut corrected = holm(&p_values).into_iter();
    claims
        .iter()
        .zip(evidence)
        .map(|(claim, evidence)| {
            let (judged, measured, p_value) = match evidence {
                Err(judged) => (judged, String::new(), None),
                Ok(evidence) => {
                    let p_value = evidence.all.is_tested().then(|| corrected.next()).flatten();
                    (verdict(&evidence, p_value, error, level), evidence.words, p_value)
                }
            };
            ClaimResult {
                id: claim.id.clone(),
                text: claim.text.clone(),
                source: claim.source.clone(),
                verdict: judged.verdict,
                measured,
                reason: judged.reason,
                p_value,
                host_disturbed: judged.host_disturbed,
                more_blocks: judged.more_blocks.map(|more| u32::try_from(more).unwrap_or(u32::MAX)),
            }
        })
        .collect()
}

fn two_sided(found: &SelectionResult) -> f64 {
    (2.0 * found.p_holds().min(found.p_fails())).min(1.0)
}

/// Why a claim is not judged by the cells; `None` if it is.
fn why_not(claim: &Claim, effort: Effort, unjudged: &Unjudged) -> Option<JudgedClaim> {
    if let Some(reason) = unjudged.lacking.get(&claim.id) {
        return Some(JudgedClaim::new(ClaimVerdict::NotMeasurable, reason.clone()));
    }
    let reason = match effort {
        _ if claim.is_for(effort) => unjudged.unmeasured.get(&claim.id)?.clone(),
        Effort::Smoke => "the smoke run only shows that the study runs; its figures mean nothing".into(),
        effort => format!("the {} run does not measure what it takes; use --full", effort.words()),
    };
    Some(JudgedClaim::new(ClaimVerdict::Open, reason))
}

struct JudgedClaim {
    verdict: ClaimVerdict,
    reason: String,
    /// Whether it is open and the host disturbed some of its trials.
    host_disturbed: bool,
    /// The further blocks that would settle it, if it is open and there is an estimate.
    more_blocks: Option<usize>,
}

impl JudgedClaim {
    fn new(verdict: ClaimVerdict, reason: String) -> JudgedClaim {
        JudgedClaim { verdict, reason, host_disturbed: false, more_blocks: None }
    }
}

/// Judges one claim by its corrected p-value at an `error`; `level` is the corrected level of intervals.
fn verdict(evidence: &Evidence, corrected: Option<f64>, error: f64, level: f64) -> JudgedClaim {
    let found = &evidence.all;
    if let Some(missing) = &found.missing {
        return JudgedClaim::new(ClaimVerdict::NotMeasurable, missing.clone());
    }
    let open = |reason: String, more_blocks: Option<usize>| JudgedClaim {
        host_disturbed: evidence.undisturbed.is_some(),
        more_blocks,
        ..JudgedClaim::new(ClaimVerdict::Open, reason)
    };
    let Some(p) = corrected.filter(|p| *p <= error) else {
        let (why, more) = found.open(level);
        let reason = match more {
            None => format!("{why}; the estimate lies on that bound, so that more blocks may not tell"),
            Some(more) if more > MANY => format!("{why}; more than {MANY} more blocks would be needed"),
            Some(more) => {
                format!("{why}; about {more} more {} would tell", if more == 1 { "block" } else { "blocks" })
            }
        };
        return open(reason, more);
    };
    let holds = found.p_holds() <= found.p_fails();
    if let Some(why) = evidence.undisturbed.as_ref().and_then(|rest| contradiction(rest, holds, evidence)) {
        return open(why.into(), None);
    }
    let verdict = if holds { ClaimVerdict::Reproduced } else { ClaimVerdict::Differs };
    JudgedClaim::new(verdict, words::test(p, found.blocks()))
}

/// Why the undisturbed trials contradict a verdict; `None` if they do not.
fn contradiction(rest: &SelectionResult, holds: bool, evidence: &Evidence) -> Option<&'static str> {
    let opposite = if holds { rest.p_fails() } else { rest.p_holds() };
    if opposite <= LEVEL / 2.0 {
        return Some("the trials without the disturbed ones show the opposite");
    }
    if !evidence.is_absolute {
        return None;
    }
    // A disturbance moves response times; the server is not charged for it.
    match rest.keeps() {
        None => Some("every trial was disturbed, and a disturbance moves such a figure"),
        Some(keeps) if keeps != holds => Some(
            "the trials without the disturbed ones point the other way, and a disturbance moves such a figure",
        ),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
