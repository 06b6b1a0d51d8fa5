//! Sessions: steps at times that were fixed at the arrival, over a connection of the session's own.

use hist::LivePoint;
use openloop::{Fault, Load, Next, Outcome, Parsed, Parts, Recording, Step, StepEnd, Underway, Workload};
use rand::RngExt;
use reactor::queue;
use reactor::sim::Program;
use units::{Nanos, Rate};

use crate::scripted::{Answer, Obedient};
use crate::simulation::{Setup, assert_accounted, assert_close, cluster};

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// A step of a script: when it is due, the server's time for it, and its answer.
type Scripted = (Nanos, Nanos, Answer);

#[derive(Clone, Debug)]
struct Viewer {
    id: u64,
    steps: Vec<Scripted>,
    at: usize,
}

/// The steps of a session. Boxed, or the engine would be compiled for each test.
type Script<'a> = Box<dyn FnMut(u64) -> Vec<Scripted> + 'a>;

/// Sessions of this script; one that fails loses the rest, if `fragile`.
struct Viewers<'a> {
    script: Script<'a>,
    fragile: bool,
    /// The ages of those under way at the start.
    ages: Vec<Nanos>,
    sent: u64,
    ends: Vec<StepEnd>,
    /// Sessions that were drawn or under way, and of which it has not been told that they are over.
    open: u64,
}

impl<'a> Viewers<'a> {
    fn new(script: impl FnMut(u64) -> Vec<Scripted> + 'a) -> Viewers<'a> {
        let script = Box::new(script);
        Viewers { script, fragile: false, ages: Vec::new(), sent: 0, ends: Vec::new(), open: 0 }
    }
}

impl Workload for Viewers<'_> {
    type Job = Viewer;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["first".into(), "later".into()]
    }

    fn timeout(&self, operation: usize) -> Option<Nanos> {
        (operation == 1).then_some(ms(100))
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Viewer>) -> usize {
        self.open += 1;
        parts.push(0, Viewer { id: 0, steps: (self.script)(seq), at: 0 });
        0
    }

    fn underway(&mut self) -> Vec<Underway<Viewer>> {
        let ages = self.ages.clone();
        let under = |(i, age): (usize, Nanos)| {
            let steps = (self.script)(i as u64);
            let at = steps.iter().position(|step| step.0 >= age)?;
            let step = Step { offset: steps[at].0, operation: 1 };
            Some(Underway { age, endpoint: 0, step, job: Viewer { id: 0, steps, at } })
        };
        let all: Vec<_> = ages.into_iter().enumerate().filter_map(under).collect();
        self.open += all.len() as u64;
        all
    }

    fn request(&mut self, job: &mut Viewer, tag: u16, out: &mut Vec<u8>) {
        self.sent += 1;
        job.id = self.sent;
        let (_, takes, answer) = job.steps[job.at];
        out.extend_from_slice(format!("{tag} {} {} {answer:?}\n", job.id, takes.0).as_bytes());
    }

    fn response(&mut self, job: &mut Viewer, (): &mut (), bytes: &[u8]) -> Parsed<Viewer> {
        let Some(end) = bytes.iter().position(|&b| b == b'\n') else { return Parsed::Partial };
        let text = std::str::from_utf8(&bytes[..end]).unwrap();
        assert_eq!(text.split(' ').nth(1), Some(job.id.to_string().as_str()), "matched with another's");
        let outcome = if text.ends_with("Bad") { Err(Fault::new("bad", text)) } else { Ok(()) };
        Parsed::done(end + 1, outcome)
    }

    fn step_ended(&mut self, job: &mut Viewer, ended: &StepEnd) -> Next {
        assert_eq!(ended.offset, job.steps[job.at].0, "of the step that was asked for");
        self.ends.push(*ended);
        job.at += 1;
        let Some(&(offset, ..)) = job.steps.get(job.at) else {
            self.open -= 1;
            return Next::End;
        };
        let step = Step { offset, operation: 1 };
        let failed = !matches!(ended.outcome, Outcome::Completed | Outcome::Unfinished);
        if failed && self.fragile { Next::Lose(step) } else { Next::Send(step) }
    }

    fn dropped(&mut self, _: &mut Viewer) {
        self.open -= 1;
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        let due = self.ends.iter().filter(|end| end.in_window.is_some()).count();
        vec![
            ("steps".into(), self.ends.len() as u64, 1),
            ("due in the window".into(), due as u64, 1),
            ("open".into(), self.open, 1),
        ]
    }
}

/// Arrivals of sessions at equal distances, of which as many as `most` may be under way.
fn setup(sessions_per_s: f64, most: usize, seed: u64) -> Setup {
    let mut setup = Setup::scripted(sessions_per_s, cluster(1, 0), seed);
    setup.plan.sessions = Some(most);
    setup.plan.depth = 1;
    setup
}

fn run(setup: Setup, viewers: Viewers<'_>) -> Recording {
    let servers = vec![(Box::new(Obedient::default()) as Box<dyn Program>, setup.plan.endpoints.clone())];
    setup.run_against(viewers, servers)
}

/// Steps at a distance of 10 ms, each with its time at the server.
fn paced(takes: &[u64]) -> Vec<Scripted> {
    (0..).zip(takes).map(|(i, &takes)| (ms(10 * i), ms(takes), Answer::Good)).collect()
}

#[test]
fn each_step_is_due_at_its_own_time() {
    let mut setup = setup(10.0, 100, 201);
    setup.delay = Nanos::from_micros(500);
    let recording = run(setup, Viewers::new(|_| paced(&[1, 2, 3])));
    assert_accounted(&recording, 3 * 20);
    assert_eq!(recording.tally.completed, 60);
    let of = |operation: usize| &recording.operations[operation];
    // The connection takes a trip there and back before the first request can leave.
    assert_close("first", of(0).response_time.max(), 3e6, 0.001);
    assert_close("its connection", of(0).connection_wait.max(), 1e6, 0.001);
    assert_close("second", of(1).response_time.value_at(1.0), 3e6, 0.001);
    assert_close("third", of(1).response_time.max(), 4e6, 0.001);
    assert_eq!(of(1).connection_wait.max(), Some(Nanos::ZERO));
    assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
    let sessions = recording.sessions;
    assert_eq!((sessions.begun, sessions.ended, sessions.refused, sessions.cut), (20, 20, 0, 0));
    assert!(recording.connections.is_empty(), "no record grows with the sessions");
    let live = recording.backlog.iter().map(|point| point.sessions).max();
    assert_eq!(live, Some(1), "a session is over before the next arrives");
}

#[test]
fn the_live_view_shows_no_step_before_it_is_due() {
    // One session each 100 ms, whose first answer is wrong, so that it loses a step of 5 s later and one of 10 s later.
    let steps = [0, 5_000, 10_000].map(|after| (ms(after), ms(1), Answer::Bad)).to_vec();
    let mut setup = setup(10.0, 100, 203);
    setup.plan.window = Nanos::from_secs(20);
    let (to, mut from) = queue::bounded(512);
    setup.shown_to = Some(to);
    let recording = run(setup, Viewers { fragile: true, ..Viewers::new(move |_| steps.clone()) });
    assert_accounted(&recording, 200 + 150 + 100);
    let points: Vec<LivePoint> = std::iter::from_fn(|| from.pop()).collect();
    // The last may end with the load, before they are shown.
    assert!(points.len() >= 198, "{}", points.len());
    for point in &points {
        assert_eq!((point.offered, point.failed), (1, 1), "interval {}", point.interval);
    }
}

#[test]
fn a_stall_shows_in_every_step_that_it_delays_and_holds_up_no_arrival() {
    // The second step takes 35 ms: it ends at 45, the third at 46 and the fourth at 47, due at 20 and 30; the fifth is in time.
    let recording = run(setup(50.0, 100, 202), Viewers::new(|_| paced(&[1, 35, 1, 1, 1, 1])));
    assert_accounted(&recording, recording.tally.intended);
    let later = &recording.operations[1].response_time;
    for (percentile, expect) in [(10.0, 1e6), (50.0, 17e6), (70.0, 26e6), (100.0, 35e6)] {
        assert_close(&format!("p{percentile}"), later.value_at(percentile), expect, 0.001);
    }
    assert_eq!(recording.sessions.begun, 100, "the arrivals come as if nothing were");
}

#[test]
fn what_a_failed_session_would_have_asked_for_counts_as_errors() {
    let script = |seq: u64| {
        let answer = if seq.is_multiple_of(4) { Answer::Bad } else { Answer::Good };
        vec![
            (ms(0), ms(1), Answer::Good),
            (ms(10), ms(1), answer),
            (ms(20), ms(1), Answer::Good),
            (ms(30), ms(1), Answer::Good),
        ]
    };
    for fragile in [false, true] {
        let mut viewers = Viewers::new(script);
        viewers.fragile = fragile;
        let recording = run(setup(10.0, 100, 203), viewers);
        assert_accounted(&recording, 4 * 20);
        assert_eq!(recording.tally.errors, if fragile { 3 * 5 } else { 5 }, "fragile: {fragile}");
        assert_eq!(recording.errors.of("bad"), 5);
    }
}

#[test]
fn a_session_that_loses_what_would_come_after_the_load_is_told_to_be_over() {
    // Each second step is due in the load, and each third one after it.
    let script = |_| {
        vec![(ms(0), ms(1), Answer::Bad), (ms(10), ms(1), Answer::Good), (ms(5_000), ms(1), Answer::Good)]
    };
    let check = |most: usize, fragile: bool, ended: u64| {
        let mut viewers = Viewers { fragile, ..Viewers::new(script) };
        viewers.ages = vec![ms(5); 3];
        let recording = run(setup(10.0, most, 210), viewers);
        assert_accounted(&recording, 2 * 20 + 3);
        let open = recording.counters.iter().find(|(name, ..)| name == "open").unwrap().1;
        let sessions = recording.sessions;
        assert_eq!((open, sessions.ended), (sessions.cut, ended), "{sessions:?}");
    };
    check(100, true, 20);
    check(100, false, 0);
    // All are refused.
    check(0, false, 0);
}

#[test]
fn a_step_times_out_by_its_operation_and_the_session_goes_on() {
    let script = |_| {
        vec![
            (ms(0), ms(150), Answer::Good),
            (ms(200), ms(1), Answer::Never),
            (ms(220), ms(1), Answer::Good),
            (ms(400), ms(1), Answer::Good),
        ]
    };
    let recording = run(setup(2.0, 10, 204), Viewers::new(script));
    assert_accounted(&recording, 4 * 4);
    assert_eq!((recording.tally.timeouts, recording.tally.completed), (4, 12));
    // It is noticed at the next tick, and the step after it waits for that and for a new connection.
    let slow = recording.operations[1].response_time.value_at(60.0).unwrap();
    assert!((ms(80)..ms(95)).contains(&slow), "{slow}");
}

#[test]
fn a_connection_that_was_closed_between_steps_is_established_again() {
    let script = |_| {
        vec![
            (ms(0), ms(1), Answer::Good),
            // Closed instead of answered: an error, and the next step has a connection again.
            (ms(10), ms(1), Answer::Close),
            (ms(50), ms(1), Answer::Good),
        ]
    };
    let recording = run(setup(10.0, 10, 205), Viewers::new(script));
    assert_accounted(&recording, 3 * 20);
    assert_eq!((recording.tally.errors, recording.tally.completed), (20, 40));
}

#[test]
fn more_sessions_than_there_is_room_for_are_refused_with_all_their_steps() {
    // Each lasts for 95 ms and a little, so that 10 are under way at 100 a second; there is room for 4.
    let script = |_| (0..10).map(|i| (ms(10 * i), ms(1), Answer::Good)).collect::<Vec<_>>();
    let recording = run(setup(100.0, 4, 206), Viewers::new(script));
    assert_accounted(&recording, recording.tally.intended);
    let sessions = recording.sessions;
    assert_eq!(sessions.begun + sessions.refused, 200);
    assert!((75..=90).contains(&sessions.begun), "{sessions:?}");
    assert_eq!(recording.errors.of("too many sessions"), sessions.refused);
    let expected: u64 = (0..200u64).map(|seq| 10.min(200 - seq)).sum();
    assert_eq!(recording.tally.intended, expected, "each step that was due, sent or not");
    let most = recording.backlog.iter().map(|point| point.sessions).max();
    assert_eq!(most, Some(4));
}

#[test]
fn sessions_under_way_at_the_start_make_the_first_second_like_all_others() {
    // 20 a second of 500 ms each: 10 are under way at any time, and 51 steps in half a second for each.
    let script = |_| (0..=50).map(|i| (ms(10 * i), Nanos::from_micros(10), Answer::Good)).collect::<Vec<_>>();
    let mut viewers = Viewers::new(script);
    viewers.ages = (0..10).map(|i| ms(50 * i + 25)).collect();
    let recording = run(setup(20.0, 100, 207), viewers);
    assert_accounted(&recording, recording.tally.intended);
    assert_eq!(recording.sessions.underway, 10);
    let offered: Vec<u64> = recording.intervals.iter().map(|interval| interval.offered).collect();
    let (low, high) = (offered.iter().min().unwrap(), offered.iter().max().unwrap());
    assert!(*low >= 98 && *high <= 108, "{offered:?}");
    assert_eq!(recording.tally.completed, recording.tally.intended - recording.tally.unfinished);
}

#[test]
fn sessions_whose_next_step_comes_after_the_load_are_under_way_until_its_end() {
    let script =
        |_| (0..=50).map(|i| (ms(400 * i), Nanos::from_micros(10), Answer::Good)).collect::<Vec<_>>();
    let mut viewers = Viewers::new(script);
    viewers.ages = (0..10).map(|i| ms(40 * i + 20)).collect();
    let recording = run(setup(5.0, 100, 209), viewers);
    assert_accounted(&recording, recording.tally.intended);
    let live: Vec<u64> = recording.backlog.iter().map(|point| point.sessions).collect();
    assert!(live.windows(2).all(|two| two[0] <= two[1]) && live[0] >= 10, "{live:?}");
    let sessions = recording.sessions;
    assert_eq!((sessions.ended, sessions.cut), (0, 10 + sessions.begun), "{sessions:?}");
}

#[test]
fn what_waits_for_a_step_without_an_answer_is_unfinished_at_the_end() {
    let script = |_| {
        let answer = |i: u64| if i == 3 { Answer::Never } else { Answer::Good };
        (0..10).map(|i| (ms(5 * i), ms(1), answer(i))).collect::<Vec<_>>()
    };
    let mut setup = setup(1.0, 10, 208);
    (setup.plan.window, setup.plan.drain) = (ms(30), ms(20));
    let recording = run(setup, Viewers::new(script));
    // Due at 0 to 25 ms: three answered, one without an answer, and two behind it.
    assert_accounted(&recording, 6);
    assert_eq!((recording.tally.completed, recording.tally.unfinished), (3, 3));
    assert_eq!((recording.sessions.cut, recording.sessions.ended), (1, 0));
}

/// With any behaviour of the server, each step that was due in the window ends, once.
#[test]
fn every_step_that_was_due_is_accounted_for() {
    for seed in 0..60u64 {
        let mut random = dist::Streams::new(seed).stream(dist::Purpose::Other(31), 0);
        let rate = random.random_range(5.0..400.0);
        let most = random.random_range(1..40);
        let (distance, steps) = (random.random_range(1..40u64), random.random_range(1..20u64));
        let slow = random.random_range(0..60u64);
        let script = move |seq: u64| -> Vec<Scripted> {
            let mut random = dist::Streams::new(seed).stream(dist::Purpose::Other(32), seq);
            (0..steps)
                .map(|i| {
                    let answer = match random.random_range(0..40) {
                        0 => Answer::Bad,
                        1 => Answer::Never,
                        2 => Answer::Close,
                        _ => Answer::Good,
                    };
                    (ms(distance * i), Nanos(random.random_range(0..1_000_000 * (slow + 1))), answer)
                })
                .collect()
        };
        let mut setup = setup(rate, most, 300 + seed);
        (setup.plan.warmup, setup.plan.drain) = (ms(random.random_range(0..300)), ms(200));
        setup.plan.load = Load::steady(dist::Process::Constant, Rate::new(rate).unwrap());
        let (from, to) = (setup.plan.warmup, setup.plan.warmup + setup.plan.window);
        let mut viewers = Viewers::new(script);
        viewers.fragile = seed % 2 == 0;
        let recording = run(setup, viewers);
        // The k-th arrival of a constant process comes after k + 1 distances, or k: count the engine's offered steps,
        // by session.
        let sessions = recording.sessions;
        assert_eq!(sessions.begun, sessions.ended + sessions.cut, "seed {seed}: {sessions:?}");
        let first = |seq: u64| (seq as f64 / rate * 1e9).round() as u64;
        let due: u64 = (0..)
            .take_while(|&seq| first(seq) < to.0)
            .map(|seq| {
                let at = |i: u64| first(seq) + ms(distance * i).0;
                (0..steps).filter(|&i| (from.0..to.0).contains(&at(i))).count() as u64
            })
            .sum();
        let intended = recording.tally.intended;
        assert_eq!(
            recording.counters[1].1, intended,
            "seed {seed}: each that was due in the window is told once"
        );
        // The arrivals may be shifted by up to one distance.
        let slack = (steps as f64 * (1.0 + rate * ms(distance).as_secs_f64())) as u64 + 2 * steps;
        assert!(intended.abs_diff(due) <= slack, "seed {seed}: {intended} for {due} ± {slack}");
        assert_accounted(&recording, intended);
    }
}
