use super::Sample;

/// Shares of all processors' time between two samples, each 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Taken by the hypervisor for others.
    pub steal: f64,
    /// Share in processes that are not ours.
    pub foreign: f64,
    /// Share in interrupts, ours and others'.
    pub interrupt: f64,
    /// Idle.
    pub idle: f64,
}

impl Shares {
    /// Shares of the time from `before` to `after`, of which our own processes took `own_ticks`.
    ///
    /// `None` if no tick has passed. Bounds: each counter is exact to one tick per processor or process, so over 1 s on
    /// two processors a share is exact to about ±0.02.
    pub fn between(before: &Sample, after: &Sample, own_ticks: u64) -> Option<Shares> {
        let used = after.since(before);
        let share = |ticks: u64| ticks as f64 / used.all() as f64;
        (used.all() > 0).then(|| Shares {
            steal: share(used.steal),
            foreign: share(used.process.saturating_sub(own_ticks)),
            interrupt: share(used.interrupt),
            idle: share(used.idle),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_time::Ticks;

    fn ticks(process: u64, interrupt: u64, idle: u64, steal: u64) -> Ticks {
        Ticks { process, interrupt, idle, steal, ..Ticks::default() }
    }

    fn sample(cpus: &[Ticks]) -> Sample {
        Sample { cpus: cpus.iter().copied().enumerate().collect() }
    }

    #[test]
    fn shares_out_the_time_between_two_samples() {
        let before = sample(&[ticks(100, 10, 1000, 5), ticks(0, 0, 0, 0)]);
        let check = |after: &[Ticks], own: u64, expect: Option<[f64; 4]>| {
            let got = Shares::between(&before, &sample(after), own);
            assert_eq!(got.map(|s| [s.steal, s.foreign, s.interrupt, s.idle]), expect, "{after:?}");
        };
        // 100 ticks on each processor; 60 of the 80 in processes are ours.
        let after = [ticks(150, 20, 1030, 15), ticks(30, 0, 70, 0)];
        check(&after, 60, Some([0.05, 0.1, 0.05, 0.5]));
        // Our own time is exact, but the processors' is counted in ticks: a share must not become negative.
        check(&after, 81, Some([0.05, 0.0, 0.05, 0.5]));
        check(&[ticks(100, 10, 1000, 5), ticks(0, 0, 0, 0)], 0, None);
        // One processor went off, the other's idle time ran backwards.
        check(&[ticks(101, 10, 999, 5)], 0, Some([0.0, 1.0, 0.0, 0.0]));
    }
}
