//! Each format is parsed from real output of the generator, for the null server with a stall each second; except
//! for rpc-perf.

use super::*;

/// Not recorded: put together from the format strings of rpc-perf 5.25 (`src/output/mod.rs`).
const RPC_PERF: &str = "\
Client Response: Success: 100.00 % Timeout: 0.00 % Hit: 100.00 %
Client Response Rate (/s): Ok: 1999.50 Error: 0.00 Timeout: 0.00
Client Response Latency (us): p25: 25 p50: 30 p75: 41 p90: 612 p99: 90177 p999: 99614 p9999: 100139 max: 100139
Client Key-Value SET Response Latency (us):
Client Key-Value GET Response Latency (us): p25: 25 p50: 30
";

/// Checks the figures of a recorded output.
fn check(parse: Reader, text: &str, expect: [Option<f64>; 5]) {
    let [rps, p50_us, p99_us, p99_9_us, max_us] = expect;
    let rps = rps.expect("each reports its rate");
    let got = parse(text).expect("a recorded output is understood");
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

const FIXTURES: [(Reader, &str); 7] = [
    (mutilate, include_str!("../../../testdata/peers/mutilate.txt")),
    (mutilate, include_str!("../../../testdata/peers/mcperf.txt")),
    (memtier, include_str!("../../../testdata/peers/memtier.txt")),
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
