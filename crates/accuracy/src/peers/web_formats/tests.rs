//! Each format is parsed from real output of the generator, for the null server with a stall each second; except for
//! wrk2, oha and vegeta.

use super::*;

/// Not recorded: put together from the format strings of wrk2 (`src/wrk.c`).
const WRK2: &str = "\
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.46ms    1.93ms  12.34ms   67.66%
    Req/Sec     1.05k     1.12k    2.50k    64.84%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    6.67ms
 99.000%   11.18ms
 99.900%   12.30ms
100.000%   12.50ms
Requests/sec:   2000.15
";

/// Not recorded: the parsed fields of oha's JSON (its `schema.json`).
const OHA: &str = r#"{"summary": {"slowest": 0.1004, "requestsPerSec": 1999.5},
    "latencyPercentiles": {"p50": 0.0003, "p99": 0.0921, "p99.9": 0.0996, "p99.99": null}}"#;

/// Not recorded: the parsed fields of vegeta's JSON (its README).
const VEGETA: &str = r#"{"latencies": {"50th": 310000, "99th": 92100000, "max": 100400000}, "rate": 2000.1, "throughput": 1998.7}"#;

/// Checks the figures of an output.
fn check(parse: Reader, text: &str, expect: [Option<f64>; 5]) {
    let [rps, p50_us, p99_us, p99_9_us, max_us] = expect;
    let rps = rps.expect("each reports its rate");
    let got = parse(text).expect("an output is understood");
    let near = |got: Option<f64>, expect: Option<f64>| match (got, expect) {
        (None, None) => true,
        (Some(got), Some(expect)) => (got - expect).abs() < 1e-6 * expect.abs(),
        _ => false,
    };
    let pairs = [
        (Some(got.rps), Some(rps)),
        (got.p50_us, p50_us),
        (got.p99_us, p99_us),
        (got.p99_9_us, p99_9_us),
        (got.max_us, max_us),
    ];
    assert!(pairs.iter().all(|(got, expect)| near(*got, *expect)), "{got:?}, expected {expect:?}");
    // The parser accepts every truncated text.
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        let _ = parse(&text[..end]);
    }
}

type Reader = fn(&str) -> Option<Reported>;

#[test]
fn outputs_are_understood() {
    let recorded = [Some(2_191.0), Some(7_910.0), Some(101_300.0), None, Some(115_940.0)];
    check(wrk, include_str!("../../../testdata/peers/wrk.txt"), recorded);
    check(wrk, WRK2, [Some(2_000.15), Some(6_670.0), Some(11_180.0), Some(12_300.0), Some(12_340.0)]);
    let recorded = [Some(1_994.67), None, None, None, Some(108_410.0)];
    check(h2load, include_str!("../../../testdata/peers/h2load.txt"), recorded);
    let recorded = [Some(1597.5508), Some(7_500.0), Some(93_000.0), None, Some(107_300.0)];
    check(hey, include_str!("../../../testdata/peers/hey.txt"), recorded);
    check(oha, OHA, [Some(1_999.5), Some(300.0), Some(92_100.0), Some(99_600.0), Some(100_400.0)]);
    check(vegeta, VEGETA, [Some(1_998.7), Some(310.0), Some(92_100.0), None, Some(100_400.0)]);
}

#[test]
fn other_texts_give_nothing() {
    for parse in [wrk, ab, h2load, hey, oha, vegeta] {
        for text in ["", "command not found", "{", "{}", "Requests/sec: x", "Requests per second: -1"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
