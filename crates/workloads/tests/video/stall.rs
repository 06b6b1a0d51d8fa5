//! A server that stalls: the effect on each viewer follows from the due times of their chunks.

use dist::Streams;
use openloop::{Load, Recording, Schedule};
use reference_servers::Stalls;
use spec::workload::Abandon;
use units::Nanos;
use workloads::video::{Audience, Player, Viewer};

use crate::simulated::{START, counter, distribution};
use crate::video::simulation::{Setup, assert_accounted};

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// The expected figures of all sessions, from the chunks' due times and the server's.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    due: u64,
    misses: u64,
    stalls: u64,
    stalled: Nanos,
    played: Nanos,
    starts: u64,
    slowest: Nanos,
    judged: u64,
    met: u64,
}

/// The expected figures for a server that sends nothing from `from` for `span`, both after the beginning of the window.
fn expected(setup: &Setup, from: Nanos, span: Nanos) -> Expected {
    let config = &setup.config;
    let mut audience = Audience::new(config, 0, 1).unwrap();
    let mean = audience.mean_length();
    let mut expected = Expected::default();
    // The viewers present arrived before: all their requests were answered at once.
    for (viewer, age) in audience.underway(config.viewers_per_s, mean, 0, 1) {
        session(setup, &audience, &viewer, (Nanos::ZERO, age), (from, span), &mut expected);
    }
    let Load::Open { arrivals, .. } = &setup.plan.load else { panic!("it is an open loop") };
    let mut schedule = Schedule::new(arrivals.clone(), &Streams::new(setup.plan.seed), START, 0, 1);
    while schedule.peek().intended < START + config.window {
        let arrival = schedule.take();
        let viewer = audience.arriving(arrival.seq);
        let came = arrival.intended.since(START);
        session(setup, &audience, &viewer, (came, Nanos::ZERO), (from, span), &mut expected);
    }
    expected
}

/// One session, of a viewer who was `age` old at `came`.
fn session(
    setup: &Setup,
    audience: &Audience,
    viewer: &Viewer,
    (came, age): (Nanos, Nanos),
    (from, span): (Nanos, Nanos),
    expected: &mut Expected,
) {
    let (config, rung) = (&setup.config, viewer.watched.rung);
    let (mut chunks, mut before, mut bad, mut of_window) = (Vec::new(), Nanos::ZERO, false, 0);
    for (chunk, (due, _)) in (0..).zip(audience.as_before(viewer)) {
        let media = config.library.media(rung, chunk, viewer.until);
        if due < age {
            chunks.push((due, media));
            before = due;
            continue;
        }
        // By the window's clock.
        let at = came + (due - age);
        if at >= config.window {
            break;
        }
        let asked = at.max(came + (before - age));
        let sent = if (from..from + span).contains(&asked) { from + span } else { asked };
        let missed = sent - asked > config.options.timeout();
        before = age + (sent - came);
        chunks.push((before, media));
        of_window += 1;
        bad |= missed;
        expected.due += 1;
        expected.misses += u64::from(missed);
        expected.played += media;
    }
    if of_window == 0 {
        return;
    }
    // The chunk after the last one due in the window is not requested, so its outcome is unknown.
    let (mut player, mut start_up) = (Player::new(config.options.resume_with), None);
    for (i, &(at, media)) in chunks.iter().enumerate() {
        let seen = player.arrived(at, media, i + 1 == chunks.len());
        start_up = start_up.or(seen.start_up);
        if let Some(length) = seen.stall.filter(|_| at >= age) {
            expected.stalls += 1;
            expected.stalled += length;
            bad = true;
        }
    }
    if age == Nanos::ZERO {
        let start = start_up.unwrap();
        expected.starts += 1;
        expected.slowest = expected.slowest.max(start);
        bad |= start > ms(200);
    }
    expected.judged += 1;
    expected.met += u64::from(!bad);
}

#[track_caller]
fn assert_near(what: &str, found: u64, expected_ms: Nanos, values: u64) {
    // Each is rounded by the simulated server's turns, to some µs.
    let expected = expected_ms.0 / 1_000_000;
    let slack = 2 + values / 100;
    assert!(found.abs_diff(expected) <= slack, "{what}: {found} ms and not {expected} ± {slack} ms");
}

fn check(setup: &Setup, from: Nanos, span: Nanos) -> Recording {
    let recording = setup.run();
    assert_accounted(&recording);
    assert_eq!(recording.tally.unfinished, 0, "all ends before the drain is over");
    let expected = expected(setup, from, span);
    assert_eq!(counter(&recording, "misses"), (expected.misses, expected.due));
    assert_eq!(recording.tally.intended, expected.due);
    let (stalls, played) = counter(&recording, "stalls");
    assert_eq!(stalls, expected.stalls);
    assert_near("played", played, expected.played, 0);
    let (stalled, of) = counter(&recording, "rebuffer_ratio");
    assert_near("stalled", stalled, expected.stalled, stalls);
    assert_eq!(of, stalled + played);
    assert_eq!(counter(&recording, "sessions_met"), (expected.met, expected.judged));
    let (starts, slowest) = distribution(&recording, "startup");
    assert_eq!(starts, expected.starts);
    // A histogram keeps three significant digits.
    assert!(slowest.0.abs_diff(expected.slowest.0) <= expected.slowest.0 / 500 + 20_000, "{slowest}");
    recording
}

#[test]
fn without_a_stall_no_viewer_waits() {
    let recording = check(&Setup::new(20.0, 501), Nanos::ZERO, Nanos::ZERO);
    assert_eq!(counter(&recording, "misses").0, 0);
    assert_eq!(counter(&recording, "stalls").0, 0);
    let (met, judged) = counter(&recording, "sessions_met");
    assert!(met == judged && judged > 500, "{met} of {judged}");
    // Each answer comes at once, as a part, with the content of its place.
    assert_eq!(counter(&recording, "partial_content"), (recording.tally.intended, recording.tally.intended));
    assert_eq!(counter(&recording, "verify_failures"), (0, recording.tally.intended));
    assert_eq!(recording.all().response_time.count(), recording.tally.intended);
}

#[test]
fn a_planted_stall_is_exact() {
    // Chunks last 1 s here and are requested 2 s before they are shown.
    for (seed, span, stops) in [(502, 1_500, false), (503, 2_700, true), (504, 4_300, true)] {
        let mut setup = Setup::new(20.0, seed);
        let (from, span) = (ms(7_300), ms(span));
        setup.stalls = Stalls::once(START + from, span);
        let recording = check(&setup, from, span);
        assert!(counter(&recording, "misses").0 > 50, "all who are there miss a chunk");
        let (number, longest) = distribution(&recording, "stall");
        if stops {
            // For a viewer who had just been shown a chunk: the span minus the 2 s buffered.
            let expect = span - ms(2_000);
            assert!(number > 50 && longest <= expect + ms(5), "{number} of up to {longest}");
            assert!(longest + ms(50) >= expect, "{longest}");
        }
        // The slowest start belongs to a viewer who arrived as the stall began.
        let (_, slowest) = distribution(&recording, "startup");
        assert!(slowest <= span + ms(5) && slowest + ms(300) >= span, "{slowest}");
        // A late chunk delays the following ones, and that is in their response times: each is late by the rest of the
        // stall.
        let late = recording.all().response_time;
        assert!(late.count() - late.count_within(ms(100)) > counter(&recording, "misses").0);
    }
}

#[test]
fn a_stall_over_the_end_of_the_window_is_exact() {
    // Chunks that fall due while the server stalls are awaited until it resumes, 2 to 5 s after the window.
    for (seed, from, span) in [(510, 17_900, 4_100), (511, 19_400, 5_600), (512, 18_800, 3_200)] {
        let mut setup = Setup::new(20.0, seed);
        let (from, span) = (ms(from), ms(span));
        setup.stalls = Stalls::once(START + from, span);
        let recording = check(&setup, from, span);
        assert!(counter(&recording, "misses").0 > 10 && counter(&recording, "stalls").0 > 0);
        let longest = distribution(&recording, "stall").1;
        assert!(longest > ms(1_000), "cut off by the end of the window: {longest}");
    }
}

#[test]
fn viewers_leave_at_their_time_and_not_when_a_request_ends() {
    let mut setup = Setup::new(20.0, 508);
    setup.config.options.abandon = Abandon::Imc12;
    // At ten times the speed they leave between 0.2 and 1.93 s after arriving.
    let (from, span) = (ms(5_300), ms(5_000));
    setup.stalls = Stalls::once(START + from, span);
    let recording = setup.run();
    assert_accounted(&recording);
    let mut audience = Audience::new(&setup.config, 0, 1).unwrap();
    let Load::Open { arrivals, .. } = &setup.plan.load else { panic!("it is an open loop") };
    let mut schedule = Schedule::new(arrivals.clone(), &Streams::new(setup.plan.seed), START, 0, 1);
    let (mut all, mut left, mut latest) = (0, 0, Nanos::ZERO);
    while schedule.peek().intended < START + setup.config.window {
        let arrival = schedule.take();
        let came = arrival.intended.since(START);
        let waits = if (from..from + span).contains(&came) { from + span - came } else { Nanos::ZERO };
        let leaves = audience.arriving(arrival.seq).leaves;
        all += 1;
        left += u64::from(leaves < waits);
        latest = latest.max(leaves.min(waits));
    }
    let (abandoned, arrived) = counter(&recording, "abandoned");
    assert_eq!(arrived, all);
    // A departure is noticed within 10 ms, in which the server may resume.
    assert!(left > 50 && left.abs_diff(abandoned) <= 1, "{abandoned} left, and {left} would have");
    assert_eq!(recording.tally.unfinished, abandoned, "their chunk is not waited for");
    let (starts, slowest) = distribution(&recording, "startup");
    assert_eq!(starts, all, "each enters, who left by then");
    assert!(slowest <= latest + ms(10) && slowest + ms(50) > latest, "{slowest} and not {latest}");
}

#[test]
fn a_stall_is_exact_with_more_chunks_to_go_on() {
    for resume_with in [2, 3] {
        let mut setup = Setup::new(20.0, 505);
        setup.config.options.resume_with = resume_with;
        let (from, span) = (ms(7_300), ms(3_700));
        setup.stalls = Stalls::once(START + from, span);
        check(&setup, from, span);
    }
}

#[test]
fn a_closed_loop_hides_what_it_does_not_ask_for() {
    use spec::workload::Pacing;
    let misses = |pacing: Pacing| {
        let mut setup = Setup::new(20.0, 506);
        setup.config.options.pacing = pacing;
        setup.stalls = Stalls::once(START + ms(7_300), ms(4_300));
        let recording = setup.run();
        assert_accounted(&recording);
        let late = recording.all().response_time;
        late.count() - late.count_within(ms(100))
    };
    let (open, closed) = (misses(Pacing::Open), misses(Pacing::Closed));
    // In 4.3 s four or five chunks of each session fall due, of which a closed loop asks for one.
    assert!(open > 2 * closed, "{open} late chunks, and {closed} in a closed loop");
}

#[test]
fn time_is_as_the_server_and_the_way_take_it() {
    let mut setup = Setup::new(5.0, 507);
    setup.delay = ms(20);
    let recording = setup.run();
    assert_accounted(&recording);
    // Two trips for a connection, and two for the first chunk: TCP's handshake is one there and back.
    let (starts, slowest) = distribution(&recording, "startup");
    assert!(starts > 50 && slowest >= ms(80) && slowest < ms(82), "{starts}: {slowest}");
    assert_eq!(counter(&recording, "misses").0, 0);
}
