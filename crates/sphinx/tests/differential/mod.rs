//! The same sequences of commands to Sphinx and to memcached, which must answer byte for byte alike: in every sharing
//! mode, on both event loops, in the text and in the binary protocol.
//!
//! Sequences come from a seed. Allowed differences are listed in `DIFFERENCES.md`, with reasons, and sequences that
//! would run into them are not made (see `avoided`). If the answers differ all the same, the sequence is shrunk while
//! they still do, and printed.
//!
//! Try it: `cargo xtask differential --seconds 60 --seed 7`, or this test alone with `SEQUENCES=5000` and `SEED=7`.

mod avoided;
mod compare;
mod generate;
pub(crate) mod random;
mod sequence;
mod shrink;
mod talk;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::binary;
use crate::support::{MODES, Running};
use random::Random;
use sequence::Sequence;
use talk::Answers;

/// Default number of sequences per server.
const SEQUENCES: u64 = 200;

/// One sequence in this many is of the binary protocol.
const BINARY: u64 = 4;

/// How long a server is compared.
#[derive(Clone, Copy, Debug)]
enum Length {
    Sequences(u64),
    Until(Instant),
}

/// Commands of a sequence, and the difference that they showed, with the shortest sequence that shows it.
pub(crate) struct Compared {
    pub(crate) commands: usize,
    pub(crate) difference: Option<String>,
}

/// Compares the Sphinx of these arguments with a memcached of its own; returns the number of commands.
///
/// Errors: a difference, and which sequence of which seed shows it.
fn compare(args: &str, (seed, length): (u64, Length), stop: &AtomicBool) -> Result<usize, String> {
    let Some(memcached) = crate::support::memcached() else { return Ok(0) };
    let sphinx = crate::support::sphinxd(args);
    let mut commands = 0;
    for number in 0.. {
        let is_over = match length {
            Length::Sequences(most) => number >= most,
            Length::Until(end) => Instant::now() >= end,
        };
        if is_over || stop.load(Relaxed) {
            break;
        }
        let seed_of_one = seed << 32 | number;
        let compared = if number % BINARY == BINARY - 1 {
            binary::random::compare(seed_of_one, &memcached, &sphinx)
        } else {
            compare_text(seed_of_one, &memcached, &sphinx)
        };
        commands += compared.commands;
        if let Some(difference) = compared.difference {
            stop.store(true, Relaxed);
            return Err(format!(
                "sphinx {args}, seed {seed}, after {commands} commands, sequence {number}:\n{difference}"
            ));
        }
    }
    Ok(commands)
}

fn compare_text(seed: u64, memcached: &Running, sphinx: &Running) -> Compared {
    let sequence = generate::sequence(&mut Random::new(seed), memcached.words);
    let commands = sequence.batches.iter().map(|batch| batch.requests.len()).sum();
    let difference = difference(&sequence, memcached, sphinx).map(|difference| {
        let again = |sequence: &Sequence| self::difference(sequence, memcached, sphinx);
        let (shortest, difference) = shrink::shrink(sequence, difference, again);
        format!("{shortest}\n{difference}")
    });
    Compared { commands, difference }
}

/// Where the answers of the two differ, if they do.
fn difference(sequence: &Sequence, memcached: &Running, sphinx: &Running) -> Option<String> {
    let expect: Answers = talk::hold(sequence, memcached.address);
    let answers: Answers = talk::hold(sequence, sphinx.address);
    compare::difference(&expect, &answers, memcached.words)
}

#[test]
fn sphinx_answers_as_memcached_does_in_every_mode() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = setting("SEED").unwrap_or(1);
    let seconds = setting("SECONDS");
    if crate::support::memcached_program().is_none() {
        assert!(seconds.is_none(), "there is no memcached to compare with");
        return;
    }
    let modes = MODES.iter().flat_map(|mode| ["epoll", "auto"].map(|io| format!("-t 4 {mode} --io {io}")));
    let few = ["-t 1".to_owned(), "-t 2".to_owned(), "-t 4 --queue 1".to_owned()];
    let all: Vec<String> =
        few.into_iter().chain(modes).map(|args| format!("{args} -m 128 --lazy-memory")).collect();
    let length = match seconds {
        Some(seconds) => Length::Until(Instant::now() + Duration::from_secs(seconds)),
        None => Length::Sequences(setting("SEQUENCES").unwrap_or(SEQUENCES)),
    };
    println!("seed {seed}, {length:?}");
    let stop = AtomicBool::new(false);
    let outcomes: Vec<(&String, Result<usize, String>)> = thread::scope(|scope| {
        let stop = &stop;
        let started: Vec<_> =
            all.iter().map(|args| (args, scope.spawn(move || compare(args, (seed, length), stop)))).collect();
        started.into_iter().map(|(args, thread)| (args, thread.join().unwrap())).collect()
    });
    let mut differences = Vec::new();
    for (args, outcome) in outcomes {
        match outcome {
            Ok(commands) => println!("sphinx {args}: {commands} commands, no difference"),
            Err(difference) => differences.push(difference),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
