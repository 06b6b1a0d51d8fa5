//! The cost of a social network's users to one generator thread, against a site with canned pages.
//!
//! A second process, on another processor, answers each request with the expected page. Printed are the operations a
//! second that were done, the generator's lag, which has to stay below 1 ms at the 99th percentile with 20 000
//! operations a second, the generator's processor use, and the memory of a session in addition to its socket's. Nothing
//! else may run at the same time.
//!
//! Try it: `cargo run --release -p workloads --example social`, or with `-- 20000 20 uring` for 20 000 operations a second during
//! 20 s.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::{env, fs, io, thread};

use dist::Process;
use openloop::{Binding, Endpoint, Generator, Load, Pace, Plan, Recording, WhenAbsent};
use proto_http::server;
use reactor::{Address, Backend, Conn, Epoll, Event, Handler, Reactor, Wait, allowed_cpus, pin_to};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use spec::workload;
use units::{Nanos, Rate, Time};
use workloads::social::{Known, Ready, Share, Site, Social, SocialConfig, log_in};

/// A user's think time, so that a session of 40 operations lasts 3.9 s: 2000 of them at 20 000 operations a second.
const THINK: Nanos = Nanos::from_millis(100);
/// Operations a second that the memory is compared with.
const FEW: f64 = 200.0;
const ALONE: Share = Share { thread: 0, threads: 1, population: 0 };

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("serve") {
        return serve();
    }
    let per_s = first.map_or(20_000.0, |text| text.parse().expect("operations a second"));
    let seconds = arguments.next().map_or(10, |text| text.parse().expect("a number of seconds"));
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
        .expect("the site starts");
    let mut line = String::new();
    let output = server.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut line).expect("the site says where it listens");
    let address = line.trim().to_owned();
    println!("{per_s} operations a second for {seconds} s over {}", backend.name());
    // As long as the other, since histograms take memory for each part of the window.
    let (few_live, few) = measure(FEW, seconds, backend, &address, false);
    let (live, many) = measure(per_s, seconds, backend, &address, true);
    let each = many.saturating_sub(few) as f64 / (live - few_live).max(1.0);
    println!("memory       {each:.0} B for each session, and {} KiB with {few_live:.0}", few >> 10);
    // The site ends with its input.
    drop(server.stdin.take());
    server.wait().expect("the site ends");
}

/// One run: how many sessions were under way, and the memory of this process at its end. Units: bytes.
fn measure(per_s: f64, seconds: u64, backend: Backend, address: &str, prints: bool) -> (f64, u64) {
    let mix = workload::SocialMix::default();
    let users_per_s = per_s / mix.operations();
    let users = (4.0 * users_per_s * mix.operations() * THINK.as_secs_f64()).max(1_000.0) as u32;
    let config = SocialConfig {
        url: Some(format!("http://{address}").parse().expect("it is an address")),
        options: workload::Social {
            users: workload::Users(users),
            mix,
            think_time: THINK,
            ..workload::Social::default()
        },
        site: Arc::new(Site::of(&workload::Site::Own).expect("it is compiled in")),
        users_per_s,
        population: None,
        seed: 1,
    };
    let known = Arc::new(Known::new(&config, "bench").expect("the parameters go together"));
    let connect = || TcpStream::connect(address);
    let log_in =
        |user: u32| log_in(&known, user, &mut || connect()).unwrap_or_else(|error| panic!("{error}"));
    let ready: Vec<Ready> = known.logged_in_before(ALONE).into_iter().map(log_in).collect();
    let plan = Plan {
        endpoints: vec![Endpoint {
            address: Address::Tcp(address.parse().expect("an address")),
            connections: 0,
        }],
        load: Load::steady(Process::Poisson, Rate::new(users_per_s).expect("it is above 0")),
        clients: None,
        seed: 1,
        share: 0,
        shares: 1,
        sessions: Some((users as usize).min(15_000)),
        depth: 1,
        per_connection: None,
        binding: Binding::Random,
        pace: Pace::Spin,
        when_absent: WhenAbsent::Send,
        warmup: Nanos::from_secs(1),
        window: Nanos::from_secs(seconds),
        drain: Nanos::from_secs(1),
        timeout: Nanos::from_secs(5),
    };
    let cpus = allowed_cpus().map_or(Vec::new(), |cpus| cpus.into_iter().rev().take(1).collect());
    let mut generator = Generator::new(plan, 1, cpus, Arc::new(AtomicBool::new(false)));
    generator.backend = backend;
    let ready = Mutex::new(ready);
    let recording = generator.run(|_| {
        let ready = std::mem::take(&mut *ready.lock().expect("one thread takes it"));
        Social::new(&known, ALONE, ready)
    });
    let recording = recording.unwrap_or_else(|failure| panic!("{failure}"));
    if prints {
        print(&recording);
    }
    let points = &recording.backlog;
    let live = points.iter().map(|point| point.sessions).sum::<u64>() as f64 / points.len().max(1) as f64;
    (live, resident())
}

fn print(recording: &Recording) {
    let (all, tally) = (recording.all(), recording.tally);
    let lag = |percentile: f64| all.generator_lag.value_at(percentile).unwrap_or(Nanos::ZERO);
    let requests = recording.counters.iter().find(|(name, ..)| name == "requests_per_operation");
    let (asked, of) = requests.map_or((0, 1), |(_, asked, of)| (*asked, (*of).max(1)));
    println!(
        "operations   {:.0} a second, of {} due {} well",
        recording.achieved_rps(),
        tally.intended,
        tally.completed
    );
    println!("requests     {:.2} for each", asked as f64 / of as f64);
    println!("lag          p50 {}, p99 {}, longest {}", lag(50.0), lag(99.0), lag(100.0));
    println!("busy         {:.1} %", 100.0 * recording.busy_share());
    for error in recording.errors.iter() {
        println!("{}: {}, first {}", error.kind, error.count, error.first);
    }
}

/// The memory of this process. Units: bytes.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Answers each request with the page that must come.
struct Canned {
    home: Vec<u8>,
    login: Vec<u8>,
    register: Vec<u8>,
    /// Received bytes of the next request of each connection.
    received: Vec<Vec<u8>>,
}

fn page(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {head}\r\nServer-Timing: php;dur=2, db;dur=1;desc=\"4\", cache;dur=0.5;desc=\"3\"\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

impl Canned {
    fn new() -> Canned {
        let token = "<meta name=\"csrf\" content=\"0123456789abcdef0123456789abcdef\">";
        let posts = "<article class=\"post\"><h2>A user</h2><p>Some words of a post on a wall.</p></article>"
            .repeat(200);
        Canned {
            home: page(
                "200 OK",
                &format!(
                    "{token}<main id=\"home\" data-user=\"u\" data-post=\"5\" data-message=\"6\">{posts}"
                ),
            ),
            login: page("200 OK", &format!("{token}<main id=\"login\">")),
            register: page("200 OK", &format!("{token}<main id=\"register\">")),
            received: Vec::new(),
        }
    }

    fn answer(&self, method: &str, target: &str, out: &mut Vec<u8>) {
        let path = target.split('?').next().unwrap_or_default();
        let see = |to: &str| {
            page(
                &format!(
                    "303 See Other\r\nSet-Cookie: sid=0123456789abcdef0123456789abcdef; Path=/\r\nLocation: {to}"
                ),
                "",
            )
        };
        match (method, path) {
            ("GET", "/login") => out.extend_from_slice(&self.login),
            ("GET", "/register") => out.extend_from_slice(&self.register),
            ("GET", "/") => out.extend_from_slice(&self.home),
            ("GET", "/ajax/chat") => out.extend(page("200 OK", "{\"last\":7,\"messages\":[]}")),
            ("GET", "/ajax/feed") => out.extend(page("200 OK", "{\"last\":7,\"posts\":[]}")),
            ("GET", _) => out.extend(page("200 OK", "body { margin: 0 }")),
            ("POST", "/login") => out.extend(see("/")),
            ("POST", "/register" | "/logout") => out.extend(see("/login")),
            ("POST", "/ajax/friend") => out.extend(page("200 OK", "{\"state\":\"requested\"}")),
            _ => out.extend(page("200 OK", "{\"id\":5}")),
        }
    }

    fn received(&mut self, conn: Conn) -> &mut Vec<u8> {
        let slot = conn.slot as usize;
        if self.received.len() <= slot {
            self.received.resize_with(slot + 1, Vec::new);
        }
        &mut self.received[slot]
    }
}

impl Handler<Epoll> for Canned {
    fn event(&mut self, reactor: &mut Epoll, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.received(conn).clear(),
            Event::Data { conn, bytes, .. } => {
                let mut held = std::mem::take(self.received(conn));
                held.extend_from_slice(bytes);
                let mut used = 0;
                while let server::RequestParse::Done { consumed, request } = server::request(&held[used..]) {
                    let out = reactor.output(conn);
                    self.answer(request.method, request.target, out);
                    used += consumed;
                }
                held.drain(..used);
                *self.received(conn) = held;
                reactor.flush(conn);
            }
            _ => {}
        }
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
    let mut canned = Canned::new();
    while !over.load(Ordering::Relaxed) {
        reactor.poll(Wait::Sleep(Time::NEVER), &mut canned).expect("the loop goes on");
    }
}
