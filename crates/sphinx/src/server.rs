use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reactor::tls::{Identity, server_config};
use reactor::{Address, Doorbell, Waker as _, monotonic_now};
use tracing::{debug, info, warn};

use crate::auth::Users;
use crate::config::{Config, list};
use crate::core::Common;
use crate::link::Link;
use crate::metrics::Scraper;
use crate::partitions;
use crate::phase::Phase;
use crate::pidfile::Pidfile;
use crate::privileges;
use crate::thread::{CoreThread, Neighbours, Places, Waker, cannot_listen};

/// A running server.
///
/// Dropping it ends it at once; [`Server::stop`] lets replies leave first.
pub struct Server {
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
    wakers: Vec<Waker>,
    end: Receiver<End>,
    _pidfile: Option<Pidfile>,
}

/// Why a server should not go on.
#[derive(Debug)]
pub(crate) enum End {
    /// Somebody wants it to stop.
    Interrupted,
    /// A thread has ended; why.
    Failed(String),
}

/// Threads that wait for the start of all. Where that fails they end, and their sockets' files are gone, before anybody
/// learns of it: the process ends at once then.
#[derive(Default)]
struct Started(Vec<CoreThread>);

impl Drop for Started {
    fn drop(&mut self) {
        self.0.drain(..).for_each(CoreThread::give_up);
    }
}

/// How often a stop looks whether all connections have ended.
const LOOK: Duration = Duration::from_millis(1);

impl Server {
    /// Starts the threads and returns once each is pinned and listens.
    ///
    /// Errors: port taken, address not of this machine, too little memory, no such processor, too many
    /// connections for the descriptors, no such file or user; each with what to change.
    pub fn start(mut config: Config) -> Result<Server> {
        config.check()?;
        check_free(&config)?;
        let users = config.auth_file.as_deref().map(Users::read).transpose()?;
        let tls = config.tls.as_ref().map(|tls| {
            let identity = Identity { certificates: &tls.certificates, key: &tls.key };
            server_config(identity, tls.client_authorities.as_deref())
        });
        let tls = tls.transpose().context("TLS cannot be set up")?;
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())
            .context("the system gives no random numbers")?;
        let seed = u64::from_ne_bytes(seed);

        let epochs = partitions::epochs(&config);
        let (end_at, end) = channel();
        let (mut started, mut wakers) = (Started::default(), Vec::new());
        for number in 0..config.cpus.len() {
            let (tls, epochs) = (tls.clone(), Arc::clone(&epochs));
            let thread = CoreThread::start(number, config.clone(), tls, seed, epochs, end_at.clone())?;
            // Port 0 becomes the port that the first thread got.
            take_ports(&mut config, &thread.places);
            wakers.push(thread.waker.clone());
            started.0.push(thread);
        }
        // Now that all listen there is no other server whose file it could be; who is no longer root may not write it.
        let pidfile = config.pidfile.clone().map(Pidfile::write).transpose()?;
        if let Some(user) = &config.user {
            privileges::become_user(user)?;
        }
        tell(&config);
        let now = monotonic_now();
        let common = Arc::new(Common::new(config, users, now, end_at));
        let doorbells: Vec<_> = wakers.iter().cloned().map(Doorbell::new).collect();
        let links = links(&doorbells, common.config.queue);
        let started = std::mem::take(&mut started.0);
        let offers: Arc<[_]> = started.iter().map(|thread| thread.offer.clone()).collect();
        let threads = started.into_iter().zip(links).zip(doorbells).map(|((thread, links), doorbell)| {
            thread.go(Neighbours {
                common: Arc::clone(&common),
                links,
                doorbell,
                offers: Arc::clone(&offers),
            })
        });
        Ok(Server { threads: threads.collect(), common, wakers, end, _pidfile: pidfile })
    }

    /// Where it listens on TCP first, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.common.config.listen.iter().find(|address| !address.is_datagram()).and_then(Address::socket)
    }

    /// What it was started with, the ports resolved.
    pub fn config(&self) -> &Config {
        &self.common.config
    }

    /// What the threads have in common.
    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.common
    }

    /// What asks the threads how they are.
    pub(crate) fn scraper(&self) -> Scraper {
        Scraper { common: Arc::clone(&self.common), wakers: self.wakers.clone() }
    }

    /// Waits until it is interrupted, or a thread ends by itself, which none should.
    pub(crate) fn wait(&self) -> End {
        self.end.recv().expect("the server holds a sender itself")
    }

    /// Takes no more clients, lets the replies to what was received leave, and ends the threads; after
    /// [`Config::drain`] at the latest.
    pub fn stop(self) {
        let until = Instant::now() + Duration::from_nanos(self.common.config.drain.0);
        self.enter(Phase::Draining);
        let open = || self.common.connections.load(Ordering::Acquire);
        while open() > 0 && Instant::now() < until && !self.threads.iter().any(JoinHandle::is_finished) {
            thread::sleep(LOOK);
        }
        match open() {
            0 => debug!("every reply has left"),
            cut => warn!(connections = cut, "the time to drain is over; what is left is cut"),
        }
    }

    fn enter(&self, phase: Phase) {
        self.common.phase.store(phase as u8, Ordering::Release);
        for waker in &self.wakers {
            waker.wake();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.enter(Phase::Ended);
        for thread in self.threads.drain(..) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
        for address in &self.common.config.listen {
            if let Address::Unix(path) = address
                && !fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
            {
                warn!(file = %path.display(), "a file stays behind");
            }
        }
    }
}

fn take_ports(config: &mut Config, places: &Places) {
    config.listen.clone_from(&places.plain);
    if let Some(tls) = &mut config.tls {
        tls.listen.clone_from(&places.encrypted);
    }
}

fn tell(config: &Config) {
    info!(io = config.io.name(), why = config.io_reason, cpus = list(&config.cpus), "threads have started");
    for address in &config.listen {
        info!(%address, "listening");
    }
    for address in config.tls.iter().flat_map(|tls| &tls.listen) {
        info!(%address, "listening with TLS");
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

/// Makes sure that nobody listens where this server is to.
///
/// The threads share a port by `SO_REUSEPORT`, and with it a second server of the same user would silently
/// get a part of the first one's connections.
fn check_free(config: &Config) -> Result<()> {
    let encrypted = config.tls.iter().flat_map(|tls| &tls.listen).copied().map(Address::Tcp);
    for address in config.listen.iter().cloned().chain(encrypted) {
        let outcome = match &address {
            Address::Tcp(socket) => TcpListener::bind(socket).map(drop),
            Address::Udp(socket) => UdpSocket::bind(socket).map(drop),
            // The reactor finds out whether its server lives.
            Address::Unix(_) => Ok(()),
        };
        outcome.map_err(|error| cannot_listen(&address, &error))?;
    }
    Ok(())
}
