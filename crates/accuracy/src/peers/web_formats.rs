//! Parsers for the figures in each HTTP generator's output. Other output gives `None`.

use serde_json::Value;

use crate::peers::Reported;

/// The words of the first line that begins with `first`.
fn row<'a>(text: &'a str, first: &str) -> Option<Vec<&'a str>> {
    let words = |line: &'a str| line.split_whitespace().collect::<Vec<_>>();
    text.lines().map(words).find(|words| words.first() == Some(&first))
}

fn finite(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

/// A number with its unit of time, in the format of wrk and h2load. Units: µs.
fn time(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &word[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3_600e6,
        _ => return None,
    };
    Some(factor * finite(digits)?)
}

/// The word after a percentile at the start of a line, written `50%`, `50.000%` or `50%%`.
fn behind_percentile<'a>(text: &'a str, percentile: f64, place: usize) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let words: Vec<&'a str> = line.split_whitespace().collect();
        let number = words.first()?.strip_suffix('%')?;
        (finite(number.trim_end_matches('%'))? == percentile).then(|| words.get(place).copied())?
    })
}

/// wrk and wrk2: a row of the threads' latency with the largest, a short distribution, and the rate.
pub(crate) fn wrk(text: &str) -> Option<Reported> {
    let at = |percentile| time(behind_percentile(text, percentile, 1)?);
    Some(Reported {
        rps: finite(row(text, "Requests/sec:")?.get(1)?)?,
        p50_us: at(50.0),
        p99_us: at(99.0),
        p99_9_us: at(99.9),
        max_us: row(text, "Latency").and_then(|words| time(words.get(3)?)),
    })
}

/// ab: percentiles in whole ms; the 100th is the largest.
pub(crate) fn ab(text: &str) -> Option<Reported> {
    let at = |percentile| Some(1e3 * finite(behind_percentile(text, percentile, 1)?)?);
    let (_, rate) = text.split_once("Requests per second:")?;
    Some(Reported {
        rps: finite(rate.split_whitespace().next()?)?,
        p50_us: at(50.0),
        p99_us: at(99.0),
        p99_9_us: None,
        max_us: at(100.0),
    })
}

/// h2load: least, most, mean and deviation, and no percentile.
pub(crate) fn h2load(text: &str) -> Option<Reported> {
    let (_, finished) = text.split_once("finished in ")?;
    let (_, times) = text.split_once("time for request:")?;
    Some(Reported {
        rps: finite(finished.split_whitespace().nth(1)?)?,
        max_us: times.split_whitespace().nth(1).and_then(time),
        ..Reported::default()
    })
}

/// hey: a distribution and the slowest, in seconds of four places.
pub(crate) fn hey(text: &str) -> Option<Reported> {
    let at = |percentile| Some(1e6 * finite(behind_percentile(text, percentile, 2)?)?);
    let slowest = row(text, "Slowest:");
    Some(Reported {
        rps: finite(row(text, "Requests/sec:")?.get(1)?)?,
        p50_us: at(50.0),
        p99_us: at(99.0),
        p99_9_us: None,
        max_us: slowest.and_then(|words| Some(1e6 * finite(words.get(1)?)?)),
    })
}

/// The JSON value in a text, after any prefix.
fn json(text: &str) -> Option<Value> {
    serde_json::from_str(&text[text.find('{')?..]).ok()
}

/// oha: JSON, times in seconds.
pub(crate) fn oha(text: &str) -> Option<Reported> {
    let json = json(text)?;
    let us = |value: &Value| value.as_f64().map(|seconds| 1e6 * seconds);
    let percentiles = &json["latencyPercentiles"];
    Some(Reported {
        rps: json["summary"]["requestsPerSec"].as_f64()?,
        p50_us: us(&percentiles["p50"]),
        p99_us: us(&percentiles["p99"]),
        p99_9_us: us(&percentiles["p99.9"]),
        max_us: us(&json["summary"]["slowest"]),
    })
}

/// vegeta: JSON, times in ns.
pub(crate) fn vegeta(text: &str) -> Option<Reported> {
    let json = json(text)?;
    let us = |name: &str| json["latencies"][name].as_f64().map(|ns| ns / 1e3);
    Some(Reported {
        rps: json["throughput"].as_f64()?,
        p50_us: us("50th"),
        p99_us: us("99th"),
        p99_9_us: None,
        max_us: us("max"),
    })
}

#[cfg(test)]
mod tests;
