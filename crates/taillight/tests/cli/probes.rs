use std::path::Path;

use results::{Experiment, Reason, ResultFolder, Verdict};

use crate::run::{finish, refuses, taillight, text};

/// A load on memcached with probes; `None` where there is no memcached, which is said.
fn observed(out: &Path, probes: &str) -> Option<Experiment> {
    if let Err(error) = launch::memcached::find() {
        println!("skipped: {error}");
        return None;
    }
    let words =
        ["load", "cache", "--target", "memcached", "--keys", "1000", "--rate", "2k", "--connections", "8"];
    let mut command = taillight(&words);
    command.args(["--warmup", "100ms", "--window", "3s", "--pace", "sleep", "--name", "observed"]);
    command.args(["--probe", probes, "--out"]).arg(out);
    let output = finish(&mut command);
    assert!(output.status.success(), "{}", text(&output));
    Some(ResultFolder::open(&out.join("observed")).unwrap().load().unwrap())
}

#[test]
fn what_can_be_observed_is_in_the_record_and_on_the_page() {
    let out = tempfile::tempdir().unwrap();
    let Some(experiment) = observed(out.path(), "all") else { return };
    let trial = &experiment.trials[0];
    let probes = trial.probes.as_ref().unwrap();
    assert_eq!(probes.asked, ["stages", "cpu", "runqueue", "counters", "io"]);
    assert!(probes.slots >= 4, "{probes:?}");
    // Everything that was asked for was seen or is missing, with what to do.
    let seen = [
        ("stages", probes.stages.is_some()),
        ("cpu", probes.processor.is_some()),
        ("runqueue", probes.scheduling.is_some()),
        ("counters", !probes.counters.is_empty()),
        ("io", probes.io.is_some()),
    ];
    for (probe, is_seen) in seen {
        let lacks = probes.missing.iter().find(|missing| missing.probe == probe);
        assert_eq!(is_seen, lacks.is_none(), "{probe}: {probes:?}");
        assert!(lacks.is_none_or(|lacks| !lacks.what.is_empty() && !lacks.disables.is_empty()), "{probes:?}");
        println!("{probe}: {}", lacks.map_or("seen".into(), |lacks| format!("skipped: {}", lacks.what)));
    }
    // What needs no privilege is there for whoever started the server.
    let scheduling = probes.scheduling.as_ref().unwrap();
    assert!(scheduling.threads.iter().any(|thread| thread.switches_per_s > 0.0), "{scheduling:?}");
    let costs: Vec<&str> = probes.overhead.iter().map(|overhead| overhead.probe.as_str()).collect();
    let seen: Vec<&str> = seen.iter().filter(|(_, is_seen)| *is_seen).map(|(probe, _)| *probe).collect();
    assert_eq!(costs, seen, "what looks is held against its absence");
    if let Some(stages) = &probes.stages {
        let lost = |verdict: &Verdict| match verdict {
            Verdict::Invalid { reasons } => reasons.iter().any(|one| one.reason == Reason::ProbeLoss),
            _ => false,
        };
        assert_eq!(
            stages.correlated_share.is_some_and(|share| share < 0.99),
            lost(&trial.verdict),
            "{stages:?}"
        );
        assert!(stages.correlated > 0, "{stages:?}");
    }
    let page = std::fs::read_to_string(out.path().join("observed/report.html")).unwrap();
    assert!(page.contains("Where the time goes") && page.contains("What looking cost"));
}

#[test]
fn an_unknown_probe_is_refused() {
    let mut command = taillight(&["load", "cache", "--rate", "1k", "--probe", "stage"]);
    refuses(&mut command, 2, &["stage", "stages, cpu, runqueue, counters and io"]);
}
