//! An experiment of a study: a specification, read from the tables of its files.

use knobs::RequestedKnobs;
use serde_json::{Value, json};
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

/// The part of a specification that a server, its generator and the host must share to be one bench: everything except
/// the load, the target and the times.
pub(super) fn bench_key(spec: &Spec) -> String {
    let apart = Spec::default();
    let same = Spec { load: Load::default(), qos: apart.qos, time: apart.time, ..spec.clone() };
    let mut whole = same.to_json();
    whole["loop"] = json!(spec.load == Load::Closed);
    Value::to_string(&whole)
}

#[cfg(test)]
mod tests;
