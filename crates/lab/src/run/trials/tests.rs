//! Whole runs against a generator and servers that only pretend (`testdata/pretend.sh`).

mod disturbed;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use launch::{Interrupt, Interrupted};
use results::{Kind, Verdict};
use spec::Spec;
use tempfile::TempDir;
use units::{Bytes, Nanos};

use super::*;
use crate::{
    Bench as Measured, Event, Plan, Progress, Runner, ServerOptions, Sweep, TargetName, Unkept, Unwatched,
    Where, testing,
};

/// Longer than anything here takes, so that only a hang meets it.
const LONG: Duration = Duration::from_secs(60);

fn pretend() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/pretend.sh")
}

const TIME: Time =
    Time { warmup: Nanos::from_millis(100), window: Nanos::from_secs(2), search: Nanos::from_secs(1) };

fn plan() -> Sweep {
    Sweep {
        loads: vec![0.2, 0.5, 0.8, 1.0],
        repeats: 2,
        max_tolerance: 0.03,
        peak_tolerance: Some(0.05),
        time: None,
        until_settled: false,
        margin: None,
    }
}

/// Log of the watcher.
type Seen = Arc<Mutex<Vec<String>>>;

struct Watcher(Seen);

impl Progress for Watcher {
    fn event(&mut self, event: &Event<'_>, about: &Where) {
        let line = match event {
            Event::Phase(words) | Event::Note(words) => (*words).to_owned(),
            Event::Started(step) => format!("{} of {}: {}", about.number, about.about, step.target),
            Event::Tick(_) => "tick".into(),
            Event::Ended(trial) => format!("ended {}", trial.id),
        };
        self.0.lock().unwrap().push(line);
    }
}

/// The generator's specification; `options` control the fake generator: `behave=fail`.
fn specification(options: &[&str]) -> Spec {
    let mut spec = Spec::default();
    if let spec::Workload::Cache(cache) = &mut spec.workload {
        cache.keys = 1000;
        cache.key_prefix = [options, &["log=yes"]].concat().join(",").parse().unwrap();
    }
    (spec.generator.drain, spec.generator.timeout) = (Nanos::from_millis(100), Nanos::from_millis(100));
    (spec.time.warmup, spec.time.window) = (Nanos::from_millis(100), Nanos::from_secs(2));
    spec
}

struct Bench {
    root: TempDir,
    interrupt: Interrupt,
    seen: Seen,
}

impl Bench {
    fn new() -> Bench {
        Bench { root: TempDir::new().unwrap(), interrupt: Interrupt::new(), seen: Seen::default() }
    }

    fn log(&self) -> PathBuf {
        self.root.path().join("log")
    }

    fn calls(&self) -> Vec<String> {
        fs::read_to_string(self.log()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn server(&self, name: &str) -> Server {
        let mut options = ServerOptions::new(&pretend());
        options.target.memory = Bytes(64 << 20);
        let mut server = Server::start(&TargetName::app("sphinx"), &options).unwrap();
        server.rename(name.into());
        server
    }

    fn trials(&self, targets: &[&str], options: &[&str]) -> Trials {
        let generator = Generator::new(&pretend(), specification(options), false).unwrap();
        let folder = ResultFolder::create(self.root.path(), "run").unwrap();
        let mut experiment = testing::experiment(&[]);
        experiment.kind = Kind::Demo;
        let servers = targets.iter().map(|name| self.server(name)).collect();
        Trials::begin(experiment, folder, generator, servers, self.interrupt.clone()).unwrap()
    }

    /// Runs `sweep` to its end, good or bad, and reads the result back from disk.
    fn run(&self, sweep: &Sweep, trials: Trials) -> (Result<(), Error>, Experiment) {
        let plan = Plan::of_sweep(sweep, &specification(&[]), trials.servers.len());
        self.run_plan(&plan, trials)
    }

    fn run_plan(&self, plan: &Plan, trials: Trials) -> (Result<(), Error>, Experiment) {
        let (outcome, measured) = self.measure(plan, trials);
        let (_, folder) = measured.finish(&outcome).unwrap();
        let on_disk = ResultFolder::open(folder.path()).unwrap().load().unwrap();
        (outcome, on_disk)
    }

    fn measure(&self, plan: &Plan, trials: Trials) -> (Result<(), Error>, Measured) {
        let (seed, first) = (trials.experiment.seed, trials.experiment.blocks);
        let measured = Measured::of(trials, &specification(&[]), self.interrupt.clone());
        let benches = vec![Some(measured)];
        let (mut unkept, mut watcher) = (Unkept::default(), Watcher(Arc::clone(&self.seen)));
        let ended = Runner::new(plan, seed, benches, first, &mut unkept, &mut watcher).run();
        let [Some(measured)] = <[_; 1]>::try_from(ended.benches).ok().unwrap() else { panic!() };
        (ended.outcome, measured)
    }

    fn files(&self) -> Vec<String> {
        let listed = fs::read_dir(self.root.path().join("run/trials")).unwrap();
        let mut names: Vec<String> = listed.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Whether the process `pid` is there and no zombie.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

#[test]
fn a_whole_run_finds_maximum_and_peak_and_keeps_every_trial() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &["capacity=50000"]);
    let pid = trials.servers[0].pids()[0];
    assert!(runs(pid));
    let (outcome, result) = bench.run(&plan(), trials);
    outcome.unwrap();
    assert!(!runs(pid), "the server has ended");
    assert!(result.complete && result.interrupted.is_none() && result.elapsed_s > 0.0);
    let target = &result.targets[0];
    assert_eq!(target.max_throughput.len(), 2);
    for max in &target.max_throughput {
        assert!(
            max.low_rps <= 50_000.0 && max.high_rps >= 50_000.0 && max.high_rps - max.low_rps < 1_600.0,
            "{max:?}"
        );
    }
    // The pretended p99 reaches 1 ms at 90.1 % of 50 krps.
    let peak = target.peak.as_ref().unwrap();
    assert!(peak.low_rps <= 45_050.0 && peak.high_rps.unwrap() >= 45_050.0, "{peak:?}");
    assert!(peak.high_rps.unwrap() - peak.low_rps <= 0.05 * 50_000.0 + 1.0, "{peak:?}");
    let share = peak.low_rps
        / stats::median(&[target.max_throughput[0].low_rps, target.max_throughput[1].low_rps]).unwrap();
    assert!((peak.share_of_max.unwrap() - share).abs() < 1e-9);
    assert_eq!(peak.note, None);
    // Each trial has its number, its place and its histograms.
    for (i, trial) in result.trials.iter().enumerate() {
        assert_eq!((trial.id.clone(), trial.target.as_str()), (format!("{:04}", i + 1), "sphinx"));
        assert_eq!(trial.hlog, Some(format!("trials/{:04}.hlog", i + 1)));
    }
    let ids: Vec<String> = result.trials.iter().map(|trial| format!("{}.hlog", trial.id)).collect();
    assert_eq!(bench.files(), ids);
}

#[test]
fn a_sweep_runs_every_load_once_in_each_block_in_an_order_of_its_own() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &[]);
    let plan = Sweep {
        repeats: 3,
        peak_tolerance: None,
        loads: (1..=6).map(|i| f64::from(i) / 10.0).collect(),
        ..plan()
    };
    let (outcome, result) = bench.run(&plan, trials);
    outcome.unwrap();
    let of_block = |block: u32| -> Vec<f64> {
        let points = result.trials.iter().filter(|t| t.purpose == Purpose::LoadPoint && t.block == block);
        points.map(|trial| trial.load_share.unwrap()).collect()
    };
    for block in 0..3 {
        let mut sorted = of_block(block);
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, plan.loads);
    }
    assert!(of_block(0) != of_block(1) || of_block(1) != of_block(2));
    // Each block refers to its own maximum, and begins with it.
    for trial in result.trials.iter().filter(|trial| trial.purpose == Purpose::LoadPoint) {
        let max = &result.targets[0].max_throughput[trial.block as usize];
        assert!((trial.offered_rps / max.reference_rps() - trial.load_share.unwrap()).abs() < 1e-6);
    }
    let first = |block| result.trials.iter().find(|t| t.block == block).unwrap().purpose;
    assert_eq!([first(0), first(1), first(2)], [Purpose::MaxSearch; 3]);
    let again = result.trials.iter().filter(|t| t.purpose == Purpose::MaxSearch && t.block > 0).count();
    assert_eq!(again, 4, "two trials confirm the maximum of each later block");
    assert!(result.targets[0].peak.is_none());
}

#[test]
fn a_run_that_is_out_of_time_leaves_blocks_out_and_says_so() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &[]);
    let (outcome, result) = bench.run(&Sweep { repeats: 3, time: Some(Duration::ZERO), ..plan() }, trials);
    outcome.unwrap();
    assert!(result.complete);
    assert_eq!(result.targets[0].max_throughput.len(), 1, "the first block always runs");
    assert_eq!(result.trials.iter().filter(|t| t.purpose == Purpose::LoadPoint).count(), 4);
    assert_eq!(result.trials.iter().filter(|t| t.purpose == Purpose::PeakSearch).count(), 0);
    let notes = result.notes.join("\n");
    assert!(
        notes.contains("2 of 3 blocks were left out") && notes.contains("ended to keep to the time"),
        "{notes}"
    );
    // The peak is still estimated from the sweep.
    let peak = result.targets[0].peak.as_ref().unwrap();
    assert!(peak.low_rps > 0.0 && peak.high_rps.unwrap() > peak.low_rps, "{peak:?}");
}

#[test]
fn one_load_is_repeated_with_other_seeds() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &[]);
    let spec = Spec { load: spec::Load::Rate(units::Rate::new(5000.0).unwrap()), ..specification(&[]) };
    let (outcome, result) = bench.run_plan(&Plan::of_load(&spec, 1, 3), trials);
    outcome.unwrap();
    let of = |read: fn(&Trial) -> f64| result.trials.iter().map(read).collect::<Vec<f64>>();
    assert_eq!(of(|trial| trial.offered_rps), [5000.0; 3]);
    let seeds = of(|trial| trial.spec.as_ref().unwrap().seed as f64);
    assert!(seeds[0] == 1.0 && seeds[0] != seeds[1] && seeds[1] != seeds[2], "{seeds:?}");
    assert!(result.trials.iter().all(|trial| trial.purpose == Purpose::Single && trial.load_share.is_none()));
}

#[test]
fn two_targets_take_turns_at_the_same_loads_with_the_same_seeds() {
    let bench = Bench::new();
    let trials = bench.trials(&["memcached", "sphinx"], &[]);
    let (outcome, result) = bench.run(&plan(), trials);
    outcome.unwrap();
    let points: Vec<&Trial> = result.trials.iter().filter(|t| t.purpose == Purpose::LoadPoint).collect();
    assert_eq!(points.len(), 16);
    for pair in points.chunks(2) {
        assert_ne!(pair[0].target, pair[1].target);
        assert_eq!((pair[0].offered_rps, pair[0].load_share), (pair[1].offered_rps, pair[1].load_share));
        let [left, right] = [0, 1].map(|i| pair[i].spec.as_ref().unwrap());
        assert_eq!(left.seed, right.seed);
        assert_eq!(left.target.server, TargetName::app("sphinx"), "not where it listened");
    }
    let firsts: Vec<&str> = points.chunks(2).map(|pair| pair[0].target.as_str()).collect();
    assert!(firsts.contains(&"memcached") && firsts.contains(&"sphinx"), "{firsts:?}");
    assert!(result.targets.iter().all(|target| target.peak.is_some() && target.max_throughput.len() == 2));
    let searches: Vec<&Trial> =
        result.trials.iter().filter(|t| t.purpose == Purpose::MaxSearch && t.block == 0).collect();
    assert!(
        searches
            .chunks(2)
            .all(|pair| pair[0].target != pair[1].target && pair[0].offered_rps == pair[1].offered_rps)
    );
}

#[test]
fn the_generator_is_told_rate_seed_spans_server_and_file() {
    let bench = Bench::new();
    let mut trials = bench.trials(&["sphinx"], &[]);
    let pid = trials.servers[0].pids()[0];
    let request = Request {
        target: 0,
        purpose: Purpose::Single,
        block: 0,
        load_share: None,
        rate_rps: Some(1234.5),
        time: TIME,
        seed: 77,
    };
    trials.run(&request, &mut Tracker::of_one(&mut Unwatched)).unwrap();
    let call = bench.calls().pop().unwrap();
    let trial = bench.root.path().join("run/trials/0001.json");
    let expect = format!("--trial {} --server-pid {pid}", trial.display());
    assert!(call.starts_with("load --spec ") && call.ends_with(&expect), "{call}");
    let told = fs::read_to_string(bench.root.path().join("log.spec")).unwrap();
    let told = crate::read_spec(serde_json::from_str(&told).unwrap()).unwrap();
    let mut asked = specification(&[]);
    asked.target.server = TargetName::External("127.0.0.1:1".into());
    asked.load = spec::Load::Rate(units::Rate::new(1234.5).unwrap());
    asked.seed = 77;
    asked.workload.agree();
    assert_eq!(told, asked);
}

#[test]
fn searches_are_looked_at_where_that_is_asked_for() {
    for searches in [false, true] {
        let bench = Bench::new();
        let mut trials = bench.trials(&["sphinx"], &[]);
        trials.probes = "io".parse().unwrap();
        if searches {
            trials.searches = true;
        }
        let plan = Sweep { loads: vec![0.5], repeats: 1, peak_tolerance: None, ..plan() };
        let (outcome, result) = bench.run(&plan, trials);
        outcome.unwrap();
        assert_eq!(result.notes.contains(&OBSERVED.to_owned()), searches, "{:?}", result.notes);
        // Observations of a search do not belong to a window.
        for trial in &result.trials {
            assert_eq!(trial.probes.is_some(), trial.purpose == Purpose::LoadPoint, "{:?}", trial.purpose);
        }
    }
}

#[test]
fn a_version_that_only_the_generator_learns_is_kept() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &[]);
    let mut trials = trials;
    trials.experiment.targets[0].version.clear();
    let (_, result) = bench.run(&Sweep { loads: Vec::new(), peak_tolerance: None, ..plan() }, trials);
    assert_eq!(result.targets[0].version, "pretended 1");
}

#[test]
fn an_interrupt_stops_the_trial_and_the_servers_and_keeps_the_rest() {
    for behave in ["hang", "stubborn"] {
        let bench = Bench::new();
        let trials = bench.trials(&["sphinx", "memcached"], &[&format!("behave={behave}"), "from=5"]);
        let pids: Vec<u32> = trials.servers.iter().map(|server| server.pids()[0]).collect();
        let (seen, interrupt) = (Arc::clone(&bench.seen), bench.interrupt.clone());
        let presser = thread::spawn(move || {
            let started = Instant::now();
            // Once the fifth trial hangs: a tick after the ends of four.
            let hangs = |seen: &[String]| {
                let ended = seen.iter().filter(|line| line.starts_with("ended")).count();
                ended >= 4 && seen.ends_with(&["tick".into()])
            };
            while !hangs(&seen.lock().unwrap()) && started.elapsed() < LONG {
                thread::sleep(Duration::from_millis(5));
            }
            interrupt.raise();
        });
        let (outcome, result) = bench.run(&plan(), trials);
        presser.join().unwrap();
        assert!(matches!(outcome, Err(Error::Interrupted(Interrupted("Ctrl-C")))), "{outcome:?}");
        assert_eq!((result.complete, result.interrupted.as_deref()), (false, Some("Ctrl-C")));
        assert!(result.trials.len() >= 4, "{behave}: {}", result.trials.len());
        assert!(pids.iter().all(|pid| !runs(*pid)));
        assert_eq!(bench.files().len(), result.trials.len(), "no half files: {:?}", bench.files());
        let generators = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            line.contains(&bench.root.path().display().to_string())
        });
        assert_eq!(generators.count(), 0, "the generator has ended");
    }
}

#[test]
fn an_interrupted_run_goes_on_after_its_last_whole_block() {
    let bench = Bench::new();
    let sweep = Sweep { repeats: 3, ..plan() };
    // The second block ends in the middle.
    let trials = bench.trials(&["sphinx"], &["behave=fail", "from=17"]);
    let (outcome, partial) = bench.run(&sweep, trials);
    assert!(outcome.is_err());
    assert_eq!((partial.blocks, partial.trials.len(), partial.complete), (1, 16, false));
    let kept: Vec<Trial> = partial.trials.iter().filter(|trial| trial.block == 0).cloned().collect();
    let maximum = partial.targets[0].max_throughput[..1].to_vec();

    let generator = Generator::new(&pretend(), specification(&[]), false).unwrap();
    let folder = ResultFolder::open(&bench.root.path().join("run")).unwrap();
    let servers = vec![bench.server("sphinx")];
    let trials = Trials::begin(partial, folder, generator, servers, bench.interrupt.clone()).unwrap();
    let (outcome, whole) = bench.run(&sweep, trials);
    outcome.unwrap();
    assert_eq!((whole.blocks, whole.complete, whole.interrupted), (3, true, None));
    assert_eq!(whole.trials[..kept.len()], kept[..]);
    assert_eq!(whole.targets[0].max_throughput[..1], maximum[..]);
    assert_eq!(whole.targets[0].max_throughput.len(), 3);
    assert!(whole.targets[0].peak.is_some());
    for (i, trial) in whole.trials.iter().enumerate() {
        assert_eq!(trial.id, format!("{:04}", i + 1));
    }
    let points = whole.trials.iter().filter(|trial| trial.purpose == Purpose::LoadPoint).count();
    assert_eq!(points, 12);
}

#[test]
fn a_load_that_the_host_disturbed_is_measured_once_more_beside_its_partner() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx", "memcached"], &["behave=odd"]);
    let sweep = Sweep { loads: vec![0.2, 0.5, 0.8], repeats: 1, peak_tolerance: None, ..plan() };
    let (outcome, result) = bench.run(&sweep, trials);
    outcome.unwrap();
    let points: Vec<&Trial> = result.trials.iter().filter(|t| t.purpose == Purpose::LoadPoint).collect();
    let (first, again): (Vec<&Trial>, Vec<&Trial>) = points.iter().partition(|t| t.instead_of.is_none());
    assert_eq!(first.len(), 6);
    assert!(!again.is_empty() && again.len() % 2 == 0, "{}", again.len());
    for pair in again.chunks(2) {
        let before = |trial: &Trial| {
            first.iter().find(|first| Some(&first.id) == trial.instead_of.as_ref()).unwrap().verdict.clone()
        };
        assert!(pair.iter().any(|trial| before(trial).may_pass()), "{pair:?}");
        assert_eq!(pair[0].load_share, pair[1].load_share);
    }
}

#[test]
fn blocks_go_on_until_the_comparison_is_settled_or_the_time_is_over() {
    let run = |time: Option<Duration>| {
        let bench = Bench::new();
        let mut trials = bench.trials(&["sphinx", "memcached"], &[]);
        trials.experiment.until_settled = true;
        let sweep = Sweep { loads: vec![0.5], peak_tolerance: None, time, until_settled: true, ..plan() };
        let (outcome, result) = bench.run(&sweep, trials);
        outcome.unwrap();
        let points = result.trials.iter().filter(|trial| trial.purpose == Purpose::LoadPoint).count();
        let maxima: Vec<usize> = result.targets.iter().map(|target| target.max_throughput.len()).collect();
        assert_eq!((points, maxima), (2 * result.blocks as usize, vec![1, 1]));
        (
            result.blocks,
            result.notes.iter().find(|note| note.starts_with("The comparison was")).cloned().unwrap(),
        )
    };
    // The two are alike, which the first look that can conclude shows; the maximum of the first block stands.
    let (blocks, note) = run(None);
    assert!(blocks == 9 && note.contains("was settled, after 9 of"), "{blocks}: {note}");
    let (blocks, note) = run(Some(Duration::ZERO));
    assert!(blocks == 1 && note.contains("not settled"), "{blocks}: {note}");
}

#[test]
fn an_interrupt_before_a_trial_starts_none() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &[]);
    bench.interrupt.raise();
    let (outcome, result) = bench.run(&plan(), trials);
    assert!(outcome.unwrap_err().is_interrupt());
    assert!(result.trials.is_empty() && bench.calls().is_empty());
}

#[test]
fn whatever_ends_a_run_leaves_a_partial_result_that_says_why() {
    let check = |behave: &str, words: &[&str]| {
        let bench = Bench::new();
        let trials = bench.trials(&["sphinx"], &[&format!("behave={behave}"), "from=4"]);
        let (outcome, result) = bench.run(&plan(), trials);
        let error = outcome.unwrap_err();
        let message = error.to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{behave}: {message}");
        assert!(!error.is_interrupt() && !result.complete);
        assert_eq!(result.interrupted, Some(message));
        assert_eq!((result.trials.len(), bench.files().len()), (3, 3), "{behave}: {:?}", bench.files());
    };
    check("fail", &["trial 0004 on sphinx", "closed the connection"]);
    check("nothing", &["trial 0004", "left no", "0004.json"]);
    check("garbage", &["trial 0004", "damaged"]);
}

#[test]
fn a_trial_that_does_not_end_is_stopped() {
    let bench = Bench::new();
    let mut trials = bench.trials(&["sphinx"], &["behave=stubborn", "from=2"]);
    trials.generator.allowance = Duration::ZERO;
    let (outcome, result) = bench.run(&plan(), trials);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("trial 0002 on sphinx did not end within"), "{error}");
    assert_eq!((result.trials.len(), result.interrupted), (1, Some(error)));
}

#[test]
fn a_server_that_died_is_named_as_the_reason() {
    let bench = Bench::new();
    let mut trials = bench.trials(&["sphinx"], &["behave=fail", "from=2"]);
    let request = |trials: &mut Trials| {
        let request = Request {
            target: 0,
            purpose: Purpose::Single,
            block: 0,
            load_share: None,
            rate_rps: Some(10.0),
            time: TIME,
            seed: 1,
        };
        trials.run(&request, &mut Tracker::of_one(&mut Unwatched)).map(|_| ())
    };
    request(&mut trials).unwrap();
    let pid = trials.servers[0].pids()[0];
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // A signal takes its time on a busy machine; a process that has ended and was not waited for is a zombie.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    while !stat().rsplit(')').next().unwrap().trim_start().starts_with('Z') {
        assert!(std::time::Instant::now() < deadline, "it does not die: {}", stat());
        std::thread::yield_now();
    }
    let error = request(&mut trials).unwrap_err();
    assert!(matches!(&error, Error::ServerGone { name, .. } if name == "sphinx"), "{error}");
}

#[test]
fn a_full_disk_ends_the_run_and_leaves_the_last_whole_result() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &["behave=full", "from=3"]);
    let plan = Plan::of_sweep(&plan(), &specification(&[]), 1);
    let (outcome, measured) = bench.measure(&plan, trials);
    let error = outcome.unwrap_err();
    assert!(error.to_string().contains("free some space"), "{error}");
    let on_disk = ResultFolder::open(&bench.root.path().join("run")).unwrap().load().unwrap();
    assert_eq!((on_disk.trials.len(), on_disk.complete), (2, false));
    // There is room again when the run ends.
    let (ended, _) = measured.finish(&Err(error)).unwrap();
    assert!(ended.interrupted.unwrap().contains("free some space"));
    let on_disk = ResultFolder::open(&bench.root.path().join("run")).unwrap().load().unwrap();
    assert_eq!(on_disk.trials.len(), 3);
}

#[test]
fn a_wrong_option_is_refused_before_any_server_is_started() {
    let refuse =
        |exe: &Path, options: &[&str]| Generator::new(exe, specification(options), false).err().unwrap();
    let error = refuse(&pretend(), &["behave=usage"]);
    assert!(matches!(&error, Error::Refused { usage: true, .. }));
    assert_eq!(error.to_string(), "unexpected argument '--conections' found");
    let missing = refuse(Path::new("/no/such/program"), &[]);
    assert!(missing.to_string().contains("/no/such/program"), "{missing}");
    let silent = refuse(Path::new("/bin/true"), &[]);
    assert!(matches!(silent, Error::Refused { usage: false, .. }), "{silent}");
}

#[test]
fn invalid_trials_are_kept_counted_and_never_a_maximum() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &["behave=invalid"]);
    let (outcome, result) = bench.run(&plan(), trials);
    let error = outcome.unwrap_err().to_string();
    assert!(
        error.contains("sphinx: no maximum throughput was found") && error.contains("said nothing"),
        "{error}"
    );
    assert!(!result.trials.is_empty());
    assert!(result.trials.iter().all(|trial| matches!(trial.verdict, Verdict::Invalid { .. })));
}

#[test]
fn a_block_of_invalid_trials_is_given_up_and_says_so() {
    let bench = Bench::new();
    let first =
        bench.run(&Sweep { repeats: 1, peak_tolerance: None, ..plan() }, bench.trials(&["sphinx"], &[])).1;
    let bench = Bench::new();
    let from = format!("from={}", first.trials.len() + 1);
    let trials = bench.trials(&["sphinx"], &["behave=invalid", &from]);
    let (outcome, result) = bench.run(&Sweep { peak_tolerance: None, ..plan() }, trials);
    outcome.unwrap();
    assert_eq!(result.targets[0].max_throughput.len(), 1);
    let of_block = result.trials.iter().filter(|trial| trial.block == 1);
    assert_eq!(of_block.map(|trial| trial.purpose).collect::<Vec<_>>(), [Purpose::MaxSearch; 20]);
    let expect = "Block 2: given up, as its maximum could not be found: sphinx: 20 of 20 trials said nothing";
    assert!(result.notes.iter().any(|note| note.starts_with(expect)), "{:?}", result.notes);
}

#[test]
fn a_maximum_that_the_generator_may_have_set_says_so() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &["behave=invalid", "from=8"]);
    let (outcome, result) = bench.run(&Sweep { loads: Vec::new(), peak_tolerance: None, ..plan() }, trials);
    outcome.unwrap();
    let expect = "4 of 11 trials said nothing of it (generator lag); the limit may be the generator’s";
    assert!(result.notes.iter().any(|note| note.contains(expect)), "{:?}", result.notes);
}

#[test]
fn the_watcher_is_told_how_far_the_run_is() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &[]);
    let (outcome, result) = bench.run(&plan(), trials);
    outcome.unwrap();
    let seen = bench.seen.lock().unwrap();
    let is_phase =
        |line: &&String| !line.contains(": sphinx") && !line.starts_with("ended") && *line != "tick";
    let phases: Vec<&str> = seen.iter().filter(is_phase).map(String::as_str).collect();
    let block = |n: u32| [format!("block {n} of 2: maximum throughput"), format!("block {n} of 2: sweep")];
    let expect = [block(1).join(", "), block(2).join(", "), "peak throughput under QoS".into()].join(", ");
    assert_eq!(phases.join(", "), expect);
    let n = result.trials.len();
    assert_eq!(seen.iter().filter(|line| line.starts_with("ended")).count(), n);
    let last = seen.iter().rev().find(|line| line.contains(" of ") && line.contains(": sphinx")).unwrap();
    assert!(last.starts_with(&format!("{n} of ")), "{last}");
}

#[test]
fn a_folder_without_room_is_found_before_anything_runs() {
    let bench = Bench::new();
    let generator = Generator::new(&pretend(), specification(&[]), false).unwrap();
    let folder = ResultFolder::create(bench.root.path(), "run").unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("result.partial")).unwrap();
    let begun = Trials::begin(testing::experiment(&[]), folder, generator, Vec::new(), Interrupt::new());
    assert!(begun.err().unwrap().to_string().contains("free some space"));
}

#[test]
fn a_peak_that_only_invalid_trials_speak_of_is_not_known() {
    let bench = Bench::new();
    // The maximum is found first; every trial of the search for the peak is invalid.
    let trials = bench.trials(&["sphinx"], &["behave=invalid", "from=10"]);
    let (outcome, result) = bench.run(&Sweep { loads: Vec::new(), ..plan() }, trials);
    outcome.unwrap();
    let first = result.trials.iter().position(|trial| trial.purpose == Purpose::PeakSearch).unwrap();
    assert!(first <= 9, "the maximum took {first} trials");
    assert_eq!(result.targets[0].peak.is_none(), first == 9, "{:?}", result.targets[0].peak);
    if first == 9 {
        assert!(
            result.notes.iter().any(|note| note.contains("peak of sphinx is not known")),
            "{:?}",
            result.notes
        );
    }
}
