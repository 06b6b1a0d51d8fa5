use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use reactor::{Epoll, Reactor, monotonic_now, pin_to, sharpen_timers};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use units::{Nanos, Time};

use crate::{Engine, Plan, Recording, Workload};

/// All connections must stand after this long.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// From the moment all threads are ready to the first arrival.
const RUN_UP: Nanos = Nanos::from_millis(5);
/// Descriptors that a generator needs besides its connections: epoll, wake-ups, files, pipes.
const OTHER_DESCRIPTORS: u64 = 64;

/// Why a generator could not run.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Failure {
    #[error("generator thread {thread}: {source}; choose other processors with --cpus")]
    Pin { thread: u32, source: io::Error },
    #[error(
        "{wanted} connections need {needed} file descriptors, and this process may have {limit}; use fewer with --connections, or raise the hard limit (ulimit -Hn)"
    )]
    Descriptors { wanted: usize, needed: u64, limit: u64 },
    #[error("cannot connect to {server}: {source}{}", connect_lever(source))]
    Connect { server: SocketAddr, source: io::Error },
    #[error(
        "{server} let only some of {wanted} connections stand within {CONNECT_TIMEOUT}; does it limit its connections, or is it overloaded?"
    )]
    ConnectTimeout { server: SocketAddr, wanted: usize },
    #[error("the event loop failed: {0}")]
    Loop(#[from] io::Error),
}

fn connect_lever(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "; nothing listens there: start the server, or give another HOST:PORT"
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            "; does the server allow that many connections?"
        }
        _ => "",
    }
}

/// A load generator of one or more pinned threads.
pub struct Generator {
    /// The plan of all threads together: `connections` are all, `share` and `shares` are filled in.
    pub plan: Plan,
    /// Threads; each needs at least one connection.
    pub threads: u32,
    /// Where to pin the threads, in turn; empty: nowhere.
    pub cpus: Vec<usize>,
    /// Ends the run early once it is set, keeping what was measured.
    pub stop: Arc<AtomicBool>,
}

impl Generator {
    /// Runs the load to its end.
    ///
    /// `workload` makes the workload of each thread, given its number. Cost: all of each thread's processor,
    /// unless the pace is to sleep.
    pub fn run<W: Workload>(&self, workload: impl Fn(u32) -> W + Sync) -> Result<Recording, Failure> {
        self.check_descriptors()?;
        let start = AtomicU64::new(0);
        let failed = AtomicBool::new(false);
        let barrier = Barrier::new(self.threads as usize);
        let results: Vec<Result<Recording, Failure>> = thread::scope(|scope| {
            let handles: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (workload, start, failed, barrier) = (&workload, &start, &failed, &barrier);
                    scope.spawn(move || self.thread(thread, workload(thread), start, failed, barrier))
                })
                .collect();
            let join =
                |h: thread::ScopedJoinHandle<_>| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
            handles.into_iter().map(join).collect()
        });
        let mut whole: Option<Recording> = None;
        for result in results {
            let part = result?;
            match &mut whole {
                None => whole = Some(part),
                Some(whole) => whole.merge(&part),
            }
        }
        Ok(whole.expect("there is at least one thread"))
    }

    fn check_descriptors(&self) -> Result<(), Failure> {
        let needed = self.plan.connections as u64 + OTHER_DESCRIPTORS;
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_none_or(|limit| needed <= limit) {
            return Ok(());
        }
        if let Some(limit) = maximum.filter(|&limit| needed > limit) {
            return Err(Failure::Descriptors { wanted: self.plan.connections, needed, limit });
        }
        Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).map_err(io::Error::from)?)
    }

    fn thread<W: Workload>(
        &self,
        thread: u32,
        workload: W,
        start: &AtomicU64,
        failed: &AtomicBool,
        barrier: &Barrier,
    ) -> Result<Recording, Failure> {
        let prepared = self.prepare(thread, workload);
        if prepared.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        // Everybody comes here, also who failed, so that nobody waits for ever.
        if barrier.wait().is_leader() {
            start.store((monotonic_now() + RUN_UP).0, Ordering::Relaxed);
        }
        barrier.wait();
        let (mut reactor, mut engine) = prepared?;
        if failed.load(Ordering::Relaxed) {
            return Ok(engine.finish(Time(0)));
        }
        engine.start(Time(start.load(Ordering::Relaxed)));
        while engine.step(&mut reactor)? {}
        Ok(engine.finish(reactor.now()))
    }

    fn prepare<W: Workload>(&self, thread: u32, workload: W) -> Result<(Epoll, Engine<W>), Failure> {
        if !self.cpus.is_empty() {
            let cpu = self.cpus[thread as usize % self.cpus.len()];
            pin_to(cpu).map_err(|source| Failure::Pin { thread, source })?;
        }
        // Without this a paced sleep ends 50 µs late; where it is refused the lag shows it.
        let _ = sharpen_timers();
        let mut plan = self.plan.clone();
        let (threads, connections) = (self.threads as usize, self.plan.connections);
        let one_more = usize::from((thread as usize) < connections % threads);
        (plan.share, plan.shares) = (thread, self.threads);
        plan.connections = connections / threads + one_more;
        let server = plan.server;
        let connect = |source| Failure::Connect { server, source };
        let mut reactor = Epoll::new()?;
        let mut engine = Engine::new(plan, workload, Arc::clone(&self.stop));
        engine.connect(&mut reactor).map_err(connect)?;
        let deadline = reactor.now() + CONNECT_TIMEOUT;
        while !engine.is_ready() {
            engine.step(&mut reactor)?;
            if let Some(error) = engine.failure() {
                return Err(connect(error));
            }
            if reactor.now() >= deadline || self.stop.load(Ordering::Relaxed) {
                return Err(Failure::ConnectTimeout { server, wanted: connections });
            }
        }
        Ok((reactor, engine))
    }
}
