use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reactor::{Address, Doorbell, Steering, Waker as _, monotonic_now};
use tracing::{debug, info, warn};

use crate::auth::Users;
use crate::certificates::Certificates;
use crate::config::{Config, list};
use crate::core::Common;
use crate::link::Link;
use crate::memory_file::MemoryFile;
use crate::metrics::Scraper;
use crate::partitions::Partitions;
use crate::phase::Phase;
use crate::pidfile::Pidfile;
use crate::privileges::Account;
use crate::thread::{CoreThread, Neighbours, Places, Starting, Waker};
use crate::{partitions, ports, ports_file, steering};

/// A running server.
///
/// Dropping it ends it at once; [`Server::stop`] lets replies leave first.
pub struct Server {
    common: Arc<Common>,
    threads: Vec<JoinHandle<Option<Partitions>>>,
    wakers: Vec<Waker>,
    end: Receiver<End>,
    /// The hash seed for keys.
    seed: u64,
    file: Option<MemoryFile>,
    _pidfile: Option<Pidfile>,
}

/// The reason for a server's end.
#[derive(Debug)]
pub(crate) enum End {
    /// A signal or a client asked it to stop.
    Interrupted,
    /// A stop that also saves the memory file.
    Graceful,
    /// A thread has ended; why.
    Failed(String),
}

/// Threads that have their memory and wait for orders. Where the start fails they end, and their sockets' files are
/// removed, before the error is returned: the process ends at once then.
#[derive(Default)]
struct Started(Vec<CoreThread>);

impl Started {
    /// Has every thread listen; returns the places with the ports that the first one got for 0.
    fn listen(&self, mut places: Places) -> Result<Places> {
        for thread in &self.0 {
            places = thread.listen(places)?;
        }
        Ok(places)
    }

    /// Has the threads listen in their order where clients are handed to them as `steering` says.
    fn listen_steered(&self, places: Places, steering: Steering) -> Result<Places> {
        let first = &self.0[0];
        first.steer(steering);
        let taken = self.listen(places);
        first.steer(Steering::default());
        taken
    }

    /// Has each thread listen at places of its own; returns them with the ports that it got for 0.
    fn listen_apart(&self, places: &[Vec<SocketAddr>]) -> Result<Vec<Vec<SocketAddr>>> {
        let listen = |(thread, sockets): (&CoreThread, &Vec<SocketAddr>)| {
            let plain = sockets.iter().copied().map(Address::Tcp).collect();
            let taken = thread.listen(Places { plain, encrypted: Vec::new() })?;
            Ok(taken.plain.iter().filter_map(Address::socket).collect())
        };
        self.0.iter().zip(places).map(listen).collect()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.0.drain(..).for_each(CoreThread::give_up);
    }
}

/// How often a stop looks whether all connections have ended.
const LOOK: Duration = Duration::from_millis(1);
/// How often a start looks whether it is interrupted, while threads take memory.
const LOOK_AT_START: Duration = Duration::from_millis(10);
/// After this long without a log line, a start reports its progress.
const TELL_PROGRESS: Duration = Duration::from_secs(2);

impl Server {
    /// Starts the threads and returns once each is pinned, has its memory and listens.
    ///
    /// Errors: port taken, address not of this machine, too little memory, no such processor, too many connections for
    /// the descriptors, no such file or user; each with a hint.
    pub fn start(config: Config) -> Result<Server> {
        let (end_at, end) = channel();
        let started = Server::start_unless_ended(config, end_at, end)?;
        started.context("the start was interrupted")
    }

    /// As [`Server::start`], unless `end` requests the end during the start, which yields `None`: threads may still be
    /// taking memory then, and no file and no port is left.
    pub(crate) fn start_unless_ended(
        mut config: Config,
        end_at: Sender<End>,
        end: Receiver<End>,
    ) -> Result<Option<Server>> {
        config.check()?;
        ports::await_free(&config)?;
        let reserved = ports::reserve(&config);
        let account = config.user.as_deref().map(Account::find).transpose()?;
        let users = config.auth_file.as_deref();
        let users = users.map(|file| Users::read(file, config.auth_format)).transpose()?;
        let certificates = config.tls.as_ref().map(Certificates::read).transpose()?;
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())
            .context("the system gives no random numbers")?;
        let file = MemoryFile::open(&config, account.as_ref().map(Account::uid))?.map(Arc::new);
        // Hashes say where items are.
        let saved = file.as_ref().and_then(|file| file.seed());
        let seed = saved.unwrap_or_else(|| u64::from_ne_bytes(seed));

        let epochs = partitions::epochs(&config);
        let start = |number| {
            let tls = certificates.as_ref().map(Certificates::renewable);
            let (epochs, file) = (Arc::clone(&epochs), file.clone());
            Starting::start(number, config.clone(), tls, seed, epochs, file, end_at.clone())
        };
        if config.takes_memory_first() {
            info!("taking {} of memory", config.memory);
        }
        // All of them take memory at the same time, each on its own core.
        let starting: Vec<Starting> = (0..config.cpus.len()).map(start).collect::<Result<_>>()?;
        let Some(started) = await_memory(starting, &end, &config)? else { return Ok(None) };

        // The moment in which they are free is a short one, and another server could not have taken them before.
        drop(reserved);
        ports::check_free(&config)?;
        let is_path = |address: &Address| matches!(address, Address::Unix(_));
        let (paths, network) = config.listen.iter().cloned().partition(is_path);
        let encrypted = config.tls.iter().flat_map(|tls| tls.listen.iter().copied()).collect();
        let steering = steering(&config);
        let network = started.listen_steered(Places { plain: network, encrypted }, steering.clone())?;
        config.partition_ports = started.listen_apart(&config.partition_ports)?;
        let resp = started.listen_steered(resp_places(&config), steering)?;
        // Each thread has let go of it, and writes nothing before it serves.
        let mut file = file.and_then(Arc::into_inner);
        let saved_at = file.as_ref().and_then(MemoryFile::saved_at).unwrap_or(0);
        file.iter_mut().try_for_each(MemoryFile::break_seal)?;
        if let Some(account) = account {
            account.take_on()?;
        }
        // From here on as memcached does it: sockets and pidfile belong to the user of -u, who may then remove them, and
        // root needs no capability to write in that user's folder.
        let paths = started.listen(Places { plain: paths, encrypted: Vec::new() })?;
        config.listen = [network.plain, paths.plain].concat();
        if let Some(tls) = &mut config.tls {
            tls.listen = network.encrypted;
            tls.resp = resp.encrypted;
        }
        config.resp = resp.plain.iter().filter_map(Address::socket).collect();
        let pidfile = config.pidfile.clone().and_then(Pidfile::write);
        ports_file::write(&config);
        tell(&config);
        let common = Common::new(config, users, certificates, monotonic_now(), end_at);
        let clock = common.clock.not_before(common.started, saved_at);
        Ok(Some(Server::serve(Common { clock, ..common }, started, pidfile, end, seed, file)))
    }

    fn serve(
        common: Common,
        mut started: Started,
        pidfile: Option<Pidfile>,
        end: Receiver<End>,
        seed: u64,
        file: Option<MemoryFile>,
    ) -> Server {
        let wakers: Vec<Waker> = started.0.iter().map(|thread| thread.waker.clone()).collect();
        let common = Arc::new(common);
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
        Server { threads: threads.collect(), common, wakers, end, seed, file, _pidfile: pidfile }
    }

    /// Its first TCP address, if any.
    pub fn address(&self) -> Option<SocketAddr> {
        self.common.config.listen.iter().find(|address| !address.is_datagram()).and_then(Address::socket)
    }

    /// The configuration it was started with, the ports resolved.
    pub fn config(&self) -> &Config {
        &self.common.config
    }

    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.common
    }

    /// The handle that collects the threads' figures.
    pub(crate) fn scraper(&self) -> Scraper {
        Scraper { common: Arc::clone(&self.common), wakers: self.wakers.clone() }
    }

    /// Waits for an interruption, or for an unexpected end of a thread.
    pub(crate) fn wait(&self) -> End {
        self.end.recv().expect("the server holds a sender itself")
    }

    /// As [`Server::stop`], and saves the contents of [`Config::memory_file`] for the next start; without such a file,
    /// just stops.
    ///
    /// Errors: it cannot be saved. The server has stopped all the same.
    pub fn stop_and_save(mut self) -> Result<()> {
        self.let_replies_leave();
        self.enter(Phase::Ended);
        let kept: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        let Some(file) = &self.file else { return Ok(()) };
        let now = self.common.clock.seconds(monotonic_now());
        let began = Instant::now();
        let mut saved = Vec::new();
        // Each thread's at the same time, as they have their own memory.
        thread::scope(|scope| -> Result<()> {
            let mut saving = Vec::new();
            for partitions in kept {
                let partitions = partitions.ok().flatten().context("a thread has failed")?;
                saving.push(scope.spawn(move || partitions.save(now)));
            }
            for thread in saving {
                saved.extend(thread.join().ok().context("a partition cannot be saved")?);
            }
            Ok(())
        })?;
        file.save(self.seed, now, saved)?;
        info!(ms = began.elapsed().as_millis(), "items are saved for the next start");
        Ok(())
    }

    /// Accepts no more clients, lets the replies to received requests leave, and ends the threads; after
    /// [`Config::drain`] at the latest.
    pub fn stop(self) {
        self.let_replies_leave();
    }

    fn let_replies_leave(&self) {
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

/// Waits until each thread has its memory; `None` if `end` requests the end before.
fn await_memory(starting: Vec<Starting>, end: &Receiver<End>, config: &Config) -> Result<Option<Started>> {
    let (threads, began) = (starting.len(), Instant::now());
    let (mut started, mut tell_at) = (Started::default(), TELL_PROGRESS);
    // Threads that are dropped here have neither a port nor a file. They are not waited for: to provide some GiB takes
    // seconds, and the end of the process ends that.
    for mut thread in starting {
        loop {
            if let Ok(End::Interrupted | End::Graceful) = end.try_recv() {
                return Ok(None);
            }
            match thread.wait(LOOK_AT_START)? {
                Ok(ready) => break started.0.push(ready),
                Err(still) => thread = still,
            }
            if began.elapsed() >= tell_at {
                tell_at *= 2;
                warn!(
                    seconds = began.elapsed().as_secs(),
                    "still taking {} of memory, {} of {threads} threads have theirs; --lazy-memory takes it as it fills",
                    config.memory,
                    started.0.len()
                );
            }
        }
    }
    Ok(Some(started))
}

/// How clients are handed to threads, as far as that is possible here.
fn steering(config: &Config) -> Steering {
    let mut steering = Steering { cpus: config.steer_by_cpu.then(|| config.cpus.clone()), datagrams: None };
    if config.steer_by_key && config.listen.iter().any(Address::is_datagram) {
        match steering::by_key(config.cpus.len()) {
            Ok(program) => steering.datagrams = Some(Arc::new(program)),
            Err(error) => warn!(
                "--steering key: the kernel does not take the program: {error}; it takes root or CAP_BPF, and Linux 5.3. \
                 Datagrams come to any thread, which asks the owner of the key"
            ),
        }
    }
    steering
}

fn tell(config: &Config) {
    info!(io = config.io.name(), why = config.io_reason, cpus = list(&config.cpus), "threads have started");
    for address in &config.listen {
        info!(%address, "listening");
    }
    for (thread, address) in
        config.partition_ports.iter().enumerate().flat_map(|(n, all)| all.iter().map(move |a| (n, a)))
    {
        info!(thread, %address, "listening for the keys of a thread");
    }
    for address in config.tls.iter().flat_map(|tls| &tls.listen) {
        info!(%address, "listening with TLS");
    }
    for (address, tls) in config.resp_places() {
        info!(%address, tls, "listening for RESP");
    }
}

/// Where each thread listens for RESP.
fn resp_places(config: &Config) -> Places {
    let encrypted = config.tls.iter().flat_map(|tls| &tls.resp).copied().collect();
    Places { plain: config.resp.iter().copied().map(Address::Tcp).collect(), encrypted }
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
