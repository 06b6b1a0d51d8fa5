//! The description and the source of each knob, for people.

use super::Knob;
use super::parse::NAMES;

/// A knob as `taillight explain knobs` prints it. docs/reference/knobs.md lists the Linux interface of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, before the equals sign; `sysctl.` takes any name behind the dot.
    pub name: &'static str,
    /// What it does.
    pub does: &'static str,
    /// The publication that uses it, or the documentation that recommends it.
    pub source: &'static str,
}

const fn about(name: &'static str, does: &'static str, source: &'static str) -> About {
    About { name, does, source }
}

impl Knob {
    /// All of them, in the order in which docs/reference/knobs.md lists them.
    pub const ABOUT: [About; 30] = [
        about(
            "cpu.set",
            "the processors that the subject's processes may use",
            "IISWC'17 §V-A: cpuset cgroups",
        ),
        about(
            "cpu.quota",
            "their processor time; 100 % is one processor, counted over 100 ms",
            "Linux, sched-bwc.rst: the period of 100 ms is its default",
        ),
        about("memory.limit", "the memory that they allocate from now on", "IISWC'17 §V-A: memory cgroup"),
        about(
            "disk.read",
            "what they read in a second from a disk",
            "ISPASS'16 §VI-B: a video server waits for its disks; Table III has ten of 15 000 rpm, which few machines have",
        ),
        about(
            "read-ahead",
            "how far a disk is read ahead of what is asked for",
            "Linux, sysfs-block: read_ahead_kb; ranges of videos cost more than they hold where it is larger than they are",
        ),
        about(
            "net.rate",
            "the bandwidth of the device's egress, by HTB or TBF",
            "IISWC'17 §V-A: qdisc with hierarchical token buckets",
        ),
        about(
            "client.pace",
            "connections to clients whose addresses say a bandwidth (127.77.0.0/16) are paced at it",
            "ISPASS'16 §IV-A3: a limit for each TCP connection; Linux, socket(7): SO_MAX_PACING_RATE",
        ),
        about(
            "client.shape",
            "a link for each client of 198.18.0.0/22, in equal ratios up to a bandwidth, by HTB in the device's egress",
            "ISPASS'16 §IV-A3: a limit for each client's address, there by dummynet",
        ),
        about(
            "cache.ways",
            "the ways of the last-level cache that processes, or what runs on processors, may fill",
            "IISWC'17 §V-A: Intel CAT, masks in registers",
        ),
        about(
            "irq.affinity",
            "the processors of the device's interrupts, queue by queue",
            "IISWC'17 §III-B, §IV-B: 8 cores for 8 queues; ANCS'19 §III-B",
        ),
        about("irqbalance", "the daemon that moves interrupts", "ANCS'19 §III-B, §IV-B: on and off"),
        about(
            "rps",
            "the processors that take packets from the interrupt's",
            "Linux, scaling.rst: RPS; ANCS'19 §II names it kernel software steering",
        ),
        about(
            "xps",
            "outgoing queues, matched to processors one by one",
            "ISPASS'16 §IV-C.3: what a connection sends leaves by one queue; Linux, scaling.rst: XPS",
        ),
        about(
            "rfs",
            "flows that software steering follows to the processor that reads them",
            "Linux, scaling.rst: RFS, with 32768 for a moderately loaded server",
        ),
        about("nic.queues", "the card's combined queues", "IISWC'17 §III-B: 8; ANCS'19 Table I: 8 and 48"),
        about(
            "nic.spread",
            "the card spreads flows evenly over its first queues",
            "IISWC'17 §IV-B: receive-side scaling",
        ),
        about("nic.filters", "filters in the card", "ISPASS'16 §IV-C.3: the card's flow director"),
        about(
            "nic.steer",
            "packets to a TCP port go to a queue",
            "ANCS'19 §V: hardware steering, a port for each core",
        ),
        about(
            "smt",
            "several logical processors on one core",
            "IISWC'17 §III-B: off; §V-B.2: what they are worth",
        ),
        about(
            "frequency.governor",
            "the rule for the clock",
            "ISPASS'16 §IV-C.3: the highest frequency on all of the server's cores",
        ),
        about("frequency", "a fixed clock", "ISPASS'16 §IV-C.3: the highest; CAL'18 §4.2: lower ones"),
        about(
            "turbo",
            "clock frequencies above the nominal one",
            "ours, because they depend on temperature and on what the other cores do",
        ),
        about("power.cap", "the power of each package", "CAL'18 §4.2: RAPL"),
        about("huge-pages", "huge pages set apart", "ANCS'19 §IV-A: segments of a large page"),
        about(
            "huge-pages.transparent",
            "when the kernel makes huge pages by itself",
            "Linux, transhuge.rst: always, madvise, never",
        ),
        about("swap", "swap space", "memcached's own advice (-k): the data set is meant to be in memory"),
        about(
            "aslr",
            "addresses drawn at random for each process",
            "ours, because they change from start to start what meets in the caches",
        ),
        about(
            "congestion-control",
            "TCP's rule for how fast to send",
            "docs/decisions/0022-nothing-paces-behind-the-bridge.md: BBR paces by timers",
        ),
        about(
            "busy-poll",
            "how long reads and polls look at the device's queue themselves",
            "Linux, sysctl/net.rst: busy_poll and busy_read, 50 µs for several sockets",
        ),
        about("sysctl.", "any other kernel parameter", "Linux, Documentation/admin-guide/sysctl"),
    ];
}

impl About {
    /// The syntax of its value.
    pub fn syntax(&self) -> &'static str {
        NAMES.iter().find(|(name, _)| *name == self.name).map_or("", |(_, syntax)| syntax)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_that_is_read_is_told_of() {
        let told: Vec<&str> = Knob::ABOUT.iter().map(|about| about.name).collect();
        assert_eq!(told, NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for about in Knob::ABOUT {
            assert!(![about.does, about.source, about.syntax()].contains(&""), "{about:?}");
        }
    }
}
