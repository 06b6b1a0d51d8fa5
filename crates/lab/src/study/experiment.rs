//! An experiment of a study: a specification, read from the tables of its files.

use knobs::RequestedKnobs;
use spec::{Load, Spec};
use toml::Table;

use super::DefinitionError;
use crate::run::{client_knob_names, knob_names as knobs};

/// Reads one. `place` is the path of the table in its file.
///
/// Errors: as in [`Spec::read`]; an unknown knob.
pub(super) fn read(table: Table, place: &str) -> Result<Spec, DefinitionError> {
    let at = |problem: String| {
        DefinitionError(if place.is_empty() { problem } else { format!("{place}.{problem}") })
    };
    let whole = serde_json::to_value(table).map_err(|e| at(e.to_string()))?;
    let spec = crate::read_spec(whole).map_err(|e| at(e.0))?;
    for (section, words) in [("knobs", knobs(&spec)), ("client-knobs", client_knob_names(&spec))] {
        RequestedKnobs::read(&words).map_err(|error| at(format!("{section}: {error}")))?;
    }
    Ok(spec)
}

/// Whether two specifications can be measured on one bench: the same server, generator, workload and knobs. Loads, targets
/// and times may differ, but a closed loop has a bench of its own.
pub(super) fn share_bench(one: &Spec, other: &Spec) -> bool {
    let Spec { target, workload, load, generator, knobs, client_knobs, probes, qos: _, time: _, seed } = one;
    let is_closed = |load: &Load| *load == Load::Closed;
    (target, workload, generator) == (&other.target, &other.workload, &other.generator)
        && (knobs, client_knobs, probes) == (&other.knobs, &other.client_knobs, &other.probes)
        && *seed == other.seed
        && is_closed(load) == is_closed(&other.load)
}

#[cfg(test)]
mod tests;
