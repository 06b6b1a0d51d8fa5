use crate::faults::fault::Fault;
use crate::faults::{here, simulated};

/// Every fault, by its place.
const TABLES: [&[Fault]; 10] = [
    simulated::generator::FAULTS,
    simulated::server::FAULTS,
    simulated::network::FAULTS,
    simulated::agents::FAULTS,
    simulated::knobs::FAULTS,
    here::processors::FAULTS,
    here::store::FAULTS,
    here::agents::FAULTS,
    here::probes::FAULTS,
    here::disk::FAULTS,
];

/// All faults, in the order in which they are planted.
pub(crate) fn all() -> impl Iterator<Item = &'static Fault> {
    TABLES.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_at_least_twenty_and_each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = all().map(|fault| fault.name).collect();
        assert!(names.len() >= 20, "{names:?}");
        assert_eq!(names.len(), all().count(), "{names:?}");
    }
}
