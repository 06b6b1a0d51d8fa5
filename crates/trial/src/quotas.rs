//! Quotas of processor time, of a container or a unit: how often they held back server or generator.

use std::path::Path;

use host::Throttling;
use units::Time;

/// The quotas of both sides, and their counters now and then.
#[derive(Default)]
pub(crate) struct Quotas {
    all: Vec<(&'static str, host::Quota)>,
    looks: Vec<(Time, Vec<Throttling>)>,
}

impl Quotas {
    /// The quotas of the server's processes, and of this process if it generates load.
    pub(crate) fn of(root: &Path, servers: &[u32], generates: bool) -> Quotas {
        let own = if generates { host::Quota::own(root) } else { Vec::new() };
        let servers = host::Quota::of(root, servers);
        let side = |quota: &host::Quota| if own.contains(quota) { "server and generator" } else { "server" };
        let of_servers: Vec<_> = servers.iter().map(|quota| (side(quota), quota.clone())).collect();
        let alone = own.iter().filter(|quota| !servers.contains(quota));
        let all = alone.map(|quota| ("generator", quota.clone())).chain(of_servers).collect();
        Quotas { all, looks: Vec::new() }
    }

    /// Reads the counters. Cost: about 10 µs a quota.
    pub(crate) fn look(&mut self, at: Time) {
        if !self.all.is_empty() {
            self.looks.push((at, self.all.iter().map(|(_, quota)| quota.throttling()).collect()));
        }
    }

    /// Their effect from the last look before `from` to the first after `to`.
    pub(crate) fn between(&self, from: Time, to: Time) -> Vec<results::Quota> {
        let before = self.looks.iter().rfind(|(at, _)| *at <= from).or(self.looks.first());
        let after = self.looks.iter().find(|(at, _)| *at >= to).or(self.looks.last());
        let (Some((_, before)), Some((_, after))) = (before, after) else { return Vec::new() };
        let counts = before.iter().zip(after).map(|(before, after)| after.since(*before));
        let quota = |((side, quota), during): (&(&'static str, host::Quota), Throttling)| results::Quota {
            side: (*side).into(),
            processors: quota.processors,
            file: quota.file.clone(),
            periods: during.periods,
            throttled: during.throttled,
            throttled_s: during.throttled_us as f64 / 1e6,
        };
        self.all.iter().zip(counts).map(quota).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_quota_is_read_around_the_window_for_the_side_that_it_limits() {
        let root = tempfile::tempdir().unwrap();
        let plant = |path: &str, text: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        plant("proc/self/mountinfo", "31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        for (pid, group) in [("self", "/a/g"), ("7", "/a/s"), ("8", "/")] {
            plant(&format!("proc/{pid}/cgroup"), &format!("0::{group}\n"));
        }
        let stat = |group: &str, throttled: u64| {
            let text =
                format!("nr_periods {}\nnr_throttled {throttled}\nthrottled_usec 500000\n", 2 * throttled);
            plant(&format!("sys/fs/cgroup/{group}/cpu.stat"), &text);
        };
        for (group, quota) in [("a", "200000 100000"), ("a/g", "50000 100000"), ("a/s", "150000 100000")] {
            plant(&format!("sys/fs/cgroup/{group}/cpu.max"), quota);
        }
        let mut quotas = Quotas::of(root.path(), &[7, 8], true);
        for (second, throttled) in [(0, 0), (1, 5), (2, 30), (3, 40)] {
            stat("a/s", throttled);
            quotas.look(Time(second * 1_000_000_000));
        }
        let at = |ms: u64| Time(ms * 1_000_000);
        let found = quotas.between(at(1_500), at(1_900));
        let sides: Vec<_> = found.iter().map(|quota| (quota.side.as_str(), quota.processors)).collect();
        assert_eq!(sides, [("generator", 0.5), ("server", 1.5), ("server and generator", 2.0)]);
        assert_eq!((found[1].throttled, found[1].periods, found[0].throttled), (25, 50, 0));
        assert_eq!(quotas.between(at(0), at(9_000))[1].throttled, 40, "all that is known");
        let server = Quotas::of(root.path(), &[7], false);
        assert_eq!(server.all.iter().map(|(side, _)| *side).collect::<Vec<_>>(), ["server", "server"]);
        assert_eq!(server.between(at(0), at(1)), []);
        assert!(Quotas::of(root.path(), &[8], false).all.is_empty());
    }
}
