//! A server with a delay planted in one stage after the other: the probe must show it in that stage.
//!
//! The server times its delays itself, so that a slow machine does not look like an error of the probe; medians are
//! compared, so that a stall of the host in some of the requests does not either.

use std::any::Any;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::libc;
use reactor::{Address, Event, Handler, Reactor, Submit, Uring, Wait};
use results::Probes;
use results::probes::Stages;
use rustix::event::epoll;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::super::seen::STAGES;
use super::*;
use crate::kernel::{hint, may_load};

/// Much longer than everything that is not planted, and than a processor's time slices on a busy machine.
const DELAY: Duration = Duration::from_millis(20);
const REQUESTS: usize = 25;
/// Steps of the histogram are 12.5 % wide, so the middle of one is at most 6 % off; the rest is for the server's work
/// around its delay.
const ERROR: f64 = 0.10;
/// Part of the note about sends outside of all stages.
const LATER: &str = "sends came after their request had ended";
/// Larger than any socket buffer.
const LARGE: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Plant {
    Nothing,
    /// The thread does something else before it waits: requests remain in the ready state.
    LateWait,
    /// The same, but long enough that TCP acknowledges the next request in between, by a packet without data.
    VeryLateWait,
    /// The thread does something else between waiting and reading.
    BusyBeforeRead,
    /// The thread reads until it has a whole request, and the second half comes late.
    SlowRead,
    /// The response takes time.
    SleepInApplication,
    /// For requests that come in pairs: the second waits for the first's response.
    Turns,
    /// A file opens late: one end of a pipe, whose other end is opened after a while.
    LateOpen,
    /// The response is larger than all buffers, and the client does not read yet.
    LargeSend,
}

struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(Instant, Duration)>>,
}

/// One thread with an epoll loop; it times the planted delay.
fn serve(plant: Plant) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        before_others();
        let answer = vec![b'a'; if plant == Plant::LargeSend { LARGE } else { 0 }];
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let mut planted = Vec::new();
        let mut time = |what: &mut dyn FnMut()| {
            let start = Instant::now();
            what();
            planted.push((start, start.elapsed()));
        };
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let watch = |fd: &dyn AsFd, number| {
            epoll::add(&poll, fd.as_fd(), epoll::EventData::new_u64(number), epoll::EventFlags::IN).unwrap();
        };
        watch(&listener, 0);
        let mut streams: Vec<TcpStream> = Vec::new();
        while !stopped.load(Ordering::Relaxed) {
            let mut events = Vec::with_capacity(64);
            let tick = rustix::time::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let _ = epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&tick));
            for event in &events {
                let number = event.data.u64();
                if number == 0 {
                    let stream = listener.accept().unwrap().0;
                    stream.set_nodelay(true).unwrap();
                    watch(&stream, streams.len() as u64 + 1);
                    streams.push(stream);
                    continue;
                }
                let stream = &mut streams[number as usize - 1];
                if plant == Plant::BusyBeforeRead {
                    time(&mut || {
                        let start = Instant::now();
                        while start.elapsed() < DELAY {
                            std::hint::spin_loop();
                        }
                    });
                }
                let mut request = [0; 8];
                match plant {
                    Plant::SlowRead => {
                        let mut read = 0;
                        time(&mut || {
                            let flags = rustix::net::RecvFlags::WAITALL;
                            read = rustix::net::recv(&stream, &mut request, flags).map_or(0, |(n, _)| n);
                        });
                        if read == 0 {
                            let _ = epoll::delete(&poll, &stream);
                            continue;
                        }
                    }
                    _ => {
                        if stream.read(&mut request).unwrap_or(0) == 0 {
                            let _ = epoll::delete(&poll, &stream);
                            continue;
                        }
                    }
                }
                if plant == Plant::SleepInApplication {
                    time(&mut || thread::sleep(DELAY));
                }
                if plant == Plant::LateOpen {
                    let other_end = pipe.clone();
                    let opening = thread::spawn(move || {
                        thread::sleep(DELAY);
                        drop(File::options().write(true).open(other_end));
                    });
                    time(&mut || drop(File::open(&pipe)));
                    opening.join().unwrap();
                }
                match plant {
                    Plant::LargeSend => {
                        time(&mut || drop(stream.write_all(&answer)));
                    }
                    _ => stream.write_all(b"answer\r\n").unwrap_or(()),
                }
                match plant {
                    Plant::LateWait => time(&mut || thread::sleep(DELAY)),
                    Plant::VeryLateWait => time(&mut || thread::sleep(3 * DELAY)),
                    _ => {}
                }
            }
        }
        planted
    });
    Server { address, stop, thread }
}

/// A thread for each connection, which waits only in its reads.
fn serve_by_reads() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                while stream.read_exact(&mut [0; 8]).is_ok() && stream.write_all(b"answer\r\n").is_ok() {}
            });
        }
    });
    address
}

/// Sends `requests` requests, each after the response to the previous one; returns when each was sent.
fn ask(plant: Plant, address: SocketAddr, requests: usize) -> Vec<Instant> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = if plant == Plant::LargeSend { LARGE } else { 8 };
    let mut answer = vec![0; length];
    let mut sent = Vec::new();
    for _ in 0..requests {
        sent.push(Instant::now());
        if plant == Plant::SlowRead {
            stream.write_all(b"get ").unwrap();
            thread::sleep(DELAY);
            stream.write_all(b"me\r\n").unwrap();
        } else {
            stream.write_all(b"get me\r\n").unwrap();
        }
        if plant == Plant::LargeSend {
            thread::sleep(DELAY);
        }
        stream.read_exact(&mut answer).unwrap();
    }
    sent
}

/// Sends a request and waits for the response.
fn once(stream: &mut TcpStream) {
    stream.write_all(b"get me\r\n").unwrap();
    stream.read_exact(&mut [0; 8]).unwrap();
}

/// Results of `kernel` for this number of new connections, each with this number of requests, in turn.
fn seen_of(mut kernel: Kernel, address: SocketAddr, connections: usize, requests: usize) -> Box<dyn Reading> {
    kernel.resume().unwrap();
    let mut streams: Vec<TcpStream> =
        (0..connections).map(|_| TcpStream::connect(address).unwrap()).collect();
    for _ in 0..requests {
        streams.iter_mut().for_each(once);
    }
    kernel.pause()
}

/// The programs on this process and `address`; `None`, with a message, if this user may not load any.
fn programs(address: SocketAddr, connections: u32) -> Option<Kernel> {
    let subject =
        Subject { pids: vec![std::process::id()], ports: vec![address.port()], ..Subject::default() };
    match Kernel::open(&subject, connections) {
        Ok(kernel) => Some(kernel),
        Err(error) if !may_load() => {
            println!("skipped: {}", hint(&error));
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// The results, and the median of the planted delay.
struct Observed {
    seen: Seen,
    stages: Stages,
    lost: Option<String>,
    /// The median of the planted delay. Units: µs.
    planted: f64,
}

fn observe(plant: Plant) -> Option<Observed> {
    watched(plant, serve(plant))
}

/// The same with a server that is already running.
fn watched(plant: Plant, server: Server) -> Option<Observed> {
    let kernel = programs(server.address, CONNECTIONS);
    let mut sent = Vec::new();
    let seen = kernel.map(|mut kernel| {
        kernel.resume().unwrap();
        sent = ask(plant, server.address, REQUESTS);
        kernel.pause()
    });
    server.stop.store(true, Ordering::Relaxed);
    let mut planted = server.thread.join().unwrap();
    planted.truncate(REQUESTS);
    // A server that waits late delays the last request that came before the end, which may have come late itself.
    let late = matches!(plant, Plant::LateWait | Plant::VeryLateWait);
    let held_up = |(start, time): (Instant, Duration)| {
        let last = sent.iter().rfind(|sent| late && **sent < start + time);
        time.saturating_sub(last.map_or(Duration::ZERO, |sent| sent.saturating_duration_since(start)))
    };
    let planted: Vec<f64> = planted.into_iter().map(held_up).map(|time| 1e6 * time.as_secs_f64()).collect();
    let mut record = Probes::default();
    let seen = seen?;
    let lost = seen.enter(1.0, &mut record);
    let seen = (seen.as_ref() as &dyn Any).downcast_ref::<Seen>().unwrap().clone();
    Some(Observed { seen, stages: record.stages?, lost, planted: stats::median(&planted).unwrap_or(0.0) })
}

/// Tries of an observation for which the kernel skipped events.
const TRIES: usize = 10;

/// Checks the observation of `observe`, and repeats it if the kernel skipped events. The kernel skips events while the
/// program for the same events is running on a thread that has lost its processor. A request with a skipped event is
/// attributed wrongly.
fn checked(observe: impl Fn() -> Option<Observed>, check: impl Fn(&Observed) -> Result<(), String>) {
    for left in (0..TRIES).rev() {
        let Some(observed) = observe() else { return };
        let Err(error) = check(&observed) else { return };
        assert!(left > 0 && observed.seen.skipped > 0, "{error}: {:?}", observed.stages);
        println!("observed once more: {error}");
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

#[test]
fn a_planted_delay_shows_in_its_stage() {
    let check = |plant: Plant, stage: &str| {
        let shows = |Observed { seen, stages, lost, planted }: &Observed| -> Result<(), String> {
            ensure(lost.is_none(), || format!("{plant:?}: {lost:?}"))?;
            // The first is cut if its thread was already waiting; the last if its thread had not waited again.
            let is_whole = stages.correlated as usize >= REQUESTS - 3 && stages.cut <= 3;
            ensure(is_whole && stages.messages as usize >= REQUESTS, || format!("{plant:?}: requests lack"))?;
            ensure(stages.notes.iter().all(|note| !note.contains(LATER)), || format!("{plant:?}: {LATER}"))?;
            for one in &stages.stages {
                // A request that comes in two parts is two messages, and only the first of them waits for the second: the
                // longer half of the reads is the planted delay, so its median is the third quartile of all.
                let middle = if plant == Plant::SlowRead { 0.75 } else { 0.5 };
                if one.name == stage {
                    let times = STAGES.iter().zip(&seen.times).find(|(name, _)| **name == stage).unwrap().1;
                    let median = times.quantile_us(middle).unwrap_or(f64::NAN);
                    ensure((median / planted - 1.0).abs() < ERROR, || {
                        format!("{plant:?}: {median} µs where {planted} µs were planted")
                    })?;
                } else {
                    let median = one.time.p50_us.unwrap_or(f64::NAN);
                    ensure(median < planted / 2.0, || format!("{plant:?}: {median} µs in {}", one.name))?;
                }
            }
            Ok(())
        };
        checked(|| observe(plant), shows);
    };
    check(Plant::LateWait, "epoll");
    check(Plant::BusyBeforeRead, "event_library");
    check(Plant::SlowRead, "read");
    check(Plant::SleepInApplication, "application");
    check(Plant::LateOpen, "open");
    check(Plant::LargeSend, "send");
}

/// A server that sends as much as there is room for, and waits for more; its one client ends it.
fn serve_without_blocking() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        before_others();
        let mut stream = listener.accept().unwrap().0;
        stream.set_nonblocking(true).unwrap();
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&poll, &stream, epoll::EventData::new_u64(0), flags).unwrap();
        let answer = vec![b'a'; LARGE];
        let mut left = 0;
        loop {
            let mut events = Vec::with_capacity(1);
            let _ = epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None);
            match stream.read(&mut [0; 8]) {
                Ok(0) => break,
                Ok(_) => left = LARGE,
                Err(_) => {}
            }
            while left > 0 {
                let Ok(sent) = stream.write(&answer[..left]) else { break };
                left -= sent;
            }
        }
    });
    address
}

#[test]
fn sends_that_are_in_no_stage_are_told() {
    let address = serve_without_blocking();
    let Some(mut kernel) = programs(address, CONNECTIONS) else { return };
    kernel.resume().unwrap();
    ask(Plant::LargeSend, address, 3);
    let mut record = Probes::default();
    kernel.pause().enter(1.0, &mut record);
    let stages = record.stages.unwrap();
    assert!(stages.notes.iter().any(|note| note.contains(LATER)), "{stages:?}");
}

/// A server with a loop of io_uring; it answers each request after the planted delay.
struct Ring {
    plant: Plant,
    planted: Vec<(Instant, Duration)>,
}

impl Ring {
    fn sleep(&mut self) {
        let start = Instant::now();
        thread::sleep(DELAY);
        self.planted.push((start, start.elapsed()));
    }
}

/// Lets this thread run before all other programs: a server or a client that waits for them adds to the planted delays.
///
/// A nice value counts only within the session with autogroups (`sched(7)`); threads with a real-time policy are in none.
fn before_others() {
    // Only root may, and so it is with the programs that observe.
    let priority: libc::c_int = 1;
    // SAFETY: the call reads the kernel's structure of one number, which outlives it.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority) };
    if result != 0 {
        // A group of processes may have no real-time budget.
        let _ = rustix::process::setpriority_process(None, -20);
    }
}

impl Handler<Uring> for Ring {
    fn event(&mut self, reactor: &mut Uring, event: Event<'_>) {
        let Event::Data { conn, .. } = event else { return };
        if matches!(self.plant, Plant::SleepInApplication | Plant::Turns) {
            self.sleep();
        }
        reactor.output(conn).extend_from_slice(b"answer\r\n");
        reactor.flush(conn);
    }
}

/// As [`serve`], by io_uring; `None`, with a message, if this machine provides no ring.
fn serve_by_ring(plant: Plant) -> Option<Server> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let (address, known) = channel();
    let thread = thread::spawn(move || {
        before_others();
        let mut ring = Ring { plant, planted: Vec::new() };
        let mut reactor = match Uring::new(Submit::Together) {
            Ok(reactor) => reactor,
            Err(error) => {
                println!("skipped: {error}");
                return Vec::new();
            }
        };
        let Address::Tcp(own) = reactor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap() else {
            panic!("it listens elsewhere");
        };
        address.send(own).unwrap();
        while !stopped.load(Ordering::Relaxed) {
            let tick = reactor.now() + units::Nanos::from_millis(50);
            let events = reactor.poll(Wait::Sleep(tick), &mut ring).unwrap();
            if matches!(plant, Plant::LateWait | Plant::Turns) && events > 0 {
                // Pending writes are sent first.
                reactor.poll(Wait::Spin(tick), &mut ring).unwrap();
                ring.sleep();
            }
        }
        ring.planted
    });
    let address = known.recv().ok()?;
    Some(Server { address, stop, thread })
}

#[test]
fn a_ring_is_followed_as_well() {
    let check = |plant: Plant, stage: &str| {
        let shows = |Observed { stages, lost, planted, .. }: &Observed| -> Result<(), String> {
            ensure(lost.is_none(), || format!("{plant:?}: {lost:?}"))?;
            let is_whole = stages.correlated as usize >= REQUESTS - 3 && stages.cut <= 3;
            ensure(is_whole, || format!("{plant:?}: requests lack"))?;
            for one in &stages.stages {
                let median = one.time.p50_us.unwrap_or(f64::NAN);
                if one.name == stage {
                    let is_planted = (median / planted - 1.0).abs() < ERROR;
                    ensure(is_planted, || format!("{plant:?}: {median} of {planted}"))?;
                } else if plant != Plant::Nothing {
                    ensure(median < planted / 2.0, || format!("{plant:?}: {median} µs in {}", one.name))?;
                }
            }
            agrees(plant, stages)?;
            let by_ring = stages.notes.iter().any(|note| note.contains("by io_uring"));
            ensure(by_ring, || format!("{plant:?}: by no ring"))
        };
        checked(|| watched(plant, serve_by_ring(plant)?), shows);
    };
    check(Plant::Nothing, "none");
    check(Plant::SleepInApplication, "application");
    check(Plant::LateWait, "epoll");
}

#[test]
fn a_ring_s_turns_are_told() {
    let Some(server) = serve_by_ring(Plant::Turns) else { return };
    let kernel = programs(server.address, CONNECTIONS);
    let seen = kernel.map(|mut kernel| {
        let mut streams = [(); 2].map(|()| TcpStream::connect(server.address).unwrap());
        kernel.resume().unwrap();
        before_others();
        for _ in 0..REQUESTS {
            // The server sleeps between two rounds, so it finds both when it wakes.
            for stream in &mut streams {
                stream.write_all(b"get me\r\n").unwrap();
            }
            for stream in &mut streams {
                stream.read_exact(&mut [0; 8]).unwrap();
            }
        }
        kernel.pause()
    });
    server.stop.store(true, Ordering::Relaxed);
    let planted: Vec<f64> =
        server.thread.join().unwrap().iter().map(|(_, time)| 1e6 * time.as_secs_f64()).collect();
    let Some(seen) = seen else { return };
    let seen = (seen.as_ref() as &dyn Any).downcast_ref::<Seen>().unwrap();
    assert!(seen.by_ring && seen.tells);
    // Half of the requests wait for the others: the third quartile is the median of the waiting half.
    let events = &seen.times[STAGES.iter().position(|name| *name == "event_library").unwrap()];
    let (wait, planted) = (events.quantile_us(0.75).unwrap(), stats::median(&planted).unwrap());
    assert!((wait / planted - 1.0).abs() < ERROR, "{wait} of {planted}");
    assert!(events.quantile_us(0.25).unwrap() < planted / 2.0);
    let application = &seen.times[STAGES.iter().position(|name| *name == "application").unwrap()];
    // The first response leaves after the second request's turn, so the shorter half belongs to the second requests.
    let own = application.quantile_us(0.25).unwrap();
    assert!((own / planted - 1.0).abs() < ERROR, "{own} of {planted}: the turn of another is not in it");
}

/// Whether the sum of the stages equals the time between packets.
fn agrees(plant: Plant, stages: &Stages) -> Result<(), String> {
    let Some(other) = &stages.independent else { return Err(format!("{plant:?}: no packets")) };
    // Requests that the stages cut are left out, and counted.
    ensure(other.requests as usize >= REQUESTS - 3, || format!("{plant:?}: packets lack"))?;
    // Without a delay a request is so short that the programs' own work shows.
    let is_close = plant == Plant::Nothing || other.remainder_share.abs() < 0.10;
    ensure(is_close, || format!("{plant:?}: packets say something else"))
}

#[test]
fn stages_add_up_to_what_packets_say() {
    for plant in [Plant::Nothing, Plant::SleepInApplication, Plant::LateWait, Plant::VeryLateWait] {
        let add_up = |Observed { seen, stages, .. }: &Observed| -> Result<(), String> {
            let sum: f64 = stages.stages.iter().filter_map(|stage| stage.time.mean_us).sum();
            let total = stages.total.mean_us.unwrap_or(f64::NAN);
            ensure((sum / total - 1.0).abs() < 1e-6, || format!("{plant:?}: {sum} {total}"))?;
            agrees(plant, stages)?;
            let compared = stages.independent.as_ref().map_or(0, |other| other.requests);
            let all = compared + seen.compared.alone;
            ensure(all <= REQUESTS as u64, || format!("{plant:?}: {all} requests"))
        };
        checked(|| observe(plant), add_up);
    }
}

#[test]
fn few_of_the_connections_are_checked_whatever_socket_listens() {
    for address in ["127.0.0.1:0", "[::]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            println!("skipped: this machine has no IPv6");
            continue;
        };
        let port = listener.local_addr().unwrap().port();
        let to = SocketAddr::from(([127, 0, 0, 1], port));
        let Some(kernel) = programs(to, CONNECTIONS) else { return };
        let _ends: Vec<_> =
            (0..100).map(|_| (TcpStream::connect(to).unwrap(), listener.accept().unwrap())).collect();
        assert!(kernel.mask() >= 7, "{address}: {}", kernel.mask());
    }
}

#[test]
fn lost_requests_are_never_passed_over() {
    // A table with room for four of a hundred connections.
    let server = serve(Plant::Nothing);
    let kernel = programs(server.address, 4);
    let seen = kernel.map(|kernel| seen_of(kernel, server.address, 100, 3));
    server.stop.store(true, Ordering::Relaxed);
    server.thread.join().unwrap();
    let Some(seen) = seen else { return };
    let mut record = Probes::default();
    let lost = seen.enter(1.0, &mut record).expect("it lost nearly all");
    assert!(lost.contains("a table in the kernel was full"), "{lost}");
    let stages = record.stages.unwrap();
    assert!(stages.correlated_share.unwrap() < 0.2 && stages.messages >= 299, "{stages:?}");
}

#[test]
fn a_server_that_reads_elsewhere_is_not_taken_for_a_fast_one() {
    // Another process's number: no observed process reads.
    let check = |connections: usize, requests: usize, reason: &str| {
        let server = serve(Plant::Nothing);
        let subject = Subject { pids: vec![1], ports: vec![server.address.port()], ..Subject::default() };
        let seen = programs(server.address, CONNECTIONS).map(|_| {
            let kernel = Kernel::open(&subject, CONNECTIONS).unwrap();
            seen_of(kernel, server.address, connections, requests)
        });
        server.stop.store(true, Ordering::Relaxed);
        server.thread.join().unwrap();
        let Some(seen) = seen else { return };
        let mut record = Probes::default();
        let lost = seen.enter(1.0, &mut record);
        assert!(lost.as_ref().is_some_and(|lost| lost.contains(reason)), "{lost:?}");
        assert_eq!(record.stages.unwrap().correlated, 0);
    };
    check(1, 200, "16 others");
    // Few enough on each connection that all of them have room.
    check(50, 4, "no observed process");
}

#[test]
fn a_server_without_epoll_is_not_taken_for_one_without_requests() {
    let address = serve_by_reads();
    let Some(mut kernel) = programs(address, CONNECTIONS) else { return };
    kernel.resume().unwrap();
    ask(Plant::Nothing, address, 200);
    let mut record = Probes::default();
    let lost = kernel.pause().enter(1.0, &mut record);
    assert!(lost.as_ref().is_some_and(|lost| lost.contains("not seen to wait")), "{lost:?}");
    let stages = record.stages.unwrap();
    assert_eq!((stages.correlated, stages.correlated_share), (0, Some(0.0)), "{stages:?}");
}

#[test]
fn a_slot_ends_while_requests_go_on() {
    let server = serve(Plant::Nothing);
    let Some(mut kernel) = programs(server.address, CONNECTIONS) else {
        server.stop.store(true, Ordering::Relaxed);
        drop(server.thread.join());
        return;
    };
    let (address, ended) = (server.address, Arc::new(AtomicBool::new(false)));
    let until = Arc::clone(&ended);
    let client = thread::spawn(move || {
        let mut rounds = 0;
        while !until.load(Ordering::Relaxed) {
            ask(Plant::Nothing, address, 100);
            rounds += 1;
        }
        rounds
    });
    // At least three; on a busy machine the client may have no processor in some.
    let mut correlated = Vec::new();
    while correlated.len() < 3 || correlated.iter().sum::<u64>() == 0 && correlated.len() < 100 {
        kernel.resume().unwrap();
        thread::sleep(DELAY);
        let mut record = Probes::default();
        kernel.pause().enter(1.0, &mut record);
        correlated.push(record.stages.unwrap().correlated);
    }
    // The client did not end on its own.
    ended.store(true, Ordering::Relaxed);
    assert!(client.join().unwrap() > 0);
    server.stop.store(true, Ordering::Relaxed);
    server.thread.join().unwrap();
    assert!(correlated.iter().sum::<u64>() > 0, "{correlated:?}");
}
