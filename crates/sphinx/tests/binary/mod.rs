//! The binary protocol: the same conversations with Sphinx and with memcached, which must answer alike. Random sequences of
//! commands are sent by `differential`.
//!
//! Allowed differences are listed in `DIFFERENCES.md`, with reasons; the conversations do not run into them.
//!
//! Try it: `cargo test -p sphinx --test it binary`.

mod conversations;
mod listed;
pub(crate) mod random;
mod sasl;
mod talk;

use std::net::SocketAddr;

use crate::support::{MODES, sphinxd};
use talk::{Pieces, Talk};

/// Holds every conversation with the server, each on an empty cache.
fn hold_all(server: &str, address: SocketAddr) {
    for (name, hold) in conversations::ALL {
        for pieces in [Pieces::Whole, Pieces::Bytes] {
            println!("{server}: {name}, {pieces:?}");
            let connect = || Talk::connect(address, pieces);
            let mut talk = connect();
            talk.flush();
            hold(&mut talk, &connect);
        }
    }
}

#[test]
fn memcached_answers_as_written() {
    if let Some(memcached) = crate::support::memcached() {
        hold_all("memcached", memcached.address);
    }
}

#[test]
fn sphinx_answers_as_written_on_one_thread() {
    for args in ["-t 1", "-t 1 --io epoll -B binary"] {
        hold_all(args, sphinxd(args).address);
    }
}

#[test]
fn sphinx_answers_as_written_in_every_mode() {
    for mode in MODES {
        for args in [format!("-t 2 {mode} --queue 1"), format!("-t 4 {mode} --io epoll --spin 200")] {
            hold_all(&args, sphinxd(&args).address);
        }
    }
}

#[test]
fn a_wrong_answer_is_found() {
    let server = sphinxd("-t 1");
    let connect = || Talk::connect(server.address, Pieces::Whole);
    let held = std::panic::catch_unwind(|| connect().silent(talk::get(b"none")));
    assert!(held.is_err());
    let held = std::panic::catch_unwind(|| connect().shows(talk::get(b"none"), 0, b"", b"x"));
    assert!(held.is_err());
}
