//! A point before it is known whether this host can measure it.

use launch::Form;
use results::study::{Effort, X};
use spec::{Load, Spec};
use toml::Table;

use crate::study::axis::{AxisPoint, merge};
use crate::study::facts::{Facts, is_known};
use crate::study::variant::SeriesDef;
use crate::study::{Definition, DefinitionError, StudyKind, experiment};

/// One place of one series with its whole configuration.
pub(super) struct Candidate {
    pub(super) series: String,
    pub(super) x: X,
    pub(super) experiment: Spec,
    pub(super) needs: Vec<String>,
}

/// Every cell of a effort, resolved.
///
/// Errors: a configuration that is wrong, with the series and the place that make it so.
pub(in crate::study) fn resolve(study: &Definition, effort: Effort) -> Result<(), DefinitionError> {
    // Whether a need is a known one does not depend on the machine, whose facts take 0.1 s to read.
    let facts = Facts::default();
    for candidate in candidates(study, effort)? {
        for need in &candidate.needs {
            facts.lacks(need)?;
        }
        owner(study, effort, &candidate)?;
    }
    if let Some(reference) = &study.reference {
        let x = study.axis.x(&reference.at);
        if !study.has(&x) {
            return Err(DefinitionError(format!("reference.at: no run measures at {}", reference.at)));
        }
    }
    Ok(())
}

pub(super) fn candidates(study: &Definition, effort: Effort) -> Result<Vec<Candidate>, DefinitionError> {
    let mut all = Vec::new();
    for series in study.series.iter().filter(|series| chosen(study, effort, series)) {
        for place in study.axis.places(effort) {
            all.push(candidate(study, effort, series, place, false)?);
            if study.kind == StudyKind::Colocation {
                all.push(candidate(study, effort, series, place, true)?);
            }
        }
    }
    Ok(all)
}

/// Whether a run of this effort measures a series.
pub(super) fn chosen(study: &Definition, effort: Effort, series: &SeriesDef) -> bool {
    let chosen = &study.effort(effort).series;
    chosen.is_empty() || chosen.contains(&series.name)
}

/// The candidate at a place of a series, for the first or the second service of a study of two services.
///
/// A second service of another kind of workload drops the workload of the experiment.
pub(super) fn candidate(
    study: &Definition,
    effort: Effort,
    series: &SeriesDef,
    place: &AxisPoint,
    is_second: bool,
) -> Result<Candidate, DefinitionError> {
    let (of_effort, nothing) = (study.effort(effort), Table::new());
    let (base, set, of_effort) = match is_second {
        false => (&nothing, &series.set, &of_effort.set),
        true => (&study.second, &series.set_second, of_effort.set_second.as_ref().unwrap_or(&of_effort.set)),
    };
    let mut table = study.base.clone();
    if base.get("workload").is_some_and(|workload| workload.get("kind").is_some()) {
        table.remove("workload");
    }
    let sets = if series.sets.is_empty() { &study.axis.sets } else { &series.sets };
    for over in [base, set, &place.changes(sets)?, of_effort, &study.by_hand] {
        merge(&mut table, over);
    }
    let at = format!("series '{}' at {}, {} run", series.name, place.x, effort.words());
    let experiment = experiment::read(table, "").map_err(|e| DefinitionError(format!("{at}: {e}")))?;
    let mut needs: Vec<String> =
        [&study.needs, &series.needs, &place.needs].into_iter().flatten().cloned().collect();
    needs.extend(implied(&experiment));
    needs.sort();
    needs.dedup();
    Ok(Candidate { series: series.name.clone(), x: place.x.clone(), experiment, needs })
}

/// The implicit requirements of a configuration.
fn implied(experiment: &Spec) -> Vec<String> {
    let mut needs = Vec::new();
    let app = crate::application(&experiment.target.server).ok().flatten();
    if let (Some(app), None) = (app, &experiment.target.binary) {
        let found = app.services.iter().filter(|service| service.program.embedded.is_none());
        let programs = found.map(|service| service.program.name.clone());
        // The needs of a user's own application are checked when it starts.
        needs.extend(programs.filter(|program| is_known(program)));
    }
    match experiment.target.form {
        Form::Bare => {}
        Form::Bridged => needs.push("root".into()),
        engine => needs.extend(["root".to_owned(), engine.name().to_owned()]),
    }
    if !experiment.knobs.is_empty() {
        needs.push("root".into());
    }
    needs
}

/// The candidate that `of` names by `SERIES` or `SERIES @ PLACE`, if its load is a share of that one's maximum. `None`:
/// a share of its own maximum, or no share.
pub(super) fn owner(
    study: &Definition,
    effort: Effort,
    of: &Candidate,
) -> Result<Option<Candidate>, DefinitionError> {
    let Load::Share { of: Some(text), .. } = &of.experiment.load else { return Ok(None) };
    let (name, x) = match text.rsplit_once(" @ ") {
        Some((name, place)) => (name.trim(), study.axis.x(place.trim())),
        None => (text.as_str(), of.x.clone()),
    };
    let series = study.series_named(name).ok_or_else(|| {
        DefinitionError(format!("load.of: there is no series '{name}'; {}", study.series_names()))
    })?;
    let place = study.axis.place(effort, &x);
    let place = place.ok_or_else(|| DefinitionError(format!("load.of: no run measures at {x}")))?;
    candidate(study, effort, series, place, false).map(Some)
}

/// Why a candidate cannot be measured here; `None`: it can.
pub(super) fn reason_against(
    candidate: &Candidate,
    facts: &Facts,
) -> Result<Option<String>, DefinitionError> {
    for need in &candidate.needs {
        if let Some(reason) = facts.lacks(need)? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}
