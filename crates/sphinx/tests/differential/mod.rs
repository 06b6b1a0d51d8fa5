//! The same sequences of commands to Sphinx and to memcached, which must answer byte for byte alike.
//!
//! Sequences come from a seed. Allowed differences are listed in `DIFFERENCES.md`, with reasons, and sequences that
//! would run into them are not made (see `avoided`). If the answers differ all the same, the sequence is shrunk while
//! they still do, and printed.
//!
//! Try it: `cargo test -p sphinx --test it differential`, with `SEQUENCES=5000` for more and `SEED=7` for others.

mod avoided;
mod compare;
mod generate;
mod random;
mod sequence;
mod shrink;
mod talk;

use crate::support::Running;
use random::Random;
use sequence::Sequence;
use talk::Answers;

/// Default number of sequences per server.
const SEQUENCES: u64 = 300;

/// Compares the requested number of sequences with the Sphinx of these arguments.
fn compare(args: &str) {
    let Some(memcached) = crate::support::memcached() else { return };
    let sphinx = crate::support::sphinxd(args);
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = setting("SEED").unwrap_or(1);
    let count = setting("SEQUENCES").unwrap_or(SEQUENCES);
    println!("sphinx {args}: {count} sequences from seed {seed}");
    for number in 0..count {
        let sequence = generate::sequence(&mut Random::new(seed << 32 | number), memcached.words);
        if let Some(difference) = difference(&sequence, &memcached, &sphinx) {
            let (shortest, difference) = shrink::shrink(sequence, difference, |sequence| {
                self::difference(sequence, &memcached, &sphinx)
            });
            panic!("sphinx {args}, seed {seed}, sequence {number}:\n{shortest}\n{difference}");
        }
    }
}

/// Where the answers of the two differ, if they do.
fn difference(sequence: &Sequence, memcached: &Running, sphinx: &Running) -> Option<String> {
    let expect: Answers = talk::hold(sequence, memcached.address);
    let answers: Answers = talk::hold(sequence, sphinx.address);
    compare::difference(&expect, &answers, memcached.words)
}

#[test]
fn one_thread_answers_as_memcached_does() {
    compare("-t 1 -m 64 --lazy-memory");
}

#[test]
fn two_threads_answer_as_memcached_does() {
    compare("-t 2 -m 64 --lazy-memory");
}

#[test]
fn four_threads_with_short_queues_answer_as_memcached_does() {
    compare("-t 4 -m 64 --lazy-memory --queue 1");
}

#[test]
fn threads_that_share_otherwise_answer_as_memcached_does() {
    // `read` is the default, which the others try.
    for sharing in ["nothing", "something", "everything"] {
        compare(&format!("-t 4 -m 128 --lazy-memory --sharing {sharing}"));
    }
}
