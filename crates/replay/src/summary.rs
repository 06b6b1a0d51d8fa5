use hdrhistogram::Histogram;
use serde::Serialize;

use crate::fit;
use crate::key_table::{KeySeen, KeyTable};
use crate::{Action, Error, Op, Record, Requests};

/// The figures of one trace.
///
/// Shape: plain figures; a quantile is at most 0.1 % too high.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each field is its name; units are in the names")]
pub struct Summary {
    pub source: String,
    pub format: String,
    pub requests: u64,
    pub operations: Vec<OpCount>,
    /// Whether the source has times; if not, times depend on the rate that is given.
    pub timed: bool,
    pub span_s: f64,
    pub mean_rps: f64,
    /// In twenty equal parts of the span.
    pub rate: Vec<RatePoint>,
    /// Requests that were written after a later one.
    pub reordered: u64,
    /// Lines that are messages or operations that are not replayed.
    pub skipped: u64,
    /// Requests that a set stands in for.
    pub stand_ins: u64,
    pub keys: KeyFigures,
    /// Absent if the source has none.
    pub key_bytes: Option<Quantiles>,
    /// Of all requests that tell it, or whose key had one before.
    pub value_bytes: Option<Quantiles>,
    /// Of requests that store with an expiry.
    pub ttl_s: Option<Quantiles>,
    /// The share of the requests that store which have an expiry, 0 to 1.
    pub with_ttl: Option<f64>,
}

/// How often an operation occurs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct OpCount {
    pub name: &'static str,
    pub requests: u64,
}

/// The rate of a part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct RatePoint {
    pub start_s: f64,
    pub rps: f64,
}

/// How keys are used. Figures of many keys are from a sample of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KeyFigures {
    /// One in how many keys they are from.
    pub sample_one_in: u64,
    /// Different keys.
    pub count: f64,
    /// Of keys and values together, each key once, as far as sizes are known.
    pub bytes: f64,
    /// The share of the keys with a single request, 0 to 1.
    pub one_hit_share: f64,
    /// The share of the requests whose key had one before, 0 to 1: no cache hits more.
    pub reused_share: f64,
    /// The share of the requests of the most popular key, 0 to 1.
    pub top_share: f64,
    /// The same of the most popular hundredth of the keys.
    pub top_hundredth_share: f64,
    /// The exponent of Zipf's law by maximum likelihood.
    pub zipf_alpha: Option<f64>,
    /// From a request to the next of the same key.
    pub reuse_s: Option<Quantiles>,
}

/// Figures of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct Quantiles {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// Parts of a trace that have a rate each.
const PARTS: u64 = 20;

/// Describes a trace. `progress` gets the number of requests so far, and returns whether to go on.
///
/// Cost: reads the trace once. Bounds: 80 MB of memory.
///
/// Errors: it was stopped.
pub fn describe(requests: &Requests, progress: &mut dyn FnMut(u64) -> bool) -> Result<Summary, Error> {
    describe_within(requests, KeyTable::MOST, progress)
}

fn describe_within(
    requests: &Requests,
    most_keys: usize,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Summary, Error> {
    const REPORTED: u64 = 1 << 16;
    let header = requests.header();
    let span_ns = header.last_ns.max(1);
    let (mut keys, mut reuse) = (KeyTable::new(most_keys), spectrum());
    let (mut key_bytes, mut value_bytes, mut ttl_s) = (spectrum(), spectrum(), spectrum());
    let (mut parts, mut stores) = ([0u64; PARTS as usize], 0u64);
    for index in 0..requests.len() {
        requests.walk(index);
        if index.is_multiple_of(REPORTED) && !progress(index) {
            return Err(Error::Stopped);
        }
        let record = requests.record(index);
        // Without overflow: 60 bits and 5 of the number of parts.
        let part = u128::from(record.at_ns) * u128::from(PARTS) / (u128::from(span_ns) + 1);
        parts[(part as usize).min(parts.len() - 1)] += 1;
        if record.key_size > 0 {
            key_bytes.saturating_record(record.key_size.into());
        }
        if let Some(size) = record.size {
            value_bytes.saturating_record(size.into());
        }
        if record.op.action() == Action::Set {
            stores += 1;
            if record.ttl_s > 0 {
                ttl_s.saturating_record(record.ttl_s.into());
            }
        }
        if let Some(seen) = keys.entry(record.key) {
            if seen.requests > 0 {
                reuse.saturating_record(record.at_ns.saturating_sub(seen.last_ns));
            }
            let bytes = u64::from(record.key_size) + u64::from(record.size.unwrap_or(0));
            *seen = KeySeen {
                requests: seen.requests + 1,
                last_ns: record.at_ns,
                bytes: if record.size.is_some() { bytes } else { seen.bytes.max(bytes) },
            };
        }
    }
    let span_s = header.last_ns as f64 / 1e9;
    let part_s = span_ns as f64 / 1e9 / PARTS as f64;
    let named = |op: Op| OpCount { name: op.name(), requests: header.count(op) };
    Ok(Summary {
        source: header.name.clone(),
        format: header.format.to_string(),
        requests: header.requests,
        operations: Op::ALL.into_iter().filter(|op| header.count(*op) > 0).map(named).collect(),
        timed: header.is_timed,
        span_s,
        mean_rps: header.requests.saturating_sub(1) as f64 / (span_ns as f64 / 1e9),
        rate: (0..PARTS)
            .zip(parts)
            .map(|(part, count)| RatePoint { start_s: part as f64 * part_s, rps: count as f64 / part_s })
            .collect(),
        reordered: header.reordered,
        skipped: header.skipped,
        stand_ins: header.stand_ins(),
        keys: key_figures(&keys, &reuse),
        key_bytes: quantiles(&key_bytes, 1.0),
        value_bytes: quantiles(&value_bytes, 1.0),
        with_ttl: (stores > 0).then(|| ttl_s.len() as f64 / stores as f64),
        ttl_s: quantiles(&ttl_s, 1.0),
    })
}

fn key_figures(keys: &KeyTable, reuse: &Histogram<u64>) -> KeyFigures {
    let mut counts: Vec<u64> = keys.values().map(|seen| seen.requests).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let known: u64 = counts.iter().sum();
    let of_requests = |count: u64| count as f64 / known.max(1) as f64;
    let ones = counts.iter().rev().take_while(|count| **count == 1).count();
    let hundredth = counts.len().div_ceil(100);
    KeyFigures {
        sample_one_in: keys.one_in(),
        count: counts.len() as f64 * keys.one_in() as f64,
        bytes: keys.values().map(|seen| seen.bytes as f64).sum::<f64>() * keys.one_in() as f64,
        one_hit_share: ones as f64 / counts.len().max(1) as f64,
        reused_share: of_requests(known - counts.len() as u64),
        // A sample may lack the key, or have it with a share that is too large.
        top_share: of_requests(counts.first().copied().unwrap_or(0)) / keys.one_in() as f64,
        top_hundredth_share: of_requests(counts.iter().take(hundredth).sum()),
        zipf_alpha: fit::zipf(&counts),
        reuse_s: quantiles(reuse, 1e-9),
    }
}

/// Counts of numbers of up to 60 bits.
fn spectrum() -> Histogram<u64> {
    Histogram::new_with_bounds(1, Record::LATEST, 3).expect("the bounds are constants that are valid")
}

/// The figures of numbers in another unit; `None` if there are none.
fn quantiles(of: &Histogram<u64>, unit: f64) -> Option<Quantiles> {
    let at = |share: f64| of.value_at_quantile(share) as f64 * unit;
    (!of.is_empty()).then(|| Quantiles {
        mean: of.mean() * unit,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: of.max() as f64 * unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::tests::compiled;
    use crate::{Format, Recipe, make};

    #[test]
    fn figures_have_three_digits() {
        let mut of = spectrum();
        assert_eq!(quantiles(&of, 1.0), None);
        of.saturating_record(0);
        of.saturating_record(Record::LATEST);
        of.saturating_record(u64::MAX);
        let found = quantiles(&of, 1e-9).unwrap();
        let latest = Record::LATEST as f64 * 1e-9;
        assert!(found.p50 == found.max && (found.max / latest - 1.0).abs() < 1e-3, "{found:?}");
        assert!((found.mean / latest * 1.5 - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn describes_a_small_trace() {
        let text = "0,a,10,0,1,get,0\n0.5,a,10,100,1,set,60\n1,b,20,0,1,get,0\n2,b,20,300,1,append,0\n3,c,30,0,1,delete,0\n\
                    4,a,10,100,1,get,0\n";
        let requests = compiled(text.as_bytes(), None).unwrap();
        let summary = describe(&requests, &mut |_| true).unwrap();
        let operations: Vec<_> = summary.operations.iter().map(|op| (op.name, op.requests)).collect();
        assert_eq!(operations, [("get", 3), ("set", 1), ("append", 1), ("delete", 1)]);
        assert_eq!((summary.stand_ins, summary.with_ttl), (1, Some(0.5)));
        let keys = &summary.keys;
        assert_eq!((keys.count, keys.bytes, keys.sample_one_in), (3.0, 110.0 + 320.0 + 30.0, 1));
        assert_eq!((keys.one_hit_share, keys.reused_share, keys.top_share), (1.0 / 3.0, 0.5, 0.5));
        assert_eq!(summary.key_bytes.unwrap().max, 30.0);
        let value_bytes = summary.value_bytes.unwrap();
        assert_eq!((value_bytes.p50, value_bytes.max), (100.0, 300.0));
        assert!((value_bytes.mean - 500.0 / 3.0).abs() < 1e-6, "{value_bytes:?}");
        assert!((summary.span_s - 4.5).abs() < 0.6, "{}", summary.span_s);
        let counted: f64 = summary.rate.iter().map(|point| point.rps * summary.span_s / 20.0).sum();
        assert!((counted - 6.0).abs() < 1e-6, "{counted}");
        assert!(matches!(describe(&requests, &mut |_| false), Err(Error::Stopped)));
    }

    #[test]
    fn a_sample_of_the_keys_tells_nearly_the_same() {
        let recipe = Recipe { format: Format::Twitter, requests: 60_000, keys: 20_000, ..Recipe::default() };
        let mut text = Vec::new();
        make(&recipe, &mut text).unwrap();
        let requests = compiled(&text, None).unwrap();
        let whole = describe(&requests, &mut |_| true).unwrap().keys;
        let part = describe_within(&requests, 3_000, &mut |_| true).unwrap().keys;
        assert!(part.sample_one_in >= 4 && whole.sample_one_in == 1);
        let close = |a: f64, b: f64, by: f64| assert!((a / b - 1.0).abs() < by, "{a} {b}");
        close(part.count, whole.count, 0.1);
        close(part.bytes, whole.bytes, 0.1);
        close(part.one_hit_share, whole.one_hit_share, 0.1);
        close(part.zipf_alpha.unwrap(), whole.zipf_alpha.unwrap(), 0.15);
        // The most popular keys have tens of per cent of all requests, and a sample has them or not.
        close(part.reused_share, whole.reused_share, 0.25);
    }
}
