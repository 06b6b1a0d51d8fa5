//! Probes: the measurement of each probe, its first publication, and its permitted cost.

use spec::Probe;

use super::{fields, limits};
use spec::{Chapter, Entry, Section};

pub(super) fn chapter() -> Chapter {
    let entries = Probe::ALL.map(|probe| Entry {
        name: probe.name().into(),
        value: None,
        option: Some(format!("--probe {}", probe.name())),
        meaning: probe.summary().into(),
        source: probe.source().into(),
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
