//! Studies through the command line: every one of them in its smoke run, stopped and continued, judged again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use results::Study;
use results::study::ClaimVerdict::{NotMeasurable, Open};
use results::study::{Effort, StudyFolder};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::run::{answers, finish, has_ended, is_not_measurable, refuses, taillight, text};

fn study(arguments: &[&str]) -> Command {
    let mut command = taillight(&["study"]);
    command.args(arguments);
    command
}

fn only_folder(out: &Path) -> PathBuf {
    let mut folders = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.next().expect("a result");
    assert!(folders.next().is_none(), "one run, one folder");
    folder
}

fn load(folder: &Path) -> Study {
    StudyFolder::open(folder).unwrap().load().unwrap()
}

/// The folder of a run that is under way, once its record is there.
fn await_partial(out: &Path) -> PathBuf {
    for _ in 0..6_000 {
        let folders = fs::read_dir(out).into_iter().flatten().flatten().map(|entry| entry.path());
        if let Some(folder) = folders.into_iter().find(|folder| StudyFolder::is_one(folder)) {
            return folder;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing began");
}

/// The names that `study list` prints.
fn names() -> Vec<String> {
    let output = finish(&mut study(&["list"]));
    answers(&output);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    stdout.lines().skip(1).take_while(|line| !line.is_empty()).filter_map(name).collect()
}

/// A study of each kind: of one server, of containers, of the kernel's stages, and of an application.
const KINDS: [&str; 4] = ["latency-vs-load", "container-vs-bare", "breakdown-memcached", "social-cache"];

#[test]
fn a_study_of_each_kind_has_its_smoke_run() {
    smoke(KINDS.map(str::to_owned));
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn every_study_has_its_smoke_run() {
    let names = names();
    assert!(names.len() >= 15, "{names:?}");
    smoke(names.into_iter().filter(|name| !KINDS.contains(&name.as_str())));
}

/// Makes the smoke runs of studies.
fn smoke(names: impl IntoIterator<Item = String>) {
    for name in names {
        let out = TempDir::new().unwrap();
        let output = finish(study(&["run", &name, "--smoke", "--out"]).arg(out.path()));
        assert!(has_ended(&output), "{name}: {}", text(&output));
        let record = load(&only_folder(out.path()));
        assert!(record.complete && record.effort == Effort::Smoke, "{name}");
        // Either something was measured, or it says why nothing could be.
        assert!(!record.cells.is_empty() || !record.skipped.is_empty(), "{name}: {}", text(&output));
        assert!(record.cells.iter().all(|cell| !cell.metrics.is_empty()), "{name}: {:#?}", record.cells);
        assert!(record.skipped.iter().all(|skipped| skipped.reason.len() > 10), "{name}");
        assert!(record.claims.iter().all(|claim| matches!(claim.verdict, Open | NotMeasurable)), "{name}");
        println!("{name}: {} cells, {} left out", record.cells.len(), record.skipped.len());
    }
}

/// A study of two loads on the embedded server.
const SMALL: &str = "\
title = 'Small'
question = 'Q?'
source = 'S'
method = 'M'
[experiment.workload]
keys = 100
[experiment.generator]
connections = 4
drain = '50ms'
[experiment.time]
warmup = '20ms'
window = '150ms'
search = '100ms'
[x]
label = 'load'
unit = '%'
sets = 'load.share'
values.smoke = ['20%']
values.quick = ['20%', '40%']
values.full = ['20%', '40%']
[[series]]
name = 'Sphinx'
[reference]
at = '20%'
[effort.smoke]
blocks = 1
maximum = '4krps'
[effort.quick]
blocks = 2
maximum = '4krps'
[[figure]]
id = 'p50'
title = 'Median'
metric = 'latency_us_p50'
";

const CLAIMS: &str = "\
[[claim]]
id = 'positive'
text = 'It answers.'
source = 'S'
check = 'within'
metric = 'achieved_rps'
of = 'Sphinx @ 20%'
at-least = 1
";

fn small(folder: &Path, claims: &str) {
    fs::write(folder.join("study.toml"), SMALL).unwrap();
    fs::write(folder.join("claims.toml"), claims).unwrap();
}

#[test]
fn a_study_of_ones_own_is_run_and_judged_again() {
    let (own, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    small(own.path(), CLAIMS);
    let path = own.path().to_str().unwrap();
    let output = finish(study(&["run", path, "--quick", "--gate", "--out"]).arg(out.path()));
    answers(&output);
    let printed = String::from_utf8_lossy(&output.stdout).to_lowercase();
    assert!(["it answers.", "blocks"].iter().all(|words| printed.contains(words)), "{printed}");
    let folder = only_folder(out.path());
    let record = load(&folder);
    assert_eq!((record.blocks, record.complete), (2, true));
    // An abandoned block leaves no cells.
    assert!(record.cells.len() == 4 || is_not_measurable(&output), "{}", record.cells.len());

    // The same record under a claim that it cannot keep. Two repeats are too few to say that it differs.
    let hard = CLAIMS.replace("at-least = 1", "at-least = 1e9");
    small(own.path(), &hard);
    let before = fs::read(folder.join("study.json")).unwrap();
    let output = finish(&mut study(&["check", folder.to_str().unwrap(), "--study", path, "--gate"]));
    answers(&output);
    assert_eq!(fs::read(folder.join("study.json")).unwrap(), before, "a result does not change");

    // Six repeats that all miss it are enough.
    let mut six = record.clone();
    six.blocks = 6;
    for block in 2..6 {
        let more: Vec<_> = record.cells.iter().filter(|cell| cell.block == 0).cloned().collect();
        six.cells.extend(more.into_iter().map(|mut cell| {
            cell.block = block;
            cell
        }));
    }
    for cell in &mut six.cells {
        // The test sets the verdict to valid, so that it does not depend on the load of this machine.
        cell.verdict = results::Verdict::Valid;
        cell.reference = cell.metrics.clone();
    }
    let beside = StudyFolder::create(out.path(), "six").unwrap();
    beside.save(&six).unwrap();
    let beside = beside.complete().unwrap();
    let gated = [beside.path().to_str().unwrap(), "--study", path, "--gate"];
    refuses(study(&["check"]).args(gated), 99, &["gate failed", "positive differs"]);

    // And it agrees with itself, as it does with a run whose intervals are too wide to say so.
    let both = [beside.path(), beside.path()];
    let output = finish(study(&["compare", "--metric", "achieved_rps", "--gate", "90"]).args(both));
    assert!(has_ended(&output) && text(&output).contains("2 of 2 ratios"), "{}", text(&output));
    let gated = ["compare", "--metric", "achieved_rps", "--gate", "90", "--gate-width", "10"];
    let output = finish(study(&gated).args(both));
    answers(&output);
    for cell in six.cells.iter_mut().filter(|cell| cell.block % 2 == 0) {
        *cell.metrics.get_mut("achieved_rps").unwrap() *= 2.0;
    }
    let wide = StudyFolder::create(out.path(), "wide").unwrap();
    wide.save(&six).unwrap();
    let wide = wide.complete().unwrap();
    refuses(study(&gated).args([wide.path(), wide.path()]), 99, &["gate failed: the widest interval is"]);
}

#[test]
fn mistakes_in_a_study_are_named_before_anything_starts() {
    let (own, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = own.path().to_str().unwrap();
    let check = |study_text: &str, claims: &str, words: &[&str]| {
        fs::write(own.path().join("study.toml"), study_text).unwrap();
        fs::write(own.path().join("claims.toml"), claims).unwrap();
        refuses(study(&["run", path, "--out"]).arg(out.path()), 1, words);
    };
    check(&SMALL.replace("keys = 100", "kys = 100"), CLAIMS, &["workload.kys", "did you mean 'keys'?"]);
    check(&SMALL.replace("window = '150ms'", "window = 150"), CLAIMS, &["time.window", "unit"]);
    check(&SMALL.replace("title = 'Small'", "title = "), CLAIMS, &["study.toml", "line 1"]);
    check(SMALL, &CLAIMS.replace("Sphinx @ 20%", "Redis @ 20%"), &["there is no series 'Redis'", "Sphinx"]);
    check(SMALL, &CLAIMS.replace("Sphinx @ 20%", "Sphinx @ 25%"), &["no run of the study measures at 25"]);
    assert!(fs::read_dir(out.path()).unwrap().next().is_none(), "nothing was started");
    refuses(&mut study(&["run", "latency-vs-laod"]), 1, &["did you mean 'latency-vs-load'?"]);
}

#[test]
fn an_experiment_is_run_from_its_file() {
    let (own, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = own.path().join("mine.toml");
    let experiment = "[target]\nserver = 'sphinx'\n[workload]\nkeys = 100\n[generator]\nconnections = 4\n[load]\n\
                      rate = '2krps'\n[time]\nwarmup = '20ms'\nwindow = '150ms'\nrepeats = 2\n";
    fs::write(&file, experiment).unwrap();
    let output = finish(taillight(&["run"]).arg(&file).arg("--resolve"));
    let resolved: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(resolved["points"][0]["experiment"]["load"]["rate"], "2krps");
    assert_eq!(resolved["points"][0]["experiment"]["target"]["memory"], "1GiB");
    let output = finish(taillight(&["run"]).arg(&file).arg("--out").arg(out.path()));
    answers(&output);
    let record = load(&only_folder(out.path()));
    assert_eq!((record.name.as_str(), record.cells.len(), record.blocks), ("mine", 2, 2));
    assert_eq!(record.plan.unwrap().points[0].spec.load.to_string(), "2.00 krps");
    // One that is interrupted in its second repeat goes on there.
    let out = TempDir::new().unwrap();
    fs::write(&file, experiment.replace("repeats = 2", "repeats = 3").replace("150ms", "2s")).unwrap();
    let mut command = taillight(&["run"]);
    command.arg(&file).arg("--out").arg(out.path()).stderr(Stdio::null()).stdout(Stdio::null());
    let mut run = command.spawn().unwrap();
    let folder = await_partial(out.path());
    while load(&folder).blocks == 0 {
        assert!(run.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    rustix::process::kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let (kept, partial) = (load(&folder).blocks, only_folder(out.path()));
    assert!((1..3).contains(&kept) && partial == folder, "{kept} {partial:?}");
    let output = finish(taillight(&["run"]).arg(&file).arg("--out").arg(out.path()));
    assert!(text(&output).contains(&format!("{kept} blocks are whole")), "{}", text(&output));
    let record = load(&only_folder(out.path()));
    assert_eq!((record.complete, record.cells.len(), record.blocks), (true, 3, 3));

    fs::write(&file, experiment.replace("[load]", "[lode]")).unwrap();
    refuses(taillight(&["run"]).arg(&file), 1, &["lode", "did you mean 'load'?"]);
}
