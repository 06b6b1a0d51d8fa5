use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use reactor::{Doorbell, Waker as _, monotonic_now};

use crate::clock::UnixClock;
use crate::config::Config;
use crate::core::Common;
use crate::link::Link;
use crate::partitions;
use crate::thread::{CoreThread, Neighbours, Waker, cannot_listen};

/// A running server.
///
/// Dropping it stops it, as [`Server::stop`] does.
pub struct Server {
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
    wakers: Vec<Waker>,
    end: Receiver<End>,
    end_at: Sender<End>,
}

/// Why a server should not go on.
#[derive(Debug)]
pub(crate) enum End {
    /// Somebody wants it to stop.
    Interrupted,
    /// A thread has ended; why.
    Failed(String),
}

impl Server {
    /// Starts the threads and returns once each is pinned and listens.
    ///
    /// Errors: port taken, address not of this machine, too little memory, no such processor, too many
    /// connections for the descriptors; each with what to change.
    pub fn start(mut config: Config) -> Result<Server> {
        config.check()?;
        check_free(config.address)?;
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())
            .context("the system gives no random numbers")?;
        let seed = u64::from_ne_bytes(seed);

        let epochs = partitions::epochs(&config);
        let (end_at, end) = channel();
        let (mut started, mut wakers) = (Vec::new(), Vec::new());
        for number in 0..config.cpus.len() {
            let thread =
                CoreThread::start(number, config.clone(), seed, Arc::clone(&epochs), end_at.clone())?;
            // Port 0 becomes the port that the first thread got.
            config.address = thread.address;
            wakers.push(thread.waker.clone());
            started.push(thread);
        }
        let now = monotonic_now();
        let common = Arc::new(Common {
            clock: UnixClock::start(now),
            started: now,
            connections: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            config,
        });
        let doorbells: Vec<_> = wakers.iter().cloned().map(Doorbell::new).collect();
        let links = links(&doorbells, common.config.queue);
        let offers: Arc<[_]> = started.iter().map(|thread| thread.offer.clone()).collect();
        let threads = started.into_iter().zip(links).zip(doorbells).map(|((thread, links), doorbell)| {
            thread.go(Neighbours {
                common: Arc::clone(&common),
                links,
                doorbell,
                offers: Arc::clone(&offers),
            })
        });
        Ok(Server { threads: threads.collect(), common, wakers, end, end_at })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.common.config.address
    }

    /// What it was started with, the port resolved.
    pub fn config(&self) -> &Config {
        &self.common.config
    }

    /// What ends [`Server::wait`] from another thread.
    pub(crate) fn interrupter(&self) -> Sender<End> {
        self.end_at.clone()
    }

    /// Waits until it is interrupted, or a thread ends by itself, which none should.
    pub(crate) fn wait(&self) -> End {
        self.end.recv().expect("the server holds a sender itself")
    }

    /// Closes all connections and ends the threads.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.common.stop.store(true, Ordering::Relaxed);
        for waker in &self.wakers {
            waker.wake();
        }
        for thread in self.threads.drain(..) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// For each thread its links to all others.
pub(crate) fn links<W: reactor::Waker>(
    doorbells: &[Doorbell<W>],
    capacity: usize,
) -> Vec<Vec<Option<Link<W>>>> {
    let threads = doorbells.len();
    let mut links: Vec<Vec<_>> = (0..threads).map(|_| (0..threads).map(|_| None).collect()).collect();
    for first in 0..threads {
        for second in first + 1..threads {
            let pair = Link::pair(capacity, doorbells[first].clone(), doorbells[second].clone());
            (links[first][second], links[second][first]) = (Some(pair.0), Some(pair.1));
        }
    }
    links
}

/// Makes sure that nobody listens at `address`.
///
/// The threads share the port by `SO_REUSEPORT`, and with it a second server of the same user would silently
/// get a part of the first one's connections.
fn check_free(address: SocketAddr) -> Result<()> {
    TcpListener::bind(address).map(drop).map_err(|error| cannot_listen(address, &error))
}
