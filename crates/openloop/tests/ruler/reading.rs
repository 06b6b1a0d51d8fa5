//! Sessions that read at a rate: exactly at that rate under any other load, and their waits are not the generator's
//! lateness.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use std::rc::Rc;

use hist::WindowSelection;
use openloop::{
    Distribution, Next, Outcome, Parsed, Parts, ReadRate, Recording, Route, Step, StepEnd, Underway, Via,
    Workload,
};
use reactor::sim::{Costs, Program, SimReactor};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::simulation::{START, Setup, assert_accounted, assert_close, cluster};

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// A byte that tells where in an answer it is.
fn pattern(at: usize) -> u8 {
    (at % 251) as u8
}

/// A part of an answer: its delay after the part before it, and its length.
type Piece = (Nanos, usize);

/// A step: when it is due, and its answer. An answer without pieces is none.
#[derive(Clone, Debug)]
struct Wanted {
    offset: Nanos,
    pieces: Vec<Piece>,
}

/// An answer that comes at once.
fn whole(offset: Nanos, bytes: usize) -> Wanted {
    Wanted { offset, pieces: vec![(Nanos::ZERO, bytes)] }
}

#[derive(Clone, Debug)]
struct Download {
    seq: u64,
    steps: Vec<Wanted>,
    at: usize,
    got: usize,
}

/// The end of a step: of which session, which one, and how.
type End = (u64, usize, StepEnd);

/// The chunks that a session loads. Boxed, or the engine would be compiled for each test.
type Script<'a> = Box<dyn FnMut(u64) -> Vec<Wanted> + 'a>;

/// Sessions that load the chunks of a script, each by a route of its own.
struct Downloads<'a> {
    script: Script<'a>,
    route: fn(u64) -> Route,
    /// The ages of those under way at the start.
    ages: Vec<Nanos>,
    /// The time-out of all steps but the first.
    timeout: Option<Nanos>,
    ends: Rc<RefCell<Vec<End>>>,
    /// From the due time to the end, of steps that were due in the window.
    took: Distribution,
}

impl<'a> Downloads<'a> {
    fn new(route: fn(u64) -> Route, script: impl FnMut(u64) -> Vec<Wanted> + 'a) -> Downloads<'a> {
        let script = Box::new(script);
        let took = Distribution::over_time("took", Nanos::from_secs(1));
        Downloads { script, route, ages: Vec::new(), timeout: None, ends: Rc::default(), took }
    }
}

impl Workload for Downloads<'_> {
    type Job = Download;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["first".into(), "later".into()]
    }

    fn timeout(&self, operation: usize) -> Option<Nanos> {
        self.timeout.filter(|_| operation == 1)
    }

    fn route(&self, job: &Download) -> Route {
        (self.route)(job.seq)
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Download>) -> usize {
        parts.push(0, Download { seq, steps: (self.script)(seq), at: 0, got: 0 });
        0
    }

    fn underway(&mut self) -> Vec<Underway<Download>> {
        let ages = self.ages.clone();
        let under = |(i, age): (usize, Nanos)| {
            let seq = 1_000 + i as u64;
            let steps = (self.script)(seq);
            let at = steps.iter().position(|step| step.offset >= age)?;
            let step = Step { offset: steps[at].offset, operation: 1 };
            Some(Underway { age, endpoint: 0, step, job: Download { seq, steps, at, got: 0 } })
        };
        ages.into_iter().enumerate().filter_map(under).collect()
    }

    fn request(&mut self, job: &mut Download, _: u16, out: &mut Vec<u8>) {
        job.got = 0;
        let pieces: Vec<String> =
            job.steps[job.at].pieces.iter().map(|(after, bytes)| format!("{}:{bytes}", after.0)).collect();
        out.extend_from_slice(format!("{}\n", pieces.join(",")).as_bytes());
    }

    fn response(&mut self, job: &mut Download, (): &mut (), bytes: &[u8]) -> Parsed<Download> {
        let all: usize = job.steps[job.at].pieces.iter().map(|(_, bytes)| bytes).sum();
        let used = bytes.len().min(all - job.got);
        assert!(bytes[..used].iter().enumerate().all(|(i, &byte)| byte == pattern(job.got + i)));
        job.got += used;
        if job.got == all { Parsed::done(used, Ok(())) } else { Parsed::Used(used) }
    }

    fn step_ended(&mut self, job: &mut Download, ended: &StepEnd) -> Next {
        self.ends.borrow_mut().push((job.seq, job.at, *ended));
        if let Some(due) = ended.in_window {
            self.took.record(due, ended.ended - ended.offset);
        }
        job.at += 1;
        let Some(next) = job.steps.get(job.at) else { return Next::End };
        Next::Send(Step { offset: next.offset, operation: 1 })
    }

    fn distributions(&self) -> Vec<Distribution> {
        vec![self.took.clone()]
    }
}

/// Sends the requested pieces, and notes the clients' addresses.
#[derive(Default)]
struct Server {
    due: BinaryHeap<Reverse<Part>>,
    entered: u64,
    sources: Rc<RefCell<Vec<Option<IpAddr>>>>,
    /// From when on no socket listens, and until when.
    deaf: Option<(Time, Time)>,
    /// The received part of each connection's next request.
    partial: HashMap<Conn, String>,
}

/// When it leaves, its number, its connection's slot and generation, where in the answer it is, and its length.
type Part = (Time, u64, (u32, u32), usize, usize);

impl Handler<SimReactor> for Server {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.sources.borrow_mut().push(reactor.source(conn)),
            Event::Data { conn, at, bytes, .. } => {
                let text = self.partial.entry(conn).or_default();
                text.push_str(std::str::from_utf8(bytes).unwrap());
                let Some(line) = text.strip_suffix("\n") else { return };
                let (mut leaves, mut from) = (at, 0);
                for piece in line.split(',').filter(|piece| !piece.is_empty()) {
                    let (after, length) = piece.split_once(':').unwrap();
                    let length = length.parse().unwrap();
                    leaves += Nanos(after.parse().unwrap());
                    self.entered += 1;
                    let part = (leaves, self.entered, (conn.slot, conn.generation), from, length);
                    self.due.push(Reverse(part));
                    from += length;
                }
                text.clear();
            }
            _ => {}
        }
    }
}

impl Program for Server {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let now = reactor.now();
        while let Some(Reverse(first)) = self.due.peek()
            && first.0 <= now
        {
            let Reverse((_, _, (slot, generation), from, length)) = self.due.pop().unwrap();
            let conn = Conn { slot, generation };
            reactor.output(conn).extend((from..from + length).map(pattern));
            reactor.flush(conn);
        }
        let mut next = self.due.peek().map_or(Time::NEVER, |Reverse(first)| first.0);
        if let Some((from, to)) = self.deaf {
            let address = &cluster(1, 0)[0].address;
            if now >= to {
                reactor.listen(address).unwrap();
                self.deaf = None;
            } else if now >= from {
                reactor.deafen(address);
                next = next.min(to);
            } else {
                next = next.min(from);
            }
        }
        reactor.poll(Wait::Sleep(next), self).unwrap();
        true
    }
}

/// Sessions at equal distances over a window of 1 s, with time to load slowly the chunks requested in it.
fn setup(sessions_per_s: f64, seed: u64) -> Setup {
    let mut setup = Setup::scripted(sessions_per_s, cluster(1, 0), seed);
    (setup.plan.sessions, setup.plan.depth) = (Some(1_000), 1);
    (setup.plan.window, setup.plan.drain) = (Nanos::from_secs(1), Nanos::from_secs(600));
    setup.plan.timeout = Nanos::from_secs(600);
    setup
}

fn run(setup: Setup, downloads: Downloads<'_>) -> (Recording, Vec<End>) {
    run_against(setup, downloads, Server::default())
}

fn run_against(setup: Setup, downloads: Downloads<'_>, server: Server) -> (Recording, Vec<End>) {
    let ends = Rc::clone(&downloads.ends);
    let servers = vec![(Box::new(server) as Box<dyn Program>, setup.plan.endpoints.clone())];
    let recording = setup.run_against(downloads, servers);
    // The duration of each step due in the window is in the workload's distribution, at its due time.
    let in_window = ends.borrow().iter().filter(|(.., end)| end.in_window.is_some()).count() as u64;
    assert_eq!(in_window, recording.tally.intended);
    let [took] = &recording.distributions[..] else { panic!("there is one") };
    assert_eq!(took.values.count(), in_window);
    let windows = took.over_time.as_ref().unwrap().series();
    let offered = recording.intervals.iter().map(|interval| interval.offered);
    assert_eq!(windows.iter().map(|window| window.count).collect::<Vec<_>>(), offered.collect::<Vec<_>>());
    let ends = ends.borrow().clone();
    (recording, ends)
}

const fn rate(bits_per_s: u64, burst: u32) -> ReadRate {
    ReadRate { bits_per_s, burst }
}

fn at(rate: ReadRate) -> Route {
    Route { read_rate: Some(rate), via: Via::default() }
}

const MBIT: u64 = 1_000_000;
const MIB: usize = 1 << 20;

/// The bandwidths of the video clients, and their burst.
fn client(seq: u64) -> ReadRate {
    rate([MBIT, 4 * MBIT, 10 * MBIT, 15 * MBIT][seq as usize % 4], 64 << 10)
}

/// How long it takes to read `bytes` that are available from the start, in receives of `receive` each: the last is
/// read when all before it are paid for.
fn exactly(rate: ReadRate, bytes: usize, receive: usize) -> Nanos {
    let last = (bytes - 1) % receive + 1;
    let paid_for = (bytes - last).saturating_sub(rate.burst as usize);
    Nanos((paid_for as u128 * 8_000_000_000 / u128::from(rate.bits_per_s)) as u64)
}

#[test]
fn ten_mib_take_what_the_rate_says() {
    let check = |number: u64, route: fn(u64) -> Route, receive: usize| {
        let rate = route(0).read_rate.unwrap();
        let (recording, ends) =
            run(setup(1.0, 600 + number), Downloads::new(route, |_| vec![whole(ms(0), 10 * MIB)]));
        assert_accounted(&recording, 1);
        assert_eq!((recording.tally.completed, ends.len()), (1, 1), "{:?}", recording.tally);
        let took = ends[0].2.ended;
        let expect = exactly(rate, 10 * MIB, receive);
        // A ns for the rounding of the burst, and one for the rounding of the bytes read.
        assert!(took.0.abs_diff(expect.0) <= 2, "{rate:?}: {took} instead of {expect}");
        // The burst is free.
        let mean = 8.0 * (10 * MIB - rate.burst as usize) as f64 / took.as_secs_f64();
        assert!((mean / rate.bits_per_s as f64 - 1.0).abs() < 0.03, "{mean} bit/s by {rate:?}");
        // Its wait is charged neither to the generator nor to the connection.
        let all = recording.all();
        assert_close("service time", all.service_time.max(), took.0 as f64, 0.002);
        assert_eq!((all.generator_lag.max(), recording.late.count()), (Some(Nanos::ZERO), 0));
    };
    check(0, |_| at(rate(MBIT, 64 << 10)), 16 << 10);
    check(1, |_| at(rate(4 * MBIT, 64 << 10)), 16 << 10);
    check(2, |_| at(rate(10 * MBIT, 16 << 10)), 4 << 10);
    check(3, |_| at(rate(15_123_457, 200_000)), 50_000);
    check(4, |_| at(rate(999 * MBIT, 1 << 20)), 64 << 10);
    check(5, |_| at(rate(300_000, 1_000)), 1_000);
}

#[test]
fn many_sessions_each_have_their_rate_beside_each_other() {
    // 40 sessions of four bandwidths, each of which asks for three chunks of 2 s of its own, every 2 s.
    let chunk = |seq: u64| (2 * client(seq).bits_per_s / 8) as usize;
    let script = move |seq: u64| (0..3).map(|i| whole(ms(2_000 * i), chunk(seq))).collect::<Vec<_>>();
    let mut setup = setup(40.0, 610);
    setup.delay = Nanos::from_micros(200);
    setup.generator_costs = Costs { send: Nanos::from_micros(4), receive: Nanos::from_micros(3) };
    let (recording, ends) = run(setup, Downloads::new(|seq| at(client(seq)), script));
    // Only the first steps are due in the window.
    assert_accounted(&recording, 40);
    assert_eq!(recording.sessions.cut, 40);
    let mut slowest: f64 = 0.0;
    for (seq, step, end) in ends.iter().filter(|(_, step, _)| *step == 0) {
        let expect = exactly(client(*seq), chunk(*seq), 16 << 10);
        let took = end.ended - end.offset;
        assert!(took >= expect, "session {seq}, step {step}: {took} is too soon, {expect}");
        slowest = slowest.max(took.as_secs_f64() / expect.as_secs_f64() - 1.0);
    }
    println!("the slowest took {:.3} % longer than by its rate alone", 100.0 * slowest);
    assert!(slowest < 0.03, "{slowest}");
    assert_eq!(recording.late.count(), 0, "{:?}", recording.all().response_time);
}

#[test]
fn a_stall_of_the_server_is_waited_for_and_not_made_good_beyond_the_burst() {
    // A second's worth, then nothing for 5 s, and two seconds' worth: the bucket holds half a second.
    let (rate, route) =
        (rate(4 * MBIT, 250_000), (|_| at(self::rate(4 * MBIT, 250_000))) as fn(u64) -> Route);
    let second = 500_000;
    let pieces = vec![(Nanos::ZERO, second), (ms(5_000), 2 * second)];
    let script = move |_| vec![Wanted { offset: ms(0), pieces: pieces.clone() }];
    let (recording, ends) = run(setup(1.0, 620), Downloads::new(route, script));
    assert_accounted(&recording, 1);
    let took = ends[0].2.ended;
    let expect = ms(5_000) + exactly(rate, 2 * second, 62_500);
    assert!(took.0.abs_diff(expect.0) <= 2, "{took} instead of {expect}");
    assert_eq!(recording.late.count(), 0, "the server was late, and the generator was not");
}

/// The generator's own stall is reported separately from the sessions' time, except the part that the sessions made up
/// for.
#[test]
fn a_stall_of_the_generator_is_its_own_for_as_long_as_it_delays_the_end() {
    let route = (|_| at(rate(4 * MBIT, 250_000))) as fn(u64) -> Route;
    let check = |number: u64, stall: Nanos, lost: Nanos| {
        let mut setup = setup(1.0, 630 + number);
        setup.generator_stalls = vec![(START + ms(3_000), stall)];
        // 10 s of reading.
        let (recording, ends) = run(setup, Downloads::new(route, |_| vec![whole(ms(0), 5_000_000)]));
        assert_accounted(&recording, 1);
        let (took, alone) = (ends[0].2.ended, exactly(rate(4 * MBIT, 250_000), 5_000_000, 62_500));
        let longer = took - alone;
        assert!(
            longer.0.abs_diff(lost.0) <= 200_000_000,
            "a stall of {stall} took {longer}, not about {lost}"
        );
        if lost == Nanos::ZERO {
            assert!(longer <= Nanos(2) && recording.late.count() == 0, "{longer} longer");
        } else {
            assert_eq!(recording.late.count(), 1);
            let without = recording.late.without(&recording.windows, WindowSelection::All);
            assert_close("without the stall", without.max(), alone.0 as f64, 0.002);
        }
    };
    // They read at once afterwards as much as the bucket holds.
    check(0, ms(400), Nanos::ZERO);
    check(1, ms(2_000), ms(1_500));
    check(2, ms(8_000), ms(7_500));
}

/// A receive takes no more than the slowest reader of the thread may have at once; the stall must be seen of all others, too.
#[test]
fn a_stall_of_the_generator_is_seen_beside_a_slower_reader() {
    // The first makes receives as small as 4 KiB, where the second alone would have 62 500 B.
    let route = (|seq| at([rate(MBIT, 16 << 10), rate(4 * MBIT, 250_000)][seq as usize])) as fn(u64) -> Route;
    let mut setup = setup(2.0, 635);
    setup.generator_stalls = vec![(START + ms(3_000), ms(2_000))];
    let fast = 5_000_000;
    let script = move |seq| vec![whole(ms(0), [10_000, fast][seq as usize])];
    let (recording, ends) = run(setup, Downloads::new(route, script));
    assert_accounted(&recording, 2);
    let alone = exactly(rate(4 * MBIT, 250_000), fast, 4 << 10);
    let took = ends.iter().find(|(seq, ..)| *seq == 1).unwrap().2.ended;
    assert_close("lost for good", Some(took - alone), 1.5e9, 0.05);
    assert_eq!(recording.late.count(), 1, "the delay is the generator's");
    let without = recording.late.without(&recording.windows, WindowSelection::All);
    assert_close("without the stall", without.max(), alone.0 as f64, 0.002);
}

#[test]
fn a_slow_reader_times_out_and_goes_on() {
    // 1 s of reading, where 100 ms are allowed; then something small.
    let script = |_| vec![whole(ms(0), 10), whole(ms(100), 500_000), whole(ms(400), 10)];
    let mut downloads = Downloads::new(|_| at(rate(4 * MBIT, 16 << 10)), script);
    downloads.timeout = Some(ms(100));
    let server = Server::default();
    let sources = Rc::clone(&server.sources);
    let (recording, ends) = run_against(setup(1.0, 640), downloads, server);
    assert_accounted(&recording, 3);
    assert_eq!((recording.tally.completed, recording.tally.timeouts), (2, 1));
    let took = ends[1].2.ended - ends[1].2.offset;
    assert!((ms(100)..=ms(110)).contains(&took), "{took}: at the tick after it");
    // The debt of the first connection has been paid by then.
    let last = ends[2].2.ended - ends[2].2.offset;
    assert!(last < ms(1), "{last}");
    assert_eq!(sources.borrow().len(), 2, "it was given a new connection");
}

#[test]
fn every_connection_of_a_session_takes_its_route() {
    let route = |seq: u64| {
        let address = IpAddr::from([10, 1, (seq / 256) as u8, (seq % 256) as u8]);
        Route {
            via: Via { source: Some(address), receive_buffer: Some(65_536), ..Via::default() },
            read_rate: None,
        }
    };
    // The second answer never comes, so that the third request goes over another connection.
    let script =
        |_| vec![whole(ms(0), 10), Wanted { offset: ms(100), pieces: Vec::new() }, whole(ms(400), 10)];
    let mut downloads = Downloads::new(route, script);
    (downloads.timeout, downloads.ages) = (Some(ms(50)), vec![ms(50), ms(350)]);
    let mut setup = setup(2.0, 650);
    setup.plan.drain = ms(10);
    let server = Server::default();
    let sources = Rc::clone(&server.sources);
    let (recording, _) = run_against(setup, downloads, server);
    let source = |seq| route(seq).via.source;
    let mut expect =
        vec![source(1_000), source(1_001), source(1_000), source(0), source(0), source(1), source(1)];
    let mut seen = sources.borrow().clone();
    expect.sort();
    seen.sort();
    assert_eq!(seen, expect);
    assert_eq!((recording.sessions.underway, recording.sessions.begun), (2, 2));
}

#[test]
fn sessions_under_way_that_there_is_no_room_for_are_refused_like_others() {
    let script = |_| (0..10).map(|i| whole(ms(100 * i), 10)).collect::<Vec<_>>();
    let mut downloads = Downloads::new(|_| Route::default(), script);
    downloads.ages = vec![ms(150), ms(250), ms(350), ms(450), ms(550)];
    let mut setup = setup(10.0, 660);
    setup.plan.sessions = Some(3);
    let (recording, ends) = run(setup, downloads);
    assert_accounted(&recording, recording.tally.intended);
    let sessions = recording.sessions;
    assert_eq!(sessions.underway, 3);
    assert_eq!(sessions.begun + sessions.refused, 10 + 2);
    assert_eq!(sessions.begun + sessions.underway, sessions.ended + sessions.cut);
    assert_eq!(recording.errors.of("too many sessions"), sessions.refused);
    // All steps of those that were refused are errors: of the fourth, 5 of 10 are still to come.
    for (seq, steps) in [(1_003, 5), (1_004, 4)] {
        let of = ends.iter().filter(|(of, ..)| *of == seq);
        let outcomes: Vec<Outcome> = of.map(|(.., end)| end.outcome).collect();
        assert_eq!(outcomes, vec![Outcome::Error; steps]);
    }
    assert_eq!(recording.tally.errors + recording.tally.completed, recording.tally.intended);
}

#[test]
fn a_server_that_is_gone_for_a_while_fails_what_is_due_then_and_no_more() {
    // 10 sessions a second of five steps 100 ms apart, and no socket listens for half of it.
    let script = |_| (0..5).map(|i| whole(ms(100 * i), 10)).collect::<Vec<_>>();
    let downloads = Downloads::new(|seq| at(client(seq)), script);
    let mut setup = setup(10.0, 670);
    setup.delay = Nanos::from_micros(100);
    let deaf = Some((START + ms(250), START + ms(750)));
    let (recording, ends) = run_against(setup, downloads, Server { deaf, ..Server::default() });
    assert_accounted(&recording, recording.tally.intended);
    let tally = recording.tally;
    assert!(tally.errors > 0 && tally.completed > 0 && tally.timeouts + tally.unfinished == 0, "{tally:?}");
    assert_eq!(recording.errors.of("no connection"), tally.errors, "each for want of a connection");
    // Established connections stay, and those of sessions that arrive in that time are retried until they are
    // established.
    for (seq, step, end) in &ends {
        let due = ms(100 * seq) + end.offset;
        let failed = end.outcome == Outcome::Error;
        let came = ms(100 * seq);
        let may = (ms(250)..ms(850)).contains(&due) && came >= ms(250);
        assert!(!failed || may, "step {step} of session {seq}, due at {due}");
    }
    let sessions = recording.sessions;
    assert_eq!((sessions.begun, sessions.refused), (10, 0));
    assert_eq!(sessions.ended + sessions.cut, 10);
}

#[test]
fn a_reset_in_the_middle_of_an_answer_is_an_error_and_the_session_goes_on() {
    let script = |_| (0..8).map(|i| whole(ms(50 * i), 30_000)).collect::<Vec<_>>();
    let mut setup = setup(20.0, 680);
    setup.stream_faults = Some(reactor::sim::StreamFaults {
        split: 0.3,
        short: 0.3,
        reset: 0.05,
        late: Nanos::from_micros(300),
        seed: 681,
    });
    let (recording, ends) = run(setup, Downloads::new(|_| at(rate(15 * MBIT, 16 << 10)), script));
    assert_accounted(&recording, recording.tally.intended);
    let tally = recording.tally;
    assert!(tally.errors > 5 && tally.completed > 3 * tally.errors, "{tally:?}");
    // After each error the session has gone on, with another connection.
    let after = ends.iter().filter(|(seq, step, end)| {
        let next = |(other, of, _): &&End| (other, *of) == (seq, step + 1);
        let completed = ends.iter().find(next).is_some_and(|(.., end)| end.outcome == Outcome::Completed);
        end.outcome == Outcome::Error && completed
    });
    assert!(after.count() > 3);
    let sessions = recording.sessions;
    assert_eq!(sessions.begun, sessions.ended + sessions.cut);
}

/// The wait for a debt is one of the things that the loop waits for: it neither spins nor sleeps past it.
#[test]
fn the_loop_sleeps_until_a_debt_is_paid_and_no_longer() {
    let script = |_| vec![whole(ms(0), 1_000_000)];
    let mut setup = setup(1.0, 690);
    setup.plan.pace = openloop::Pace::Sleep;
    let turns = Rc::clone(&setup.turns);
    let rate = rate(4 * MBIT, 16 << 10);
    let (recording, ends) = run(setup, Downloads::new(|_| at(self::rate(4 * MBIT, 16 << 10)), script));
    let took = ends[0].2.ended;
    assert!(took.0.abs_diff(exactly(rate, 1_000_000, 4 << 10).0) <= 2, "{took}");
    // Some 100 ticks a second, and three turns for each receive; a turn that finds nothing takes 200 ns.
    let few = 100 * took.0 / 1_000_000_000 + 3 * 1_000_000 / 4_096;
    assert!(turns.get() < 2 * few, "{} turns instead of {few}", turns.get());
    assert_eq!(recording.stall_count, 0);
}
