use results::{Experiment, Trial, WindowPoint};

use crate::table::Type::{Count, Flag, Number, Text};
use crate::table::{Reader, Table};

type Row<'a> = (&'a Trial, &'a WindowPoint);

/// The time series of every trial of `experiment`, a row for each window.
pub fn windows(experiment: &Experiment) -> Table {
    let trials = experiment.trials.iter();
    let rows = trials.flat_map(|trial| trial.windows.iter().map(move |window| (trial, window)));
    Table::of(experiment, &columns(), rows)
}

/// The columns; their names are stable.
fn columns<'a>() -> Vec<Reader<Row<'a>>> {
    vec![
        ("trial", Text, |(trial, _)| trial.id.as_str().into()),
        ("target", Text, |(trial, _)| trial.target.as_str().into()),
        ("loop", Text, |(trial, _)| crate::trials::loop_words(trial).into()),
        ("start_ms", Count, |(_, window)| window.start_ms.into()),
        ("offered_count", Count, |(_, window)| window.offered.into()),
        ("answered_count", Count, |(_, window)| window.answered.into()),
        ("error_count", Count, |(_, window)| window.errors.into()),
        ("sample_count", Count, |(_, window)| window.count.into()),
        ("response_time_us_p50", Number, |(_, window)| window.p50_us.into()),
        ("response_time_us_p99", Number, |(_, window)| window.p99_us.into()),
        ("response_time_us_max", Number, |(_, window)| window.max_us.into()),
        ("backlog_count", Count, |(_, window)| window.backlog.into()),
        ("in_flight_count", Count, |(_, window)| window.in_flight.into()),
        ("outstanding_count", Count, |(_, window)| window.outstanding().into()),
        ("hit_count", Count, |(_, window)| window.hits.into()),
        ("get_count", Count, |(_, window)| window.gets.into()),
        ("disturbed", Flag, |(_, window)| window.disturbed.into()),
    ]
}
