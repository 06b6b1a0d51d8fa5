//! The findings about an output, and the sentence that they lead to.

use Weight::{Limits, Misleads, Remark};
use serde::Serialize;

use crate::{Failures, Hidden, Loop, Output, Service, hidden};

/// Samples that must lie beyond a percentile. Source: `hist::MIN_BEYOND`.
const MIN_BEYOND: f64 = 10.0;

/// Tolerance of Little's law, as a share of the connections: less than it is rounding and the ends of a run.
///
/// Source: a run of 5 s whose first and last 0.2 s have other loads is off by 8 %.
const LITTLE: f64 = 0.1;

/// Least share of the offered rate for a server that keeps up. Source: the verdict `overloaded` of this project.
const ACHIEVED: f64 = 0.99;

/// A last printed digit over this share of the figure is a limit of the resolution. Source: `Bounds` of `results`.
const STEP: f64 = 0.1;

/// A shorter run mostly shows its start. The threshold is this project's own.
const SHORT_S: f64 = 10.0;

/// A generator that is busy for more of its time is late itself. Source: the verdict `generator_saturated`.
const BUSY: f64 = 0.95;

/// The answer about an output, and its reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// The answer, as one sentence.
    pub verdict: String,
    /// The most severe first.
    pub findings: Vec<Finding>,
    /// Estimate of the hidden requests of a closed loop, at the highest percentile with enough samples.
    pub hidden: Option<Hidden>,
    /// The figures that were read.
    pub output: Output,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Name for programs: `closed_loop`.
    pub id: &'static str,
    /// How much it limits the figures.
    pub weight: Weight,
    /// The finding with its figures, as sentences.
    pub words: String,
    /// What to do, as a sentence.
    pub remedy: String,
}

/// How much a finding limits the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The percentiles do not describe the load's response times.
    Misleads,
    /// They hold with this limit.
    Limits,
    /// A remark.
    Remark,
}

impl Audit {
    pub(crate) fn of(output: Output) -> Audit {
        let checks = [
            no_answer,
            closed_loop,
            littles_law,
            rates,
            failures,
            few_samples,
            averaged,
            resolution,
            busy,
            warmup,
            unknown_loop,
            short,
        ];
        let mut findings: Vec<Finding> = checks.iter().filter_map(|check| check(&output)).collect();
        findings.sort_by_key(|finding| finding.weight);
        let verdict = verdict(&output, &findings);
        Audit { verdict, findings, hidden: estimate(&output), output }
    }

    /// Whether the run has any response.
    pub fn is_answered(&self) -> bool {
        !self.findings.iter().any(|finding| finding.id == "no_answer")
    }

    /// The command that measures the same, without the limits that were found.
    pub fn command(&self) -> String {
        command(&self.output)
    }
}

/// The hidden requests of a closed loop, at the highest printed percentile that has enough samples.
fn estimate(output: &Output) -> Option<Hidden> {
    if output.load == Loop::Open || output.adds_requests {
        return None;
    }
    let enough = |percentile: f64| beyond(output, percentile).is_none_or(|beyond| beyond >= MIN_BEYOND);
    let mut known = output.percentiles.iter().filter(|point| point.percentile < 100.0);
    let percentile = known.rfind(|point| enough(point.percentile))?.percentile;
    hidden(&output.percentiles, output.max_us, interval_us(output)?, percentile)
}

/// The mean time between two requests of a connection.
fn interval_us(output: &Output) -> Option<f64> {
    let rate = output.achieved_rps.filter(|rate| *rate > 0.0)?;
    match output.connections {
        Some(connections) => Some(connections / rate * 1e6),
        // A busy connection sends its next request after the mean response time.
        None => output.mean_us,
    }
}

fn beyond(output: &Output, percentile: f64) -> Option<f64> {
    Some(output.samples? as f64 * (100.0 - percentile) / 100.0)
}

fn finding(
    id: &'static str,
    weight: Weight,
    words: impl Into<String>,
    remedy: impl Into<String>,
) -> Option<Finding> {
    Some(Finding { id, weight, words: words.into(), remedy: remedy.into() })
}

fn no_answer(output: &Output) -> Option<Finding> {
    let none = output.samples == Some(0) || output.achieved_rps == Some(0.0);
    let failed = output.failed_samples();
    let all_failed = output.samples.is_some_and(|samples| samples > 0 && failed >= samples);
    if none {
        let remedy = "Check the address and the server, then measure again.";
        return finding("no_answer", Misleads, "No request was answered.", remedy);
    }
    if all_failed {
        let words = format!("All {failed} responses are failures: the times are those of an error page.");
        return finding("no_answer", Misleads, words, "Request something that the server has.");
    }
    None
}

fn closed_loop(output: &Output) -> Option<Finding> {
    if output.load != Loop::Closed {
        return None;
    }
    let of =
        output.connections.map_or(String::new(), |connections| format!(" of {connections:.0} connections"));
    let mut words = format!(
        "It is a closed loop{of}: each connection sends its next request after a response, so a slow server gets less \
         load, and the waits of the requests that were not sent are missing (coordinated omission)."
    );
    if let Some(found) = estimate(output) {
        let printed = output.percentiles.iter().find(|point| point.percentile == found.percentile)?.us;
        let (low, high) = found.us;
        let missing = match found.share {
            (low, most) if most < 5e-4 && high.is_finite() => {
                format!("hardly any ({})", range(low, most, percent))
            }
            (low, _) if !high.is_finite() => format!("at least {} as many as were sent", percent(low)),
            (low, most) => format!("{} as many as were sent", range(low, most, percent)),
        };
        let about = if high.is_finite() { range(low, high, time) } else { format!("at least {}", time(low)) };
        words += &format!(
            " Requests that were due while connections waited: {missing}. With them p{} is {about}, printed {}.",
            found.percentile,
            time(printed)
        );
        // Without the longest time, the share has no upper bound.
        let is_right = found.share.1 < 5e-4 && high.is_finite();
        let weight = if is_right { Limits } else { Misleads };
        return finding("closed_loop", weight, words, again(output));
    }
    if output.adds_requests {
        words += " wrk adds computed requests for the missing ones, and does not say how many.";
    }
    finding("closed_loop", Misleads, words, again(output))
}

/// Little's law: in a closed loop without idle connections, connections = rate × mean time.
fn littles_law(output: &Output) -> Option<Finding> {
    // It holds for each run, not for means over runs.
    if output.averaged_runs > 1 {
        return None;
    }
    let (rate, mean) = (output.achieved_rps?, output.mean_us?);
    let busy = rate * mean / 1e6;
    if output.connections.is_none() && output.load == Loop::Closed {
        let words = format!(
            "By Little's law, {rate:.0} rps × {} = {busy:.1} requests were under way on average; the output has no number \
             of connections to compare with.",
            time(mean)
        );
        return finding("littles_law", Remark, words, "Give it with --connections.");
    }
    let connections = output.connections.filter(|connections| *connections > 0.0)?;
    let product = format!("{rate:.0} rps × {} = {busy:.1}", time(mean));
    if busy > (1.0 + LITTLE) * connections {
        if output.from_intended {
            let words = format!(
                "{product} requests were due and not answered on average, on {connections:.0} connections: requests \
                 waited for a connection."
            );
            let remedy = "Offer less, or use more connections: the times depend on the length of the run.";
            return finding("littles_law", Misleads, words, remedy);
        }
        let cause = if output.adds_requests {
            let true_mean = connections / rate * 1e6;
            format!(
                "the latencies contain computed requests; the mean of the measured ones is {connections:.0} / \
                 {rate:.0} rps = {}",
                time(true_mean)
            )
        } else {
            "each connection carries several requests at once, or the rate and the mean are of different requests".into()
        };
        let words = format!(
            "By Little's law {product} requests were under way, on {connections:.0} connections: {cause}."
        );
        let weight = if output.adds_requests { Misleads } else { Limits };
        return finding("littles_law", weight, words, again(output));
    }
    if output.load == Loop::Closed && busy < (1.0 - LITTLE) * connections {
        let idle = percent(1.0 - busy / connections);
        let words = format!(
            "By Little's law {product} of {connections:.0} connections waited for a response: for {idle} of the time \
             connections were idle, since the generator was late or limited the rate."
        );
        let remedy = "Give the generator more processor time, and compare its own lag.";
        return finding("littles_law", Limits, words, remedy);
    }
    None
}

fn rates(output: &Output) -> Option<Finding> {
    if output.dropped > 0 {
        let words = format!(
            "{} arrivals were not sent because no virtual user or connection was free; the percentiles leave out their \
             waits.",
            output.dropped
        );
        return finding("dropped", Misleads, words, again(output));
    }
    let (offered, achieved) = (output.offered_rps.filter(|rate| *rate > 0.0)?, output.achieved_rps?);
    let share = achieved / offered;
    if share >= ACHIEVED {
        return None;
    }
    let words = format!(
        "{achieved:.0} rps of {offered:.0} rps were achieved ({}): the server or the generator did not keep up, so the \
         times grow with the length of the run.",
        percent(share)
    );
    let remedy = format!("Find the rate that it sustains: {}.", peak(output));
    finding("rate_missed", Misleads, words, remedy)
}

fn failures(output: &Output) -> Option<Finding> {
    let all = output.ended();
    if output.errors == 0 || all == 0 {
        return None;
    }
    let share = output.errors as f64 / all as f64;
    let late = if output.timeouts > 0 {
        format!(", {} of them without a response", output.timeouts)
    } else {
        String::new()
    };
    let kept = match output.failures {
        Failures::Included => "Their times are among the percentiles",
        Failures::ResponsesOnly => {
            "Error responses are among the percentiles, often as the fastest; requests without a response are not"
        }
    };
    let mut words = format!("{} of {all} requests failed ({}){late}. {kept}.", output.errors, percent(share));
    let hit = output.percentiles.iter().find(|point| share > (100.0 - point.percentile) / 100.0);
    let mut weight = Limits;
    if let Some(hit) = hit.filter(|hit| hit.percentile < 100.0) {
        words += &format!(" Counted as slower than any response, they make p{} a failure.", hit.percentile);
        weight = Misleads;
    }
    let gate =
        "A gate on the errors shows them: --gate 'p99<1ms,errors<0.1%'; failed requests count as slowest.";
    finding("failures", weight, words, gate)
}

fn few_samples(output: &Output) -> Option<Finding> {
    let few = |percentile: f64| beyond(output, percentile).filter(|beyond| *beyond < MIN_BEYOND - 1e-6);
    let poor: Vec<_> =
        output.percentiles.iter().filter(|p| p.percentile < 100.0 && few(p.percentile).is_some()).collect();
    let first = poor.first()?;
    let samples = output.samples? as f64;
    // 100 − 99.9 is a little less than 0.1.
    let needed = (MIN_BEYOND * 100.0 / (100.0 - first.percentile) - 1e-3).ceil();
    let names: Vec<String> = poor.iter().map(|point| format!("p{}", point.percentile)).collect();
    let words = format!(
        "{} rest on too few samples: of {samples:.0}, {:.1} lie beyond p{}, fewer than {MIN_BEYOND}; it takes \
         {needed:.0}.",
        names.join(", "),
        few(first.percentile)?,
        first.percentile
    );
    let rate = output.achieved_rps.filter(|rate| *rate > 0.0);
    let remedy = match rate {
        Some(rate) => format!("Measure for {:.0} s at this rate.", (needed / rate).ceil()),
        None => "Measure for longer.".into(),
    };
    finding("few_samples", Misleads, words, remedy)
}

fn averaged(output: &Output) -> Option<Finding> {
    if output.averaged_runs < 2 {
        return None;
    }
    let words = format!(
        "The percentiles are means over {} runs. A mean of percentiles is the percentile of nothing; one slow run is \
         hidden in it.",
        output.averaged_runs
    );
    let remedy = "Keep each run apart: --repeats 6 gives an interval of the median.";
    finding("mean_of_percentiles", Misleads, words, remedy)
}

fn resolution(output: &Output) -> Option<Finding> {
    let mut tails = output.percentiles.iter().filter(|point| point.percentile >= 50.0);
    let coarse = tails.find(|point| point.step_us > 0.0 && point.step_us > STEP * point.us);
    if let Some(coarse) = coarse {
        let words = format!(
            "p{} is printed as {}, in steps of {}: it may be off by half a step.",
            coarse.percentile,
            time(coarse.us),
            time(coarse.step_us)
        );
        let remedy = "Histograms of Taillight keep three significant digits.";
        return finding("resolution", Limits, words, remedy);
    }
    if output.is_sketch && !output.percentiles.is_empty() {
        let words = "The percentiles are estimates of a sketch (t-digest), whose error is not printed.";
        return finding("resolution", Remark, words, "Histograms of Taillight are exact to three digits.");
    }
    None
}

fn busy(output: &Output) -> Option<Finding> {
    let busy = output.busy_processors?;
    let threads = output.threads.unwrap_or(1.0).max(1.0);
    if busy < BUSY * threads {
        return None;
    }
    let words = format!(
        "The generator used {busy:.2} processors with {threads:.0} threads: it had no time left, and measured itself."
    );
    let remedy = "Use more threads or machines; Taillight marks such a trial invalid.";
    finding("generator_busy", Misleads, words, remedy)
}

fn warmup(output: &Output) -> Option<Finding> {
    if output.leaves_out_warmup {
        return None;
    }
    let share = output.duration_s.filter(|s| *s > 0.0).map(|s| percent((1.0 / s).min(1.0)));
    let first =
        share.map_or(String::new(), |share| format!(" The first second alone is {share} of the run."));
    let words =
        format!("The figures contain the start of the run: connecting, cold caches, a cold server.{first}");
    let remedy = "taillight load leaves out --warmup, 2 s by default, and says if the window was not steady.";
    finding("warmup", Limits, words, remedy)
}

fn unknown_loop(output: &Output) -> Option<Finding> {
    if output.load != Loop::Unknown {
        return None;
    }
    let words = "The output does not say whether requests waited for responses. If they did, waits are missing from the \
                 percentiles.";
    finding("unknown_loop", Limits, words, "Say it with --open or --closed.")
}

fn short(output: &Output) -> Option<Finding> {
    let seconds = output.duration_s.filter(|_| output.averaged_runs < 2)?;
    let words = if seconds < SHORT_S {
        format!(
            "It is one run of {seconds:.1} s: neither drift nor rare stalls show in it, and no difference can be judged."
        )
    } else {
        "It is one run: no difference to another run can be judged.".to_owned()
    };
    finding("one_run", Remark, words, "--repeats 6 or more give an interval.")
}

fn verdict(output: &Output, findings: &[Finding]) -> String {
    let answer = findings.iter().find(|finding| finding.id == "no_answer");
    let tail = output
        .tail()
        .map_or("the times".to_owned(), |tail| format!("the p{} of {}", tail.percentile, time(tail.us)));
    let reasons: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.weight == Misleads)
        .filter_map(|finding| match finding.id {
            "closed_loop" => Some("requests waited for responses, so waits are missing"),
            "littles_law" if output.adds_requests => Some("it contains computed requests"),
            "littles_law" => Some("requests waited for connections"),
            "dropped" => Some("arrivals were dropped"),
            "rate_missed" => Some("the offered rate was not achieved"),
            "failures" => Some("requests failed"),
            "few_samples" => Some("it rests on too few samples"),
            "mean_of_percentiles" => Some("it is a mean of percentiles"),
            "generator_busy" => Some("the generator was busy"),
            _ => None,
        })
        .collect();
    let tool = output.tool;
    match (answer, reasons.as_slice()) {
        (Some(_), _) => format!("{tool}: no figure here is about the server's work."),
        (None, []) if findings.iter().any(|finding| finding.id == "unknown_loop") => {
            format!("{tool}: {tail} holds only if requests were sent at times of their own.")
        }
        (None, []) => format!("{tool}: {tail} is about this run's load, within the limits below."),
        (None, reasons) => format!("{tool}: {tail} is not what users would wait: {}.", reasons.join("; ")),
    }
}

fn again(output: &Output) -> String {
    format!("Measure with requests that are sent when they are due: {}.", command(output))
}

fn command(output: &Output) -> String {
    let target = target(output);
    let rate = output
        .offered_rps
        .or(output.achieved_rps)
        .map_or("RATE".to_owned(), |rate| format!("{:.0}", rate.ceil()));
    let connections = output.connections.map_or(String::new(), |n| format!(" --connections {n:.0}"));
    format!("taillight load {} --target {target} --rate {rate}{connections} --repeats 6", workload(output))
}

fn peak(output: &Output) -> String {
    format!("taillight peak {} --target {} --qos 'p99<1ms'", workload(output), target(output))
}

fn workload(output: &Output) -> &'static str {
    match output.service {
        Service::Web => "web",
        Service::Cache => "cache",
    }
}

fn target(output: &Output) -> String {
    let placeholder = match output.service {
        Service::Web => "URL",
        Service::Cache => "HOST:PORT",
    };
    let plain = |server: &&String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?=%[]".contains(c);
        !server.is_empty() && server.len() <= 200 && server.chars().all(is_plain)
    };
    output.server.as_ref().filter(plain).map_or_else(
        || placeholder.to_owned(),
        |server| if server.contains('?') { format!("'{server}'") } else { server.clone() },
    )
}

fn range(low: f64, high: f64, words: fn(f64) -> String) -> String {
    let (low, high) = (words(low), words(high));
    if low == high { low } else { format!("{low} to {high}") }
}

fn percent(share: f64) -> String {
    significant(100.0 * share) + " %"
}

/// A time with three digits and its unit.
fn time(us: f64) -> String {
    let units = [(1e6, "s"), (1e3, "ms"), (1.0, "µs")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| us >= *factor).unwrap_or((1.0, "µs"));
    format!("{} {unit}", significant(us / factor))
}

/// Three significant digits, without an exponent.
fn significant(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_responses_beside_more_failures_are_answers() {
        let check = |failures: Failures, errors: u64, timeouts: u64, expect: bool| {
            let output = Output { samples: Some(40), errors, timeouts, failures, ..Output::default() };
            assert_eq!(Audit::of(output).is_answered(), expect, "{failures:?} {errors} {timeouts}");
        };
        // 60 connections were refused, and 40 requests answered well.
        check(Failures::ResponsesOnly, 60, 60, true);
        // All responses are error pages.
        check(Failures::ResponsesOnly, 100, 60, false);
        check(Failures::ResponsesOnly, 40, 0, false);
        check(Failures::Included, 40, 0, false);
        check(Failures::Included, 39, 0, true);
    }
}
