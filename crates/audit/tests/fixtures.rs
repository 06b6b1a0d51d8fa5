//! Figures and findings of the fixtures, which are outputs of other load generators.

use audit::{Error, Given, Loop, audit, names};
use proptest::prelude::*;

/// File, program, samples, tail percentile and its time in µs, and the findings, by weight.
type Case = (&'static str, &'static str, u64, f64, f64, &'static [&'static str]);

const CASES: [Case; 16] = [
    ("wrk.txt", "wrk", 117_517, 99.0, 49_930.0, &["closed_loop", "littles_law", "warmup", "one_run"]),
    ("wrk2.txt", "wrk2", 592, 99.999, 122_820.0, &["few_samples", "one_run"]),
    ("ab.txt", "ab", 4_000, 99.0, 102_000.0, &["closed_loop", "resolution", "warmup", "one_run"]),
    ("hey.txt", "hey", 4_000, 99.0, 29_100.0, &["closed_loop", "warmup", "littles_law", "one_run"]),
    (
        "hey-errors.txt",
        "hey",
        1_103,
        99.0,
        23_600.0,
        &["no_answer", "closed_loop", "failures", "resolution", "warmup", "littles_law", "one_run"],
    ),
    (
        "oha.txt",
        "oha",
        37_917,
        99.99,
        70_200.0,
        &["closed_loop", "failures", "few_samples", "warmup", "littles_law", "one_run"],
    ),
    ("oha.json", "oha", 19_969, 99.9, 21_100.0, &["closed_loop", "warmup", "littles_law", "one_run"]),
    ("vegeta.json", "vegeta", 1_200, 99.0, 18_232.526, &["warmup", "resolution", "one_run"]),
    (
        "vegeta-limited.json",
        "vegeta",
        2_000,
        99.0,
        12_181.155,
        &["no_answer", "failures", "warmup", "resolution", "one_run"],
    ),
    ("k6.json", "k6", 12_712, 95.0, 3_202.249_75, &["warmup", "unknown_loop", "one_run"]),
    ("k6-dropped.json", "k6", 95, 95.0, 7_592.354_2, &["dropped", "few_samples", "warmup", "one_run"]),
    (
        "memtier.txt",
        "memtier_benchmark",
        1_200,
        99.9,
        5_215.0,
        &["closed_loop", "few_samples", "warmup", "one_run"],
    ),
    (
        "memtier.json",
        "memtier_benchmark",
        1_200,
        99.9,
        5_215.0,
        &["closed_loop", "few_samples", "warmup", "one_run"],
    ),
    (
        "memtier-runs.txt",
        "memtier_benchmark",
        1_200,
        99.9,
        104_959.0,
        &["closed_loop", "few_samples", "mean_of_percentiles", "warmup"],
    ),
    (
        "memtier-runs.json",
        "memtier_benchmark",
        3_600,
        99.9,
        7.0,
        &["closed_loop", "few_samples", "mean_of_percentiles", "warmup"],
    ),
    ("mutilate.txt", "mutilate", 98_712, 99.0, 1_311.9, &["dropped", "warmup", "unknown_loop", "one_run"]),
];

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn outputs_are_read_and_judged() {
    let mut wrong = Vec::new();
    for (file, tool, samples, percentile, us, ids) in CASES {
        let found =
            audit(&fixture(file), &Given::default()).unwrap_or_else(|error| panic!("{file}: {error}"));
        let output = &found.output;
        assert_eq!((output.tool, output.samples), (tool, Some(samples)), "{file}");
        let tail = output.tail().unwrap_or_else(|| panic!("{file}: no percentile"));
        assert!(tail.percentile == percentile && (tail.us - us).abs() < 1e-6 * us, "{file}: {tail:?}");
        let found_ids: Vec<&str> = found.findings.iter().map(|finding| finding.id).collect();
        if found_ids != ids {
            wrong.push((file, found_ids.join(" ")));
        }
        assert!(found.verdict.starts_with(tool) && found.verdict.ends_with('.'), "{file}: {}", found.verdict);
        assert!(found.command().starts_with("taillight load "), "{file}: {}", found.command());
        assert!(found.findings.windows(2).all(|pair| pair[0].weight <= pair[1].weight), "{file}");
    }
    assert_eq!(wrong, []);
}

/// The words of the finding `id` in a fixture.
fn words(file: &str, id: &str, given: &Given) -> String {
    let found = audit(&fixture(file), given).unwrap();
    let ids: Vec<&str> = found.findings.iter().map(|finding| finding.id).collect();
    found
        .findings
        .iter()
        .find(|finding| finding.id == id)
        .unwrap_or_else(|| panic!("{id}: {ids:?}"))
        .words
        .clone()
}

#[test]
fn findings_have_figures() {
    let check = |file: &str, id: &str, says: &str| {
        let words = words(file, id, &Given::default());
        assert!(words.contains(says), "{file}: {words}");
    };
    // 16 connections at 23 266 rps cannot have a mean of 3.19 ms: it has requests that were never sent.
    check("wrk.txt", "littles_law", "23266 rps × 3.19 ms = 74.2 requests");
    check("wrk.txt", "littles_law", "16 / 23266 rps = 688 µs");
    check("ab.txt", "closed_loop", "closed loop of 16 connections");
    check("ab.txt", "resolution", "p50 is printed as 2 ms, in steps of 1 ms");
    check("k6-dropped.json", "dropped", "206 arrivals were not sent");
    check("hey-errors.txt", "failures", "1103 of 1103 requests failed (100 %)");
    check("memtier-runs.txt", "mean_of_percentiles", "means over 3 runs");
    check("memtier.txt", "few_samples", "of 1200, 1.2 lie beyond p99.9, fewer than 10; it takes 10000");
    check(
        "oha.txt",
        "failures",
        "requests without a response are not. Counted as slower than any response, they make p99.9 a failure",
    );
    check("wrk2.txt", "few_samples", "p99, p99.9, p99.99, p99.999 rest on too few samples");
}

#[test]
fn what_a_user_adds_is_judged() {
    let open = Given { open: Some(true), offered_rps: Some(8_472.0), ..Given::default() };
    assert!(words("k6.json", "rate_missed", &open).contains("4236 rps of 8472 rps were achieved (50 %)"));
    let closed = Given { open: Some(false), ..Given::default() };
    let found = words("k6.json", "closed_loop", &closed);
    assert!(found.contains("5 connections") && found.contains("With them p95 is"), "{found}");
    let with = Given { connections: Some(16.0), ..Given::default() };
    assert_eq!(audit(&fixture("hey.txt"), &with).unwrap().output.connections, Some(16.0));
    assert_eq!(audit(&fixture("k6.json"), &open).unwrap().output.load, Loop::Open);
}

#[test]
fn processor_time_shows_a_busy_generator() {
    let timed = |user: &str| {
        let text = [fixture("wrk.txt"), format!("\nreal\t0m5.1s\nuser\t{user}\nsys\t0m2.0s\n").into_bytes()]
            .concat();
        audit(&text, &Given::default()).unwrap()
    };
    assert!(timed("0m8.1s").findings.iter().any(|finding| finding.id == "generator_busy"));
    assert!(timed("0m1.0s").findings.iter().all(|finding| finding.id != "generator_busy"));
}

#[test]
fn foreign_and_cut_files_have_errors() {
    for text in ["", "hello", "{}", "[1, 2]", "{\"metrics\": {}}", "Running late\n", "\0\0"] {
        let error = audit(text.as_bytes(), &Given::default()).unwrap_err();
        assert!(matches!(error, Error::Unknown), "{text}: {error}");
        assert!(names().iter().all(|name| error.to_string().contains(name)), "{error}");
    }
    let cut = "Running 5s test @ http://h/\n  Thread Stats   Avg\n";
    let error = audit(cut.as_bytes(), &Given::default()).unwrap_err().to_string();
    assert!(error.contains("an output of wrk and wrk2, but the line of the latency is missing"), "{error}");
    let long = vec![b' '; audit::LONGEST + 1];
    assert!(matches!(audit(&long, &Given::default()), Err(Error::TooLong)));
}

proptest! {
    #[test]
    fn nothing_panics(file in 0..CASES.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8), end in any::<prop::sample::Index>(), cut in any::<bool>()) {
        let mut text = fixture(CASES[file].0);
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        if cut {
            text.truncate(end.index(text.len()));
        }
        if let Ok(found) = audit(&text, &Given { offered_rps: Some(1.0), ..Given::default() }) {
            prop_assert!(!found.verdict.is_empty() && !found.command().is_empty());
        }
    }

    #[test]
    fn numbers_of_any_size_do_not_panic(value in "[0-9]{1,30}(\\.[0-9]{1,30})?", file in 0..CASES.len()) {
        let text = String::from_utf8_lossy(&fixture(CASES[file].0)).into_owned();
        let grown: String = text.split(' ').map(|word| if word.parse::<f64>().is_ok() { value.as_str() } else { word }).collect::<Vec<_>>().join(" ");
        let _ = audit(grown.as_bytes(), &Given::default());
    }
}
