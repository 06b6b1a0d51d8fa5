use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use hist::LivePoint;
use nix::unistd::{getpid, getsid};
use reactor::queue::{Consumer, Producer, bounded};
use reactor::{
    Address, Backend, Epoll, Exchange, Reactor, Submit, Tls, Uring, monotonic_now, pin_to, sharpen_timers,
};
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use thiserror::Error;
use units::{Nanos, Time};

use crate::{Answered, Engine, Pace, Plan, Recording, Workload};

/// How long the threads wait for the next connection to be established. A server whose queue of new connections is full
/// drops attempts, which the kernel repeats after 1, 3 and 7 s.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// From the moment all threads are ready to the first arrival.
const RUN_UP: Nanos = Nanos::from_millis(5);
/// Descriptors that a generator needs in addition to its connections: epoll, wake-ups, files, pipes.
const OTHER_DESCRIPTORS: u64 = 64;
/// Further descriptors for the rest of the process, as far as the hard limit allows: a trial keeps a file of each
/// thread of the server open. Source: ours; a JVM with a thread for each connection has some thousands.
const ROOM_BESIDE: u64 = 8192;

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
    Connect { server: Address, source: io::Error },
    #[error(
        "{established} of {wanted} connections of a thread to {server} were established, and no further one within {CONNECT_TIMEOUT}; does it limit its connections, or is it overloaded?"
    )]
    ConnectTimeout { server: String, established: usize, wanted: usize },
    #[error("the start was called off: {0}")]
    CalledOff(String),
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
    /// The plan of all threads together: `connections` and `sessions` are all, `share` and `shares` are filled in.
    pub plan: Plan,
    /// Threads; each needs at least one connection.
    pub threads: u32,
    /// Where to pin the threads, in turn; empty: nowhere.
    pub cpus: Vec<usize>,
    /// Ends the run early once it is set, keeping the recording so far.
    pub stop: Arc<AtomicBool>,
    /// The event loop of each thread.
    pub backend: Backend,
    /// How the connections are encrypted, and the name that the servers' certificates must bear; `None`: not at all.
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Says when to start, once all connections of all threads are established; `None`: at once.
    pub start_signal: Option<StartSignal>,
    /// Whether the kernel's receive stamps end the requests (see [`Reactor::stamp_receives`]).
    pub receive_stamps: bool,
    /// Which connections the kernel stamps; `None`: none. Only those over TCP without TLS, on the event loop epoll.
    pub stamps: Option<Stamps>,
    /// Number of completed requests that each thread keeps; see [`Engine::keep_answered`].
    pub keep_answered: usize,
    /// Where the threads send their live points; see [`Generator::watch`].
    shown_to: Mutex<Vec<Producer<LivePoint>>>,
    stamped: Mutex<Vec<Exchange>>,
    answered: Mutex<Vec<Answered>>,
}

/// Connections whose requests and answers the kernel stamps; see [`Epoll::with_timestamps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// Takes one connection in this many.
    pub one_in: usize,
    /// Exchanges that each thread keeps at most.
    pub room: usize,
}

/// Waits until the start is agreed on, and returns its moment on the clock of [`monotonic_now`], or why there is
/// none.
pub type StartSignal = Box<dyn Fn() -> Result<Time, String> + Send + Sync>;

/// The nice value of the lowest priority. Source: `setpriority(2)`.
const LOWEST: i32 = 19;

/// Gives this process's session the lowest priority, if it is its own: with autogroups (`sched(7)`) nice values of threads
/// count within a session only.
///
/// A session that began outside this process's PID namespace has the ID 0, which `rustix` cannot represent.
fn lower_session() {
    if getsid(None).is_ok_and(|session| session == getpid()) {
        // The file is missing in a kernel without autogroups.
        let _ = std::fs::write("/proc/self/autogroup", LOWEST.to_string());
    }
}

/// Points that may wait for the consumer: 12 s of them.
const SHOWN: usize = 128;

impl Generator {
    /// A generator of `threads` threads that starts without delay.
    pub fn new(plan: Plan, threads: u32, cpus: Vec<usize>, stop: Arc<AtomicBool>) -> Generator {
        Generator {
            plan,
            threads,
            cpus,
            stop,
            backend: Backend::Epoll,
            tls: None,
            start_signal: None,
            receive_stamps: true,
            stamps: None,
            keep_answered: 0,
            shown_to: Mutex::default(),
            stamped: Mutex::default(),
            answered: Mutex::default(),
        }
    }

    /// Takes the stamped exchanges of the runs so far, each thread's in the order in which they ended.
    pub fn take_stamped(&self) -> Vec<Exchange> {
        std::mem::take(&mut *self.stamped.lock().expect("no thread panics while holding it"))
    }

    /// Takes the requests that the threads kept, each thread's in order of their answers.
    pub fn take_answered(&self) -> Vec<Answered> {
        std::mem::take(&mut *self.answered.lock().expect("no thread panics while holding it"))
    }

    /// The live points of each thread, for a thread that displays them. Call it before [`Generator::run`].
    pub fn watch(&self) -> Vec<Consumer<LivePoint>> {
        let (to, from) = (0..self.threads).map(|_| bounded(SHOWN)).unzip();
        *self.shown_to.lock().expect("no thread panics while holding it") = to;
        from
    }

    /// Runs the load to its end.
    ///
    /// `workload` makes the workload of each thread, given its number. Cost: all of each thread's processor,
    /// unless the pace is to sleep or to yield.
    pub fn run<W: Workload>(&self, workload: impl Fn(u32) -> W + Sync) -> Result<Recording, Failure> {
        self.check_descriptors()?;
        if self.plan.pace == Pace::Yield {
            lower_session();
        }
        let start = AtomicU64::new(0);
        let failed = AtomicBool::new(false);
        let barrier = Barrier::new(self.threads as usize);
        let results: Vec<Result<Recording, Failure>> = thread::scope(|scope| {
            let handles: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (workload, start, failed, barrier) = (&workload, &start, &failed, &barrier);
                    scope.spawn(move || {
                        let together = (start, failed, barrier);
                        let ring = || Uring::new(Submit::AtOnce);
                        match (self.backend, self.stamps.filter(|_| self.tls.is_none())) {
                            (Backend::Epoll, Some(stamps)) => {
                                self.stamped_thread(thread, workload(thread), stamps, together)
                            }
                            (Backend::Epoll, None) => {
                                self.wrapped(thread, workload(thread), Epoll::new, together)
                            }
                            (Backend::Uring, _) => self.wrapped(thread, workload(thread), ring, together),
                        }
                    })
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

    /// The recording of a load that is not run: no arrivals.
    pub fn nothing<W: Workload>(&self, workload: W) -> Recording {
        Engine::new(self.plan.clone(), workload, Arc::clone(&self.stop)).skip(monotonic_now())
    }

    fn check_descriptors(&self) -> Result<(), Failure> {
        let needed = self.plan.connections() as u64 + OTHER_DESCRIPTORS;
        let limits = getrlimit(Resource::Nofile);
        let raised = raised(needed, &limits).map_err(|limit| Failure::Descriptors {
            wanted: self.plan.connections(),
            needed,
            limit,
        })?;
        let Some(raised) = raised else { return Ok(()) };
        let (suffices, maximum) = (limits.current.is_none_or(|limit| needed <= limit), limits.maximum);
        match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
            // Only the additional descriptors were refused.
            Err(_) if suffices => Ok(()),
            set => Ok(set.map_err(io::Error::from)?),
        }
    }

    /// Runs a thread on its event loop, with TLS if the plan has it.
    fn wrapped<R: Reactor, W: Workload>(
        &self,
        thread: u32,
        workload: W,
        reactor: impl FnOnce() -> io::Result<R>,
        together: (&AtomicU64, &AtomicBool, &Barrier),
    ) -> Result<Recording, Failure> {
        match self.tls.clone() {
            None => self.thread(thread, workload, reactor, together).map(|(recording, _)| recording),
            Some((config, name)) => {
                let encrypted = || Ok(Tls::client(reactor()?, config, name));
                self.thread(thread, workload, encrypted, together).map(|(recording, _)| recording)
            }
        }
    }

    /// Runs a thread on an event loop that the kernel gives its stamps to, and keeps these.
    fn stamped_thread<W: Workload>(
        &self,
        thread: u32,
        workload: W,
        Stamps { one_in, room }: Stamps,
        together: (&AtomicU64, &AtomicBool, &Barrier),
    ) -> Result<Recording, Failure> {
        let reactor = || Epoll::with_timestamps(room, one_in);
        let (recording, mut reactor) = self.thread(thread, workload, reactor, together)?;
        self.stamped.lock().expect("no thread panics while holding it").extend(reactor.take_exchanges());
        Ok(recording)
    }

    fn thread<R: Reactor, W: Workload>(
        &self,
        thread: u32,
        workload: W,
        reactor: impl FnOnce() -> io::Result<R>,
        (start, failed, barrier): (&AtomicU64, &AtomicBool, &Barrier),
    ) -> Result<(Recording, R), Failure> {
        let prepared = self.prepare(thread, workload, reactor);
        if prepared.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        // Every thread comes here, also one that failed, so that none waits for ever.
        let mut called_off = None;
        if barrier.wait().is_leader() && !failed.load(Ordering::Relaxed) {
            match self.start_signal.as_ref().map_or_else(|| Ok(monotonic_now() + RUN_UP), |signal| signal()) {
                Ok(at) => start.store(at.0, Ordering::Relaxed),
                Err(reason) => {
                    failed.store(true, Ordering::Relaxed);
                    called_off = Some(Failure::CalledOff(reason));
                }
            }
        }
        barrier.wait();
        let (mut reactor, mut engine) = prepared?;
        if let Some(called_off) = called_off {
            return Err(called_off);
        }
        if failed.load(Ordering::Relaxed) {
            return Ok((engine.finish(Time(0)), reactor));
        }
        engine.start(Time(start.load(Ordering::Relaxed)));
        while engine.step(&mut reactor)? {}
        self.answered.lock().expect("no thread panics while holding it").extend(engine.take_answered());
        let mut recording = engine.finish(reactor.now());
        recording.receives.note_clock(reactor.receive_clock());
        Ok((recording, reactor))
    }

    fn prepare<R: Reactor, W: Workload>(
        &self,
        thread: u32,
        workload: W,
        reactor: impl FnOnce() -> io::Result<R>,
    ) -> Result<(R, Engine<W>), Failure> {
        if !self.cpus.is_empty() {
            let cpu = self.cpus[thread as usize % self.cpus.len()];
            pin_to(cpu).map_err(|source| Failure::Pin { thread, source })?;
        }
        if self.plan.pace == Pace::Yield {
            // Of this thread alone, and always permitted.
            let _ = setpriority_process(None, LOWEST);
        }
        // Without this a paced sleep ends 50 µs late; if the kernel refuses it, the lag shows it.
        let _ = sharpen_timers();
        let plan = self.plan_of(thread as usize);
        let mut reactor = reactor()?;
        if self.receive_stamps {
            reactor.stamp_receives();
        }
        let mut engine = Engine::new(plan, workload, Arc::clone(&self.stop));
        if let Some(to) = self.shown_to.lock().expect("no thread panics while holding it").pop() {
            engine.show(to);
        }
        engine.keep_answered(self.keep_answered);
        engine.connect(&mut reactor)?;
        let (mut deadline, mut before) = (reactor.now() + CONNECT_TIMEOUT, 0);
        while !engine.is_ready() {
            engine.step(&mut reactor)?;
            if let Some((server, source)) = engine.failure() {
                return Err(Failure::Connect { server, source });
            }
            let late = reactor.now() >= deadline;
            if late && engine.settle() {
                break;
            }
            let stopped = self.stop.load(Ordering::Relaxed);
            if late || stopped {
                let (established, wanted) = engine.standing();
                if stopped || established <= before {
                    return Err(Failure::ConnectTimeout { server: self.servers(), established, wanted });
                }
                (deadline, before) = (reactor.now() + CONNECT_TIMEOUT, established);
            }
        }
        Ok((reactor, engine))
    }

    /// All servers, for a message.
    fn servers(&self) -> String {
        let addresses: Vec<String> = self.plan.endpoints.iter().map(|e| e.address.to_string()).collect();
        addresses.join(", ")
    }

    /// The part of one thread: its share of the arrivals, of each endpoint's connections, of the clients and of the sessions.
    fn plan_of(&self, thread: usize) -> Plan {
        let threads = self.threads as usize;
        let part = |all: usize| all / threads + usize::from(thread < all % threads);
        let mut plan = self.plan.clone();
        plan.share = self.plan.share * self.threads + thread as u32;
        plan.shares = self.plan.shares * self.threads;
        plan.clients = plan.clients.map(part);
        plan.sessions = plan.sessions.map(part);
        for endpoint in &mut plan.endpoints {
            endpoint.connections = part(endpoint.connections);
        }
        plan
    }
}

/// The soft limit to set for `needed` descriptors and some room; `None` if the present limit suffices.
///
/// Errors: the hard limit, which is less than `needed`.
fn raised(needed: u64, limits: &Rlimit) -> Result<Option<u64>, u64> {
    let wanted = needed.saturating_add(ROOM_BESIDE);
    let raised = match limits.maximum {
        Some(most) if needed > most => return Err(most),
        Some(most) => wanted.min(most),
        None => wanted,
    };
    Ok(limits.current.filter(|current| *current < raised).map(|_| raised))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_has_descriptors_beside_the_connections() {
        let check = |needed, current, maximum, expect: Result<Option<u64>, u64>| {
            let limits = Rlimit { current, maximum };
            assert_eq!(raised(needed, &limits), expect, "{needed} of {limits:?}");
        };
        // A trial's own files would not fit below a limit that is just enough for the connections.
        check(1000, Some(1024), Some(1 << 20), Ok(Some(9192)));
        check(2064, Some(1024), Some(1 << 20), Ok(Some(10_256)));
        check(2064, Some(1024), Some(4096), Ok(Some(4096)));
        check(2064, Some(1024), None, Ok(Some(10_256)));
        check(4096, Some(1024), Some(4096), Ok(Some(4096)));
        check(4097, Some(1024), Some(4096), Err(4096));
        check(100, Some(1 << 20), Some(1 << 20), Ok(None));
        check(100, Some(1024), Some(1024), Ok(None));
        check(100, None, None, Ok(None));
    }
}
