//! Evidence against the outcome of a search: loads that were not offered, and invalid trials.

use results::{Invalid, Purpose, Reason, Trial, Verdict};

use super::super::trials::asked_rps;
use crate::sustained;

/// The reason why the outcome of a search is not the server's limit: all higher loads could not be offered, for lack of
/// resources such as logged-in users.
pub(super) fn not_offered<'a>(trials: impl IntoIterator<Item = &'a Trial>, low_rps: f64) -> Option<Invalid> {
    let above = trials.into_iter().filter(|trial| asked_rps(trial) > low_rps * (1.0 + f64::EPSILON));
    let mut missed = None;
    for trial in above {
        match &trial.verdict {
            Verdict::Invalid { reasons }
                if trial.verdict.is_invalid_only_by(|one| one == Reason::RateMissed) =>
            {
                missed = reasons.first().cloned();
            }
            Verdict::Invalid { .. } => {}
            Verdict::Valid | Verdict::Overloaded { .. } => return None,
        }
    }
    let Invalid { reason, detail } = missed?;
    Some(Invalid { reason, detail: format!("more than what was found could not be offered: {detail}") })
}

/// The number of trials of all searches for the maximum of a target that said nothing, their reasons, and what these mean
/// for the maximum; `None` if each said something.
pub(super) fn said_nothing(trials: &[Trial], target: &str) -> Option<String> {
    let of_searches = |trial: &&Trial| trial.target == target && trial.purpose == Purpose::MaxSearch;
    let searched: Vec<&Trial> = trials.iter().filter(of_searches).collect();
    let unknown = searched.iter().filter(|trial| sustained(trial).vote.says_nothing()).count();
    let mut reasons: Vec<&str> = Vec::new();
    let mut generators = false;
    for trial in &searched {
        let Verdict::Invalid { reasons: found } = &trial.verdict else { continue };
        let of_generator =
            [Reason::GeneratorLag, Reason::ReceiveLag, Reason::GeneratorSaturated, Reason::RateMissed];
        let own = !trial.verdict.is_of_host();
        generators |= own && found.iter().any(|invalid| of_generator.contains(&invalid.reason));
        if !reasons.contains(&trial.verdict.label()) {
            reasons.push(trial.verdict.label());
        }
    }
    let meaning =
        if generators { "; the limit may be the generator’s rather than the server’s" } else { "" };
    let reasons = reasons.join(", ");
    let all = searched.len();
    (unknown > 0).then(|| format!("{unknown} of {all} trials said nothing of it ({reasons}){meaning}"))
}

/// The first reason of the last invalid trial of a target.
pub(super) fn last_reason(trials: &[Trial], target: &str) -> Option<Reason> {
    trials.iter().rev().filter(|trial| trial.target == target).find_map(|trial| match &trial.verdict {
        Verdict::Invalid { reasons } => reasons.first().map(|invalid| invalid.reason),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_could_not_be_offered_is_no_end_of_a_server() {
        let trial = |rps: f64, verdict: Verdict| Trial { verdict, ..testing::trial("social", rps) };
        let missed = || {
            let detail = "too few users".to_owned();
            Verdict::Invalid { reasons: vec![Invalid { reason: Reason::RateMissed, detail }] }
        };
        let overloaded =
            Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 1.0, timed_out_share: 0.0 };
        let check = |trials: &[Trial], expect: bool| {
            let found = not_offered(trials, 10.0);
            assert_eq!(found.is_some(), expect, "{found:?}");
            assert!(found.is_none_or(|found| found.detail.ends_with("could not be offered: too few users")));
        };
        check(&[trial(5.0, Verdict::Valid), trial(10.0, Verdict::Valid), trial(11.0, missed())], true);
        // The server gave way there, too.
        check(&[trial(10.0, Verdict::Valid), trial(20.0, missed()), trial(11.0, overloaded)], false);
        check(&[trial(5.0, missed()), trial(10.0, Verdict::Valid)], false);
    }
}
