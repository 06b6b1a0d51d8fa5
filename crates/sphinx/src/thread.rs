//! The life of one thread: it makes what is its own, waits for the others, serves, and says why it ended.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use cache_store::Epochs;
use reactor::{Address, Backend, Doorbell, Epoll, Reactor, Submit, Tls, Uring, pin_to};
use rustix::fs::Mode;
use rustls::ServerConfig;

use crate::config::Config;
use crate::core::{Common, Core};
use crate::link::Link;
use crate::partitions::{Offer, Own, Partitions};
use crate::server::End;

/// What wakes a thread, whatever its event loop.
pub(crate) type Waker = <Epoll as Reactor>::Waker;

/// A thread that is pinned, listens, and waits for its neighbours.
pub(crate) struct CoreThread {
    pub(crate) places: Places,
    pub(crate) waker: Waker,
    /// What the others get of its partitions.
    pub(crate) offer: Offer,
    go: Sender<Neighbours>,
    thread: JoinHandle<()>,
}

/// Where a thread listens, with the ports that it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Without TLS.
    pub(crate) plain: Vec<Address>,
    /// With TLS.
    pub(crate) encrypted: Vec<SocketAddr>,
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
        tls: Option<Arc<ServerConfig>>,
        seed: u64,
        epochs: Arc<Epochs>,
        ended: Sender<End>,
    ) -> Result<CoreThread> {
        let (ready_at, ready) = channel();
        let (go, neighbours) = channel::<Neighbours>();
        let thread = thread::Builder::new().name(format!("core-{number}")).spawn(move || {
            let life = Life { number, config: &config, seed, epochs, ready_at, neighbours, ended };
            match config.io {
                Backend::Epoll => life.live_with(Epoll::new(), tls),
                Backend::Uring => life.live_with(Uring::new(Submit::Together), tls),
            }
        });
        let thread = thread.context("cannot start a thread")?;
        let (places, waker, offer) =
            ready.recv().unwrap_or_else(|_| Err(anyhow!("thread {number} panicked")))?;
        Ok(CoreThread { places, waker, offer, go, thread })
    }

    /// Ends it before it has served anybody, and waits until what was its own is gone.
    pub(crate) fn give_up(self) {
        drop(self.go);
        // A panic was reported when it happened.
        let _ = self.thread.join();
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
    ready_at: Sender<Result<(Places, Waker, Offer)>>,
    neighbours: Receiver<Neighbours>,
    ended: Sender<End>,
}

impl Life<'_> {
    /// Lives on the backend itself, or on TLS on top of it.
    fn live_with<R: Reactor<Waker = Waker>>(self, reactor: io::Result<R>, tls: Option<Arc<ServerConfig>>) {
        match tls {
            None => self.live(reactor),
            Some(tls) => self.live(reactor.map(|reactor| Tls::server(reactor, tls))),
        }
    }

    /// Makes what is the thread's own, waits for its neighbours, and serves.
    fn live<R: Reactor<Waker = Waker>>(self, reactor: io::Result<R>) {
        let Life { number, config, seed, epochs, ready_at, neighbours, ended } = self;
        let (mut reactor, own, places) = match prepare(number, config, seed, &epochs, reactor) {
            Ok(made) => made,
            Err(error) => return drop(ready_at.send(Err(error))),
        };
        let _ = ready_at.send(Ok((places, reactor.waker(), own.offer(config.sharing))));
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
) -> Result<(R, Own, Places)> {
    pin_to(config.cpus[number])?;
    let mut reactor = reactor.context("cannot set up an event loop")?;
    reactor.set_backlog(config.backlog);
    // A client that has asked for all that it wants gets its answers before the connection ends.
    reactor.tell_half_closes();
    let mut places = Places { plain: Vec::new(), encrypted: Vec::new() };
    for address in &config.listen {
        let taken = match address {
            Address::Unix(path) => listen_at_path(&mut reactor, path, config.unix_mask),
            address => reactor.listen_in_plain(address),
        };
        places.plain.push(taken.map_err(|error| cannot_listen(address, &error))?);
    }
    for address in config.tls.iter().flat_map(|tls| &tls.listen) {
        let taken = reactor.listen(&Address::Tcp(*address));
        let taken = taken.map_err(|error| cannot_listen(&Address::Tcp(*address), &error))?;
        places.encrypted.extend(taken.socket());
    }
    Ok((reactor, Own::make(config, number, seed, epochs)?, places))
}

/// Listens at a path whose file gets the mode `mode` as it is made, so that there is no moment at which others may
/// open it. The mask is the whole process's, which has nothing else to do while it starts.
fn listen_at_path<R: Reactor>(reactor: &mut R, path: &Path, mode: u32) -> io::Result<Address> {
    let before = rustix::process::umask(Mode::from_raw_mode(!mode & 0o777));
    let taken = reactor.listen_in_plain(&Address::Unix(path.to_owned()));
    rustix::process::umask(before);
    taken
}

/// Why there is no listening at `address`, and what to change.
pub(crate) fn cannot_listen(address: &Address, error: &io::Error) -> anyhow::Error {
    let hint = match (address, error.kind()) {
        (Address::Unix(_), io::ErrorKind::AddrInUse) => return anyhow!("{error}"),
        (Address::Unix(_), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return anyhow!("cannot listen on {address}: {error}; choose another file with -s");
        }
        (_, io::ErrorKind::AddrInUse) => "the port is taken; choose another with -p, or 0 for a free one",
        (_, io::ErrorKind::AddrNotAvailable) => {
            "this machine has no such address; choose one of its own with -l"
        }
        (_, io::ErrorKind::PermissionDenied) => "ports below 1024 need a privilege; choose another with -p",
        _ => return anyhow!("cannot listen on {address}: {error}"),
    };
    anyhow!("cannot listen on {address}: {hint}")
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
