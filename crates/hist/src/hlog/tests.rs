use base64::Engine as _;
use proptest::prelude::*;
use units::Nanos;

use super::*;

fn interval(tag: Option<&str>, start_ms: u64, times: impl IntoIterator<Item = u64>) -> Interval {
    let mut latency = Latency::new();
    times.into_iter().for_each(|t| latency.record(Nanos(t)));
    Interval {
        tag: tag.map(Into::into),
        start: Nanos::from_millis(start_ms),
        duration: Nanos::from_secs(1),
        latency,
    }
}

fn sample() -> Log {
    Log {
        comments: vec!["taillight 0.1".into(), "seed 42".into()],
        base: Some(Nanos::from_millis(1_500_000_000_123)),
        intervals: vec![
            interval(Some("get.response_time"), 0, (0..5_000).map(|i| i * i)),
            interval(Some("set.response_time"), 0, []),
            interval(None, 1_250, [u64::MAX, 0, 1]),
        ],
    }
}

fn written(log: &Log) -> Vec<u8> {
    let mut bytes = Vec::new();
    log.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(Log::read(&written(&sample())).unwrap(), sample());
    assert_eq!(Log::read(&written(&Log::default())).unwrap(), Log::default());
}

#[test]
fn the_lines_are_those_of_the_format() {
    let text = String::from_utf8(written(&sample())).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    assert_eq!(lines[3], "#[BaseTime: 1500000000.123 (seconds since epoch)]");
    assert_eq!(lines[4], "#[Intervals: 3]");
    // The maximum is 4 999² ns ≈ 25.0 ms; base64 of the compressed cookie starts with HISTFA.
    assert!(lines[6].starts_with("Tag=get.response_time,0.000,1.000,25.0"), "{}", lines[6]);
    assert!(lines[6].split(',').next_back().unwrap().starts_with("HISTFA"), "{}", lines[6]);
    assert!(lines[8].starts_with("1.250,1.000,"), "{}", lines[8]);
}

#[test]
fn logs_of_other_programs_are_read() {
    // Other bounds (two digits, up to a day in µs), a legend, a start time, and Windows line ends.
    let mut foreign = hdrhistogram::Histogram::<u64>::new_with_bounds(1_000, 86_400_000_000_000, 2).unwrap();
    foreign.record_n(250_000, 99).unwrap();
    foreign.record(7_200_000_000_000).unwrap();
    let mut line = Vec::new();
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut line, &mut hdrhistogram::serialization::V2Serializer::new())
        .unwrap()
        .write_histogram(&foreign, Nanos::from_millis(127).into(), Nanos::from_secs(1).into(), Tag::new("A"))
        .unwrap();
    let text = format!(
        "#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 2015]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n{}",
        String::from_utf8(line).unwrap().replace('\n', "\r\n")
    );
    let log = Log::read(text.as_bytes()).unwrap();
    let [read] = log.intervals.as_slice() else { panic!("{log:?}") };
    assert_eq!(
        (read.tag.as_deref(), read.start, read.latency.count()),
        (Some("A"), Nanos::from_millis(127), 100)
    );
    let median = read.latency.value_at(50.0).unwrap().0 as f64;
    assert!((median / 250_000.0 - 1.0).abs() < 0.01, "{median}");
    assert!((read.latency.max().unwrap().0 as f64 / 3.6e12 - 1.0).abs() < 1e-3);
}

#[test]
fn what_breaks_the_format_is_not_written() {
    let check = |log: Log, expect: &str| {
        let error = log.write(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    for tag in ["", "a b", "a,b", "a\nb"] {
        check(Log { intervals: vec![interval(Some(tag), 0, [1])], ..Log::default() }, "the tag");
    }
    check(Log { comments: vec!["fine\n[BaseTime: 1.000 ]".into()], ..Log::default() }, "starts with '['");
}

#[test]
fn damage_is_named_with_its_line() {
    let text = String::from_utf8(written(&sample())).unwrap();
    let check = |text: &str, expect: &str| {
        let error = Log::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    check("", "there is no interval");
    check("hello\n", "line 1: it is neither a comment nor an interval");
    check(&text[..text.len() - 5], "line 9: it has no end");
    let without_last = text.trim_end().rsplit_once('\n').unwrap().0;
    check(&format!("{without_last}\n"), "line 8: the log ends after 2 of 3 intervals");
    check(&text.replacen("HISTFA", "HISTEw", 1), "line 7: the histogram");
    check(&text.replacen("HISTFA", "????FA", 1), "line 7: the histogram is not base64");
    check("0.000,1.000,1.0,AAAA\n", "line 1: the histogram is not in the V2 format");
    check("#[Intervals: many]\n", "line 1: the number of intervals is not a number");
}

/// A line that holds a histogram in the plain form, which has no checksum, with these counters.
fn plain(payload: &[u8], promised: u32) -> String {
    let mut bytes = vec![0x1c, 0x84, 0x93, 0x13];
    bytes.extend(promised.to_be_bytes());
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 3]);
    bytes.extend(1u64.to_be_bytes());
    bytes.extend(3_600_000_000_000u64.to_be_bytes());
    bytes.extend(1f64.to_be_bytes());
    bytes.extend(payload);
    format!("0.000,1.000,1.0,{}\n", base64::engine::general_purpose::STANDARD.encode(bytes))
}

#[test]
fn counters_that_cannot_be_are_refused() {
    let check = |payload: &[u8], promised: u32, expect: &str| {
        let error = Log::read(plain(payload, promised).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(&[2], u32::MAX, "length is not the one in its header"); // gigabytes, never reserved
    check(&[0xff; 9], 9, "counter out of range"); // −2⁶³, over whose negation the crate panics
    check(&[0xfe; 9], 9, "counter out of range"); // over 2⁵⁰
    assert_eq!(Log::read(plain(&[2], 1).as_bytes()).unwrap().intervals[0].latency.count(), 1);
}

/// Changing any character of a histogram never yields a wrong figure. A few changes do no harm, such as the length of
/// a code that the compressed text never uses; nearly all others must be refused.
#[test]
fn no_changed_character_of_a_histogram_goes_unnoticed() {
    let log = Log { intervals: vec![interval(None, 0, (1..500).map(|i| i * 1_000))], ..Log::default() };
    let mut bytes = written(&log);
    let from = bytes.iter().rposition(|&b| b == b',').unwrap() + 1;
    let (mut refused, mut harmless) = (0, 0);
    for at in from..bytes.len() - 1 {
        for to in *b"AZaz09+/=" {
            let before = std::mem::replace(&mut bytes[at], to);
            match Log::read(&bytes) {
                _ if before == to => {}
                Err(_) => refused += 1,
                Ok(read) if read == log => harmless += 1,
                Ok(_) => panic!("{} as {} at {at} is read as other times", before as char, to as char),
            }
            bytes[at] = before;
        }
    }
    assert!(refused > 1_000 && harmless * 100 < refused, "{refused} refused, {harmless} harmless");
}

proptest! {
    /// The plain form has no checksum, so any counters may arrive; a good header gets them to the decoder.
    #[test]
    fn no_counters_make_it_panic(payload in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xff), Just(0)], 0..60)) {
        if let Ok(log) = Log::read(plain(&payload, payload.len() as u32).as_bytes()) {
            let _ = log.intervals[0].latency.curve();
        }
    }

    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80), prefix in prop::sample::select(vec!["", "#[", "Tag=", "0.1,1.0,1.0,HISTFAAA", "0.1,1.0,1.0,HISTEwAA", "#[BaseTime: "])) {
        bytes.splice(0..0, prefix.bytes());
        bytes.push(b'\n');
        let _ = Log::read(&bytes);
    }

    #[test]
    fn round_trips(times in prop::collection::vec(any::<u64>(), 0..50), start_ms in 0u64..1 << 40, tag in "[a-z._]{1,12}") {
        let log = Log { intervals: vec![interval(Some(&tag), start_ms, times)], ..Log::default() };
        prop_assert_eq!(Log::read(&written(&log)).unwrap(), log);
    }
}
