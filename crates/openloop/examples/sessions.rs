//! Cost of many sessions on one thread: video players that load a chunk every 10 s, each over a connection of its
//! own, read at its client's bandwidth with the burst of the video workload. The slowest client makes all receives
//! small.
//!
//! A second process, on another processor, sends bytes as fast as they are taken. It prints the generator's lag,
//! which must stay below 1 ms at the 99th percentile with 1000 sessions, its load, and the memory of a session
//! without its socket. Run it on an otherwise idle machine.
//!
//! Try it: `cargo run --release -p openloop --example sessions`, or with `-- 2000 30 uring` for 2000 sessions during 30 s.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{env, fs, io, thread};

use bytes::Bytes;
use dist::{Process, Purpose, Streams};
use openloop::{
    Binding, Endpoint, Generator, Load, Next, Outcome, Pace, Parsed, Parts, Plan, ReadRate, Recording, Route,
    Step, StepEnd, Underway, Via, WhenAbsent, Workload,
};
use rand::RngExt;
use reactor::{Address, Backend, Conn, Epoll, Event, Handler, Loan, Reactor, Wait, allowed_cpus, pin_to};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use units::{Nanos, Rate, Time};

/// From one chunk to the next.
const CHUNK: Nanos = Nanos::from_secs(10);
/// The clients' bandwidths, even from the first to the second, and of how many in a hundred. Source: ISPASS'16, Table I.
const CLASSES: [(u32, u32, u32); 4] = [
    (1_000_000, 4_000_000, 27),
    (4_000_000, 10_000_000, 34),
    (10_000_000, 15_000_000, 20),
    (15_000_000, 25_000_000, 19),
];
/// The bit rates of the qualities. A client takes the best that needs 0.8 of its bandwidth at most. Source: the workload `video`.
const RATES: [u32; 4] = [419_430, 1_048_576, 2_621_440, 5_242_880];
/// The longest video that is watched, in chunks; they are equally likely from one on, 16 on the average.
const MOST_CHUNKS: u16 = 31;
/// Receive buffer of a client, as time at its bandwidth. Source: the workload `video`; no client here reaches its
/// bounds of 256 B and 1 MiB.
const QUEUE: Nanos = Nanos::from_millis(100);
/// The least receive buffer. Units: bytes. Source: the workload `video`.
const BUFFER_LEAST: u32 = 4096;
/// Allowed memory of a session without its socket. Units: bytes.
const MEMORY: u64 = 4096;

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("serve") {
        return serve();
    }
    let sessions = first.map_or(1_000, |text| text.parse().expect("a number of sessions"));
    let seconds = arguments.next().map_or(20, |text| text.parse().expect("a number of seconds"));
    let backend = match arguments.next().as_deref() {
        None | Some("epoll") => Backend::Epoll,
        Some("uring") => Backend::Uring,
        Some(other) => panic!("no backend {other}; give epoll or uring"),
    };
    let program = env::current_exe().expect("this program is somewhere");
    let mut server = Command::new(program)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut line = String::new();
    let output = server.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut line).expect("the server says where it listens");
    let address = Address::Tcp(line.trim().parse().expect("an address"));
    println!("{sessions} sessions for {seconds} s over {}", backend.name());
    // As long, with half as many sessions: histograms take memory for each part of the window and each observed time,
    // which belongs to the run and not to a session.
    let half = (sessions / 2).max(1);
    let (_, few) = measure(half, seconds, backend, &address);
    let (recording, many) = measure(sessions, seconds, backend, &address);
    print(&recording);
    let each = many.saturating_sub(few) as f64 / (sessions - half).max(1) as f64;
    println!("memory       {each:.0} B for each session, of {MEMORY} B, and {} KiB with {half}", few >> 10);
    // The server ends with its input.
    drop(server.stdin.take());
    server.wait().expect("the server ends");
}

fn print(recording: &Recording) {
    let all = recording.all();
    let tally = recording.tally;
    let lag = |percentile: f64| all.generator_lag.value_at(percentile).unwrap_or(Nanos::ZERO);
    let live: Vec<u64> = recording.backlog.iter().map(|point| point.sessions).collect();
    let (least, most) = (live.iter().min().unwrap_or(&0), live.iter().max().unwrap_or(&0));
    let bytes: u64 = recording.endpoints.iter().map(|endpoint| endpoint.bytes_received).sum();
    let seconds = recording.window.as_secs_f64();
    println!("live         {least} to {most} sessions");
    println!(
        "chunks       {} due, {} came, {} timed out, {} failed, {} not waited for",
        tally.intended, tally.completed, tally.timeouts, tally.errors, tally.unfinished
    );
    println!("received     {:.1} MB/s", bytes as f64 / seconds / 1e6);
    println!("lag          p50 {}, p99 {}, longest {}", lag(50.0), lag(99.0), lag(100.0));
    println!("late reading {} chunks of more than 20 µs", recording.late.count());
    println!("busy         {:.1} %", 100.0 * recording.busy_share());
    for error in recording.errors.iter() {
        println!("{}: {}, first {}", error.kind, error.count, error.first);
    }
}

/// One run; its recording, and the most memory that this process had. Units: bytes.
fn measure(sessions: usize, seconds: u64, backend: Backend, address: &Address) -> (Recording, u64) {
    let mean = CHUNK.as_secs_f64() * f64::from(1 + MOST_CHUNKS) / 2.0;
    let plan = Plan {
        endpoints: vec![Endpoint { address: address.clone(), connections: 0 }],
        load: Load::steady(Process::Poisson, Rate::new(sessions as f64 / mean).expect("it is above 0")),
        clients: None,
        seed: 1,
        share: 0,
        shares: 1,
        sessions: Some(2 * sessions + 100),
        depth: 1,
        per_connection: None,
        binding: Binding::Random,
        pace: Pace::Spin,
        when_absent: WhenAbsent::Send,
        warmup: Nanos::from_secs(1),
        window: Nanos::from_secs(seconds),
        // Three chunks of a session that arrives last are due at once; they are loaded in turn and take up to 8 s
        // each.
        drain: Nanos(3 * CHUNK.0),
        timeout: CHUNK,
    };
    let cpus = allowed_cpus().map_or(Vec::new(), |cpus| cpus.into_iter().rev().take(1).collect());
    let mut generator = Generator::new(plan, 1, cpus, Arc::new(AtomicBool::new(false)));
    generator.backend = backend;
    let (over, most) = (AtomicBool::new(false), AtomicU64::new(0));
    let recording = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(resident(), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(100));
            }
        });
        let recording = generator.run(|_| Players { sessions });
        over.store(true, Ordering::Relaxed);
        recording
    });
    (recording.unwrap_or_else(|failure| panic!("{failure}")), most.into_inner())
}

/// The memory of this process. Units: bytes.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// A session: its next chunk, its number of chunks, and the bytes missing of the present chunk.
struct Player {
    /// Bandwidth of its client. Units: bits per second.
    bandwidth: u32,
    chunks: u16,
    at: u16,
    missing: u64,
}

impl Player {
    fn drawn(seq: u64, of: u32) -> Player {
        let mut random = Streams::new(1).stream(Purpose::Other(of), seq);
        let mut share = random.random_range(0..100);
        let class = CLASSES.iter().find(|(.., percent)| {
            let found = share < *percent;
            share = share.saturating_sub(*percent);
            found
        });
        let (from, to, _) = *class.expect("they are a hundred in a hundred");
        let bandwidth = random.random_range(from..to);
        let chunks = random.random_range(1..=MOST_CHUNKS);
        Player { bandwidth, chunks, at: 0, missing: 0 }
    }

    /// The bytes of a chunk of the quality that it takes.
    fn chunk_bytes(&self) -> u64 {
        let fits = |rate: &&u32| u64::from(**rate) * 5 <= u64::from(self.bandwidth) * 4;
        let rate = RATES.iter().rev().find(fits).unwrap_or(&RATES[0]);
        u64::from(*rate) * CHUNK.0 / 8_000_000_000
    }

    /// When a chunk is due: the first three at once.
    fn due(at: u16) -> Nanos {
        Nanos(u64::from(at.saturating_sub(2)) * CHUNK.0)
    }
}

struct Players {
    sessions: usize,
}

impl Workload for Players {
    type Job = Player;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["chunk".into()]
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Player>) -> usize {
        parts.push(0, Player::drawn(seq, 71));
        0
    }

    fn underway(&mut self) -> Vec<Underway<Player>> {
        let mut random = Streams::new(1).stream(Purpose::Other(72), 0);
        let mut all = Vec::new();
        let mut seq = 0;
        while all.len() < self.sessions {
            seq += 1;
            let mut job = Player::drawn(seq, 73);
            // The longer ones are the likelier to be met.
            let age = Nanos(random.random_range(0..u64::from(MOST_CHUNKS) * CHUNK.0));
            if let Some(next) = (0..job.chunks).find(|&at| Player::due(at) > age) {
                job.at = next;
                let step = Step { offset: Player::due(next), operation: 0 };
                all.push(Underway { age, endpoint: 0, step, job });
            }
        }
        all
    }

    fn route(&self, job: &Player) -> Route {
        let burst = (u64::from(job.bandwidth) * QUEUE.0 / 8_000_000_000) as u32;
        let rate = ReadRate { bits_per_s: job.bandwidth.into(), burst };
        let via = Via { receive_buffer: Some(burst.max(BUFFER_LEAST)), ..Via::default() };
        Route { via, read_rate: Some(rate) }
    }

    fn request(&mut self, job: &mut Player, _: u16, out: &mut Vec<u8>) {
        job.missing = job.chunk_bytes();
        out.extend_from_slice(format!("{}\n", job.missing).as_bytes());
    }

    fn response(&mut self, job: &mut Player, (): &mut (), bytes: &[u8]) -> Parsed<Player> {
        let used = bytes.len().min(job.missing as usize);
        job.missing -= used as u64;
        if job.missing == 0 { Parsed::done(used, Ok(())) } else { Parsed::Used(used) }
    }

    fn step_ended(&mut self, job: &mut Player, ended: &StepEnd) -> Next {
        job.at += 1;
        if job.at >= job.chunks || ended.outcome == Outcome::Error {
            return Next::End;
        }
        Next::Send(Step { offset: Player::due(job.at), operation: 0 })
    }
}

/// Sends the number of bytes on each line of a client, as fast as they are taken.
struct Source {
    block: Bytes,
    loans: Vec<Loan>,
    /// Partial request line of each connection.
    lines: Vec<Vec<u8>>,
}

impl Handler<Epoll> for Source {
    fn event(&mut self, reactor: &mut Epoll, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.line(conn).clear(),
            Event::Data { conn, bytes, .. } => {
                for &byte in bytes {
                    if byte != b'\n' {
                        self.line(conn).push(byte);
                        continue;
                    }
                    let line = std::mem::take(self.line(conn));
                    let text = String::from_utf8_lossy(&line);
                    self.send(reactor, conn, text.parse().expect("a number of bytes"));
                }
            }
            _ => {}
        }
    }
}

impl Source {
    fn line(&mut self, conn: Conn) -> &mut Vec<u8> {
        let slot = conn.slot as usize;
        if self.lines.len() <= slot {
            self.lines.resize_with(slot + 1, Vec::new);
        }
        &mut self.lines[slot]
    }

    fn send(&mut self, reactor: &mut Epoll, conn: Conn, mut left: usize) {
        let at = reactor.output(conn).len();
        while left > 0 {
            let length = left.min(self.block.len());
            self.loans.push(Loan { at, bytes: self.block.slice(..length) });
            left -= length;
        }
        reactor.lend(conn, &mut self.loans);
        reactor.flush(conn);
    }
}

fn serve() {
    if let Some(&first) = allowed_cpus().unwrap_or_default().first() {
        pin_to(first).expect("it is allowed");
    }
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("it is within the limit");
    let mut reactor = Epoll::new().expect("epoll is there on every Linux");
    let address = reactor.listen(&Address::Tcp(([127, 0, 0, 1], 0).into())).expect("a port is free");
    println!("{address}");
    io::stdout().flush().expect("standard output is open");
    let over = Arc::new(AtomicBool::new(false));
    let waker = reactor.waker();
    let ends = Arc::clone(&over);
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        ends.store(true, Ordering::Relaxed);
        reactor::Waker::wake(&waker);
    });
    let mut source = Source { block: vec![0; 1 << 20].into(), loans: Vec::new(), lines: Vec::new() };
    while !over.load(Ordering::Relaxed) {
        reactor.poll(Wait::Sleep(Time::NEVER), &mut source).expect("the loop goes on");
    }
}
