//! Answers that name their requests, on one connection and in any order, against the arithmetic of a server that takes
//! exactly as long for each as the request says.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use openloop::{Belongs, Endpoint, Fault, Parsed, Parts, Recording, Workload};
use reactor::sim::{Program, SimReactor};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::simulation::{START, Setup, assert_accounted, assert_close, cluster};

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// The server's time for an arrival, and its action then.
type Script = fn(u64) -> (Nanos, &'static str);

/// A line for each request, `NUMBER TIME WORD`, and for each answer, `NUMBER WORD`; number 0 is the connection's. The
/// answer `half` is the first part of one.
struct Numbered {
    script: Script,
}

/// The requests of a connection that were cancelled, and those of them that the server was not told of yet.
#[derive(Default)]
struct Cancelled {
    all: Vec<u32>,
    untold: u64,
}

impl Workload for Numbered {
    type Job = (Nanos, &'static str, u32);
    type Wire = Cancelled;
    const MULTIPLEXED: bool = true;

    fn operations(&self) -> Vec<String> {
        vec!["asked".into()]
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Self::Job>) -> usize {
        let (takes, word) = (self.script)(seq);
        parts.push(0, (takes, word, 0));
        0
    }

    fn request(&mut self, _: &mut Self::Job, _: u16, _: &mut Vec<u8>) {
        unreachable!("requests have numbers");
    }

    fn open(&mut self, job: &mut Self::Job, _: &mut Cancelled, (number, _): (u32, bool), out: &mut Vec<u8>) {
        job.2 = number;
        out.extend_from_slice(format!("{number} {} {}\n", job.0.0, job.1).as_bytes());
    }

    fn belongs(&mut self, wire: &mut Cancelled, bytes: &[u8]) -> Belongs {
        let Some(end) = bytes.iter().position(|&b| b == b'\n') else { return Belongs::Unknown };
        let line = std::str::from_utf8(&bytes[..end]).unwrap();
        let used = end + 1;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["0", "places", places] => Belongs::Places { used, places: places.parse().unwrap() },
            ["0", "leave", last] => Belongs::Leaving { used, last: last.parse().unwrap(), fault: None },
            ["0", "fail", last] => {
                let fault = Some(Fault::new("server left", "it said so"));
                Belongs::Leaving { used, last: last.parse().unwrap(), fault }
            }
            ["0", _] => Belongs::Connection(used),
            [number, _] if wire.all.contains(&number.parse().unwrap()) => Belongs::Connection(used),
            [number, _] => Belongs::Request(number.parse().unwrap()),
            _ => Belongs::Garbage(line.into()),
        }
    }

    fn speak(&mut self, wire: &mut Cancelled, out: &mut Vec<u8>) {
        if wire.untold > 0 {
            let untold = std::mem::take(&mut wire.untold);
            out.extend_from_slice(format!("0 {untold} cancelled\n").as_bytes());
        }
    }

    fn cancel(&mut self, wire: &mut Cancelled, number: u32) {
        wire.all.push(number);
        wire.untold += 1;
    }

    fn response(&mut self, job: &mut Self::Job, _: &mut Cancelled, bytes: &[u8]) -> Parsed<Self::Job> {
        let end = bytes.iter().position(|&b| b == b'\n').unwrap();
        let line = std::str::from_utf8(&bytes[..end]).unwrap();
        let (number, word) = line.split_once(' ').unwrap();
        assert_eq!(number.parse(), Ok(job.2), "an answer is matched with its own request");
        match word {
            "half" => Parsed::Used(end + 1),
            "bad" => Parsed::done(end + 1, Err(Fault::new("bad", line))),
            _ => Parsed::done(end + 1, Ok(())),
        }
    }
}

/// When it leaves, its number, its connection's slot and generation, its text.
type Reply = (Time, u64, (u32, u32), String);

/// Answers each request after its own time. `never`: not at all. `twice`: half of the answer comes at once. `leave` and
/// `fail`: this request is the last that is answered, and the server announces this at once. `stranger`: an answer to a
/// request that was not made. `late` is answered after 100 ms more. Requests over `places` are refused at once.
#[derive(Default)]
struct Server {
    due: BinaryHeap<Reverse<Reply>>,
    /// Requests that it takes at once from a connection, and the delay between accepting it and announcing this.
    places: Option<usize>,
    says_after: Nanos,
    /// Requests taken so far.
    taken: HashMap<(u32, u32), usize>,
    /// Nothing leaves between these moments.
    stall: Option<(Time, Time)>,
    left: Vec<Conn>,
    entered: u64,
    seen: Rc<Seen>,
}

/// The connections of a server, and the requests on it that were cancelled.
#[derive(Default)]
struct Seen {
    connections: Cell<u32>,
    cancelled: Cell<u64>,
}

impl Server {
    fn enter(&mut self, at: Time, conn: Conn, text: String) {
        self.entered += 1;
        self.due.push(Reverse((at, self.entered, (conn.slot, conn.generation), text)));
    }
}

impl Handler<SimReactor> for Server {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => {
                self.seen.connections.set(self.seen.connections.get() + 1);
                if let Some(places) = self.places {
                    self.enter(reactor.now() + self.says_after, conn, format!("0 places {places}\n"));
                }
            }
            Event::Data { conn, at, bytes, .. } => {
                for line in std::str::from_utf8(bytes).unwrap().lines() {
                    let words: Vec<&str> = line.split(' ').collect();
                    let [number, takes, word] = words[..] else { panic!("{line:?}") };
                    if word == "cancelled" {
                        self.seen.cancelled.set(self.seen.cancelled.get() + takes.parse::<u64>().unwrap());
                    }
                    if number == "0" || word == "never" || self.left.contains(&conn) {
                        continue;
                    }
                    let taken = self.taken.entry((conn.slot, conn.generation)).or_default();
                    if self.places.is_some_and(|places| *taken >= places) {
                        self.enter(at, conn, format!("{number} bad\n"));
                        continue;
                    }
                    *taken += 1;
                    match word {
                        "twice" => self.enter(at, conn, format!("{number} half\n")),
                        "leave" | "fail" => {
                            self.left.push(conn);
                            self.enter(at, conn, format!("0 {word} {number}\n"));
                        }
                        "stranger" => self.enter(at, conn, "9999 good\n".into()),
                        _ => {}
                    }
                    let mut done = at + Nanos(takes.parse().unwrap());
                    if let Some((_, to)) = self.stall.filter(|(from, to)| *from <= done && done < *to) {
                        done = to;
                    }
                    self.enter(done, conn, format!("{number} {word}\n"));
                }
            }
            _ => {}
        }
    }
}

impl Program for Server {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        while let Some(Reverse(first)) = self.due.peek()
            && first.0 <= reactor.now()
        {
            let Reverse((_, _, (slot, generation), text)) = self.due.pop().unwrap();
            let conn = Conn { slot, generation };
            if !text.starts_with("0 ") && ![" half\n", " bad\n"].iter().any(|other| text.ends_with(other)) {
                let taken = self.taken.entry((slot, generation)).or_default();
                *taken = taken.saturating_sub(1);
            }
            reactor.output(conn).extend_from_slice(text.as_bytes());
            reactor.flush(conn);
        }
        let next = self.due.peek().map_or(Time::NEVER, |Reverse(first)| first.0);
        reactor.poll(Wait::Sleep(next), self).unwrap();
        true
    }
}

/// 1000 requests a second for 2 s on one connection.
fn setup(seed: u64) -> Setup {
    Setup::scripted(1_000.0, cluster(1, 1), seed)
}

fn run(setup: Setup, server: Server, script: Script) -> Recording {
    let endpoints: Vec<Endpoint> = setup.plan.endpoints.clone();
    setup.run_against(Numbered { script }, vec![(Box::new(server), endpoints)])
}

fn seen() -> (Server, Rc<Seen>) {
    let seen = Rc::new(Seen::default());
    (Server { seen: Rc::clone(&seen), ..Server::default() }, seen)
}

#[test]
fn a_fast_answer_does_not_wait_for_a_slow_one() {
    let script = |seq: u64| if seq.is_multiple_of(10) { (us(50_000), "good") } else { (us(100), "good") };
    let recording = run(setup(201), Server::default(), script);
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.completed, 2_000, "{:?}", recording.errors);
    // One after the other as in HTTP/1, most would wait for a slow one.
    let all = recording.all();
    assert_eq!(all.response_time.count_within(us(101)), 1_800);
    assert_close("slow ones", all.response_time.max(), 50e6, 0.001);
    assert_close("no wait", all.response_time.mean(), 0.1 * 50e6 + 0.9 * 100e3, 0.001);
    assert_eq!(all.connection_wait.max(), Some(Nanos::ZERO));
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO));
}

#[test]
fn the_first_part_of_an_answer_is_its_first_byte() {
    let recording = run(setup(202), Server::default(), |_| (us(2_500), "twice"));
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.completed, 2_000, "{:?}", recording.errors);
    let all = recording.all();
    assert_close("whole answers", all.service_time.max(), 2.5e6, 0.001);
    assert_eq!(all.connection_wait.max(), Some(Nanos::ZERO), "three are under way at once");
    assert_eq!(recording.max_in_flight, 3);
}

#[test]
fn a_server_that_takes_two_at_once_makes_the_others_wait() {
    // Of 3 ms each: two at once are 667 a second of the 1000 that come.
    let server = Server { places: Some(2), ..Server::default() };
    let recording = run(setup(203), server, |_| (us(3_000), "good"));
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.completed, 2_000, "{:?} {:?}", recording.tally, recording.errors);
    assert_eq!(recording.max_in_flight, 2);
    // The last of 2000 comes after 1.999 s; the 1000 pairs take 3 s, and the second of a pair begins 1 ms later.
    let all = recording.all();
    assert_close("response time", all.response_time.max(), 1_002e6, 0.002);
    assert_close("connection wait", all.connection_wait.max(), 999e6, 0.002);
    assert_close("service time", all.service_time.max(), 3e6, 0.001);
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO), "the wait is the server's");
    // With places enough, none waits.
    let recording = run(setup(203), Server { places: Some(4), ..Server::default() }, |_| (us(3_000), "good"));
    assert_eq!(recording.all().response_time.max(), recording.all().service_time.max());
}

#[test]
fn a_limit_holds_on_the_next_connection_until_the_server_says_it_there() {
    // While the last request of a connection is answered nine others come, and wait for the next connection.
    let script = |seq: u64| if seq % 50 == 49 { (us(10_000), "leave") } else { (us(1_000), "good") };
    let (server, seen) = seen();
    let server = Server { places: Some(2), says_after: us(2_000), ..server };
    let recording = run(setup(210), server, script);
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.completed, 2_000, "{:?} {:?}", recording.tally, recording.errors);
    assert_eq!(recording.errors.iter().count(), 0, "{:?}", recording.errors);
    assert_eq!(recording.max_in_flight, 2);
    assert!(seen.connections.get() >= 40, "{}", seen.connections.get());
    let all = recording.all();
    // It counts as a wait from the intended time on.
    assert!(all.connection_wait.max().unwrap() > us(8_900), "{:?}", all.connection_wait.max());
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO), "the wait is the server's");
}

#[test]
fn a_stall_is_seen_by_all_who_came_in_it() {
    let from = START + Nanos::from_secs(1);
    let server = Server { stall: Some((from, from + us(100_000))), ..Server::default() };
    let recording = run(setup(204), server, |_| (Nanos::ZERO, "good"));
    assert_accounted(&recording, 2_000);
    let all = recording.all();
    assert_close("max", all.response_time.max(), 100e6, 0.002);
    // One request is due in each of the 100 ms; in the first 60 a request waits for more than 40 ms.
    assert_eq!(2_000 - all.response_time.count_within(us(40_000)), 60);
    assert_eq!(all.connection_wait.max(), Some(Nanos::ZERO));
}

#[test]
fn an_answer_that_does_not_come_leaves_the_others_alone() {
    let script = |seq: u64| if seq % 100 == 7 { (us(0), "never") } else { (us(100), "good") };
    let mut setup = setup(205);
    setup.plan.timeout = us(20_000);
    let (server, seen) = seen();
    let recording = run(setup, server, script);
    assert_accounted(&recording, 2_000);
    let tally = recording.tally;
    assert_eq!((tally.completed, tally.timeouts, tally.errors), (1_980, 20, 0), "{:?}", recording.errors);
    assert_eq!(recording.all().response_time.count_within(us(101)), 1_980);
    assert_eq!((seen.connections.get(), seen.cancelled.get()), (1, 20), "the connection stays");
    // An answer that comes after its time-out completes nothing.
    let late = |seq: u64| if seq % 100 == 7 { (us(120_000), "good") } else { (us(100), "good") };
    let mut again = self::setup(205);
    again.plan.timeout = us(20_000);
    let recording = run(again, Server::default(), late);
    assert_accounted(&recording, 2_000);
    assert_eq!((recording.tally.completed, recording.tally.timeouts), (1_980, 20), "{:?}", recording.errors);
}

#[test]
fn a_connection_without_any_answer_is_given_up() {
    let script = |seq: u64| if (500..600).contains(&seq) { (us(0), "never") } else { (us(100), "good") };
    let mut setup = setup(206);
    setup.plan.timeout = us(20_000);
    let (server, seen) = seen();
    let recording = run(setup, server, script);
    assert_accounted(&recording, 2_000);
    assert!(seen.connections.get() > 1);
    assert!(recording.errors.of("no answer in time") >= 100, "{:?}", recording.errors);
    assert_eq!(recording.tally.completed, 1_900, "{:?}", recording.tally);
}

#[test]
fn requests_that_a_leaving_server_did_not_take_are_sent_again() {
    // Every 50th of a connection is the last; each takes 5 ms, so that five are under way.
    let script = |seq: u64| if seq % 50 == 49 { (us(5_000), "leave") } else { (us(5_000), "good") };
    let recording = run(setup(207), Server::default(), script);
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.completed, 2_000, "{:?} {:?}", recording.tally, recording.errors);
    assert_eq!(recording.errors.iter().count(), 0, "{:?}", recording.errors);
    let all = recording.all();
    // Those that come while the connection drains wait for up to 5 ms, and that is a wait and not a lag.
    assert!(all.connection_wait.max().unwrap() > us(3_900), "{:?}", all.connection_wait.max());
    assert!(all.response_time.max().unwrap() <= us(10_100), "{:?}", all.response_time.max());
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO));
}

#[test]
fn requests_that_a_failing_server_did_not_take_are_errors() {
    // Five are under way when one of them tells the end.
    let script = |seq: u64| if seq % 50 == 49 { (us(5_000), "fail") } else { (us(5_000), "good") };
    let mut setup = setup(208);
    setup.delay = us(2_500);
    let recording = run(setup, Server::default(), script);
    assert_accounted(&recording, 2_000);
    let failed = recording.tally.errors;
    // Those sent within the time of a way there and back: four or five for each end.
    assert!((160..=200).contains(&failed), "{:?}", recording.errors);
    assert!(recording.errors.of("server left") >= failed, "{:?}", recording.errors);
    assert_eq!(recording.tally.completed, 2_000 - failed);
}

#[test]
fn an_answer_to_no_request_makes_the_trial_invalid() {
    let script = |seq: u64| if seq == 1_000 { (us(100), "stranger") } else { (us(100), "good") };
    let recording = run(setup(209), Server::default(), script);
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.unsolicited, 1);
    assert!(recording.errors.of("unsolicited bytes") >= 1, "{:?}", recording.errors);
}
