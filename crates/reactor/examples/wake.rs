//! Cost of waking a sleeping thread: two threads, each pinned to a processor, wake each other in turn, by an eventfd
//! and by messages between rings.
//!
//! Run it: `cargo run --release -p reactor --example wake`

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use reactor::{Epoll, Event, Handler, Reactor, Submit, Uring, Wait, Waker, allowed_cpus, pin_to};
use rustix::time::{ClockId, clock_gettime};
use units::Time;

/// Wake-ups there and back that one measurement has.
const TURNS: u32 = 20_000;
/// Measurements of each way, in turns.
const ROUNDS: usize = 9;

/// Counts wake-ups.
struct Woken(u32);

impl<R: Reactor> Handler<R> for Woken {
    fn event(&mut self, _: &mut R, event: Event<'_>) {
        self.0 += u32::from(matches!(event, Event::Woken));
    }
}

/// Lives on a processor; wakes the peer and waits to be woken, in this order if it `begins`.
fn live<R: Reactor>(
    make: impl FnOnce() -> io::Result<R>,
    wake: fn(&mut R, &R::Waker),
    (cpu, begins): (usize, bool),
    (to, from): (Sender<R::Waker>, Receiver<R::Waker>),
) {
    pin_to(cpu).expect("the processor is allowed");
    let mut reactor = make().expect("the event loop is available");
    to.send(reactor.waker()).expect("the peer lives");
    let peer = from.recv().expect("the peer lives");
    let mut woken = Woken(0);
    for turn in 0..TURNS {
        if begins {
            wake(&mut reactor, &peer);
        }
        while woken.0 <= turn {
            reactor.poll(Wait::Sleep(Time::NEVER), &mut woken).expect("the event loop works");
        }
        if !begins {
            wake(&mut reactor, &peer);
        }
    }
    // This submits the last queued operation, and the peer takes it before the reactor is dropped.
    let _ = reactor.poll(Wait::Spin(reactor.now()), &mut woken);
    drop(to);
    let _ = from.recv();
}

/// Time and processor time of a turn. Units: µs.
fn turn<R: Reactor + 'static>(
    make: fn() -> io::Result<R>,
    wake: fn(&mut R, &R::Waker),
    cpus: [usize; 2],
) -> [f64; 2] {
    let used = || {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        used.tv_sec as f64 * 1e6 + used.tv_nsec as f64 / 1e3
    };
    let ((to_first, first), (to_second, second)) = (channel(), channel());
    let (began, before) = (Instant::now(), used());
    let one = thread::spawn(move || live(make, wake, (cpus[0], true), (to_second, first)));
    let two = thread::spawn(move || live(make, wake, (cpus[1], false), (to_first, second)));
    one.join().and(two.join()).expect("no thread panics");
    [began.elapsed().as_secs_f64() * 1e6, used() - before].map(|micros| micros / f64::from(TURNS))
}

fn main() -> io::Result<()> {
    let cpus = allowed_cpus()?;
    let cpus = [cpus[0], cpus[1 % cpus.len()]];
    let eventfd = |_: &mut Uring, peer: &<Uring as Reactor>::Waker| peer.wake();
    let mut seen = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        seen[0].push(turn(Epoll::new, |_, peer| peer.wake(), cpus));
        seen[1].push(turn(|| Uring::new(Submit::Together), eventfd, cpus));
        seen[2].push(turn(|| Uring::new(Submit::Together), Reactor::wake, cpus));
    }
    println!(
        "there and back, processors {} and {}, {TURNS} turns, {ROUNDS} rounds: median (least to most)",
        cpus[0], cpus[1]
    );
    for (name, turns) in ["epoll, eventfd", "io_uring, eventfd", "io_uring, message"].into_iter().zip(&seen) {
        let [time, used] = [0, 1].map(|of| {
            let mut all: Vec<f64> = turns.iter().map(|turn| turn[of]).collect();
            all.sort_by(f64::total_cmp);
            format!("{:6.2} ({:.2} to {:.2})", all[ROUNDS / 2], all[0], all[ROUNDS - 1])
        });
        println!("{name:18} {time} µs, processor time {used} µs");
    }
    Ok(())
}
