use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Noise, Verdict};

/// A quota of processor time of a control group of server or generator, and its effect during the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Quota {
    /// The side that it limits: `server`, `generator` or `server and generator`.
    pub side: String,
    /// Processors' worth of time that the group may use.
    pub processors: f64,
    /// The file that sets it.
    pub file: String,
    /// Periods in which the group ran.
    pub periods: u64,
    /// Periods in which the quota was used up, and the group stopped.
    pub throttled: u64,
    /// Time stopped, summed over processors.
    pub throttled_s: f64,
}

impl Quota {
    /// The share of the periods in which it was used up, 0 to 1.
    pub fn held_back_share(&self) -> f64 {
        self.throttled as f64 / self.periods.max(1) as f64
    }
}

impl fmt::Display for Quota {
    /// `a quota of 0.50 processors (/sys/fs/cgroup/a/cpu.max) held the generator back in 48 of 100 periods`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quota { side, processors, file, periods, throttled, .. } = self;
        write!(
            f,
            "a quota of {processors:.2} processors ({file}) held the {side} back in {throttled} of {periods} periods"
        )
    }
}

impl Noise {
    /// The quota that held a side back most often; `None` if none did.
    pub fn worst_quota(&self) -> Option<&Quota> {
        let held = self.quotas.iter().filter(|quota| quota.throttled > 0);
        held.max_by(|a, b| a.held_back_share().total_cmp(&b.held_back_share()))
    }
}

impl Verdict {
    /// The same verdict; its first reason that concerns timing names this cause.
    #[must_use]
    pub fn caused_by(mut self, cause: &impl fmt::Display) -> Verdict {
        if let Verdict::Invalid { reasons } = &mut self
            && let Some(invalid) = reasons.iter_mut().find(|invalid| invalid.reason.is_of_time())
        {
            invalid.detail = format!("{cause}; {}", invalid.detail);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Invalid, Reason};

    fn quota(side: &str, throttled: u64, periods: u64) -> Quota {
        Quota {
            side: side.into(),
            processors: 0.5,
            file: "/g/cpu.max".into(),
            periods,
            throttled,
            ..Quota::default()
        }
    }

    #[test]
    fn the_quota_that_held_back_most_often_is_named() {
        let check = |quotas: Vec<Quota>, expect: Option<&str>| {
            let noise = Noise { quotas, ..Noise::default() };
            let said = noise.worst_quota().map(ToString::to_string);
            assert_eq!(said.as_deref(), expect);
        };
        check(vec![], None);
        check(vec![quota("server", 0, 100)], None);
        check(
            vec![quota("server", 48, 100), quota("generator", 9, 10), quota("server", 0, 0)],
            Some("a quota of 0.50 processors (/g/cpu.max) held the generator back in 9 of 10 periods"),
        );
    }

    #[test]
    fn a_verdict_names_the_cause_of_its_first_reason_of_timing() {
        let invalid = |reason: Reason| Invalid { reason, detail: "p99 lag 4 ms".into() };
        let said = |reasons: &[Reason]| {
            let reasons = reasons.iter().copied().map(invalid).collect();
            Verdict::Invalid { reasons }.caused_by(&"the quota").to_string()
        };
        assert_eq!(said(&[Reason::GeneratorLag]), "INVALID: generator lag (the quota; p99 lag 4 ms)");
        let second = "INVALID: error rate (p99 lag 4 ms); host disturbed (the quota; p99 lag 4 ms)";
        assert_eq!(said(&[Reason::ErrorRate, Reason::HostDisturbed]), second);
        assert_eq!(said(&[Reason::VerifyFailed]), "INVALID: verify failed (p99 lag 4 ms)");
        assert_eq!(Verdict::Valid.caused_by(&"the quota"), Verdict::Valid);
    }
}
