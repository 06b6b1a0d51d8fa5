//! What a trial says to a search.

use results::{Reason, Trial, Verdict};
use units::{Qos, QosBasis};

use crate::{Outcome, Vote};

/// The share of the arrivals that must have been answered within the window of a rate that is sustained.
///
/// Source: the definition of the maximum throughput (docs/glossary.md).
const SUSTAINED: f64 = 0.99;

/// Whether the server sustained the offered load: at least 99 % achieved and no trend in the backlog.
pub fn sustained(trial: &Trial) -> Outcome {
    // Over what arrived, not over what was asked for: a Poisson process offers a little more or less each time.
    let share = trial.achieved_rps * trial.window_s / trial.arrivals.intended as f64;
    let vote = match &trial.verdict {
        verdict if is_only_late(verdict) && share >= SUSTAINED => Vote::Pass,
        verdict @ Verdict::Invalid { .. } => without_use(verdict),
        Verdict::Valid if share >= SUSTAINED => Vote::Pass,
        Verdict::Valid | Verdict::Overloaded { .. } => Vote::Fail,
    };
    Outcome { vote, achieved_rps: trial.achieved_rps }
}

/// Whether the server met the target. An overload never does: its response times grow for as long as it lasts.
pub fn met(trial: &Trial, qos: &Qos, basis: QosBasis) -> Outcome {
    let figure = trial.qos_figure_us(qos, basis);
    let vote = match (&trial.verdict, figure) {
        (verdict, Some(us)) if is_only_late(verdict) && us <= qos.limit_ns.as_micros_f64() => Vote::Pass,
        (verdict @ Verdict::Invalid { .. }, _) => without_use(verdict),
        (Verdict::Overloaded { .. }, _) => Vote::Fail,
        // Too few samples for the percentile say nothing.
        (Verdict::Valid, None) => Vote::Unusable,
        (Verdict::Valid, Some(us)) if us <= qos.limit_ns.as_micros_f64() => Vote::Pass,
        (Verdict::Valid, Some(_)) => Vote::Fail,
    };
    Outcome { vote, achieved_rps: trial.achieved_rps }
}

/// Whether answers were read late and nothing else is wrong: that makes response times longer and never shorter, so that what
/// was sustained, or met, was so all the more.
fn is_only_late(verdict: &Verdict) -> bool {
    let Verdict::Invalid { reasons } = verdict else { return false };
    !reasons.is_empty() && reasons.iter().all(|invalid| invalid.reason == Reason::ReceiveLag)
}

/// What an invalid trial says: that of a host that disturbs counts neither for nor against a rate.
fn without_use(verdict: &Verdict) -> Vote {
    if verdict.is_of_host() { Vote::Disturbed } else { Vote::Unusable }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use results::Invalid;

    fn invalid_by(reason: Reason) -> Verdict {
        Verdict::Invalid { reasons: vec![Invalid { reason, detail: "1 ms".into() }] }
    }

    fn invalid() -> Verdict {
        invalid_by(Reason::GeneratorLag)
    }

    const OVERLOADED: Verdict = Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 100.0 };

    #[test]
    fn a_rate_is_sustained_when_99_percent_of_what_arrived_was_answered() {
        let check = |verdict: Verdict, achieved: f64, intended: u64, expect: Vote| {
            let mut trial = sample::trial("sphinx", 10_000.0);
            (trial.verdict, trial.achieved_rps, trial.window_s, trial.arrivals.intended) =
                (verdict, achieved, 2.0, intended);
            assert_eq!(sustained(&trial), Outcome { vote: expect, achieved_rps: achieved });
        };
        check(Verdict::Valid, 9_950.0, 20_000, Vote::Pass);
        check(Verdict::Valid, 9_850.0, 20_000, Vote::Fail);
        // Fewer arrived than were asked for: not the server's fault.
        check(Verdict::Valid, 9_800.0, 19_600, Vote::Pass);
        check(OVERLOADED, 10_000.0, 20_000, Vote::Fail);
        check(invalid(), 10_000.0, 20_000, Vote::Unusable);
        check(invalid_by(Reason::HostDisturbed), 10_000.0, 20_000, Vote::Disturbed);
        check(invalid_by(Reason::ReceiveLag), 100.0, 20_000, Vote::Unusable);
        // Late reading takes nothing from what was achieved.
        check(invalid_by(Reason::ReceiveLag), 9_950.0, 20_000, Vote::Pass);
        check(Verdict::Valid, 0.0, 0, Vote::Fail);
    }

    #[test]
    fn the_target_is_judged_by_its_basis() {
        let qos: Qos = "p99<1ms".parse().unwrap();
        let check =
            |verdict: Verdict, raw: Option<f64>, windowed: Option<f64>, basis: QosBasis, expect: Vote| {
                let mut trial = sample::trial("sphinx", 10_000.0);
                trial.verdict = verdict;
                (trial.all.response_time.p99_us, trial.windowed_p99_us) = (raw, windowed);
                assert_eq!(met(&trial, &qos, basis).vote, expect);
            };
        check(Verdict::Valid, Some(1000.0), Some(9000.0), QosBasis::Raw, Vote::Pass);
        check(Verdict::Valid, Some(1000.1), Some(10.0), QosBasis::Raw, Vote::Fail);
        check(Verdict::Valid, Some(9000.0), Some(10.0), QosBasis::Windowed, Vote::Pass);
        check(Verdict::Valid, None, None, QosBasis::Raw, Vote::Unusable);
        check(OVERLOADED, Some(10.0), Some(10.0), QosBasis::Raw, Vote::Fail);
        check(invalid(), Some(10.0), Some(10.0), QosBasis::Raw, Vote::Unusable);
        check(invalid_by(Reason::HostDisturbed), Some(10.0), Some(10.0), QosBasis::Raw, Vote::Disturbed);
        check(invalid_by(Reason::ReceiveLag), Some(10.0), Some(10.0), QosBasis::Raw, Vote::Pass);
        check(invalid_by(Reason::ReceiveLag), Some(9000.0), Some(10.0), QosBasis::Raw, Vote::Unusable);
    }
}
