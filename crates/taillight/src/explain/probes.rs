//! Probes: the measurement of each probe, its first publication, and its permitted cost.

use spec::Probe;

use super::{fields, limits};
use spec::{Chapter, Entry, Section};

pub(super) fn chapter() -> Chapter {
    let entries = Probe::ALL.map(|probe| Entry {
        option: Some(format!("--probe {}", probe.name())),
        ..Entry::named(probe.name(), probe.summary(), probe.source())
    });
    Chapter::of([
        Section::new("Probes; docs/reference/probes.md says what each takes", entries),
        fields::section("As a specification has them", "probes", None),
        limits::probes(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_has_its_source() {
        for probe in Probe::ALL {
            assert!(!probe.summary().is_empty() && spec::is_source(probe.source()), "{}", probe.source());
        }
        assert!(chapter().entries().any(|entry| entry.name == "probes.rate-hz"));
    }
}
