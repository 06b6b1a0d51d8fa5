//! What every backend on real sockets must do, as one suite that runs on each of them.
//!
//! A backend joins by implementing [`Backend`] and by one line per kind of address that it knows:
//! `streams!(name, Type, Net::Tcp)`, `streams!(name, Type, Net::Unix)`, `datagrams!(name, Type)`, `via!(name, Type)`. The peer is always a plain socket of `std` on a thread of its own, so
//! that no backend is tested against itself.
//!
//! Try it: `cargo test -p reactor --test conformance`.

mod datagrams;
mod loans;
mod peer;
mod streams;
mod via;
mod witness;

use std::cell::Cell;

use reactor::{Epoll, Reactor, Submit, Uring};

/// A reactor that can be made for a test.
trait Backend: Reactor {
    /// A fresh reactor, or `None`, having printed `skipped: REASON`, where this machine has no such thing.
    fn start() -> Option<Self>;
}

impl Backend for Epoll {
    fn start() -> Option<Epoll> {
        Some(Epoll::new().expect("epoll is there on every Linux"))
    }
}

thread_local! {
    /// How a test's rings submit; each test has a thread of its own.
    static SUBMIT: Cell<Submit> = const { Cell::new(Submit::AtOnce) };
}

impl Backend for Uring {
    fn start() -> Option<Uring> {
        Uring::new(SUBMIT.get()).inspect_err(|error| println!("skipped: {error}")).ok()
    }
}

streams!(epoll_tcp, Epoll, Net::Tcp);
streams!(epoll_unix, Epoll, Net::Unix);
full_queue!(epoll_unix_full_queue, Epoll);
datagrams!(epoll_udp, Epoll);
via!(epoll_via, Epoll);

streams!(uring_tcp, Uring, Net::Tcp);
streams!(uring_unix, Uring, Net::Unix);
full_queue!(uring_unix_full_queue, Uring);
datagrams!(uring_udp, Uring);
via!(uring_via, Uring);
streams!(uring_together_unix, Uring, Net::Unix, SUBMIT.set(Submit::Together));
streams!(uring_together_tcp, Uring, Net::Tcp, SUBMIT.set(Submit::Together));
