use crate::TargetName;
use results::study::Effort;
use units::Bytes;

use super::*;
use crate::run::BlockStep;
use crate::study::machine::Machine;

const STUDY: &str = "\
title = 'T'
question = 'Q?'
source = 'S'
method = 'M'
[experiment.workload]
keys = 1000
[x]
label = 'load'
unit = '%'
sets = 'load.share'
values.smoke = ['50%']
values.quick = ['10%', '50%']
values.full = ['10%', '50%', '90%']
[[series]]
name = 'Memcached'
set.target.server = 'memcached'
[[series]]
name = 'Sphinx'
[[series]]
name = 'SMT'
needs = ['smt']
[reference]
at = '50%'
[effort.smoke]
blocks = 1
set.time.window = '100ms'
series = ['Sphinx']
[effort.quick]
blocks = 3
[effort.full]
blocks = 7
references = 3
";

fn facts(programs: &[&str]) -> Facts {
    Facts {
        cores: 2,
        smt: false,
        resctrl: false,
        counters: false,
        frequency: false,
        root: true,
        queues: 1,
        memory: Bytes(1 << 34),
        disk: Some(Bytes(1 << 36)),
        no_stages: None,
        programs: programs.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn plan(effort: Effort, programs: &[&str]) -> Plan {
    let study = Definition::read("t", STUDY, "", &Machine::two_cores(), &[]).unwrap();
    Plan::of_study(&study, effort, &facts(programs)).unwrap()
}

#[test]
fn a_form_has_its_own_places_and_series() {
    let check = |effort: Effort, points: usize, references: usize, benches: usize| {
        let plan = plan(effort, &["memcached"]);
        assert_eq!(
            (plan.points.len(), plan.references.len(), plan.benches.len()),
            (points, references, benches)
        );
    };
    check(Effort::Smoke, 1, 1, 1);
    // Two servers at two loads; each load is offered to the same server.
    check(Effort::Quick, 4, 2, 2);
    check(Effort::Full, 6, 2, 2);
}

#[test]
fn what_lacks_is_skipped_once_with_its_reason() {
    let words = |plan: &Plan| -> Vec<String> {
        plan.skipped.iter().map(|skipped| format!("{}: {}", skipped.what, skipped.reason)).collect()
    };
    let with = plan(Effort::Quick, &["memcached"]);
    assert_eq!(with.skipped.len(), 1, "{:?}", words(&with));
    assert!(words(&with)[0].starts_with("SMT: no two processors"));
    let without = plan(Effort::Quick, &[]);
    assert_eq!(without.points.len(), 2);
    assert!(words(&without)[0].contains("Memcached: there is no memcached"), "{:?}", words(&without));
}

#[test]
fn a_load_may_refer_to_the_maximum_of_another() {
    let text = STUDY.replace("needs = ['smt']", "set.load.of = 'Memcached'\nset.target.threads = 2");
    let study = Definition::read("t", &text, "", &Machine::two_cores(), &[]).unwrap();
    let plan = Plan::of_study(&study, Effort::Quick, &facts(&["memcached"])).unwrap();
    let point = plan.points.iter().find(|point| point.series == "SMT").unwrap();
    assert_eq!(plan.benches[point.of].experiment.target.server, TargetName::app("memcached"));
    assert!(!plan.benches[point.bench].needs_maximum && plan.benches[point.of].needs_maximum);
    let without = Plan::of_study(&study, Effort::Quick, &facts(&[])).unwrap();
    let reason = &without.skipped.iter().find(|skipped| skipped.what == "SMT").unwrap().reason;
    assert!(reason.contains("refers to a maximum that is not measurable here"), "{reason}");
}

#[test]
fn mistakes_are_found_before_anything_starts() {
    let check = |from: &str, to: &str, expect: &str| {
        let text = STUDY.replace(from, to);
        assert_ne!(text, STUDY);
        let error = Definition::read("t", &text, "", &Machine::two_cores(), &[]).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
        assert!(error.starts_with("t/study.toml: "), "{error}");
    };
    check("title", "titel", "title: it is missing");
    check("title = 'T'", "title = 'T'\nkind = 'overhead'", "kind: 'overhead' is not known; write \"grid\"");
    check(
        "keys = 1000",
        "kezs = 1000",
        "experiment.workload.kezs: this key is not known; did you mean 'keys'?",
    );
    check("'90%'", "90", "such as \"70%\"");
    check("needs = ['smt']", "needs = ['gpu']", "needs 'gpu': not known");
    check("set.time.window = '100ms'", "set.time.windo = '100ms'", "did you mean 'window'?");
    check("needs = ['smt']", "set.load.of = 'Redis'", "there is no series 'Redis'");
    check("at = '50%'", "at = '55%'", "no run measures at 55%");
    check("[effort.smoke]", "[effort.smok]", "did you mean 'smoke'?");
}

#[test]
fn two_services_of_two_kinds_have_each_their_workload() {
    let text = STUDY
        .replace("title = 'T'", "title = 'T'\nkind = 'colocation'")
        .replace(
            "[x]",
            "[second.target]\nserver = 'nginx'\n[second.workload]\nkind = 'web'\nfiles = '10x4KiB'\n[x]",
        )
        .replace("set.time.window = '100ms'", "set.workload.keys = 7\nset-second.workload.files = '5x4KiB'")
        .replace("[reference]\nat = '50%'\n", "");
    let study = Definition::read("t", &text, "", &Machine::two_cores(), &[]).unwrap();
    let check = |effort: Effort, keys: &str, files: &str| {
        let plan = Plan::of_study(&study, effort, &facts(&["memcached", "nginx"])).unwrap();
        let pair = plan.pairs.iter().find(|pair| pair.first.series == "Sphinx").unwrap();
        let spec::Workload::Cache(cache) = &pair.first.experiment.workload else { panic!() };
        let spec::Workload::Web(web) = &pair.second.experiment.workload else { panic!() };
        assert_eq!(cache.keys.to_string(), keys);
        assert_eq!(web.files.as_ref().unwrap().to_string(), files);
    };
    check(Effort::Quick, "1000", "10x4KiB");
    check(Effort::Smoke, "7", "5x4KiB");
    let without = Plan::of_study(&study, Effort::Quick, &facts(&["memcached"])).unwrap();
    assert!(without.pairs.is_empty() && without.skipped.iter().any(|s| s.reason.contains("no nginx")));
}

#[test]
fn each_block_has_an_order_of_its_own_between_its_references() {
    let plan = plan(Effort::Full, &["memcached"]);
    let blocks: Vec<Vec<BlockStep>> = (0..6).map(|block| plan.block(1, block)).collect();
    for steps in &blocks {
        assert_eq!(steps.len() * plan.blocks as usize, plan.steps());
        assert!(steps[..2].iter().all(|step| matches!(step, BlockStep::Maximum(_))));
        // Both references at the beginning, in the middle and at the end.
        let references: Vec<usize> =
            (0..steps.len()).filter(|&n| matches!(steps[n], BlockStep::Reference(_))).collect();
        assert_eq!(references, [2, 3, 7, 8, 12, 13]);
        let mut points: Vec<usize> = steps
            .iter()
            .filter_map(|step| if let BlockStep::Point(n) = step { Some(*n) } else { None })
            .collect();
        points.sort_unstable();
        assert_eq!(points, [0, 1, 2, 3, 4, 5]);
    }
    assert!(blocks.windows(2).any(|pair| pair[0] != pair[1]));
    assert_eq!(blocks[3], plan.block(1, 3));
    assert_ne!(blocks, (0..6).map(|block| plan.block(2, block)).collect::<Vec<_>>());
}

#[test]
fn the_estimate_grows_with_blocks_and_windows() {
    let quick = plan(Effort::Quick, &["memcached"]).estimate();
    let full = plan(Effort::Full, &["memcached"]).estimate();
    assert!(full > 2 * quick, "{quick:?} {full:?}");
    let limited = |blocks, time| plan(Effort::Quick, &["memcached"]).limited(blocks, time);
    assert_eq!((limited(None, None).estimate(), limited(Some(20), None).blocks), (quick, 20));
    assert!(limited(Some(20), None).estimate() > 2 * quick);
    assert!(limited(None, Some(quick / 4)).estimate() < quick);
    let longer = plan(Effort::Quick, &["memcached"]).until_settled(None);
    // Three blocks, and the first look is after nine.
    let seven = limited(Some(7), None).estimate();
    assert!(longer.blocks >= 14 && longer.record().until_settled);
    assert!(longer.estimate() > 3 * quick && longer.estimate() <= 2 * seven);
    assert!(plan(Effort::Full, &["memcached"]).until_settled(None).estimate() <= 2 * full);
}

#[test]
fn names_of_folders_are_plain() {
    let check = |text: &str, expect: &str| assert_eq!(slug(text), expect);
    check("Memcached, update 50 %", "memcached-update-50");
    check("../x", "x");
    check("", "");
}
