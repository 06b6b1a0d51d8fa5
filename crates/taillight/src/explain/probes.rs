//! Probes: the measurement of each probe, its first publication, and its permitted cost.

use spec::Probe;

use super::chapter::{Chapter, Entry, Section};
use super::{fields, limits};

pub(super) fn chapter() -> Chapter {
    let entries = Probe::ALL.map(|probe| {
        let (meaning, source) = about(probe);
        Entry {
            name: probe.name().into(),
            value: None,
            option: Some(format!("--probe {}", probe.name())),
            meaning: meaning.into(),
            source: source.into(),
        }
    });
    Chapter::of([
        Section::new("Probes; docs/reference/probes.md says what each takes", entries),
        fields::section("As a specification has them", "probes", None),
        limits::probes(),
    ])
}

/// The measurement of a probe, and its source.
fn about(probe: Probe) -> (&'static str, &'static str) {
    match probe {
        Probe::Stages => (
            "Where a request spends its time in the server.",
            "IISWC'17 §IV-A, Tables II and III: by Systemtap",
        ),
        Probe::Cpu => (
            "Whose code uses the processors: kernel, program, each library.",
            "CAL'18 §4.2, Fig. 6: kernel, user and libraries",
        ),
        Probe::RunQueue => (
            "How the server's threads come to run: waits, switches, migrations.",
            "Linux, schedstat; IISWC'17 §V-B.1 names context switches as the cause of the tail",
        ),
        Probe::Sockets => (
            "How long requests stand unread at the server's sockets.",
            "Linux, sock_diag(7); the mean by Little's law",
        ),
        Probe::Server => ("What the server counts itself.", "memcached's stats, nginx's stub_status"),
        Probe::Client => (
            "What of the response time is the client's own.",
            "Linux, timestamping.rst: the kernel's stamps of what leaves and arrives",
        ),
        Probe::Counters => ("Instructions, misses and faults.", "CAL'18 §4.2, Fig. 5; ISPASS'16 §VI-D"),
        Probe::Io => ("Disks and the page cache.", "ISPASS'16 §VI-B: the share of time that waits for I/O"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_has_its_source() {
        for probe in Probe::ALL {
            let (meaning, source) = about(probe);
            assert!(!meaning.is_empty() && spec::is_source(source), "{source}");
        }
        assert!(chapter().entries().any(|entry| entry.name == "probes.rate-hz"));
    }
}
