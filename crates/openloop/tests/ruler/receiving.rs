//! Answers that lie unread while the generator's machine stands still are the generator's fault, per request.

use dist::{Arrivals, Gap, Process, Purpose, Streams};
use hist::WindowSelection;
use openloop::{Footing, Load, Recording, Schedule, WhenAbsent, judge_strictly};
use rand::RngExt;
use reference_servers::Stalls;
use results::{Basis, Reason, Verdict};
use units::{Nanos, Rate, Time};

use crate::simulation::{START, Setup, assert_close};

/// How long the server takes for each request.
const SERVICE: Nanos = Nanos::from_micros(300);
/// How long the generator's machine stands still: from 100 µs after a request was sent, to before the next is due.
const STALL: Nanos = Nanos::from_micros(600);

/// Requests each millisecond, one at a time: 20 s against a server that takes 300 µs.
fn setup() -> Setup {
    let mut setup = Setup::new(1_000.0, Gap::Constant(SERVICE.0 as f64), Stalls::default(), 191);
    setup.constant();
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(20));
    setup
}

/// The same where the machine stands still while the answers to some of the requests come in: those for which `stalled` is
/// true.
fn run(stalled: impl Fn(u64) -> bool) -> (Recording, Verdict) {
    run_of(setup(), stalled)
}

fn run_of(mut setup: Setup, stalled: impl Fn(u64) -> bool) -> (Recording, Verdict) {
    let load = setup.plan.load.clone();
    let arrivals = Arrivals::new(Process::Constant, None, Rate::new(1_000.0).unwrap());
    let mut schedule = Schedule::new(arrivals, &Streams::new(setup.plan.seed), START, 0, 1);
    let due = (0..20_000).map(|_| schedule.take()).filter(|arrival| stalled(arrival.seq));
    setup.generator_stalls = due.map(|arrival| (arrival.intended + Nanos::from_micros(100), STALL)).collect();
    let recording = setup.run();
    let verdict = judge_strictly(&recording, &load, Vec::new());
    println!("{verdict}");
    (recording, verdict)
}

#[test]
fn a_stall_while_receiving_is_told_from_the_servers_time_for_each_request() {
    // Each window of 20 ms has four of them.
    let (recording, verdict) = run(|seq| seq % 5 == 0);
    let all = recording.all();
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO), "nothing was sent late");
    assert_close("as measured", all.response_time.percentile(99.0), 700e3, 0.002);
    let without = recording.late.without(&recording.windows, WindowSelection::All);
    assert_eq!((recording.late.count(), without.count()), (4_000, 20_000));
    // On a simulated clock it is known when an answer came.
    assert_close("in time", without.percentile(90.0), 300e3, 0.002);
    assert!(without.max().unwrap() <= Nanos::from_micros(301), "{without:?}");
    let Verdict::Invalid { reasons } = verdict else { panic!("{verdict}") };
    assert_eq!(reasons.iter().map(|found| found.reason).collect::<Vec<_>>(), [Reason::ReceiveLag]);
    assert!(reasons[0].detail.contains("4000 requests"), "{}", reasons[0].detail);
}

#[test]
fn what_the_kernel_stamps_is_not_read_late() {
    let mut setup = setup();
    setup.receive_stamps = true;
    let (recording, verdict) = run_of(setup, |seq| seq % 25 == 0);
    assert_eq!(verdict, Verdict::Valid);
    let all = recording.all();
    assert_close("p50", all.response_time.percentile(50.0), 300e3, 0.002);
    assert!(all.response_time.max().unwrap() <= Nanos::from_micros(301), "{:?}", all.response_time);
    assert_eq!(recording.late.count(), 0);
    assert_eq!((recording.receives.stamped, recording.receives.unstamped), (20_000, 0));
}

/// With several answers in one receive the kernel stamps the last: the others are known within the time since the look before.
#[test]
fn earlier_answers_of_a_stamped_receive_may_be_late() {
    let mut setup = setup();
    setup.receive_stamps = true;
    setup.connections(1);
    let rate = Rate::new(10_000.0).unwrap();
    setup.plan.load = Load::steady(Process::Constant, rate);
    setup.service = reference_servers::null::Service::Queue {
        time: Gap::Constant(20e3),
        stalls: Stalls::default(),
        seed: 1,
    };
    // It stands still for 600 µs: due requests are sent late, and earlier answers are read with the next.
    setup.generator_stalls =
        (0..200).map(|i| (START + Nanos::from_micros(100_010 * i + 105), STALL)).collect();
    let recording = setup.run();
    assert_eq!(recording.receives.unstamped, 0);
    // Requests due in the stall are sent at once: on one connection the last of 7 waits for the others, however late
    // they are read.
    let burst = Nanos::from_micros(7 * 20);
    let without = recording.late.without(&recording.windows, WindowSelection::All);
    assert!(without.max().unwrap() <= burst, "{without:?}");
}

#[test]
fn what_is_rarer_than_the_percentile_does_not_move_it() {
    let (recording, verdict) = run(|seq| seq % 200 == 0);
    assert_eq!(verdict, Verdict::Valid);
    assert_close("p99", recording.all().response_time.percentile(99.0), 300e3, 0.002);
    // The p99.9 is wrong, and the record says by how much.
    assert_close("p99.9", recording.all().response_time.percentile(99.9), 700e3, 0.002);
    let without = recording.late.without(&recording.windows, WindowSelection::All);
    assert!(without.percentile(99.9).unwrap() <= Nanos::from_micros(301), "{without:?}");
}

#[test]
fn windows_without_a_stall_carry_the_p99() {
    // In every third span of 100 ms, one request in ten.
    let (recording, verdict) = run(|seq| seq / 100 % 3 == 0 && seq % 10 == 5);
    assert_eq!(verdict, Verdict::Valid);
    let footing = Footing::of(&recording);
    assert_eq!((footing.basis, footing.windows), (Basis::UndisturbedWindows, 1000));
    assert!((650..=670).contains(&footing.undisturbed_windows), "{footing:?}");
    assert_close("p99 of all", footing.tail, 700e3, 0.002);
    assert_close("p99 of undisturbed windows", footing.undisturbed.percentile(99.0), 300e3, 0.002);
}

/// The truth is the same run without the stalls. A valid verdict is true.
#[test]
fn no_dose_of_stalls_is_valid_with_a_wrong_p99() {
    let (mut valid, mut invalid) = (0, 0);
    for seed in 0..36u64 {
        let mut random = Streams::new(seed).stream(Purpose::Other(17), 0);
        let setup = || {
            let mut setup = Setup::new(1_000.0, Gap::Exponential(200_000.0), Stalls::default(), 300 + seed);
            (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(20));
            setup
        };
        let quiet = setup().run();
        let truth = quiet.all().response_time.percentile(99.0).unwrap();
        // 0.5 to 50 ms, for 0.2 to 20 % of the time, over all of it or in a part.
        let span = Nanos((500_000.0 * 100f64.powf(random.random_range(0.0..1.0))) as u64);
        let share = 0.002 * 100f64.powf(random.random_range(0.0..1.0));
        let part = if seed % 2 == 0 { 1.0 } else { random.random_range(0.3..1.0) };
        let (mut at, mut stalls) = (START, Vec::new());
        loop {
            let distance = span.0 as f64 / share * part * random.random_range(0.5..1.5);
            at += span + Nanos(distance as u64);
            if at.since(START).as_secs_f64() > 20.0 * part {
                break;
            }
            stalls.push((at, span));
        }
        let mut stalled = setup();
        let load = stalled.plan.load.clone();
        stalled.generator_stalls.clone_from(&stalls);
        let recording = stalled.run();
        let verdict = judge_strictly(&recording, &load, Vec::new());
        let footing = Footing::of(&recording);
        let claimed = footing.claimed().percentile(99.0).unwrap();
        let off = claimed.0 as f64 / truth.0 as f64 - 1.0;
        println!(
            "{span} {:.1} %: {claimed} for {truth}, {:+.1} %, {:?}: {verdict}",
            100.0 * share,
            100.0 * off,
            footing.basis
        );
        // For every verdict the truth lies within the bounds, up to the chance variation of 200 requests beyond the
        // p99.
        let slack = Nanos(truth.0 / 10);
        let (low, high) = footing.bounds([99.0])[0].unwrap();
        assert!(low <= truth + slack && truth <= high + slack, "seed {seed}: {truth} in {low} to {high}");
        if let Some((low, high)) = footing.windowed_p99_bounds() {
            let truth = quiet.windows.windowed_p99(WindowSelection::All).unwrap();
            assert!(low <= truth + slack && truth <= high + slack, "seed {seed}: {truth} in {low} to {high}");
        }
        // The same stalls where the kernel stamps and arrivals are withheld leave the figure as it is.
        let mut withholding = setup();
        withholding.generator_stalls = stalls;
        (withholding.receive_stamps, withholding.plan.when_absent) = (true, WhenAbsent::Withhold);
        let recording = withholding.run();
        assert_eq!(judge_strictly(&recording, &load, Vec::new()), Verdict::Valid, "seed {seed}");
        let (low, high) = Footing::of(&recording).bounds([99.0])[0].unwrap();
        let off = high.0 as f64 / truth.0 as f64 - 1.0;
        assert!(
            low + Nanos(low.0 / 10) >= high && off.abs() < 0.1,
            "seed {seed}: {off:+.3} in {low} to {high}"
        );
        match verdict {
            Verdict::Valid => {
                valid += 1;
                assert!(off.abs() <= 0.1, "seed {seed}: {:+.1} % off", 100.0 * off);
            }
            Verdict::Invalid { .. } => invalid += 1,
            Verdict::Overloaded { .. } => panic!("seed {seed}: the server had time: {verdict}"),
        }
    }
    // Most leave windows that no stall touches; some doses are too dense for that.
    assert!(valid >= 24 && invalid >= 2, "{valid} valid, {invalid} invalid: doses on both sides are needed");
}

#[test]
fn without_a_fault_nothing_is_invalid() {
    for seed in 0..60u64 {
        let mut random = Streams::new(seed).stream(Purpose::Other(18), 0);
        // 0.5 to 40 krps; the server is busy for 5 to 60 % of its time, the generator for less than a third.
        let rps = 500.0 * 80f64.powf(random.random_range(0.0..1.0));
        let service = random.random_range(0.05..0.6) / rps * 1e9;
        let cost = random.random_range(0.0..0.3) / rps * 1e9;
        let time = if seed % 2 == 0 { Gap::Constant(service) } else { Gap::Exponential(service) };
        let mut setup = Setup::new(rps, time, Stalls::default(), 400 + seed);
        setup.plan.depth = [1, 4, 4096][seed as usize % 3];
        setup.connections(random.random_range(1..200));
        setup.plan.window = Nanos((20_000.0 / rps * 1e9) as u64).max(Nanos::from_secs(1));
        setup.generator_costs.send = Nanos((0.8 * cost) as u64).min(Nanos::from_micros(5));
        setup.generator_costs.receive = Nanos((0.2 * cost) as u64).min(Nanos::from_micros(1));
        let load = setup.plan.load.clone();
        let recording = setup.run();
        let footing = Footing::of(&recording);
        let verdict = judge_strictly(&recording, &load, Vec::new());
        println!("{rps:.0} rps, {service:.0} ns: {verdict}");
        assert_eq!(verdict, Verdict::Valid, "seed {seed}");
        assert_eq!(
            (footing.basis, footing.touched, recording.stall_count),
            (Basis::All, 0.0, 0),
            "seed {seed}"
        );
    }
}

/// A connection that is busy because its last answer lies unread makes the next request wait: that is the generator's doing.
#[test]
fn lateness_is_passed_on_over_a_busy_connection() {
    let mut setup = setup();
    setup.connections(1);
    setup.plan.depth = 1;
    setup.plan.window = Nanos::from_secs(2);
    // From the middle of a service time, over the next four arrivals: their connection waits hold what lay unread.
    setup.generator_stalls = vec![(Time(START.0 + 1_000_150_000), Nanos::from_millis(4))];
    let recording = setup.run();
    let all = recording.all();
    assert!(all.connection_wait.max().unwrap() > Nanos::from_millis(2), "they waited for the connection");
    let without = recording.late.without(&recording.windows, WindowSelection::All);
    // They were sent one after the other then, each after the answer before it.
    assert!(recording.late.count() >= 4, "{}", recording.late.count());
    assert!(without.max().unwrap() < Nanos::from_micros(400), "{without:?} of {:?}", all.response_time);
}

#[test]
fn a_closed_loop_is_judged_alike() {
    let mut setup = setup();
    setup.plan.load = Load::Closed { think: Nanos::from_micros(700) };
    setup.plan.clients = Some(1);
    setup.connections(1);
    setup.plan.window = Nanos::from_secs(2);
    let stalls = (0..200).map(|i| (START + Nanos::from_millis(10 * i + 5), Nanos::from_millis(1)));
    setup.generator_stalls = stalls.collect();
    let load = setup.plan.load.clone();
    let recording = setup.run();
    let verdict = judge_strictly(&recording, &load, Vec::new());
    let Verdict::Invalid { reasons } = &verdict else { panic!("{verdict}") };
    assert!(
        reasons.iter().all(|found| [Reason::ReceiveLag, Reason::GeneratorLag].contains(&found.reason)),
        "{verdict}"
    );
}
