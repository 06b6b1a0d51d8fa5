//! Cost of a request on each backend: an echo over loopback between two pinned threads.
//!
//! For each backend as client and as server, at several depths and connections: requests per second, and the
//! processor time per request of either side. The client sleeps between events, since a spinning client uses its
//! whole core in any case; its spinning throughput stands in the last column. Run it on an otherwise idle machine.
//!
//! Try it: `cargo run --release -p reactor --example echo -- 1`, for one second per line.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use reactor::{
    Address, Conn, Epoll, Event, Handler, Io, Reactor, Submit, Uring, Wait, Waker, allowed_cpus, pin_to,
};
use rustix::time::{ClockId, clock_gettime};
use units::Nanos;

/// The size of a small request and its answer.
const MESSAGE: usize = 100;

struct Echo;

impl<R: Reactor> Handler<R> for Echo {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        if let Event::Data { conn, bytes, .. } = event {
            reactor.output(conn).extend_from_slice(bytes);
            reactor.flush(conn);
        }
    }
}

struct Client {
    depth: usize,
    answers: u64,
    /// Bytes of an answer that is not whole yet, per connection.
    partial: Vec<usize>,
}

impl Client {
    fn ask<R: Reactor>(&self, reactor: &mut R, conn: Conn, times: usize) {
        let output = reactor.output(conn);
        output.resize(output.len() + times * MESSAGE, b'x');
        reactor.flush(conn);
    }
}

impl<R: Reactor> Handler<R> for Client {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        match event {
            Event::Connected { conn } => self.ask(reactor, conn, self.depth),
            Event::Data { conn, bytes, .. } => {
                let partial = &mut self.partial[conn.slot as usize];
                *partial += bytes.len();
                let whole = *partial / MESSAGE;
                *partial %= MESSAGE;
                self.answers += whole as u64;
                if whole > 0 {
                    self.ask(reactor, conn, whole);
                }
            }
            Event::Closed { error, .. } => panic!("the server left: {error:?}"),
            _ => {}
        }
    }
}

fn processor_time() -> Nanos {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Serves on the second processor until `stop`; returns the processor time spent.
fn serve<R: Reactor>(
    make: fn() -> R,
    cpu: usize,
    ready: Sender<(SocketAddr, R::Waker)>,
    stop: &AtomicBool,
) -> Nanos {
    pin_to(cpu).expect("the processor is allowed");
    let mut reactor = make();
    let any = Address::Tcp("127.0.0.1:0".parse().expect("it is an address"));
    let address = reactor.listen(&any).expect("a port is free").socket().expect("it is a port");
    ready.send((address, reactor.waker())).expect("the client waits");
    let before = processor_time();
    while !stop.load(Ordering::Relaxed) {
        reactor.poll(Wait::Sleep(units::Time::NEVER), &mut Echo).expect("the server runs");
    }
    Nanos(processor_time().0 - before.0)
}

struct Figures {
    per_second: f64,
    client: f64,
    server: f64,
}

fn measure<C: Reactor, S: Reactor + 'static>(
    client: fn() -> C,
    server: fn() -> S,
    cpus: [usize; 2],
    connections: usize,
    depth: usize,
    spin: bool,
    span: Nanos,
) -> Figures {
    let stop = Arc::new(AtomicBool::new(false));
    let (ready, address) = channel();
    let serving = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || serve(server, cpus[1], ready, &stop))
    };
    let (address, waker) = address.recv().expect("the server is up");
    let mut reactor = client();
    let mut handler = Client { depth, answers: 0, partial: vec![0; connections] };
    for _ in 0..connections {
        reactor.connect(&address.into()).expect("the server listens");
    }
    let (start, before) = (reactor.now(), processor_time());
    let end = start + span;
    while reactor.now() < end {
        let wait = if spin { Wait::Spin(end) } else { Wait::Sleep(end) };
        reactor.poll(wait, &mut handler).expect("the client runs");
    }
    let (took, busy) = (reactor.now().since(start), processor_time().0 - before.0);
    stop.store(true, Ordering::Relaxed);
    waker.wake();
    let served = serving.join().expect("the server ended well");
    let answers = handler.answers.max(1) as f64;
    Figures {
        per_second: answers / (took.0 as f64 / 1e9),
        client: busy as f64 / answers / 1e3,
        server: served.0 as f64 / answers / 1e3,
    }
}

fn epoll() -> Epoll {
    Epoll::new().expect("every Linux has epoll")
}

fn at_once() -> Uring {
    Uring::new(Submit::AtOnce).expect("it was there a moment ago")
}

fn together() -> Uring {
    Uring::new(Submit::Together).expect("it was there a moment ago")
}

fn line<C: Reactor, S: Reactor + 'static>(
    names: [&str; 2],
    client: fn() -> C,
    server: fn() -> S,
    cpus: [usize; 2],
    span: Nanos,
) {
    for (connections, depth) in [(1, 1), (64, 1), (1, 32), (64, 32)] {
        let run = |spin| measure(client, server, cpus, connections, depth, spin, span);
        let (asleep, spinning) = (run(false), run(true));
        println!(
            "{:10} {:10} {connections:5} {depth:5} {:10.0} {:9.2} {:9.2} {:12.0} {:9.2}",
            names[0],
            names[1],
            asleep.per_second,
            asleep.client,
            asleep.server,
            spinning.per_second,
            spinning.server
        );
    }
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let span = Nanos((seconds * 1e9) as u64);
    let allowed = allowed_cpus().expect("the kernel tells");
    let cpus = [allowed[0], *allowed.get(1).unwrap_or(&allowed[0])];
    pin_to(cpus[0]).expect("the processor is allowed");
    println!(
        "client on cpu {}, server on cpu {}, {MESSAGE} B each way; µs of processor time per request",
        cpus[0], cpus[1]
    );
    println!(
        "{:10} {:10} {:>5} {:>5} {:>10} {:>9} {:>9} {:>12} {:>9}",
        "client", "server", "conns", "depth", "requests/s", "client", "server", "spinning/s", "server"
    );
    line(["epoll", "epoll"], epoll, epoll, cpus, span);
    if let Err(error) = reactor::choose(Io::Uring, reactor::Backend::Epoll) {
        return println!("{error}");
    }
    line(["uring", "epoll"], at_once, epoll, cpus, span);
    line(["epoll", "uring"], epoll, at_once, cpus, span);
    line(["epoll", "together"], epoll, together, cpus, span);
    line(["uring", "together"], at_once, together, cpus, span);
}
