//! The whole server on a simulated clock and network: one seed, one history.
//!
//! Threads are machines of one core that are frozen now and then, queues are short, wake-ups come late; streams are
//! cut, held up and reset; customers pipeline, vanish and come back. The invariants are in `customer`: each connection
//! reads its own writes, nothing is lost or invented, and counters add up; some customers speak the binary protocol
//! (`binary`), where quiet requests keep their order. After every turn each connection's input and output are within
//! their bounds (`greedy` tries them), and the charged memory equals the memory in use (`hungry` has too little of it),
//! and at the end of a history the partitions are audited. `fair` has a well-behaved client and misbehaving
//! clients of each kind. In `large` items span several segments. In `expiry` threads
//! are frozen for seconds, and items expire in that time. A failing seed is printed with the command to repeat it.
//!
//! Try it: `cargo test -p sphinx simulation`, or one seed: `SPHINX_SEED=17 cargo test -p sphinx simulation`.

mod binary;
mod customer;
mod expiry;
mod fair;
mod fences;
mod greedy;
mod hungry;
mod idle;
mod judge;
mod large;
mod model;
mod servers;
mod text;
mod watching;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use dist::{Purpose, Streams};
use rand::RngExt;
use reactor::Reactor;
use reactor::sim::{Costs, Program, SimReactor, StreamFaults, World};
use units::{Nanos, Time};

use crate::core::Core;
use binary::Binary;
use customer::Customer;
use judge::Judge;
use text::Text;

/// Seeds of each test; some hundred a second. The slow tier has more, by `SPHINX_SEEDS`.
const SEEDS: u64 = 60;
/// Far more simulated time than any history takes; an endless one is stopped here.
const LIMIT: Time = Time(600_000_000_000);

/// The most that a client here sends before the server reads it: the requests of a customer, each with a large value.
/// Units: bytes.
const SENT_MAX: usize = customer::REQUESTS_MAX as usize * (customer::LARGE + 100);

/// The knowledge shared by all customers of a history.
#[derive(Default)]
pub(super) struct Board {
    /// For each shared key, all values written to it: writer, its life, and the highest number sent.
    pub(super) written: Vec<((usize, u32), u64)>,
    /// Counts asked for, and those that were acknowledged, for each shared counter.
    pub(super) asked: [u64; model::COUNTERS],
    pub(super) counted: [u64; model::COUNTERS],
    /// Whether the counters exist.
    pub(super) open: bool,
    pub(super) done: usize,
    pub(super) answers: u64,
    pub(super) resets: u64,
}

/// The highest number seen on a connection, of each shared key and each writer's life.
pub(super) type Seen = HashMap<(usize, usize, u32), u64>;

impl Board {
    /// Notes that a writer sends its value of this number; returns the value.
    pub(super) fn write(&mut self, key: usize, (number, life): (usize, u32), set: u64) -> String {
        match self.written.iter_mut().find(|(known, _)| *known == (number, life)) {
            Some((_, highest)) => *highest = set,
            None => self.written.push(((number, life), set)),
        }
        format!("shared-{key} {number} {life} {set}")
    }

    /// Panics if a value of a shared key was never written, or comes after a later one of the same writer.
    pub(super) fn check(&self, seen: &mut Seen, key: usize, value: &str) {
        let words: Vec<&str> = value.split(' ').collect();
        assert_eq!(words[0], format!("shared-{key}"), "a value of another key");
        let number = |i: usize| words[i].parse::<u64>().expect("a number");
        let (writer, life, set) = (number(1) as usize, number(2) as u32, number(3));
        let known = self.written.iter().find(|(known, _)| *known == (writer, life));
        assert!(known.is_some_and(|(_, highest)| set <= *highest), "no client wrote {value}");
        let highest = seen.entry((key, writer, life)).or_default();
        assert!(*highest <= set, "{value} comes after {highest}");
        *highest = set;
    }
}

/// The options of a history other than its seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// Arguments of the server.
    pub(super) args: &'static str,
    /// Whether memory is so short that items are evicted.
    pub(super) may_forget: bool,
    /// Whether connections are reset.
    pub(super) resets: bool,
    /// Whether customers change the memory, too.
    pub(super) limits: bool,
}

fn history(scene: Scene, seed: u64) -> (u64, u64, Time) {
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x7370_6869), 0);
    let mut world = World::new(Nanos::from_micros(rng.random_range(1..60)));
    world.stream_faults(StreamFaults {
        split: rng.random_range(0.0..0.6),
        short: rng.random_range(0.0..0.4),
        reset: if scene.resets { rng.random_range(0.0..0.02) } else { 0.0 },
        late: Nanos::from_micros(rng.random_range(0..200)),
        seed,
    });
    let board = Rc::new(RefCell::new(Board::default()));
    let mut judge_machine = world.machine(Costs::default());
    let (mut machines, mut cores) = servers::start(scene.args, &mut world, &mut rng, seed, servers::costs);
    let may_grow = cores.iter_mut().all(Core::memory_may_grow);
    let scene = Scene { limits: scene.limits && may_grow, ..scene };
    for machine in &machines {
        let mut from = 0;
        for _ in 0..rng.random_range(0..4) {
            from += rng.random_range(1_000..20_000_000);
            let span = Nanos(rng.random_range(1_000..5_000_000));
            world.stall(machine, Time(from), span);
            from += span.0;
        }
    }
    let customers_count = rng.random_range(1..6usize);
    let mut customer_machines: Vec<SimReactor> =
        (0..customers_count).map(|_| world.machine(servers::costs(&mut rng))).collect();
    let mut customers: Vec<Customer<Text>> = (0..customers_count)
        .map(|number| {
            Customer::new(number, scene, servers::addresses(machines.len()), seed, Rc::clone(&board))
        })
        .collect();
    let binary_count = rng.random_range(0..3usize);
    let mut binary_machines: Vec<SimReactor> =
        (0..binary_count).map(|_| world.machine(servers::costs(&mut rng))).collect();
    let mut binary_customers: Vec<Customer<Binary>> = (customers_count..customers_count + binary_count)
        .map(|number| {
            Customer::new(number, scene, servers::addresses(machines.len()), seed, Rc::clone(&board))
        })
        .collect();
    let customers_count = customers_count + binary_count;
    let mut judge =
        Judge::new(servers::addresses(machines.len())[0].clone(), scene, customers_count, Rc::clone(&board));
    {
        let mut programs: Vec<(&mut dyn Program, &mut SimReactor)> = vec![(&mut judge, &mut judge_machine)];
        for (core, machine) in cores.iter_mut().zip(&mut machines) {
            programs.push((core, machine));
        }
        for (customer, machine) in customers.iter_mut().zip(&mut customer_machines) {
            programs.push((customer, machine));
        }
        for (customer, machine) in binary_customers.iter_mut().zip(&mut binary_machines) {
            programs.push((customer, machine));
        }
        world.run(&mut programs, LIMIT);
    }
    assert!(judge.is_satisfied(), "nothing more happens, and requests are unanswered");
    cores.iter_mut().for_each(Core::audit_partitions);
    let board = board.borrow();
    (board.answers, board.resets, judge_machine.now())
}

/// Runs the histories of all seeds, of one in `each` if a history takes that much longer, or of the seed in
/// `SPHINX_SEED`; reports which one fails.
fn for_seeds(scene: &impl Debug, each: u64, mut history: impl FnMut(u64)) {
    let given = |name| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let seeds = match given("SPHINX_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..given("SPHINX_SEEDS").unwrap_or(SEEDS).div_ceil(each),
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| history(seed))) {
            eprintln!("{scene:?} fails with seed {seed}: SPHINX_SEED={seed} cargo test -p sphinx simulation");
            resume_unwind(panic);
        }
    }
}

fn check(args: &'static str, may_forget: bool, resets: bool) {
    assert!(
        args.contains("-t 1") || args.contains("--sharing"),
        "{args}: the mode of sharing is left to a default"
    );
    check_scene(Scene { args, may_forget, resets, limits: false });
}

fn check_scene(scene: Scene) {
    let resets = scene.resets;
    let (mut answers, mut reset) = (0, 0);
    for_seeds(&scene, 1, |seed| {
        let history = history(scene, seed);
        (answers, reset) = (answers + history.0, reset + history.1);
    });
    println!("{scene:?}: {answers} answers, {reset} resets");
    assert!(answers > 0 && (reset > 0) == resets, "{answers} answers, {reset} resets");
}

#[test]
fn one_thread() {
    check("-t 1", false, false);
    check("-t 1", false, true);
}

#[test]
fn threads_that_ask_each_other() {
    check("-t 2 --sharing nothing", false, false);
    check("-t 3 --sharing nothing --queue 1", false, false);
    check("-t 4 --sharing nothing --queue 2", false, true);
}

#[test]
fn threads_that_read_each_others_partitions() {
    check("-t 2 --sharing read", false, false);
    check("-t 3 --sharing read --queue 1", false, true);
    check("-t 4 --sharing read --queue 2", false, true);
    check("-t 2 -m 8 --sharing read", true, false);
}

#[test]
fn threads_that_share_under_locks() {
    check("-t 4 --sharing something --group 2", false, true);
    check("-t 3 --sharing everything", false, true);
    check("-t 2 -m 8 --sharing everything", true, false);
}

#[test]
fn threads_that_look_before_they_sleep() {
    check("-t 3 --sharing nothing --spin 20", false, true);
    check("-t 2 --sharing nothing --spin auto", false, false);
    check("-t 3 --sharing read --spin 20", false, true);
    check("-t 2 --sharing read --spin auto", false, false);
}

#[test]
fn values_that_are_lent_while_memory_is_written_again() {
    check("-t 1 -m 4 -I 512k", true, false);
    check("-t 2 -m 4 -I 512k --sharing nothing", true, false);
    check("-t 3 -m 6 -I 512k --sharing nothing --queue 2", true, true);
    check("-t 2 -m 4 -I 512k --sharing read", true, false);
    check("-t 2 -m 4 -I 512k --sharing everything", true, true);
}

#[test]
fn threads_that_run_out_of_memory() {
    check("-t 1 -m 4", true, false);
    check("-t 2 -m 8 --sharing nothing --queue 1", true, true);
    check("-t 2 -m 8 --sharing read --queue 1", true, true);
}

#[test]
fn memory_that_is_changed_meanwhile() {
    for args in ["-t 1 -m 16", "-t 2 -m 16 --sharing read --queue 2", "-t 2 -m 16 --sharing everything"] {
        for resets in [false, true] {
            check_scene(Scene { args, may_forget: true, resets, limits: true });
        }
    }
}

#[test]
fn one_seed_is_one_history() {
    let scene =
        Scene { args: "-t 3 --sharing nothing --queue 2", may_forget: false, resets: true, limits: false };
    let histories: Vec<_> = [5, 6, 5].map(|seed| history(scene, seed)).into();
    assert_eq!(histories[0], histories[2]);
    assert_ne!(histories[0], histories[1]);
}
