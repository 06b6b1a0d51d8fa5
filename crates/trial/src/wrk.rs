//! What wrk2 prints, from a recording. Source of the form: wrk2's `wrk.c` and HdrHistogram's classic output.

mod units;

use std::fmt::Write;

use ::units::Nanos;
use hist::Latency;
use openloop::{Errors, Recording};
use workloads::web::{CUT_OFF, is_status};

use self::units::{binary, cell, metric, time};

/// The percentiles of the short distribution. Source: wrk2.
const PERCENTILES: [f64; 8] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
/// Lines of the detailed distribution for each halving of the remaining tail. Source: wrk2.
const STEPS: u32 = 5;

/// The lines that come before the run. Units: `seconds` s.
pub fn head(url: &str, threads: u32, connections: u32, seconds: f64) -> String {
    let length = short(seconds);
    format!("Running {length} test @ {url}\n  {threads} threads and {connections} connections\n")
}

/// A length of time as wrk takes it: whole seconds, minutes or hours.
fn short(seconds: f64) -> String {
    match seconds {
        s if s >= 3_600.0 && s % 3_600.0 == 0.0 => format!("{}h", s / 3_600.0),
        s if s >= 60.0 && s % 60.0 == 0.0 => format!("{}m", s / 60.0),
        s => format!("{s}s"),
    }
}

/// The lines that come after it: of `threads`, with the distributions of response times and of service times if asked for.
pub fn text(recording: &Recording, threads: u32, latency: bool, uncorrected: bool) -> String {
    let all = recording.all();
    let mut out = String::from("  Thread Stats   Avg      Stdev     Max   +/- Stdev\n");
    let response = &all.response_time;
    let us = |t: Option<Nanos>| t.unwrap_or_default().as_micros_f64();
    let (mean, deviation) = (response.mean().unwrap_or_default(), response.deviation().unwrap_or_default());
    let within = response.count_within(mean + deviation) - response.count_within(mean - deviation);
    let of_all = |count: u64, all: u64| if all > 0 { 100.0 * count as f64 / all as f64 } else { 0.0 };
    stats(
        &mut out,
        "Latency",
        [us(Some(mean)), us(Some(deviation)), us(response.max())],
        time,
        of_all(within, response.count()),
    );
    let rates = rates(recording, threads);
    let (mean, deviation) = mean_and_deviation(&rates);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let within = rates.iter().filter(|rate| (**rate - mean).abs() <= deviation).count() as u64;
    stats(&mut out, "Req/Sec", [mean, deviation, most], metric, of_all(within, rates.len() as u64));
    if latency {
        distribution(&mut out, "Recorded Latency", response);
    }
    if uncorrected {
        let title = "Uncorrected Latency (measured without taking delayed starts into account)";
        distribution(&mut out, title, &all.service_time);
    }
    totals(&mut out, recording);
    out
}

/// One row of the threads' table.
fn stats(
    out: &mut String,
    name: &str,
    [mean, deviation, max]: [f64; 3],
    unit: fn(f64) -> String,
    within: f64,
) {
    let (mean, deviation, max) = (cell(&unit(mean), 8), cell(&unit(deviation), 10), cell(&unit(max), 9));
    let _ = writeln!(out, "    {name:<10}{mean}{deviation}{max}{within:>8.2}%");
}

/// The answers in each window, per second and thread: an equal share of the total, although wrk counts each thread separately. The last
/// window may be truncated, so it is left out unless it is the only one.
fn rates(recording: &Recording, threads: u32) -> Vec<f64> {
    let length = recording.interval.as_secs_f64();
    let whole = (recording.window.as_secs_f64() / length).floor().max(1.0) as usize;
    let rate = |answered: u64| answered as f64 / length / f64::from(threads.max(1));
    recording.intervals.iter().take(whole).map(|interval| rate(interval.answered)).collect()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    // As wrk does it: of a sample.
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

fn distribution(out: &mut String, title: &str, latency: &Latency) {
    let _ = writeln!(out, "  Latency Distribution (HdrHistogram - {title})");
    for percentile in PERCENTILES {
        let value = latency.value_at(percentile).unwrap_or_default().as_micros_f64();
        let _ = writeln!(out, "{percentile:>7.3}%{}", cell(&time(value), 10));
    }
    let ms = |t: Nanos| t.as_micros_f64() / 1e3;
    out.push_str("\n  Detailed Percentile spectrum:\n");
    out.push_str("       Value   Percentile   TotalCount 1/(1-Percentile)\n\n");
    for (percentile, value, count) in latency.spectrum(STEPS) {
        let quantile = percentile / 100.0;
        let _ = write!(out, "{:>12.3} {quantile:>12.6} {count:>10} ", ms(value));
        // The longest time lies at quantile 1, where 1/(1-Percentile) is infinite.
        let _ = if quantile < 1.0 {
            writeln!(out, "{:>14.2}", 1.0 / (1.0 - quantile))
        } else {
            writeln!(out, "{:>14}", "inf")
        };
    }
    let [mean, deviation, max] =
        [latency.mean(), latency.deviation(), latency.max()].map(|t| ms(t.unwrap_or_default()));
    let _ = writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]");
    let _ = writeln!(out, "#[Max     = {max:>12.3}, Total count    = {:>12}]", latency.count());
    out.push_str("----------------------------------------------------------\n");
}

/// The failures as wrk sorts them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Failures {
    connect: u64,
    read: u64,
    timeout: u64,
    status: u64,
    /// Answers that lead elsewhere, which wrk counts as a success.
    redirects: u64,
    /// Answers with an unexpected content.
    wrong: u64,
}

impl Failures {
    /// `timeouts`: the requests that had no answer in time, without those that fell with them.
    fn of(errors: &Errors, timeouts: u64) -> Failures {
        let mut found = Failures { timeout: timeouts, ..Failures::default() };
        for error in errors.iter() {
            *match error.kind.as_str() {
                Errors::NO_ANSWER => continue,
                Errors::CANNOT_CONNECT | Errors::NO_CONNECTION => &mut found.connect,
                Errors::LOST | Errors::CLOSED | CUT_OFF => &mut found.read,
                kind if is_status(kind) && is_redirect(kind) => &mut found.redirects,
                kind if is_status(kind) => &mut found.status,
                _ => &mut found.wrong,
            } += error.count;
        }
        found
    }
}

fn is_redirect(kind: &str) -> bool {
    kind.rsplit(' ').next().is_some_and(|status| status.len() == 3 && status.starts_with('3'))
}

/// The answers that came within the window, as the bytes that are counted did; the rate does not count the drain.
/// `refused`: the answers of the whole run that are not a success.
fn requests(recording: &Recording, refused: u64) -> u64 {
    let failed: u64 = recording.intervals.iter().map(|interval| interval.failed).sum();
    recording.answered_in_window + refused.min(failed)
}

fn totals(out: &mut String, recording: &Recording) {
    let failures = Failures::of(&recording.errors, recording.tally.timeouts);
    let requests = requests(recording, failures.status + failures.redirects);
    let read: u64 = recording.endpoints.iter().map(|endpoint| endpoint.bytes_received).sum();
    let seconds = recording.window.as_secs_f64();
    let _ = writeln!(out, "  {requests} requests in {}, {}B read", time(1e6 * seconds), binary(read as f64));
    let Failures { connect, read: lost, timeout, status, redirects: _, wrong } = failures;
    if connect + lost + timeout > 0 {
        let _ = writeln!(out, "  Socket errors: connect {connect}, read {lost}, write 0, timeout {timeout}");
    }
    if status > 0 {
        let _ = writeln!(out, "  Non-2xx or 3xx responses: {status}");
    }
    if wrong > 0 {
        let _ = writeln!(out, "  Answers that are not HTTP, or not what was asked for: {wrong}");
    }
    let _ = writeln!(out, "Requests/sec: {:>9.2}", requests as f64 / seconds);
    let _ = writeln!(out, "Transfer/sec: {:>10}B", binary(read as f64 / seconds));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_reads_as_wrk2_prints_it() {
        let mut latency = Latency::new();
        (1..=1_000).for_each(|i| latency.record(Nanos::from_micros(10 * i)));
        let mut out = String::new();
        distribution(&mut out, "Recorded Latency", &latency);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[0], "  Latency Distribution (HdrHistogram - Recorded Latency)");
        assert_eq!(lines[1], " 50.000%    5.00ms");
        assert_eq!(lines[8], "100.000%   10.00ms");
        assert_eq!(lines[10], "  Detailed Percentile spectrum:");
        assert_eq!(lines[11], "       Value   Percentile   TotalCount 1/(1-Percentile)");
        let last = lines.iter().rfind(|line| line.ends_with("inf")).unwrap();
        assert!(last.contains("     1.000000       1000            inf"), "{last}");
        assert!(lines[lines.len() - 2].ends_with("Total count    =         1000]"), "{out}");
    }

    #[test]
    fn the_rows_stand_below_their_titles() {
        let mut out = String::new();
        stats(&mut out, "Latency", [6_460.0, 1_930.0, 12_340.0], time, 67.66);
        stats(&mut out, "Req/Sec", [1_050.0, 1_120.0, 2_500.0], metric, 64.84);
        assert_eq!(
            out,
            "    Latency     6.46ms    1.93ms  12.34ms   67.66%\n    Req/Sec     1.05k     1.12k    2.50k    64.84%\n"
        );
    }

    #[test]
    fn failures_are_sorted_as_wrk_sorts_them() {
        let check = |kind: &str, expect: Failures| {
            let errors = serde_json::json!([{ "kind": kind, "count": 3, "first": "" }]);
            assert_eq!(Failures::of(&serde_json::from_value(errors).unwrap(), 0), expect, "{kind}");
        };
        check(Errors::CANNOT_CONNECT, Failures { connect: 3, ..Failures::default() });
        check(Errors::NO_CONNECTION, Failures { connect: 3, ..Failures::default() });
        check(Errors::LOST, Failures { read: 3, ..Failures::default() });
        check(Errors::CLOSED, Failures { read: 3, ..Failures::default() });
        check(CUT_OFF, Failures { read: 3, ..Failures::default() });
        check("status 404", Failures { status: 3, ..Failures::default() });
        check("other status 4xx", Failures { status: 3, ..Failures::default() });
        check("status 301", Failures { redirects: 3, ..Failures::default() });
        check("other status 3xx", Failures { redirects: 3, ..Failures::default() });
        check("unasked range", Failures { wrong: 3, ..Failures::default() });
        // Of these the tally knows which were late themselves.
        check(Errors::NO_ANSWER, Failures::default());
        assert_eq!(Failures::of(&Errors::default(), 5), Failures { timeout: 5, ..Failures::default() });
    }

    #[test]
    fn a_test_is_as_long_as_it_was_asked_for() {
        let check = |seconds: f64, expect: &str| assert_eq!(short(seconds), expect);
        check(30.0, "30s");
        check(120.0, "2m");
        check(90.0, "90s");
        check(3_600.0, "1h");
        check(0.5, "0.5s");
    }

    #[test]
    fn rates_vary_about_their_mean() {
        assert_eq!(mean_and_deviation(&[1.0, 3.0]), (2.0, 2f64.sqrt()));
        assert_eq!(mean_and_deviation(&[]), (0.0, 0.0));
    }
}
