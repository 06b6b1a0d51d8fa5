//! Sphinx and memcached with the same random commands, for a given time: the test
//! `differential::sphinx_answers_as_memcached_does_in_every_mode` of `sphinx`, which prints the commands of each mode, or
//! the first unexplained difference with the shortest sequence that shows it.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::ROOT;

const TEST: &str = "differential::sphinx_answers_as_memcached_does_in_every_mode";
/// Longest run. Units: seconds.
const SECONDS_MAX: u64 = 24 * 3600;

#[derive(Debug, PartialEq, Eq)]
struct DifferentialOptions {
    seconds: u64,
    seed: u64,
}

/// Runs `cargo xtask differential --seconds N [--seed S]`; true if no answer differs.
///
/// # Errors
///
/// Words that cannot be read; cargo cannot be started.
pub(crate) fn run(words: &[&str]) -> Result<bool, String> {
    // The seed is part of a sequence's own, which leaves it 32 bits.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    let request = DifferentialOptions::read(words, now & 0xffff_ffff)?;
    println!("differential: {} s, --seed {}", request.seconds, request.seed);
    let status = Command::new("cargo")
        .args(["test", "--quiet", "-p", "sphinx", "--test", "it", "--", TEST, "--exact", "--nocapture"])
        .env("SECONDS", request.seconds.to_string())
        .env("SEED", request.seed.to_string())
        .current_dir(ROOT)
        .status();
    status.map(|status| status.success()).map_err(|error| format!("cannot start cargo: {error}"))
}

impl DifferentialOptions {
    fn read(words: &[&str], seed: u64) -> Result<DifferentialOptions, String> {
        let mut request = DifferentialOptions { seconds: 0, seed };
        for pair in words.chunks(2) {
            let number = pair.get(1).and_then(|text| text.parse::<u64>().ok());
            match (pair[0], number) {
                ("--seconds", Some(seconds @ 1..=SECONDS_MAX)) => request.seconds = seconds,
                ("--seed", Some(seed @ 0..=0xffff_ffff)) => request.seed = seed,
                _ => {
                    return Err(format!(
                        "cannot read 'differential {}'; write --seconds N, from 1 to {SECONDS_MAX}, and --seed S, below 2³²",
                        words.join(" ")
                    ));
                }
            }
        }
        if request.seconds == 0 {
            return Err("how long? write differential --seconds N".into());
        }
        Ok(request)
    }
}

#[test]
fn reads_its_words() {
    let check = |line: &str, expect: Option<(u64, u64)>| {
        let words: Vec<&str> = line.split(' ').collect();
        let expect = expect.map(|(seconds, seed)| DifferentialOptions { seconds, seed });
        assert_eq!(DifferentialOptions::read(&words, 9).ok(), expect, "{line}");
    };
    check("--seconds 60", Some((60, 9)));
    check("--seconds 60 --seed 7", Some((60, 7)));
    check("--seed 7 --seconds 1", Some((1, 7)));
    check("--seed 7", None);
    check("--seconds 0", None);
    check("--seconds", None);
    check("--seconds 1 --seed 4294967296", None);
    check("--seconds 1 --other 1", None);
}
