use results::{Experiment, LatencySummary, Trial, Verdict};
use serde_json::Value;

use crate::table::{Cell, Reader, Table, Type};

type Row<'a> = (&'a Experiment, &'a Trial);

/// A row for each trial of `experiment`, invalid ones too.
pub fn trials(experiment: &Experiment) -> Table {
    Table::of(&columns(), experiment.trials.iter().map(|trial| (experiment, trial)))
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
fn columns<'a>() -> Vec<Reader<Row<'a>>> {
    vec![
        ("result", Type::Text, |(experiment, _)| experiment.name.as_str().into()),
        ("trial", Type::Text, |(_, trial)| trial.id.as_str().into()),
        ("target", Type::Text, |(_, trial)| trial.target.as_str().into()),
        ("purpose", Type::Text, |(_, trial)| word(serde_json::to_value(trial.purpose))),
        ("block", Type::Count, |(_, trial)| u64::from(trial.block).into()),
        ("started", Type::Text, |(_, trial)| trial.started.as_str().into()),
        ("verdict", Type::Text, |(_, trial)| trial.verdict.label().into()),
        ("usable", Type::Flag, |(_, trial)| trial.verdict.is_usable().into()),
        ("verdict_words", Type::Text, |(_, trial)| match trial.verdict {
            Verdict::Valid => Cell::Empty,
            _ => trial.verdict.to_string().into(),
        }),
        ("loop", Type::Text, |(_, trial)| loop_words(trial).into()),
        ("transport", Type::Text, |(_, trial)| trial.transport.map(|transport| transport.words()).into()),
        ("load_share", Type::Number, |(_, trial)| trial.load_share.into()),
        // Sessions are offered in a unit of their own, in the columns at the end.
        ("offered_rps", Type::Number, |(_, trial)| {
            (!trial.offers_sessions()).then_some(trial.offered_rps).into()
        }),
        ("achieved_rps", Type::Number, |(_, trial)| trial.achieved_rps.into()),
        ("window_s", Type::Number, |(_, trial)| trial.window_s.into()),
        ("arrival_count", Type::Count, |(_, trial)| trial.arrivals.intended.into()),
        ("completed_count", Type::Count, |(_, trial)| trial.arrivals.completed.into()),
        ("error_count", Type::Count, |(_, trial)| trial.arrivals.errors.into()),
        ("timeout_count", Type::Count, |(_, trial)| trial.arrivals.timeouts.into()),
        ("unfinished_count", Type::Count, |(_, trial)| trial.arrivals.unfinished.into()),
        ("response_time_us_mean", Type::Number, |(_, trial)| trial.all.response_time.mean_us.into()),
        ("response_time_us_p50", Type::Number, |(_, trial)| trial.all.response_time.p50_us.into()),
        ("response_time_us_p90", Type::Number, |(_, trial)| trial.all.response_time.p90_us.into()),
        ("response_time_us_p95", Type::Number, |(_, trial)| trial.all.response_time.p95_us.into()),
        ("response_time_us_p99", Type::Number, |(_, trial)| trial.all.response_time.p99_us.into()),
        ("response_time_us_p99_9", Type::Number, |(_, trial)| trial.all.response_time.p99_9_us.into()),
        ("response_time_us_p99_99", Type::Number, |(_, trial)| trial.all.response_time.p99_99_us.into()),
        ("response_time_us_max", Type::Number, |(_, trial)| trial.all.response_time.max_us.into()),
        ("windowed_p99_us", Type::Number, |(_, trial)| trial.windowed_p99_us.into()),
        ("service_time_us_mean", Type::Number, |(_, trial)| trial.all.service_time.mean_us.into()),
        ("service_time_us_p50", Type::Number, |(_, trial)| trial.all.service_time.p50_us.into()),
        ("service_time_us_p99", Type::Number, |(_, trial)| trial.all.service_time.p99_us.into()),
        ("connection_wait_us_p99", Type::Number, |(_, trial)| trial.all.connection_wait.p99_us.into()),
        ("generator_lag_us_p50", Type::Number, |(_, trial)| trial.all.generator_lag.p50_us.into()),
        ("generator_lag_us_p99", Type::Number, |(_, trial)| trial.all.generator_lag.p99_us.into()),
        ("generator_lag_us_max", Type::Number, |(_, trial)| trial.all.generator_lag.max_us.into()),
        // Pairs of a target in µs and a share: the targets are the user's, the columns are not.
        ("within_us_share", Type::Text, |(_, trial)| {
            let pairs: Vec<String> =
                trial.within.iter().map(|w| format!("{}:{}", w.target_us, w.share)).collect();
            (!pairs.is_empty()).then(|| pairs.join(" ")).into()
        }),
        ("hit_ratio", Type::Number, |(_, trial)| trial.counters.get("hit_ratio").copied().into()),
        ("sent_bytes", Type::Count, |(_, trial)| trial.traffic.map(|traffic| traffic.bytes_sent).into()),
        ("received_bytes", Type::Count, |(_, trial)| {
            trial.traffic.map(|traffic| traffic.bytes_received).into()
        }),
        ("clients", Type::Count, |(_, trial)| {
            trial.closed_loop.as_ref().map(|closed| u64::from(closed.clients)).into()
        }),
        ("correction_interval_us", Type::Number, |(_, trial)| {
            trial.closed_loop.as_ref().and_then(|closed| closed.expected_interval_us).into()
        }),
        ("corrected_us_p50", Type::Number, |(_, trial)| corrected(trial, |times| times.p50_us)),
        ("corrected_us_p99", Type::Number, |(_, trial)| corrected(trial, |times| times.p99_us)),
        ("corrected_us_p99_9", Type::Number, |(_, trial)| corrected(trial, |times| times.p99_9_us)),
        ("generator_threads", Type::Count, |(_, trial)| u64::from(trial.generator.threads).into()),
        ("connections", Type::Count, |(_, trial)| u64::from(trial.generator.connections).into()),
        ("generator_busy_share", Type::Number, |(_, trial)| trial.generator.busy_share.into()),
        ("late_count", Type::Count, |(_, trial)| trial.lateness.as_ref().map(|late| late.requests).into()),
        ("late_windows", Type::Count, |(_, trial)| trial.lateness.as_ref().map(|late| late.windows).into()),
        ("late_limit_us", Type::Number, |(_, trial)| {
            trial.lateness.as_ref().and_then(|late| late.limit_us).into()
        }),
        ("in_time_us_p50", Type::Number, |(_, trial)| in_time(trial, |times| times.p50_us)),
        ("in_time_us_p99", Type::Number, |(_, trial)| in_time(trial, |times| times.p99_us)),
        ("in_time_us_p99_9", Type::Number, |(_, trial)| in_time(trial, |times| times.p99_9_us)),
        ("disturbed_windows", Type::Count, |(_, trial)| trial.noise.disturbed_windows.into()),
        ("undisturbed_windows", Type::Count, |(_, trial)| {
            trial.disturbance.as_ref().map(|host| host.undisturbed_windows).into()
        }),
        ("rests_on", Type::Text, |(_, trial)| {
            trial.disturbance.as_ref().map_or(Cell::Empty, |host| word(serde_json::to_value(host.basis)))
        }),
        ("touched_share", Type::Number, |(_, trial)| {
            trial.disturbance.as_ref().map(|host| host.touched_share).into()
        }),
        ("server_taken_share", Type::Number, |(_, trial)| {
            trial.disturbance.as_ref().and_then(|host| host.server_taken_share).into()
        }),
        ("generator_taken_share", Type::Number, |(_, trial)| {
            trial.disturbance.as_ref().and_then(|host| host.generator_taken_share).into()
        }),
        ("at_least_us_p99", Type::Number, |(_, trial)| {
            trial.disturbance.as_ref().and_then(|host| host.p99_at_least_us).into()
        }),
        ("undisturbed_us_p50", Type::Number, |(_, trial)| undisturbed(trial, |times| times.p50_us)),
        ("undisturbed_us_p99", Type::Number, |(_, trial)| undisturbed(trial, |times| times.p99_us)),
        ("undisturbed_us_p99_9", Type::Number, |(_, trial)| undisturbed(trial, |times| times.p99_9_us)),
        ("agents", Type::Count, |(_, trial)| (trial.agents.len() as u64).into()),
        ("gates_failed", Type::Count, |(_, trial)| {
            let failed = trial.gates.iter().filter(|gate| !gate.passed).count() as u64;
            (!trial.gates.is_empty()).then_some(failed).into()
        }),
        ("offered_sessions_per_s", Type::Number, |(_, trial)| {
            trial.offers_sessions().then_some(trial.offered_rps).into()
        }),
        ("sessions_begun", Type::Count, |(_, trial)| trial.sessions.as_ref().map(|of| of.begun).into()),
        ("sessions_underway", Type::Count, |(_, trial)| trial.sessions.as_ref().map(|of| of.underway).into()),
        ("sessions_refused", Type::Count, |(_, trial)| trial.sessions.as_ref().map(|of| of.refused).into()),
        ("sessions_live_mean", Type::Number, |(_, trial)| {
            trial.sessions.as_ref().map(|of| of.live_mean).into()
        }),
        ("sessions_live_max", Type::Count, |(_, trial)| trial.sessions.as_ref().map(|of| of.live_max).into()),
        ("startup_us_p50", Type::Number, |(_, trial)| startup(trial, 50.0)),
        ("startup_us_p95", Type::Number, |(_, trial)| startup(trial, 95.0)),
        ("startup_us_p99", Type::Number, |(_, trial)| startup(trial, 99.0)),
        ("stalls_per_hour", Type::Number, |(_, trial)| trial.counters.get("stalls_per_hour").copied().into()),
        ("rebuffer_ratio", Type::Number, |(_, trial)| trial.ratio("rebuffer").into()),
        ("misses", Type::Number, |(_, trial)| trial.ratio("misses").into()),
        ("sessions_met", Type::Number, |(_, trial)| trial.ratio("met").into()),
    ]
}

/// The start-up delay of sessions.
fn startup(trial: &Trial, percentile: f64) -> Cell {
    trial.distribution("startup").and_then(|of| of.percentile_us(percentile)).into()
}

fn corrected(trial: &Trial, read: fn(&LatencySummary) -> Option<f64>) -> Cell {
    let times = trial.closed_loop.as_ref().and_then(|closed| closed.corrected.as_ref());
    times.and_then(read).into()
}

/// The response times without the generator's lag.
fn in_time(trial: &Trial, read: fn(&LatencySummary) -> Option<f64>) -> Cell {
    trial.lateness.as_ref().and_then(|late| read(&late.response_time)).into()
}

/// A figure over undisturbed windows.
fn undisturbed(trial: &Trial, read: fn(&LatencySummary) -> Option<f64>) -> Cell {
    trial.disturbance.as_ref().and_then(|host| host.undisturbed.as_ref()).and_then(read).into()
}

/// A choice by the word that results have for it.
fn word(choice: serde_json::Result<Value>) -> Cell {
    match choice {
        Ok(Value::String(word)) => word.into(),
        _ => Cell::Empty,
    }
}
