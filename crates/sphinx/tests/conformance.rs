//! Holds the conversations of `tests/transcripts` with Sphinx and with memcached, which must answer alike.
//!
//! Try it: `cargo test -p sphinx --test it conformance`.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::support::Words;
use crate::support::client::Client;
use crate::support::transcript::{Pieces, hold};

fn transcripts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(files.len() >= 9, "only {} transcripts are left", files.len());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// Holds every conversation with the server, each on an empty cache.
fn hold_all(server: &str, address: SocketAddr, words: Words) {
    for (name, text) in transcripts() {
        for pieces in [Pieces::Whole, Pieces::Bytes] {
            assert_eq!(Client::connect(address).ask("flush_all"), "OK");
            println!("{server}: {name}, {pieces:?}");
            hold(&format!("{server}: {name}, {pieces:?}"), &text, address, pieces, words);
        }
    }
}

#[test]
fn memcached_answers_as_written() {
    if let Some(memcached) = crate::support::memcached() {
        hold_all("memcached", memcached.address, memcached.words);
    }
}

#[test]
fn sphinx_answers_as_written_on_one_thread() {
    hold_all("sphinx -t 1", crate::support::sphinxd("-t 1").address, Words::New);
}

#[test]
fn sphinx_answers_as_written_on_two_threads() {
    for args in ["-t 2 --io epoll", "-t 2 --io epoll --spin 200", "-t 2 --spin auto"] {
        hold_all(args, crate::support::sphinxd(args).address, Words::New);
    }
}

#[test]
fn sphinx_answers_as_written_on_four_threads_with_short_queues() {
    hold_all("sphinx -t 4 --queue 1", crate::support::sphinxd("-t 4 --queue 1").address, Words::New);
}

#[test]
fn sphinx_answers_as_written_in_every_mode() {
    for (mode, threads) in crate::support::MODES.into_iter().zip([4, 2, 4, 1]) {
        answers_as_written(mode, threads);
    }
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn sphinx_answers_as_written_in_every_mode_with_any_threads() {
    for mode in crate::support::MODES {
        for threads in [1, 2, 4] {
            answers_as_written(mode, threads);
        }
    }
}

fn answers_as_written(mode: &str, threads: u32) {
    let args = format!("-t {threads} {mode} --io epoll");
    hold_all(&args, crate::support::sphinxd(&args).address, Words::New);
}

#[test]
fn a_wrong_answer_is_found() {
    let server = crate::support::sphinxd("-t 1");
    let check = |text: &str| {
        let held =
            std::panic::catch_unwind(|| hold("wrong", text, server.address, Pieces::Whole, Words::New));
        assert!(held.is_err(), "{text}");
    };
    check("> get k\n< STORED");
    check("> get k\n");
    check("> get k\n> get k\n< END");
    check("> get k\n<closed");
    check("> set k 0 0 1\n> x\n< STORED\n> get k\n< VALUE k 0 1\n< y\n< END");
}
