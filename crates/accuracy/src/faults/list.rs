use crate::faults::fault::{Fault, World};
use crate::faults::{here, simulated};

const TABLES: [(World, &[Fault]); 10] = [
    (World::Simulated, simulated::generator::FAULTS),
    (World::Simulated, simulated::server::FAULTS),
    (World::Simulated, simulated::network::FAULTS),
    (World::Simulated, simulated::agents::FAULTS),
    (World::Simulated, simulated::knobs::FAULTS),
    (World::Here, here::processors::FAULTS),
    (World::Here, here::store::FAULTS),
    (World::Here, here::agents::FAULTS),
    (World::Here, here::probes::FAULTS),
    (World::Here, here::disk::FAULTS),
];

/// All faults with their places, in the order in which they are planted.
pub(crate) fn all() -> impl Iterator<Item = (World, &'static Fault)> {
    TABLES.into_iter().flat_map(|(place, faults)| faults.iter().map(move |fault| (place, fault)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_at_least_twenty_and_each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = all().map(|(_, fault)| fault.name).collect();
        assert!(names.len() >= 20, "{names:?}");
        assert_eq!(names.len(), all().count(), "{names:?}");
    }
}
