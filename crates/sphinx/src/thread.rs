//! The life of one thread: it makes what is its own, waits for the others, serves, and says why it ended.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use cache_store::Epochs;
use reactor::{Backend, Doorbell, Epoll, Reactor, Submit, Uring, pin_to};

use crate::config::Config;
use crate::core::{Common, Core};
use crate::link::Link;
use crate::partitions::{Offer, Own, Partitions};
use crate::server::End;

/// What wakes a thread, whatever its event loop.
pub(crate) type Waker = <Epoll as Reactor>::Waker;

/// A thread that is pinned, listens, and waits for its neighbours.
pub(crate) struct CoreThread {
    pub(crate) address: SocketAddr,
    pub(crate) waker: Waker,
    /// What the others get of its partitions.
    pub(crate) offer: Offer,
    go: Sender<Neighbours>,
    thread: JoinHandle<()>,
}

/// What a thread needs of the others.
pub(crate) struct Neighbours {
    pub(crate) common: Arc<Common>,
    pub(crate) links: Vec<Option<Link<Waker>>>,
    pub(crate) doorbell: Doorbell<Waker>,
    /// By thread.
    pub(crate) offers: Arc<[Offer]>,
}

impl CoreThread {
    /// Starts thread `number`, which makes its reactor and its partition itself: both stay on its core, and
    /// the memory comes from near it. Whatever ends it later is told to `ended`.
    pub(crate) fn start(
        number: usize,
        config: Config,
        seed: u64,
        epochs: Arc<Epochs>,
        ended: Sender<End>,
    ) -> Result<CoreThread> {
        let (ready_at, ready) = channel();
        let (go, neighbours) = channel::<Neighbours>();
        let thread = thread::Builder::new().name(format!("core-{number}")).spawn(move || {
            let life = Life { number, config: &config, seed, epochs, ready_at, neighbours, ended };
            match config.io {
                Backend::Epoll => life.live(Epoll::new()),
                Backend::Uring => life.live(Uring::new(Submit::Together)),
            }
        });
        let thread = thread.context("cannot start a thread")?;
        let (address, waker, offer) =
            ready.recv().unwrap_or_else(|_| Err(anyhow!("thread {number} panicked")))?;
        Ok(CoreThread { address, waker, offer, go, thread })
    }

    /// Lets it serve.
    pub(crate) fn go(self, neighbours: Neighbours) -> JoinHandle<()> {
        // It waits for this; if it does not, it has panicked, which joining tells.
        let _ = self.go.send(neighbours);
        self.thread
    }
}

/// What a thread is started with.
struct Life<'c> {
    number: usize,
    config: &'c Config,
    seed: u64,
    epochs: Arc<Epochs>,
    ready_at: Sender<Result<(SocketAddr, Waker, Offer)>>,
    neighbours: Receiver<Neighbours>,
    ended: Sender<End>,
}

impl Life<'_> {
    /// Makes what is the thread's own, waits for its neighbours, and serves.
    fn live<R: Reactor<Waker = Waker>>(self, reactor: io::Result<R>) {
        let Life { number, config, seed, epochs, ready_at, neighbours, ended } = self;
        let (mut reactor, own, address) = match prepare(number, config, seed, &epochs, reactor) {
            Ok(made) => made,
            Err(error) => return drop(ready_at.send(Err(error))),
        };
        let _ = ready_at.send(Ok((address, reactor.waker(), own.offer(config.sharing))));
        // The start was given up where there are none.
        let Ok(Neighbours { common, links, doorbell, offers }) = neighbours.recv() else { return };
        let partitions = Partitions::new(config, number, own, &offers);
        let guard = EndGuard { number, ended, reason: Some("it panicked".into()) };
        let result = Core::new(common, number, partitions, links, doorbell).run(&mut reactor);
        guard.end(result.err().map(|error| error.to_string()));
    }
}

fn prepare<R: Reactor>(
    number: usize,
    config: &Config,
    seed: u64,
    epochs: &Arc<Epochs>,
    reactor: io::Result<R>,
) -> Result<(R, Own, SocketAddr)> {
    pin_to(config.cpus[number])?;
    let mut reactor = reactor.context("cannot set up an event loop")?;
    let address = reactor
        .listen(&config.address.into())
        .map_err(|error| cannot_listen(config.address, &error))?
        .socket()
        .expect("a port was asked for");
    Ok((reactor, Own::make(config, seed, epochs)?, address))
}

/// Why there is no listening at `address`, and what to change.
pub(crate) fn cannot_listen(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    let lever = match error.kind() {
        io::ErrorKind::AddrInUse => "the port is taken; choose another with -p, or 0 for a free one",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address; choose one of its own with -l",
        io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose another with -p",
        _ => return anyhow!("cannot listen on {address}: {error}"),
    };
    anyhow!("cannot listen on {address}: {lever}")
}

/// Reports the end of a thread that was not asked to end, even by a panic.
struct EndGuard {
    number: usize,
    ended: Sender<End>,
    reason: Option<String>,
}

impl EndGuard {
    fn end(mut self, reason: Option<String>) {
        self.reason = reason;
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        if let Some(reason) = self.reason.take() {
            let _ = self.ended.send(End::Failed(format!("thread {} ended: {reason}", self.number)));
        }
    }
}
