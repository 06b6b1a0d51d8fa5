//! Each format is parsed from real output of the generator, for the null server with a stall each second; except for
//! rpc-perf, wrk2, oha and vegeta.

use super::*;

/// Not recorded: put together from the format strings of rpc-perf 5.25 (`src/output/mod.rs`).
const RPC_PERF: &str = "\
Client Response: Success: 100.00 % Timeout: 0.00 % Hit: 100.00 %
Client Response Rate (/s): Ok: 1999.50 Error: 0.00 Timeout: 0.00
Client Response Latency (us): p25: 25 p50: 30 p75: 41 p90: 612 p99: 90177 p999: 99614 p9999: 100139 max: 100139
Client Key-Value SET Response Latency (us):
Client Key-Value GET Response Latency (us): p25: 25 p50: 30
";

/// Not recorded: put together from the format strings of wrk2 (`src/wrk.c`).
const WRK2: &str = "\
Running 3s test @ http://127.0.0.1:46193/page
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.46ms    1.93ms  12.34ms   67.66%
    Req/Sec     1.05k     1.12k    2.50k    64.84%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    6.67ms
 99.000%   11.18ms
 99.900%   12.30ms
100.000%   12.50ms
  6001 requests in 3.00s, 24.00MB read
Requests/sec:   2000.15
";

/// Not recorded: the parsed fields of oha's JSON (its `schema.json`).
const OHA: &str = r#"{"summary": {"successRate": 1.0, "slowest": 0.1004, "requestsPerSec": 1999.5},
    "latencyPercentiles": {"p50": 0.0003, "p99": 0.0921, "p99.9": 0.0996, "p99.99": null}}"#;

/// Not recorded: the parsed fields of vegeta's JSON (its README).
const VEGETA: &str = r#"{"latencies": {"50th": 310000, "99th": 92100000, "max": 100400000}, "requests": 19987, "rate": 2000.1,
    "throughput": 1998.7, "duration": 9950000000, "wait": 50000000}"#;

/// Checks the figures of an output.
fn check(parse: Reader, text: &str, expect: [Option<f64>; 5]) {
    let [rps, p50_us, p99_us, p99_9_us, max_us] = expect;
    let rps = rps.expect("each reports its rate");
    let got = parse(text).expect("the output is understood");
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

const MUTILATE: Reader = |text| audited(text, &["mutilate"]);
const MEMTIER: Reader = |text| audited(text, &["memtier_benchmark"]);
const WRK: Reader = |text| audited(text, &["wrk", "wrk2"]);
const AB: Reader = |text| audited(text, &["ab"]);
const HEY: Reader = |text| audited(text, &["hey"]);
const OHA_JSON: Reader = |text| audited_json(text, &["oha"]);
const VEGETA_JSON: Reader = |text| audited_json(text, &["vegeta"]);

const FIXTURES: [(Reader, &str); 7] = [
    (MUTILATE, include_str!("../../../testdata/peers/mutilate.txt")),
    (MUTILATE, include_str!("../../../testdata/peers/mcperf.txt")),
    (MEMTIER, include_str!("../../../testdata/peers/memtier.txt")),
    (memcaslap, include_str!("../../../testdata/peers/memcaslap.txt")),
    (twemperf, include_str!("../../../testdata/peers/twemperf.txt")),
    (memloader, include_str!("../../../testdata/peers/memloader.txt")),
    (rpc_perf, RPC_PERF),
];

#[test]
fn recorded_outputs_are_understood() {
    let expect = [
        [Some(1978.2), None, Some(27_410.1), None, None],
        [Some(1957.8), Some(1_868.5), Some(15_934.2), Some(105_366.3), None],
        [Some(1711.11), Some(375.0), Some(35_071.0), Some(91_135.0), Some(91_135.0)],
        // Of 166 952, 134 679 took up to 256 µs, 166 595 up to 8192 µs.
        [Some(36_612.0), Some(256.0), Some(8_192.0), Some(16_384.0), Some(111_897.0)],
        [Some(1731.5), Some(1_000.0), Some(93_000.0), Some(104_000.0), Some(108_100.0)],
        [Some(2024.0), None, Some(92_400.0), None, Some(100_879.997)],
        [Some(1999.5), Some(30.0), Some(90_177.0), Some(99_614.0), Some(100_139.0)],
    ];
    for ((parse, text), expect) in FIXTURES.into_iter().zip(expect) {
        check(parse, text, expect);
    }
}

#[test]
fn other_texts_are_not() {
    for (parse, own) in FIXTURES {
        assert_eq!(parse(""), None);
        assert_eq!(parse("Segmentation fault"), None);
        assert_eq!(parse(&"\u{1b}[2J:\n".repeat(100)), None);
        for (_, text) in FIXTURES.iter().filter(|(_, text)| *text != own) {
            // mutilate's descendant has the same format.
            assert!(parse(text).is_none() || text.starts_with("#type"), "{own} is read from {text}");
        }
    }
}

#[test]
fn numbers_that_are_none_are_not_reported() {
    let memloader_row = |p99: &str| {
        format!("1.0, 2000.0, 2000, 2000, 0, 2000, 0, 0.1, 0.2, 0.3, {p99}, 0.1, 0.0, 1.5, 200\n")
    };
    let p99 = |text: &str| memloader(&memloader_row(text)).unwrap().p99_us;
    assert_eq!(p99("0.4"), Some(400.0));
    assert_eq!(p99("-nan"), None);
    assert_eq!(p99("inf"), None);
    let cells = [(2.0, 1), (4.0, 98), (8.0, 1), (16.0, 0)];
    let at = |percentile| quantile(&cells, percentile);
    assert_eq!([at(1.0), at(50.0), at(99.0), at(99.1), at(100.0)], [2.0, 4.0, 4.0, 8.0, 8.0].map(Some));
    assert_eq!(quantile(&[], 50.0), None);
}

#[test]
fn outputs_of_web_generators_are_understood() {
    let recorded = [Some(2_191.0), Some(7_910.0), Some(101_300.0), None, Some(115_940.0)];
    check(WRK, include_str!("../../../testdata/peers/wrk.txt"), recorded);
    check(WRK, WRK2, [Some(2_000.15), Some(6_670.0), Some(11_180.0), Some(12_300.0), Some(12_340.0)]);
    let recorded = [Some(1_994.67), None, None, None, Some(108_410.0)];
    check(h2load, include_str!("../../../testdata/peers/h2load.txt"), recorded);
    let recorded = [Some(1597.5508), Some(7_500.0), Some(93_000.0), None, Some(107_300.0)];
    check(HEY, include_str!("../../../testdata/peers/hey.txt"), recorded);
    check(OHA_JSON, OHA, [Some(1_999.5), Some(300.0), Some(92_100.0), Some(99_600.0), Some(100_400.0)]);
    check(VEGETA_JSON, VEGETA, [Some(1_998.7), Some(310.0), Some(92_100.0), None, Some(100_400.0)]);
}

#[test]
fn other_texts_of_web_generators_give_nothing() {
    for parse in [WRK, AB, h2load, HEY, OHA_JSON, VEGETA_JSON] {
        for text in ["", "command not found", "{", "{}", "Requests/sec: x", "Requests per second: -1"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
