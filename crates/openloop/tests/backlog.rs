//! A backlog costs no memory: 100 million due requests are a cursor into the schedule, not a list. Nor does a long
//! run: its time series use fewer and longer steps.
//!
//! A test binary of its own, since it counts allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dist::Process;
use openloop::{Binding, Endpoint, Engine, Load, Pace, Parsed, Parts, Plan, Then, WhenAbsent, Workload};
use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Address, Event, Handler, Reactor, Wait};
use units::{Nanos, Rate, Time};

/// Allocations are counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Counts the bytes that are in use, and the most that ever were.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: it came from `alloc` above, which took it from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Asks with one byte for one byte.
struct Asks;

impl Workload for Asks {
    type Job = ();
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["ask".into()]
    }

    fn draw(&mut self, _: u64, parts: &mut Parts<()>) -> usize {
        parts.push(0, ());
        0
    }

    fn request(&mut self, (): &mut (), _: u16, out: &mut Vec<u8>) {
        out.push(b'?');
    }

    fn response(&mut self, (): &mut (), (): &mut (), bytes: &[u8]) -> Parsed<()> {
        Parsed::Done { used: bytes.len().min(1), outcome: Ok(()), then: Then::End }
    }
}

/// Accepts, and answers if `answers`.
struct Server {
    answers: bool,
}

impl Handler<SimReactor> for Server {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        if let Event::Data { conn, bytes, .. } = event
            && self.answers
        {
            reactor.output(conn).extend_from_slice(bytes);
            reactor.flush(conn);
        }
    }
}

impl Program for Server {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

struct Generator {
    engine: Engine<Asks>,
    /// Memory in use when the first request was due.
    at_start: Option<usize>,
}

impl Program for Generator {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.engine.is_ready() && self.at_start.is_none() {
            self.engine.start(Time(1_000_000));
            let in_use = IN_USE.load(Ordering::Relaxed);
            MOST.store(in_use, Ordering::Relaxed);
            self.at_start = Some(in_use);
        }
        self.engine.step(reactor).unwrap()
    }
}

/// Makes `requests` requests due in `window`, and returns how much memory it needed.
fn growth(requests: u64, window: Nanos, answers: bool) -> usize {
    let server = Address::Tcp("10.0.0.1:7".parse().unwrap());
    let plan = Plan {
        endpoints: vec![Endpoint { address: server.clone(), connections: 16 }],
        load: Load::steady(Process::Constant, Rate::new(requests as f64 / window.as_secs_f64()).unwrap()),
        clients: None,
        seed: 1,
        share: 0,
        shares: 1,
        sessions: None,
        depth: 4,
        per_connection: None,
        binding: Binding::Random,
        pace: if answers { Pace::Sleep } else { Pace::Spin },
        when_absent: WhenAbsent::Send,
        warmup: Nanos::ZERO,
        window,
        drain: Nanos::from_millis(100),
        timeout: Nanos::from_secs(60),
    };
    let mut world = World::new(Nanos::from_micros(10));
    let (mut client, mut machine) = (world.machine(Costs::default()), world.machine(Costs::default()));
    machine.listen(&server).unwrap();
    let mut engine = Engine::new(plan, Asks, Arc::new(AtomicBool::new(false)));
    engine.connect(&mut client).unwrap();
    let mut generator = Generator { engine, at_start: None };
    world.run(
        &mut [(&mut generator, &mut client), (&mut Server { answers }, &mut machine)],
        Time(3_000_000_000) + window,
    );
    let now = client.now();
    let recording = generator.engine.finish(now);
    let answered = if answers { requests } else { 0 };
    assert_eq!((recording.tally.intended, recording.tally.completed), (requests, answered));
    assert_eq!(recording.all().response_time.count(), requests, "each, answered or not, at its age");
    let last = recording.backlog.last().unwrap();
    // 64 are under way; the estimate counts due requests that are not drawn.
    assert!(answers || last.backlog.abs_diff(requests - 64) < 100, "{last:?} of {requests}");
    let grew = MOST.load(Ordering::Relaxed) - generator.at_start.unwrap();
    println!("{requests} requests due in {window}, {answered} answered: {grew} B more than at the start");
    grew
}

#[test]
fn a_backlog_of_100_million_needs_no_more_memory_than_one_of_a_million() {
    let _alone = ALONE.lock();
    let second = Nanos::from_secs(1);
    let million = growth(1_000_000, second, false);
    let most = growth(100_000_000, second, false);
    // A byte for every hundredth request would be a megabyte.
    assert!(most <= million + 65_536, "{most} B against {million} B");
}

#[test]
fn a_run_of_hours_needs_no_more_memory_than_one_of_minutes() {
    let _alone = ALONE.lock();
    let minutes = growth(100_000, Nanos::from_secs(200), true);
    let hours = growth(100_000, Nanos::from_secs(6_400), true);
    // Both have 1000 windows, of which one more octave in each would be 4 MB.
    assert!(hours <= minutes + 500_000, "{hours} B against {minutes} B");
}
