use results::{Experiment, Trial, WindowPoint};

use crate::table::{Reader, Table, Type};

type Row<'a> = (&'a Experiment, &'a Trial, &'a WindowPoint);

/// The time series of every trial of `experiment`, a row for each window.
pub fn windows(experiment: &Experiment) -> Table {
    let rows = experiment
        .trials
        .iter()
        .flat_map(|trial| trial.windows.iter().map(move |window| (experiment, trial, window)));
    Table::of(&columns(), rows)
}

/// The columns; their names are stable.
fn columns<'a>() -> Vec<Reader<Row<'a>>> {
    vec![
        ("result", Type::Text, |(experiment, _, _)| experiment.name.as_str().into()),
        ("trial", Type::Text, |(_, trial, _)| trial.id.as_str().into()),
        ("target", Type::Text, |(_, trial, _)| trial.target.as_str().into()),
        ("loop", Type::Text, |(_, trial, _)| crate::trials::loop_words(trial).into()),
        ("start_ms", Type::Count, |(_, _, window)| window.start_ms.into()),
        ("offered_count", Type::Count, |(_, _, window)| window.offered.into()),
        ("answered_count", Type::Count, |(_, _, window)| window.answered.into()),
        ("error_count", Type::Count, |(_, _, window)| window.errors.into()),
        ("sample_count", Type::Count, |(_, _, window)| window.count.into()),
        ("response_time_us_p50", Type::Number, |(_, _, window)| window.p50_us.into()),
        ("response_time_us_p99", Type::Number, |(_, _, window)| window.p99_us.into()),
        ("response_time_us_max", Type::Number, |(_, _, window)| window.max_us.into()),
        ("backlog_count", Type::Count, |(_, _, window)| window.backlog.into()),
        ("in_flight_count", Type::Count, |(_, _, window)| window.in_flight.into()),
        ("outstanding_count", Type::Count, |(_, _, window)| window.outstanding().into()),
        ("hit_count", Type::Count, |(_, _, window)| window.hits.into()),
        ("get_count", Type::Count, |(_, _, window)| window.gets.into()),
        ("disturbed", Type::Flag, |(_, _, window)| window.disturbed.into()),
    ]
}
