//! The tables of a result as words, for `tables.json`: the terminal's tables, with all their columns.

use std::collections::BTreeSet;
use std::path::Path;

use results::{Comparison, Experiment, Study, TABLES_SCHEMA, Tables, TextTable, machine};

use crate::load::LoadUnit;
use crate::notes::{notes, verdicts_in_all};
use crate::number;
use crate::page::shell_words;
use crate::study::{claim_words, tally_words};
use crate::subject::Subject;
use crate::terminal;

/// The tables of `experiment`: `peaks` if peaks or maxima were searched for, `loads`, and the `ratios` of its two
/// targets if they were compared.
pub fn experiment_tables(experiment: &Experiment, comparison: Option<&Comparison>) -> Tables {
    let mut tables = Vec::new();
    tables.extend(peaks(experiment));
    if !experiment.trials.is_empty() {
        tables.push(terminal::loads_as_text(experiment));
    }
    tables.extend(comparison.and_then(terminal::ratios_as_text));
    let verdicts = verdicts_in_all(experiment.trials.iter().map(|trial| &trial.verdict), "trial");
    Tables {
        schema: TABLES_SCHEMA,
        created: experiment.created.clone(),
        command: typed(&experiment.command),
        version: experiment.version.clone(),
        commit: None,
        machine: machine(&experiment.host),
        targets: experiment.targets.iter().map(|target| target.name.clone()).collect(),
        validity: [verdicts].into_iter().chain(notes(experiment)).collect(),
        tables,
    }
}

/// The tables of `study`: its `claims`, its figures and its tables by their ids.
pub fn study_tables(study: &Study) -> Tables {
    let mut tables = Vec::new();
    if !study.claims.is_empty() {
        tables.push(claims(study));
    }
    tables.extend(study.figures.iter().map(terminal::figure_as_text));
    tables.extend(study.tables.iter().map(terminal::table_as_text));
    let effort = format!("{} run, {}", study.effort.words(), number::plural(study.blocks as usize, "block"));
    let mut validity = vec![effort, tally_words(study)];
    validity.push(verdicts_in_all(study.cells.iter().map(|cell| &cell.verdict), "measurement"));
    if study.effort == results::study::Effort::Smoke {
        validity.push("The smoke run only shows that the study runs: its figures mean nothing".into());
    }
    if !study.complete {
        validity.push(format!("Partial: {}", study.interrupted.as_deref().unwrap_or("it is not finished")));
    }
    let skipped = study.skipped.iter();
    validity.extend(skipped.map(|part| format!("Not measured: {}: {}", part.what, part.reason)));
    Tables {
        schema: TABLES_SCHEMA,
        created: study.created.clone(),
        command: typed(&study.command),
        version: study.version.clone(),
        commit: None,
        machine: machine(&study.host),
        targets: servers(study).into_iter().collect(),
        validity,
        tables,
    }
}

fn claims(study: &Study) -> TextTable {
    let row = |claim: &results::study::ClaimResult| {
        let measured = if claim.measured.is_empty() { &claim.reason } else { &claim.measured };
        vec![claim.text.clone(), claim.source.clone(), claim_words(claim).into(), measured.clone()]
    };
    let columns = ["claim", "source", "verdict", "measured"];
    TextTable::new("Claims", &columns, study.claims.iter().map(row).collect())
}

/// One row a target; `None` if the experiment searched for neither maximum nor peak.
fn peaks(experiment: &Experiment) -> Option<TextTable> {
    let row = |subject: &Subject| {
        let max = subject.max_throughput();
        let peak = subject.peak();
        (max.is_some() || peak.is_some()).then(|| {
            let unit = LoadUnit::of_subject(subject);
            let range = |low, high: Option<f64>| match high {
                Some(high) => unit.range(low, high),
                None => format!("{} or more", unit.rate(Some(low))),
            };
            vec![
                subject.name.to_owned(),
                number::or_none(max, |max| range(max.low, Some(max.high))),
                number::or_none(peak, |peak| range(peak.low_rps, peak.high_rps)),
                number::or_none(peak.and_then(|peak| peak.share_of_max), number::percent),
            ]
        })
    };
    let rows: Vec<_> = Subject::of_experiment(experiment).iter().filter_map(row).collect();
    let qos = crate::measure::Target::new(&experiment.qos, experiment.qos_basis).words();
    let columns = ["target", "maximum", &format!("peak under {qos}"), "peak of the maximum"];
    let table = TextTable::new("Maximum and peak throughput", &columns, rows);
    (!table.rows.is_empty()).then(|| TextTable { id: "peaks".into(), ..table })
}

/// A command line with the name of the program instead of its path.
fn typed(command: &[String]) -> String {
    let mut command = command.to_vec();
    if let Some(name) = command.first().and_then(|program| Path::new(program).file_name()) {
        command[0] = name.to_string_lossy().into_owned();
    }
    shell_words(&command)
}

/// Every server of a study, by its name in specifications; empty for a study of schema 1.
fn servers(study: &Study) -> BTreeSet<String> {
    let plan = study.plan.iter();
    let points = plan.flat_map(|plan| plan.points.iter().chain(plan.pairs.iter().flatten()));
    points.map(|point| point.spec.target.server.to_string()).collect()
}
