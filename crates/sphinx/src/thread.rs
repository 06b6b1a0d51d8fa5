//! The life of one thread: it takes its memory, listens when ordered to, serves, and reports why it ended.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use cache_store::{Epochs, Provide};
use reactor::tls::Renewable;
use reactor::{Address, Backend, Doorbell, Epoll, Reactor, Steering, Submit, Tls, Uring, pin_to};
use rustix::fs::Mode;

use crate::config::Config;
use crate::core::{Common, Core};
use crate::link::Link;
use crate::memory_file::MemoryFile;
use crate::partitions::{Offer, Own, Partitions};
use crate::provider;
use crate::server::End;

/// The waker of a thread, the same type for every event loop.
pub(crate) type Waker = <Epoll as Reactor>::Waker;

/// A thread that is taking its memory. If dropped, the thread ends by itself when it is done.
pub(crate) struct Starting {
    number: usize,
    ready: Receiver<Result<(Waker, Offer)>>,
    orders: Sender<Order>,
    thread: JoinHandle<Option<Partitions>>,
}

/// A thread that has its memory, and waits for orders.
pub(crate) struct CoreThread {
    pub(crate) waker: Waker,
    /// The other threads' access to its partitions.
    pub(crate) offer: Offer,
    number: usize,
    orders: Sender<Order>,
    thread: JoinHandle<Option<Partitions>>,
}

/// An order to a thread that has its memory; the thread ends when no more orders can come.
enum Order {
    /// Listen at further places, and report the addresses.
    Listen(Places, Sender<Result<Places>>),
    /// Distribute clients among the listeners of this place by this rule.
    Steer(Steering),
    Go(Neighbours),
}

/// Where a thread listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Without TLS.
    pub(crate) plain: Vec<Address>,
    /// With TLS.
    pub(crate) encrypted: Vec<SocketAddr>,
}

/// The state that a thread needs to work with the others.
pub(crate) struct Neighbours {
    pub(crate) common: Arc<Common>,
    pub(crate) links: Vec<Option<Link<Waker>>>,
    pub(crate) doorbell: Doorbell<Waker>,
    /// By thread.
    pub(crate) offers: Arc<[Offer]>,
}

impl Starting {
    /// Starts thread `number`, which makes its reactor and its partition itself: both stay on its core, and the memory
    /// comes from near it. The cause of its end is sent to `ended`.
    pub(crate) fn start(
        number: usize,
        config: Config,
        tls: Option<Arc<Renewable>>,
        seed: u64,
        epochs: Arc<Epochs>,
        file: Option<Arc<MemoryFile>>,
        ended: Sender<End>,
    ) -> Result<Starting> {
        let (ready_at, ready) = channel();
        let (orders, orders_at) = channel();
        let thread = thread::Builder::new().name(format!("core-{number}")).spawn(move || {
            let life =
                Life { number, config: &config, seed, epochs, file, ready_at, orders: orders_at, ended };
            match config.io {
                Backend::Epoll => life.live_with(Epoll::new(), tls),
                Backend::Uring => life.live_with(Uring::new(Submit::Together), tls),
            }
        });
        Ok(Starting { number, ready, orders, thread: thread.context("cannot start a thread")? })
    }

    /// Waits until the thread has its memory, but no longer than `patience`; returns the waiting thread if that is not
    /// enough.
    pub(crate) fn wait(self, patience: Duration) -> Result<Result<CoreThread, Starting>> {
        let Starting { number, ready, orders, thread } = self;
        match ready.recv_timeout(patience) {
            Ok(made) => made.map(|(waker, offer)| Ok(CoreThread { waker, offer, number, orders, thread })),
            Err(RecvTimeoutError::Timeout) => Ok(Err(Starting { number, ready, orders, thread })),
            Err(RecvTimeoutError::Disconnected) => Err(panicked(number)),
        }
    }
}

fn panicked(number: usize) -> anyhow::Error {
    anyhow!("thread {number} panicked")
}

impl CoreThread {
    /// Has it listen at further places; returns them with the ports that it got for 0.
    ///
    /// Errors: as those of [`cannot_listen`].
    pub(crate) fn listen(&self, places: Places) -> Result<Places> {
        let (to, answer) = channel();
        // If it does not wait for this it has panicked, which shows in the missing answer.
        let _ = self.orders.send(Order::Listen(places, to));
        answer.recv().unwrap_or_else(|_| Err(panicked(self.number)))
    }

    /// Has the threads that will listen where this one does get clients as `steering` says; for the first of them.
    pub(crate) fn steer(&self, steering: Steering) {
        // If it does not wait for this it has panicked, which shows at the next order.
        let _ = self.orders.send(Order::Steer(steering));
    }

    /// Ends it before it has served any client, and waits until its resources are released.
    pub(crate) fn give_up(self) {
        drop(self.orders);
        // A panic was reported when it happened.
        let _ = self.thread.join();
    }

    /// Lets it serve; the handle yields its partitions once the server has ended, unless the thread failed.
    pub(crate) fn go(self, neighbours: Neighbours) -> JoinHandle<Option<Partitions>> {
        // It waits for this; if it does not, it has panicked, which shows on joining.
        let _ = self.orders.send(Order::Go(neighbours));
        self.thread
    }
}

struct Life<'c> {
    number: usize,
    config: &'c Config,
    seed: u64,
    epochs: Arc<Epochs>,
    file: Option<Arc<MemoryFile>>,
    ready_at: Sender<Result<(Waker, Offer)>>,
    orders: Receiver<Order>,
    ended: Sender<End>,
}

impl Life<'_> {
    /// Lives on the backend itself, or on TLS on top of it.
    fn live_with<R: Reactor<Waker = Waker>>(
        self,
        reactor: io::Result<R>,
        tls: Option<Arc<Renewable>>,
    ) -> Option<Partitions> {
        match tls {
            None => self.live(reactor),
            Some(tls) => self.live(reactor.map(|reactor| Tls::server(reactor, tls))),
        }
    }

    /// Makes the thread's own state, listens when ordered to, and serves; returns its partitions at the end.
    fn live<R: Reactor<Waker = Waker>>(self, reactor: io::Result<R>) -> Option<Partitions> {
        let made = self.prepare(reactor);
        let Life { number, config, file, ready_at, orders, ended, .. } = self;
        drop(file);
        let (mut reactor, own) = match made {
            Ok(made) => made,
            Err(error) => {
                drop(ready_at.send(Err(error)));
                return None;
            }
        };
        let _ = ready_at.send(Ok((reactor.waker(), own.offer(config.sharing))));
        let Neighbours { common, links, doorbell, offers } = loop {
            match orders.recv() {
                Ok(Order::Listen(places, to)) => {
                    drop(to.send(listen(&mut reactor, places, config.unix_mask)))
                }
                Ok(Order::Steer(steering)) => reactor.steer(steering),
                Ok(Order::Go(neighbours)) => break neighbours,
                // The start was abandoned.
                Err(_) => return None,
            }
        };
        if config.provide == Provide::Behind && !config.takes_memory_first() {
            provider::start(number, config.cpus[number], own.provisions());
        }
        let partitions = Partitions::new(config, number, own, &offers);
        let guard = EndGuard { number, ended, reason: Some("it panicked".into()) };
        let mut core = Core::new(common, number, partitions, links, doorbell);
        let result = core.run(&mut reactor);
        let well = result.is_ok();
        guard.end(result.err().map(|error| error.to_string()));
        well.then(|| core.into_partitions())
    }

    fn prepare<R: Reactor>(&self, reactor: io::Result<R>) -> Result<(R, Own)> {
        let config = self.config;
        pin_to(config.cpus[self.number])?;
        let mut reactor = reactor.context("cannot set up an event loop")?;
        reactor.set_backlog(config.backlog);
        // A client that has asked for all that it wants gets its answers before the connection ends.
        reactor.tell_half_closes();
        Ok((reactor, Own::make(config, self.number, self.seed, &self.epochs, self.file.as_deref())?))
    }
}

fn listen<R: Reactor>(reactor: &mut R, places: Places, unix_mask: u32) -> Result<Places> {
    let mut taken = Places::default();
    for address in places.encrypted.into_iter().map(Address::Tcp) {
        let listened = reactor.listen(&address).map_err(|error| cannot_listen(&address, &error))?;
        taken.encrypted.extend(listened.socket());
    }
    for address in &places.plain {
        let listened = match address {
            Address::Unix(path) => listen_at_path(reactor, path, unix_mask),
            // The port of TCP, listed before it, or of TLS.
            Address::Udp(socket) if socket.port() == 0 => {
                let streams = taken.plain.iter().filter(|address| !address.is_datagram());
                let mut streams = streams.filter_map(Address::socket).chain(taken.encrypted.iter().copied());
                let of_tcp = streams.find(|stream| stream.ip() == socket.ip());
                reactor.listen_in_plain(&Address::Udp(of_tcp.unwrap_or(*socket)))
            }
            address => reactor.listen_in_plain(address),
        };
        taken.plain.push(listened.map_err(|error| cannot_listen(address, &error))?);
    }
    Ok(taken)
}

/// Listens at a path whose file gets the mode `mode` on creation, so that other users can never open it. The mask
/// applies to the whole process, which creates no other files while it starts.
fn listen_at_path<R: Reactor>(reactor: &mut R, path: &Path, mode: u32) -> io::Result<Address> {
    let before = rustix::process::umask(Mode::from_raw_mode(!mode & 0o777));
    let taken = reactor.listen_in_plain(&Address::Unix(path.to_owned()));
    rustix::process::umask(before);
    taken
}

/// The reason why listening at `address` failed, with a hint.
pub(crate) fn cannot_listen(address: &Address, error: &io::Error) -> anyhow::Error {
    let hint = match (address, error.kind()) {
        (Address::Unix(_), io::ErrorKind::AddrInUse) => return anyhow!("{error}"),
        (Address::Unix(_), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return anyhow!(
                "cannot listen on {address}: {error}; choose a file with -s whose folder the user of -u may write in"
            );
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
