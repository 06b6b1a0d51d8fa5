//! Sessions that read at a rate, over real sockets. The assertions hold however busy the machine is.
//!
//! Try it: `cargo test -p openloop --test loopback -- --nocapture`.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

use dist::Process;
use openloop::{
    Binding, Endpoint, Generator, Load, Next, Pace, Parsed, Parts, Plan, ReadRate, Route, StepEnd, Via,
    WhenAbsent, Workload,
};
use reactor::{Address, Backend, Io, choose};
use rustix::process::getpriority_process;
use units::{Nanos, Rate};

/// Bytes that each session loads.
const BYTES: usize = 4 << 20;
const BURST: u32 = 64 << 10;
/// The rates of the sessions, in the order in which they arrive. Units: bits per second.
const RATES: [u64; 2] = [20_000_000, 100_000_000];

fn pattern(at: usize) -> u8 {
    (at % 251) as u8
}

fn route(seq: u64) -> Route {
    let source = IpAddr::from([127, 0, 0, 2 + seq as u8]);
    Route {
        via: Via { source: Some(source), receive_buffer: Some(BURST), ..Via::default() },
        read_rate: Some(ReadRate { bits_per_s: RATES[seq as usize], burst: BURST }),
    }
}

struct Downloads {
    ends: Arc<Mutex<Vec<(u64, StepEnd)>>>,
}

impl Workload for Downloads {
    /// The session, and its bytes received.
    type Job = (u64, usize);
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["load".into()]
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<(u64, usize)>) -> usize {
        parts.push(0, (seq, 0));
        0
    }

    fn route(&self, (seq, _): &(u64, usize)) -> Route {
        route(*seq)
    }

    fn request(&mut self, _: &mut (u64, usize), _: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"all of it\n");
    }

    fn response(&mut self, (_, got): &mut (u64, usize), (): &mut (), bytes: &[u8]) -> Parsed<(u64, usize)> {
        let used = bytes.len().min(BYTES - *got);
        assert!(bytes[..used].iter().enumerate().all(|(i, &byte)| byte == pattern(*got + i)));
        *got += used;
        if *got == BYTES { Parsed::done(used, Ok(())) } else { Parsed::Used(used) }
    }

    fn step_ended(&mut self, (seq, _): &mut (u64, usize), ended: &StepEnd) -> Next {
        // The thread of a generator that yields.
        assert_eq!(getpriority_process(None).unwrap(), 19);
        self.ends.lock().unwrap().push((*seq, *ended));
        Next::End
    }
}

/// Sends everything to each client as fast as it is taken, and notes the clients' addresses.
fn serve() -> (SocketAddr, Arc<Mutex<Vec<IpAddr>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sources = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sources);
    thread::spawn(move || {
        for client in listener.incoming() {
            let client: TcpStream = client.unwrap();
            seen.lock().unwrap().push(client.peer_addr().unwrap().ip());
            thread::spawn(move || {
                let mut line = String::new();
                BufReader::new(&client).read_line(&mut line).unwrap();
                // The byte count reveals a client that leaves early.
                let _ = (&client).write_all(&(0..BYTES).map(pattern).collect::<Vec<u8>>());
            });
        }
    });
    (address, sources)
}

#[test]
fn no_session_reads_faster_than_its_rate() {
    let check = |backend: Backend| {
        let (address, sources) = serve();
        let plan = Plan {
            endpoints: vec![Endpoint { address: Address::Tcp(address), connections: 0 }],
            load: Load::steady(Process::Constant, Rate::new(20.0).unwrap()),
            clients: None,
            seed: 1,
            share: 0,
            shares: 1,
            sessions: Some(10),
            depth: 1,
            per_connection: None,
            binding: Binding::Random,
            pace: Pace::Yield,
            when_absent: WhenAbsent::Send,
            warmup: Nanos::ZERO,
            window: Nanos::from_millis(100),
            drain: Nanos::from_secs(60),
            timeout: Nanos::from_secs(60),
        };
        let mut generator = Generator::new(plan, 1, Vec::new(), Arc::new(AtomicBool::new(false)));
        generator.backend = backend;
        generator.keep_answered = 4;
        let ends = Arc::new(Mutex::new(Vec::new()));
        let own = getpriority_process(None).unwrap();
        let recording = generator.run(|_| Downloads { ends: Arc::clone(&ends) }).unwrap();
        assert_eq!(getpriority_process(None).unwrap(), own, "other threads keep theirs");
        assert_eq!((recording.tally.intended, recording.tally.completed), (2, 2), "{:?}", recording.tally);
        let kept = generator.take_answered();
        assert!(kept.len() == 2 && kept.iter().all(|request| request.sent < request.done), "{kept:?}");
        // Which ends first depends on the machine: one that looks rarely receives as much of both each time. How fast
        // a session reads is tested on the simulated clock.
        let ends = ends.lock().unwrap();
        assert_eq!(ends.len(), 2);
        for (seq, end) in ends.iter() {
            let rate = RATES[*seq as usize] as f64;
            let took = (end.ended - end.offset).as_secs_f64();
            println!(
                "{}: {:.3} of the rate of {rate} bit/s",
                backend.name(),
                8.0 * BYTES as f64 / took / rate
            );
            // The burst is free, and so is the last receive, of a quarter of it.
            let paid_for = BYTES - BURST as usize - BURST as usize / 4;
            assert!(took >= 8.0 * paid_for as f64 / rate, "{took} s at {rate} bit/s");
        }
        let mut sources = sources.lock().unwrap().clone();
        sources.sort();
        assert_eq!(sources, [route(0), route(1)].map(|route| route.via.source.unwrap()));
    };
    check(Backend::Epoll);
    match choose(Io::Uring, Backend::Uring) {
        Ok(choice) => check(choice.backend),
        Err(error) => println!("skipped: {error}"),
    }
}
