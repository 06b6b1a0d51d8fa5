//! Whole studies against a generator and servers that only pretend (`testdata/pretend.sh`).

mod drift;

use std::path::Path;

use launch::Interrupt;
use results::study::{ClaimVerdict, Effort};
use serde_json::Value;
use tempfile::TempDir;
use units::Bytes;

use super::super::{Facts, new_record};
use super::*;
use results::Verdict;

const STUDY: &str = "\
title = 'T'
question = 'Q?'
source = 'S'
method = 'M'
[experiment.time]
warmup = '100ms'
window = '2s'
search = '1s'
[x]
label = 'load'
unit = '%'
sets = 'load.share'
values.smoke = ['50%']
values.quick = ['20%', '50%', '80%']
values.full = ['20%', '50%', '80%']
[[series]]
name = 'A'
[[series]]
name = 'B'
set.workload.key-prefix = 'capacity=50000'
[[series]]
name = 'C'
needs = ['smt']
[reference]
at = '50%'
[effort.quick]
blocks = 7
[[figure]]
id = 'p99'
title = 'p99'
metric = 'windowed_us_p99'
[[figure]]
id = 'ratio'
title = 'ratio'
metric = 'windowed_us_p99'
ratio = true
";

const CLAIMS: &str = "\
[[claim]]
id = 'rising'
text = 'It rises.'
source = 'S'
check = 'rising'
metric = 'windowed_us_p99'
series = 'A'
[[claim]]
id = 'half'
text = 'B serves half.'
source = 'S'
check = 'ratio'
metric = 'max_rps'
of = 'B @ 50%'
to = 'A @ 50%'
at-least = 0.45
at-most = 0.55
[[claim]]
id = 'all'
text = 'B serves as much.'
source = 'S'
check = 'ratio'
metric = 'max_rps'
of = 'B @ 50%'
to = 'A @ 50%'
at-least = 1
";

struct Bench {
    root: TempDir,
    setup: Setup,
    definition: Definition,
    plan: Plan,
    fresh: Study,
}

/// Counts the steps of this run, and asks to stop at one of them.
struct Counter {
    steps: usize,
    stop_at: Option<usize>,
    interrupt: Interrupt,
}

impl Progress for Counter {
    fn event(&mut self, event: &Event<'_>, about: &Where) {
        assert!(about.number <= about.about.max(1), "{about:?}");
        let Event::Phase(_) = event else { return };
        self.steps += 1;
        if self.stop_at == Some(self.steps) {
            self.interrupt.raise();
        }
    }
}

fn bench(behave: &[(&str, &str)]) -> Bench {
    let how: String = behave.iter().map(|(option, value)| format!(",{option}={value}")).collect();
    let text = STUDY.replace("capacity=50000", &format!("capacity=50000{how}"));
    bench_of(&text, CLAIMS)
}

fn bench_of(text: &str, claims: &str) -> Bench {
    let facts = Facts {
        cores: 2,
        smt: false,
        resctrl: false,
        counters: false,
        frequency: false,
        root: true,
        queues: 1,
        memory: Bytes(1 << 34),
        disk: Some(Bytes(1 << 40)),
        no_stages: None,
        programs: Vec::new(),
    };
    let definition =
        Definition::read("t", text, claims, &crate::study::machine::Machine::two_cores(), &[]).unwrap();
    let plan = Plan::of_study(&definition, Effort::Quick, &facts).unwrap();
    let setup = Setup {
        exe: Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/pretend.sh"),
        seed: 1,
        interrupt: Interrupt::new(),
        command: Vec::new(),
        now: || "2026-03-14T09:26:53Z".into(),
        host: Value::Null,
        remote_host: None,
        agents: spec::Agents::default(),
        live: false,
    };
    let fresh = new_record(&definition, &plan, &facts, &setup).unwrap();
    Bench { root: TempDir::new().unwrap(), setup, definition, plan, fresh }
}

impl Bench {
    fn run(
        &self,
        folder: &StudyFolder,
        record: Study,
        stop_at: Option<usize>,
    ) -> (Study, Result<(), Error>, Counter) {
        let interrupt = self.setup.interrupt.clone();
        let mut counter = Counter { steps: 0, stop_at, interrupt };
        let (study, outcome) =
            super::run(&self.definition, &self.plan, &self.setup, folder, record, &mut counter).unwrap();
        assert_eq!(folder.load().unwrap(), study, "what is on disk is what came back");
        (study, outcome, counter)
    }
}

#[test]
fn a_study_measures_every_point_in_every_block_and_judges_its_claims() {
    let bench = bench(&[]);
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let (study, outcome, counter) = bench.run(&folder, bench.fresh.clone(), None);
    outcome.unwrap();
    assert!(study.complete && study.interrupted.is_none());
    assert_eq!((study.blocks, study.cells.len(), counter.steps), (7, 42, bench.plan.steps()));
    for block in 0..7 {
        let of = study.cells.iter().filter(|cell| cell.block == block);
        assert!(
            of.clone().all(|cell| cell.verdict == Verdict::Valid && cell.ratio("windowed_us_p99").is_some())
        );
        assert_eq!(of.count(), 6);
    }
    // Each trial stands in the folder of its bench.
    for cell in &study.cells {
        let (path, id) = cell.trial.as_ref().unwrap().split_once('#').unwrap();
        let result = results::ResultFolder::open(&folder.path().join(path)).unwrap().load().unwrap();
        assert!(result.complete && result.trials.iter().any(|trial| trial.id == id), "{cell:?}");
    }
    let verdicts: Vec<ClaimVerdict> = study.claims.iter().map(|claim| claim.verdict).collect();
    let expect = [ClaimVerdict::Reproduced, ClaimVerdict::Reproduced, ClaimVerdict::Differs];
    assert_eq!(verdicts, expect, "{:#?}", study.claims);
    assert_eq!(study.figures.len(), 2);
    assert_eq!(study.figures[0].series.len(), 2);
    assert_eq!(study.skipped.len(), 1);
    let ratio = study.figures[1].series[0].points.iter().find(|point| point.x == 50.0.into()).unwrap();
    assert!((ratio.y.unwrap() - 1.0).abs() < 0.2, "{ratio:?}");
}

#[test]
fn a_study_that_is_out_of_time_leaves_blocks_out_and_says_so() {
    let mut bench = bench(&[]);
    bench.plan = bench.plan.limited(Some(3), Some(Duration::ZERO));
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
    outcome.unwrap();
    assert_eq!((study.blocks, study.cells.len(), study.complete), (1, 6, true));
    let left_out = study.skipped.iter().find(|skipped| skipped.what == "2 of 3 blocks");
    assert!(left_out.is_some_and(|skipped| skipped.reason.contains("time")), "{:?}", study.skipped);
}

#[test]
fn a_study_goes_on_until_its_claims_are_settled_or_the_time_is_over() {
    let run = |time: Duration| {
        let mut bench = bench(&[]);
        bench.plan = bench.plan.until_settled(Some(time));
        bench.fresh.plan = Some(bench.plan.record());
        let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
        let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
        outcome.unwrap();
        let verdicts: Vec<ClaimVerdict> = study.claims.iter().map(|claim| claim.verdict).collect();
        let note = study.notes.iter().find(|note| note.starts_with("The study was")).cloned();
        (study.blocks, verdicts, note.unwrap())
    };
    let (blocks, verdicts, note) = run(Duration::from_secs(3600));
    let expect = [ClaimVerdict::Reproduced, ClaimVerdict::Reproduced, ClaimVerdict::Differs];
    assert_eq!((blocks, &verdicts[..]), (9, &expect[..]), "{note}");
    assert!(note.contains("was settled, after 9 of"), "{note}");
    let (blocks, verdicts, note) = run(Duration::ZERO);
    assert_eq!((blocks, &verdicts[..]), (1, &[ClaimVerdict::Open; 3][..]), "{note}");
    assert!(note.contains("not settled"), "{note}");
}

#[test]
fn a_claim_is_waited_for_if_the_blocks_to_come_may_settle_it() {
    let bench = bench(&[]);
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let mut fresh = bench.fresh.clone();
    super::super::conclude(&mut fresh, &bench.definition);
    let check = |more_blocks: Option<u32>, host_disturbed: bool, expect: bool| {
        let mut record = fresh.clone();
        for claim in &mut record.claims {
            (claim.more_blocks, claim.host_disturbed) = (more_blocks, host_disturbed);
        }
        let definition = &bench.definition;
        let kept = CellStore { definition, folder: &folder, record, started: Instant::now(), before_s: 0.0 };
        assert_eq!(kept.is_settled(10), Some(expect), "{more_blocks:?} {host_disturbed}");
    };
    check(Some(10), false, false);
    check(Some(11), true, true);
    // Without an estimate, a quieter host may settle it.
    check(None, true, false);
    check(None, false, true);
}

#[test]
fn an_interrupted_study_goes_on_after_its_last_whole_block() {
    let first = bench(&[]);
    let folder = StudyFolder::create(first.root.path(), "s").unwrap();
    let steps_of_block = first.plan.steps() / 7;
    // In the middle of the third block.
    let (partial, outcome, _) = first.run(&folder, first.fresh.clone(), Some(2 * steps_of_block + 6));
    assert!(outcome.unwrap_err().is_interrupt());
    assert_eq!((partial.blocks, partial.complete), (2, false));
    assert_eq!(partial.interrupted.as_deref(), Some("Ctrl-C"));
    assert!(partial.cells.len() > 12 && !partial.figures.is_empty(), "{}", partial.cells.len());

    let second = bench(&[]);
    assert!(second.fresh.has_plan_of(&partial));
    let kept: Vec<Cell> = partial.cells.iter().filter(|cell| cell.block < 2).cloned().collect();
    let (whole, outcome, counter) = second.run(&folder, partial, None);
    outcome.unwrap();
    assert_eq!((whole.blocks, whole.cells.len(), counter.steps), (7, 42, 5 * steps_of_block));
    assert_eq!(whole.cells[..12], kept[..]);
    assert!(whole.complete && whole.interrupted.is_none());
}

#[test]
fn a_claim_on_a_whole_axis_is_not_judged_by_the_places_that_are_left() {
    let bench = bench(&[]);
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
    outcome.unwrap();
    let is_last = |cell: &Cell| cell.series == "A" && cell.x == 80.0.into();
    let (mut without, mut invalid) = (study.clone(), study);
    without.cells.retain(|cell| !is_last(cell));
    // Trials whose data are wrong measured nothing either.
    for cell in invalid.cells.iter_mut().filter(|cell| is_last(cell)) {
        cell.verdict = Verdict::default();
    }
    for mut study in [without, invalid] {
        super::super::conclude(&mut study, &bench.definition);
        let rising = &study.claims[0];
        assert_eq!((rising.verdict, &rising.reason[..]), (ClaimVerdict::Open, "A was not measured at 80"));
    }
}

#[test]
fn a_spoiled_trial_is_measured_once_more() {
    let run = |behave: &str| {
        let bench = bench(&[("behave", behave)]);
        let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
        let (study, outcome, counter) = bench.run(&folder, bench.fresh.clone(), None);
        outcome.unwrap();
        let again: Vec<Cell> = study.cells.iter().filter(|cell| cell.instead_of.is_some()).cloned().collect();
        assert_eq!((study.cells.len(), counter.steps), (42, bench.plan.steps() + again.len()));
        assert!(again.iter().all(|cell| cell.instead_of.as_deref() == Some("generator lag")), "{again:#?}");
        let usable = again.iter().filter(|cell| cell.verdict.is_usable()).count();
        let note = study.notes.iter().find(|note| note.starts_with("Measured once more")).unwrap().clone();
        (again.len(), usable, note)
    };
    // Each point of one series, without success.
    let always = "Measured once more in the same block: 21 trials (generator lag); 0 then usable.";
    assert_eq!(run("invalidated"), (21, 0, always.into()));
    // Every other one of them, and so every other second one.
    let (again, usable, note) = run("odd");
    assert!(0 < usable && usable <= again && again < 21, "{note}");
}

#[test]
fn what_is_drawn_says_where_the_server_was_overloaded() {
    let of_a = STUDY
        .replace("'capacity=50000'", "'capacity=60000'\nset.load.of = 'A'")
        .replace("blocks = 7", "blocks = 2");
    let tables = "[[table]]\nid = 't'\ntitle = 't'\nrows = 'series'\n\
                  [[table.column]]\nlabel = 'a'\nmetric = 'achieved_rps'\nat = '80%'\n\
                  [[table]]\nid = 'u'\ntitle = 'u'\nrows = 'series'\n\
                  [[table.column]]\nlabel = 'a'\nmetric = 'achieved_rps'\nat = '20%'\n";
    let bench = bench_of(&(of_a + tables), "");
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
    outcome.unwrap();
    let words = Some("B at 80 %: 2 of 2 trials overloaded");
    assert_eq!(study.figures[0].overloaded.as_deref(), words);
    let told: Vec<Option<&str>> = study.tables.iter().map(|table| table.overloaded.as_deref()).collect();
    assert_eq!(told, [words, None]);
    let point = study.figures[0].series[1].points.iter().find(|point| point.x == 80.0.into()).unwrap();
    assert_eq!(point.note.as_deref(), Some("2 of 2 trials overloaded"));
}

#[test]
fn a_share_of_a_server_whose_stages_are_looked_at_is_one_of_what_it_can_do_then() {
    for (probe, looked) in [("stages", true), ("io", false)] {
        let text = STUDY
            .replace("[experiment.time]", &format!("[experiment]\nprobes = '{probe}'\n[experiment.time]"));
        let bench = bench_of(&text.replace("blocks = 7", "blocks = 1"), "");
        let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
        let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
        outcome.unwrap();
        let (path, _) = study.cells[0].trial.as_ref().unwrap().split_once('#').unwrap();
        let result = results::ResultFolder::open(&folder.path().join(path)).unwrap().load().unwrap();
        let says = result.notes.iter().any(|note| note.contains("while it is observed"));
        assert_eq!(says, looked, "{probe}: {:?}", result.notes);
    }
}

#[test]
fn a_bench_that_fails_is_left_out_and_the_others_go_on() {
    let bench = bench(&[("behave", "fail"), ("from", "20")]);
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
    outcome.unwrap();
    assert!(study.complete);
    let of = |series: &str| study.cells.iter().filter(|cell| cell.series == series).count();
    assert!(of("A") == 21 && of("B") < 21, "{} {}", of("A"), of("B"));
    let reasons: Vec<&str> = study.skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("closed the connection")), "{reasons:?}");
}

#[test]
fn options_that_the_generator_refuses_end_the_study_before_anything_is_measured() {
    let bench = bench(&[("behave", "usage")]);
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
    assert!(matches!(outcome, Err(Error::Refused { usage: true, .. })), "{outcome:?}");
    assert!(study.cells.is_empty() && !study.complete);
}
