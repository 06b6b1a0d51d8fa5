//! Parsers for the figures in each generator's output. Other output gives `None`.

use crate::peers::Reported;

/// The first number after the last occurrence of `label`.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.rsplit_once(label)?;
    finite(rest.split_whitespace().next()?)
}

fn finite(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

/// The figures of an output that [`audit::read`] takes for one of these programs.
pub(crate) fn audited(text: &str, programs: &[&str]) -> Option<Reported> {
    let output = audit::read(text.as_bytes()).ok().filter(|output| programs.contains(&output.tool))?;
    let at = |percentile: f64| {
        output.percentiles.iter().find(|printed| printed.percentile == percentile).map(|printed| printed.us)
    };
    Some(Reported {
        rps: output.achieved_rps?,
        p50_us: at(50.0),
        p99_us: at(99.0),
        p99_9_us: at(99.9),
        max_us: output.max_us.or(at(100.0)),
    })
}

/// The same of a JSON object, after any prefix.
pub(crate) fn audited_json(text: &str, programs: &[&str]) -> Option<Reported> {
    audited(&text[text.find('{')?..], programs)
}

/// memcaslap: a histogram with a cell for each power of 2 µs, so a percentile is only known to a factor of 2; the
/// result is the upper end of the cell, or the largest time if that is less.
pub(crate) fn memcaslap(text: &str) -> Option<Reported> {
    let (_, total) = text.rsplit_once("Total Statistics (")?;
    let max = number_after(total, "Max:")?;
    let (_, cells) = total.split_once("Log2 Dist:")?;
    let mut counts: Vec<(f64, u64)> = Vec::new();
    for line in cells.lines().skip(1).map_while(|line| line.split_once(':')) {
        let first: i32 = line.0.trim().parse().ok().filter(|first| (0..64).contains(first))?;
        for (i, count) in (first..).zip(line.1.split_whitespace()) {
            counts.push((2f64.powi(i).min(max), count.parse().ok()?));
        }
    }
    let at = |percentile| quantile(&counts, percentile);
    let rps = number_after(total, "TPS:")?;
    Some(Reported { rps, p50_us: at(50.0), p99_us: at(99.0), p99_9_us: at(99.9), max_us: Some(max) })
}

/// twemperf: a line with the largest time, and lines with the percentiles, in whole ms.
pub(crate) fn twemperf(text: &str) -> Option<Reported> {
    let (_, line) = text.split_once("Response time [ms]: avg")?;
    let us = |label: &str| number_after(text, label).map(|ms| 1e3 * ms);
    Some(Reported {
        rps: number_after(text, "Response rate:")?,
        p50_us: us(" p50 "),
        p99_us: us(" p99 "),
        p99_9_us: us(" p999 "),
        max_us: number_after(line.lines().next()?, " max ").map(|ms| 1e3 * ms),
    })
}

/// The upper end of the cell that contains a percentile.
fn quantile(cells: &[(f64, u64)], percentile: f64) -> Option<f64> {
    let all: u64 = cells.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))?;
    let rank = (percentile / 100.0 * all as f64).ceil() as u64;
    let mut below = 0;
    cells
        .iter()
        .find(|(_, count)| {
            below += count;
            below >= rank && *count > 0
        })
        .map(|(end, _)| *end)
}

/// memloader: a row for each interval, in ms; the last one with requests.
pub(crate) fn memloader(text: &str) -> Option<Reported> {
    let numbers = |line: &str| line.split(',').map(|cell| finite(cell.trim())).collect::<Vec<_>>();
    // Seconds, rate, requests, gets, sets, hits, misses, mean, 90th, 95th, 99th, deviation, least, most, size.
    let mut rows = text.lines().rev().map(numbers).filter(|row| row.len() == 15);
    let last = rows.find(|row| row[2].is_some_and(|requests| requests > 0.0))?;
    let us = |column: usize| last[column].map(|ms| 1e3 * ms);
    Some(Reported { rps: last[1]?, p50_us: None, p99_us: us(10), p99_9_us: None, max_us: us(13) })
}

/// rpc-perf: a line of percentiles in µs, for each interval; the last.
pub(crate) fn rpc_perf(text: &str) -> Option<Reported> {
    let (_, rest) = text.rsplit_once("Client Response Latency (us):")?;
    let line = rest.lines().next()?;
    let at = |name: &str| {
        let mut words = line.split_whitespace();
        words.find(|word| *word == name)?;
        finite(words.next()?)
    };
    Some(Reported {
        rps: number_after(text, "Client Response Rate (/s): Ok:")?,
        p50_us: at("p50:"),
        p99_us: at("p99:"),
        p99_9_us: at("p999:"),
        max_us: at("max:"),
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

/// A number with its unit of time, in the format of h2load. Units: µs.
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

#[cfg(test)]
mod tests;
