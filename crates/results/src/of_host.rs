//! Classifies the host's effects on a measurement, as opposed to the server's and the generator's.

use crate::{Noise, Reason, Trial, Verdict};

impl Verdict {
    /// Whether the host made the trial useless for judging the server: another trial on a quieter host may succeed.
    ///
    /// False if there is also a defect that no disturbance explains, such as a wrong value.
    pub fn is_of_host(&self) -> bool {
        let Verdict::Invalid { reasons } = self else { return false };
        // A stalled host causes time-outs and lost connections.
        let explained =
            |reason: Reason| reason.is_of_time() || matches!(reason, Reason::ErrorRate | Reason::ProbeLoss);
        let disturbed = reasons.iter().any(|invalid| invalid.reason == Reason::HostDisturbed);
        disturbed && reasons.iter().all(|invalid| explained(invalid.reason))
    }
}

impl Trial {
    /// Whether it is invalid only because requests were made slower: late sending, late reading, a disturbed host. Its
    /// figures are upper bounds, so a met target or a sustained load stands.
    ///
    /// False for a closed loop, whose late clients send fewer requests.
    pub fn is_only_slowed(&self) -> bool {
        let slows = |reason: Reason| {
            matches!(reason, Reason::HostDisturbed | Reason::ReceiveLag | Reason::GeneratorLag)
        };
        !self.is_closed_loop() && self.verdict.is_invalid_only_by(slows)
    }
}

impl Noise {
    /// The share of all processors' time that other guests and other processes took, 0 to 1, on the machine with the
    /// largest share; `None` if unknown.
    pub fn taken_share(&self) -> Option<f64> {
        let there = self.server_machines.iter().map(|there| (there.steal_share, there.foreign_cpu_share));
        let all = std::iter::once((self.steal_share, self.foreign_cpu_share)).chain(there);
        let taken = |shares: (Option<f64>, Option<f64>)| match shares {
            (None, None) => None,
            (steal, foreign) => Some(steal.unwrap_or(0.0) + foreign.unwrap_or(0.0)),
        };
        all.filter_map(taken).reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Invalid, MachineNoise};

    #[test]
    fn the_host_is_named_where_it_explains_all() {
        let check = |reasons: &[Reason], expect: bool| {
            let invalid = |reason: &Reason| Invalid { reason: *reason, detail: String::new() };
            let verdict = Verdict::Invalid { reasons: reasons.iter().map(invalid).collect() };
            assert_eq!(verdict.is_of_host(), expect, "{reasons:?}");
        };
        check(&[], false);
        check(&[Reason::HostDisturbed], true);
        check(&[Reason::ReceiveLag, Reason::HostDisturbed], true);
        check(&[Reason::GeneratorLag, Reason::HostDisturbed, Reason::ErrorRate], true);
        check(&[Reason::HostDisturbed, Reason::GeneratorSaturated], true);
        // The generator's own faults are not the host's.
        check(&[Reason::GeneratorLag], false);
        check(&[Reason::ReceiveLag], false);
        // Nor are defects that no disturbance explains.
        check(&[Reason::HostDisturbed, Reason::VerifyFailed], false);
        check(&[Reason::ServiceEnded, Reason::HostDisturbed], false);
        assert!(!Verdict::Valid.is_of_host());
        let overloaded =
            Verdict::Overloaded { achieved_share: 0.5, backlog_growth_rps: 9.0, timed_out_share: 0.0 };
        assert!(!overloaded.is_of_host());
    }

    #[test]
    fn what_others_took_is_the_sum_of_what_is_known() {
        let check = |steal_share, foreign_cpu_share, expect: Option<f64>| {
            let noise = Noise { steal_share, foreign_cpu_share, ..Noise::default() };
            assert_eq!(noise.taken_share(), expect);
        };
        check(None, None, None);
        check(Some(0.25), None, Some(0.25));
        check(None, Some(0.5), Some(0.5));
        check(Some(0.25), Some(0.5), Some(0.75));
        // Of several machines, the one with the largest loss counts.
        let machine = |foreign| MachineNoise { foreign_cpu_share: Some(foreign), ..MachineNoise::default() };
        let there = Noise { server_machines: vec![machine(0.5), machine(0.125)], ..Noise::default() };
        assert_eq!(there.taken_share(), Some(0.5));
        assert_eq!(Noise { foreign_cpu_share: Some(0.75), ..there }.taken_share(), Some(0.75));
    }
}
