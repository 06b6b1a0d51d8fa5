//! The server answers many connections and closes them in one step: the generator counts every answer. Runs in simulation and on each
//! event loop, with and without TLS.
//!
//! Try it: `cargo test -p openloop --test ends`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dist::Process;
use openloop::{
    Binding, Endpoint, Engine, Generator, Load, Pace, Parsed, Parts, Plan, Recording, Then, WhenAbsent,
    Workload,
};
use proptest::prelude::*;
use reactor::sim::{Costs, Program, Running, World};
use reactor::tls::MadeUp;
use reactor::{Address, Backend, Conn, Epoll, Event, Handler, Io, Reactor, Wait, choose};
use units::{Nanos, Rate, Time};

const MS: Nanos = Nanos::from_millis(1);

/// Sends a line and expects `ok`, or `by` if the server closes the connection after the answer.
struct Lines;

impl Workload for Lines {
    type Job = ();
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["line".into()]
    }

    fn draw(&mut self, _: u64, parts: &mut Parts<()>) -> usize {
        parts.push(0, ());
        0
    }

    fn request(&mut self, (): &mut (), _: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"x\n");
    }

    fn response(&mut self, (): &mut (), (): &mut (), bytes: &[u8]) -> Parsed<()> {
        match bytes {
            [b'b', b'y', b'\n', ..] => Parsed::Done { used: 3, outcome: Ok(()), then: Then::Close },
            [b'o', b'k', b'\n', ..] => Parsed::done(3, Ok(())),
            _ if bytes.len() < 3 => Parsed::Partial,
            _ => Parsed::Garbage(bytes.escape_ascii().to_string()),
        }
    }
}

/// Collects requests for 1 ms, then answers all of them and closes their connections.
#[derive(Default)]
struct Server {
    asked: Vec<Conn>,
    since: Time,
    /// Answers `by` instead of `ok`.
    announces: bool,
    stop: Arc<AtomicBool>,
}

impl<R: Reactor> Handler<R> for Server {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        if let Event::Data { conn, .. } = event {
            if self.asked.is_empty() {
                self.since = reactor.now();
            }
            self.asked.push(conn);
        }
    }
}

impl<R: Reactor> Program<R> for Server {
    fn step(&mut self, reactor: &mut R) -> bool {
        let until = if self.asked.is_empty() { reactor.now() + MS } else { self.since + MS };
        reactor.poll(Wait::Sleep(until), self).unwrap();
        if !self.asked.is_empty() && reactor.now() >= self.since + MS {
            for conn in self.asked.drain(..) {
                reactor.output(conn).extend_from_slice(if self.announces { b"by\n" } else { b"ok\n" });
                reactor.flush(conn);
                reactor.close(conn);
            }
        }
        !self.stop.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    connections: usize,
    seed: u64,
    idle: bool,
    announces: bool,
    tls: bool,
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..100, any::<u64>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(connections, seed, idle, announces, tls)| Case { connections, seed, idle, announces, tls },
    )
}

impl Case {
    /// One request in flight per connection, for most of the time.
    fn plan(&self, address: &Address) -> Plan {
        let rate = Rate::new(200.0 * self.connections as f64).unwrap();
        Plan {
            endpoints: vec![Endpoint { address: address.clone(), connections: self.connections }],
            load: Load::steady(Process::Constant, rate),
            clients: None,
            seed: self.seed,
            share: 0,
            shares: 1,
            sessions: None,
            depth: 1,
            per_connection: None,
            binding: if self.idle { Binding::Idle } else { Binding::Random },
            pace: Pace::Sleep,
            when_absent: WhenAbsent::Send,
            warmup: Nanos::ZERO,
            window: Nanos::from_millis(100),
            drain: Nanos::from_secs(60),
            timeout: Nanos::from_secs(60),
        }
    }

    fn server(&self) -> Server {
        Server { announces: self.announces, ..Server::default() }
    }

    fn check(&self, recording: &Recording) {
        let (tally, errors) = (recording.tally, &recording.errors);
        // Without `by` a request may be sent on a connection that the server has just closed, which is an error.
        let ended = tally.completed + if self.announces { 0 } else { tally.errors };
        assert_eq!(ended, tally.intended, "{self:?}: {tally:?} {errors:?}");
        assert_eq!((recording.unowned, recording.unsolicited), (0, 0), "{self:?}");
        assert!(tally.intended > 0);
    }

    fn simulated(&self, keys: &MadeUp) {
        let address = Address::Tcp("10.0.0.1:7".parse().unwrap());
        let mut world = World::new(Nanos::from_micros(20));
        let (mut clients, mut servers) = (world.machine(Costs::default()), world.machine(Costs::default()));
        let (engine, mut server) = (Engine::new(self.plan(&address), Lines, Arc::default()), self.server());
        let mut client = Client { engine, started: false };
        let limit = Time(0) + Nanos::from_secs(200);
        let recording = if self.tls {
            let (mut clients, mut servers) = (keys.client(clients), keys.server(servers));
            servers.listen(&address).unwrap();
            client.engine.connect(&mut clients).unwrap();
            let (a, b) = (&mut (&mut client, &mut clients), &mut (&mut server, &mut servers));
            world.run_all(&mut [a as &mut dyn Running, b], limit);
            client.engine.finish(clients.now())
        } else {
            servers.listen(&address).unwrap();
            client.engine.connect(&mut clients).unwrap();
            let (a, b) = (&mut (&mut client, &mut clients), &mut (&mut server, &mut servers));
            world.run_all(&mut [a as &mut dyn Running, b], limit);
            client.engine.finish(clients.now())
        };
        self.check(&recording);
    }

    fn on_sockets(&self, keys: &MadeUp, backend: Backend) {
        let epoll = Epoll::new().unwrap();
        match self.tls {
            true => self.beside(keys.server(epoll), keys, backend),
            false => self.beside(epoll, keys, backend),
        }
    }

    fn beside<R: Reactor>(&self, mut reactor: R, keys: &MadeUp, backend: Backend) {
        let address = reactor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
        let mut server = self.server();
        let stop = Arc::clone(&server.stop);
        let recording = thread::scope(|scope| {
            let generator = scope.spawn(|| {
                let mut generator = Generator::new(self.plan(&address), 1, Vec::new(), Arc::default());
                generator.backend = backend;
                generator.tls = self.tls.then(|| keys.client_parts());
                let recording = generator.run(|_| Lines);
                stop.store(true, Ordering::Relaxed);
                recording.unwrap()
            });
            while server.step(&mut reactor) {}
            generator.join().unwrap()
        });
        self.check(&recording);
    }
}

struct Client {
    engine: Engine<Lines>,
    started: bool,
}

impl<R: Reactor> Program<R> for Client {
    fn step(&mut self, reactor: &mut R) -> bool {
        if self.engine.is_ready() && !std::mem::replace(&mut self.started, true) {
            self.engine.start(reactor.now());
        }
        self.engine.step(reactor).unwrap()
    }
}

fn cases(count: u32, check: impl Fn(Case)) {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(count));
    let run = |case| {
        check(case);
        Ok(())
    };
    runner.run(&case(), run).unwrap();
}

#[test]
fn every_answer_counts_in_simulation() {
    let keys = MadeUp::new().unwrap();
    cases(48, |case| case.simulated(&keys));
}

#[test]
fn every_answer_counts_on_epoll() {
    let keys = MadeUp::new().unwrap();
    cases(12, |case| case.on_sockets(&keys, Backend::Epoll));
}

#[test]
fn every_answer_counts_on_io_uring() {
    let keys = MadeUp::new().unwrap();
    match choose(Io::Uring, Backend::Uring) {
        Ok(choice) => cases(12, |case| case.on_sockets(&keys, choice.backend)),
        Err(error) => println!("skipped: {error}"),
    }
}
