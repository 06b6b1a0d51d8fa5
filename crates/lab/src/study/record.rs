//! The record of a study: its initial state, and the conclusions from its cells.

use std::collections::{BTreeMap, BTreeSet};

use results::Study;
use results::study::{Cell, STUDY_SCHEMA};
use serde_json::json;
use spec::Spec;
use stats::{LEVEL, Looks};

use super::claim::Claim;
use super::facts::Facts;
use super::judge::{Unjudged, judge};
use super::summary::{Cells, stands};
use super::{Definition, DefinitionError};
use crate::run::{Plan, Setup, client_knob_names, knob_names};

/// The record of a study before any measurement. Its machine is the servers'.
///
/// Errors: a claim uses something unknown.
pub fn new_record(
    definition: &Definition,
    plan: &Plan,
    facts: &Facts,
    setup: &Setup,
) -> Result<Study, DefinitionError> {
    let mut lacking: BTreeMap<String, String> = BTreeMap::new();
    for claim in &definition.claims {
        if let Some(absent) = claim.absent.first() {
            lacking.insert(claim.id.clone(), format!("the plan for this machine does not have it: {absent}"));
        }
        for need in &claim.needs {
            if let Some(reason) = facts.lacks(need)? {
                lacking.entry(claim.id.clone()).or_insert(reason);
            }
        }
    }
    let host = match &setup.remote_host {
        Some(remote_host) => json!(remote_host.host()),
        None => setup.host.clone(),
    };
    let of_clients = |spec: &Spec| {
        let names = client_knob_names(spec).into_iter();
        names.map(|knob| format!("{knob} (generators)")).collect::<Vec<_>>()
    };
    let mut knobs: Vec<String> = plan
        .benches
        .iter()
        .flat_map(|bench| [knob_names(&bench.experiment), of_clients(&bench.experiment)].concat())
        .collect();
    knobs.sort();
    knobs.dedup();
    Ok(Study {
        schema: STUDY_SCHEMA,
        name: definition.name.clone(),
        title: definition.title.clone(),
        question: definition.question.clone(),
        source: definition.source.clone(),
        method: definition.method.clone(),
        deviations: definition.deviations.clone(),
        effort: plan.effort,
        created: (setup.now)(),
        command: setup.command.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: setup.seed,
        parameters: definition.parameters.clone(),
        plan: Some(plan.record()),
        claims_not_measurable: lacking,
        remote_host: setup.remote_host.as_ref().map(|remote_host| remote_host.note()),
        agents: setup.agents.clone(),
        host,
        knobs,
        notes: Vec::new(),
        limits: definition.limits.clone(),
        skipped: plan.skipped.clone(),
        ..Study::default()
    })
}

/// Redraws the figures and tables of a record from its cells, and judges the claims again.
pub fn conclude(record: &mut Study, definition: &Definition) {
    // An incomplete block would shift the medians; it is used only if no block is complete.
    let whole: Vec<_> = record.cells.iter().filter(|cell| cell.block < record.blocks).cloned().collect();
    let cells = Cells(if whole.is_empty() { &record.cells } else { &whole });
    record.figures = definition.figures(cells);
    record.tables = definition.tables(cells);
    let why = |claim: &Claim| Some((claim.id.clone(), unmeasured(record, claim, cells)?));
    let unjudged = Unjudged {
        lacking: record.claims_not_measurable.clone(),
        unmeasured: definition.claims.iter().filter_map(why).collect(),
    };
    record.claims = judge(&definition.claims, record.effort, cells, &unjudged, error(record));
    let repeated = repeated(&record.cells);
    record.notes.retain(|note| !note.starts_with(REPEATED));
    record.notes.extend(repeated);
}

/// The error at which the claims are judged: of a run until settled, that of the look after its blocks.
fn error(record: &Study) -> f64 {
    match &record.plan {
        Some(plan) if plan.until_settled => Looks::new(LEVEL).level(record.blocks as usize),
        _ => LEVEL,
    }
}

/// Why a claim on a whole axis cannot be judged: places of it were planned, and are not there.
fn unmeasured(record: &Study, claim: &Claim, cells: Cells<'_>) -> Option<String> {
    let series = claim.check.along()?;
    let planned = record.plan.iter().flat_map(|plan| &plan.points).filter(|point| point.series == series);
    let counts = |cell: &Cell| cell.verdict.is_sound() || stands(claim.check.metric(), &cell.verdict);
    let gone = planned.filter(|point| !cells.at(series, &point.x).any(counts));
    let gone: Vec<String> = gone.map(|point| point.x.to_string()).collect();
    (record.blocks > 0 && !gone.is_empty())
        .then(|| format!("{series} was not measured at {}", gone.join(", ")))
}

const REPEATED: &str = "Measured once more in the same block";

/// Which trials were repeated, since the first were of no use.
fn repeated(cells: &[Cell]) -> Option<String> {
    let of: Vec<&Cell> = cells.iter().filter(|cell| cell.instead_of.is_some()).collect();
    let saved = of.iter().filter(|cell| cell.verdict.is_usable()).count();
    let causes: BTreeSet<&str> = of.iter().filter_map(|cell| cell.instead_of.as_deref()).collect();
    let causes = causes.into_iter().collect::<Vec<_>>().join(", ");
    let trials = if of.len() == 1 { "trial" } else { "trials" };
    (!of.is_empty()).then(|| format!("{REPEATED}: {} {trials} ({causes}); {saved} then usable.", of.len()))
}
