use results::{
    Bounds, ClosedLoop, Disturbance, Experiment, LatencySummary, Lateness, Sessions, Trial, Verdict,
};
use serde_json::Value;

use crate::table::Type::{Count, Flag, Number, Text};
use crate::table::{Cell, Reader, Table};

/// A row for each trial of `experiment`, invalid ones too.
pub fn trials(experiment: &Experiment) -> Table {
    Table::of(experiment, &columns(), experiment.trials.iter())
}

/// `open`, `closed` or `closed within sessions`, which is in every table.
pub(crate) fn loop_words(trial: &Trial) -> &'static str {
    match trial.is_closed_loop() {
        true => "closed",
        false if trial.is_closed_within_sessions() => "closed within sessions",
        false => "open",
    }
}

/// The columns; their names are stable.
fn columns<'a>() -> Vec<Reader<&'a Trial>> {
    vec![
        ("trial", Text, |trial| trial.id.as_str().into()),
        ("target", Text, |trial| trial.target.as_str().into()),
        ("purpose", Text, |trial| word(serde_json::to_value(trial.purpose))),
        ("block", Count, |trial| u64::from(trial.block).into()),
        ("started", Text, |trial| trial.started.as_str().into()),
        ("verdict", Text, |trial| trial.verdict.label().into()),
        ("usable", Flag, |trial| trial.verdict.is_usable().into()),
        ("verdict_words", Text, |trial| match trial.verdict {
            Verdict::Valid => Cell::Empty,
            _ => trial.verdict.to_string().into(),
        }),
        ("loop", Text, |trial| loop_words(trial).into()),
        ("transport", Text, |trial| trial.transport.map(|transport| transport.words()).into()),
        ("load_share", Number, |trial| trial.load_share.into()),
        // Sessions are offered in a unit of their own, in the columns at the end.
        ("offered_rps", Number, |trial| (!trial.offers_sessions()).then_some(trial.offered_rps).into()),
        ("achieved_rps", Number, |trial| trial.achieved_rps.into()),
        ("window_s", Number, |trial| trial.window_s.into()),
        ("arrival_count", Count, |trial| trial.arrivals.intended.into()),
        ("completed_count", Count, |trial| trial.arrivals.completed.into()),
        ("error_count", Count, |trial| trial.arrivals.errors.into()),
        ("timeout_count", Count, |trial| trial.arrivals.timeouts.into()),
        ("unfinished_count", Count, |trial| trial.arrivals.unfinished.into()),
        ("response_time_us_mean", Number, |trial| trial.all.response_time.mean_us.into()),
        ("response_time_us_p50", Number, |trial| trial.all.response_time.p50_us.into()),
        ("response_time_us_p90", Number, |trial| trial.all.response_time.p90_us.into()),
        ("response_time_us_p95", Number, |trial| trial.all.response_time.p95_us.into()),
        ("response_time_us_p99", Number, |trial| trial.all.response_time.p99_us.into()),
        ("response_time_us_p99_9", Number, |trial| trial.all.response_time.p99_9_us.into()),
        ("response_time_us_p99_99", Number, |trial| trial.all.response_time.p99_99_us.into()),
        ("response_time_us_max", Number, |trial| trial.all.response_time.max_us.into()),
        ("windowed_p99_us", Number, |trial| trial.windowed_p99_us.into()),
        ("service_time_us_mean", Number, |trial| trial.all.service_time.mean_us.into()),
        ("service_time_us_p50", Number, |trial| trial.all.service_time.p50_us.into()),
        ("service_time_us_p99", Number, |trial| trial.all.service_time.p99_us.into()),
        ("connection_wait_us_p99", Number, |trial| trial.all.connection_wait.p99_us.into()),
        ("generator_lag_us_p50", Number, |trial| trial.all.generator_lag.p50_us.into()),
        ("generator_lag_us_p99", Number, |trial| trial.all.generator_lag.p99_us.into()),
        ("generator_lag_us_max", Number, |trial| trial.all.generator_lag.max_us.into()),
        // Pairs of a target in µs and a share: the targets are the user's, the columns are not.
        ("within_us_share", Text, |trial| {
            let pairs: Vec<String> =
                trial.within.iter().map(|w| format!("{}:{}", w.target_us, w.share)).collect();
            (!pairs.is_empty()).then(|| pairs.join(" ")).into()
        }),
        ("hit_ratio", Number, |trial| trial.counters.get("hit_ratio").copied().into()),
        ("sent_bytes", Count, |trial| trial.traffic.map(|traffic| traffic.bytes_sent).into()),
        ("received_bytes", Count, |trial| trial.traffic.map(|traffic| traffic.bytes_received).into()),
        ("clients", Count, |trial| closed(trial, |closed| u64::from(closed.clients))),
        ("correction_interval_us", Number, |trial| closed(trial, |closed| closed.expected_interval_us)),
        ("corrected_us_p50", Number, |trial| corrected(trial, |times| times.p50_us)),
        ("corrected_us_p99", Number, |trial| corrected(trial, |times| times.p99_us)),
        ("corrected_us_p99_9", Number, |trial| corrected(trial, |times| times.p99_9_us)),
        ("generator_threads", Count, |trial| u64::from(trial.generator.threads).into()),
        ("connections", Count, |trial| u64::from(trial.generator.connections).into()),
        ("generator_busy_share", Number, |trial| trial.generator.busy_share.into()),
        ("late_count", Count, |trial| late(trial, |late| late.requests)),
        ("late_windows", Count, |trial| late(trial, |late| late.windows)),
        ("late_limit_us", Number, |trial| late(trial, |late| late.limit_us)),
        ("in_time_us_p50", Number, |trial| late(trial, |late| late.response_time.p50_us)),
        ("in_time_us_p99", Number, |trial| late(trial, |late| late.response_time.p99_us)),
        ("in_time_us_p99_9", Number, |trial| late(trial, |late| late.response_time.p99_9_us)),
        ("disturbed_windows", Count, |trial| trial.noise.disturbed_windows.into()),
        ("undisturbed_windows", Count, |trial| host(trial, |host| host.undisturbed_windows)),
        ("rests_on", Text, |trial| host(trial, |host| word(serde_json::to_value(host.basis)))),
        ("touched_share", Number, |trial| host(trial, |host| host.touched_share)),
        ("server_taken_share", Number, |trial| host(trial, |host| host.server_taken_share)),
        ("generator_taken_share", Number, |trial| host(trial, |host| host.generator_taken_share)),
        ("at_least_us_p99", Number, |trial| host(trial, |host| host.p99_at_least_us)),
        ("undisturbed_us_p50", Number, |trial| undisturbed(trial, |times| times.p50_us)),
        ("undisturbed_us_p99", Number, |trial| undisturbed(trial, |times| times.p99_us)),
        ("undisturbed_us_p99_9", Number, |trial| undisturbed(trial, |times| times.p99_9_us)),
        ("low_us_p50", Number, |trial| bound(trial, 50.0, |of| of.low_us)),
        ("high_us_p50", Number, |trial| bound(trial, 50.0, |of| of.high_us)),
        ("low_us_p99", Number, |trial| bound(trial, 99.0, |of| of.low_us)),
        ("high_us_p99", Number, |trial| bound(trial, 99.0, |of| of.high_us)),
        ("low_us_p99_9", Number, |trial| bound(trial, 99.9, |of| of.low_us)),
        ("high_us_p99_9", Number, |trial| bound(trial, 99.9, |of| of.high_us)),
        ("low_us_windowed_p99", Number, |trial| windowed_bound(trial, |of| of.low_us)),
        ("high_us_windowed_p99", Number, |trial| windowed_bound(trial, |of| of.high_us)),
        ("slowed", Text, |trial| trial.slowed().map(|slowed| slowed.reason.words()).into()),
        ("agents", Count, |trial| (trial.agents.len() as u64).into()),
        ("gates_failed", Count, |trial| {
            let failed = trial.gates.iter().filter(|gate| !gate.passed).count() as u64;
            (!trial.gates.is_empty()).then_some(failed).into()
        }),
        ("offered_sessions_per_s", Number, |trial| {
            trial.offers_sessions().then_some(trial.offered_rps).into()
        }),
        ("sessions_begun", Count, |trial| sessions(trial, |of| of.begun)),
        ("sessions_underway", Count, |trial| sessions(trial, |of| of.underway)),
        ("sessions_refused", Count, |trial| sessions(trial, |of| of.refused)),
        ("sessions_live_mean", Number, |trial| sessions(trial, |of| of.live_mean)),
        ("sessions_live_max", Count, |trial| sessions(trial, |of| of.live_max)),
        ("startup_us_p50", Number, |trial| startup(trial, 50.0)),
        ("startup_us_p95", Number, |trial| startup(trial, 95.0)),
        ("startup_us_p99", Number, |trial| startup(trial, 99.0)),
        ("stalls_per_hour", Number, |trial| trial.counters.get("stalls_per_hour").copied().into()),
        ("rebuffer_ratio", Number, |trial| trial.ratio("rebuffer").into()),
        ("misses", Number, |trial| trial.ratio("misses").into()),
        ("sessions_met", Number, |trial| trial.ratio("met").into()),
    ]
}

/// The start-up delay of sessions.
fn startup(trial: &Trial, percentile: f64) -> Cell {
    trial.distribution("startup").and_then(|of| of.percentile_us(percentile)).into()
}

fn sessions<T: Into<Cell>>(trial: &Trial, read: fn(&Sessions) -> T) -> Cell {
    trial.sessions.as_ref().map(read).into()
}

fn closed<T: Into<Cell>>(trial: &Trial, read: fn(&ClosedLoop) -> T) -> Cell {
    trial.closed_loop.as_ref().map(read).into()
}

fn corrected(trial: &Trial, read: fn(&LatencySummary) -> Option<f64>) -> Cell {
    trial.closed_loop.as_ref().and_then(|closed| closed.corrected.as_ref()).and_then(read).into()
}

fn late<T: Into<Cell>>(trial: &Trial, read: fn(&Lateness) -> T) -> Cell {
    trial.lateness.as_ref().map(read).into()
}

fn host<T: Into<Cell>>(trial: &Trial, read: fn(&Disturbance) -> T) -> Cell {
    trial.disturbance.as_ref().map(read).into()
}

/// A figure over undisturbed windows.
fn undisturbed(trial: &Trial, read: fn(&LatencySummary) -> Option<f64>) -> Cell {
    trial.disturbance.as_ref().and_then(|host| host.undisturbed.as_ref()).and_then(read).into()
}

/// A bound of a percentile of the response times; empty in results of earlier versions.
fn bound(trial: &Trial, percentile: f64, read: fn(Bounds) -> f64) -> Cell {
    trial.percentile_bounds(percentile).map(read).into()
}

/// A bound of the windowed p99.
fn windowed_bound(trial: &Trial, read: fn(Bounds) -> f64) -> Cell {
    trial.bounds.as_ref().and_then(|bounds| bounds.windowed_p99).map(read).into()
}

/// A choice by the word that results have for it.
fn word(choice: serde_json::Result<Value>) -> Cell {
    match choice {
        Ok(Value::String(word)) => word.into(),
        _ => Cell::Empty,
    }
}
