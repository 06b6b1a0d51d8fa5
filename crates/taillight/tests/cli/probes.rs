use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;

use results::probes::ServerCounters;
use results::study::StudyFolder;
use results::{Experiment, LatencySummary, Reason, ResultFolder, Trial, Verdict};

use crate::run::{Served, answers, finish, has_ended, refuses, taillight, text};

/// A load on memcached with probes. `None`, with the reason printed, if memcached is not installed.
fn observed(out: &Path, probes: &str) -> Option<Experiment> {
    if let Err(error) = launch::memcached::find() {
        println!("skipped: {error}");
        return None;
    }
    Some(loaded(out, probes, &["cache", "--target", "memcached", "--keys", "1000"]))
}

/// A load of 2 krps with probes, and the result.
fn loaded(out: &Path, probes: &str, on: &[&str]) -> Experiment {
    let mut command = taillight(&["load"]);
    command.args(on).args(["--rate", "2k", "--connections", "8"]);
    // On a busy machine the probes take long to begin and to end a slot.
    command.args(["--warmup", "100ms", "--window", "5s", "--pace", "sleep", "--name", "observed"]);
    command.args(["--probe", probes, "--out"]).arg(out);
    let output = finish(&mut command);
    answers(&output);
    ResultFolder::open(&out.join("observed")).unwrap().load().unwrap()
}

/// The server's own counters, which agree approximately with the client's requests.
fn own_counters<'a>(trial: &'a Trial, program: &str) -> &'a ServerCounters {
    let probes = trial.probes.as_ref().unwrap();
    let server = probes.server.as_ref().unwrap_or_else(|| panic!("{probes:?}"));
    assert!(server.program.starts_with(program) && server.servers == 1 && server.answers > 3, "{server:?}");
    // It counted in some slots only. After a stall in the other slots the requests due there are answered in these, so
    // only all requests bound the count.
    let counted = server.figure("requests_per_s").unwrap() * server.observed_s;
    let sent = trial.offered_rps * (trial.window_s + trial.warmup_s);
    assert!((0.03..=1.1).contains(&(counted / sent)), "{counted} of {sent}: {server:?}");
    server
}

#[test]
fn what_can_be_observed_is_in_the_record_and_on_the_page() {
    let out = tempfile::tempdir().unwrap();
    let Some(experiment) = observed(out.path(), "all") else { return };
    let trial = &experiment.trials[0];
    let probes = trial.probes.as_ref().unwrap();
    assert_eq!(probes.asked, ["stages", "cpu", "runqueue", "sockets", "server", "client", "counters", "io"]);
    assert!(probes.slots >= 4, "{probes:?}");
    // Every requested probe has data, or is reported as missing with a remedy.
    let seen = [
        ("stages", probes.stages.is_some()),
        ("cpu", probes.processor.is_some()),
        ("runqueue", probes.scheduling.is_some()),
        ("sockets", probes.sockets.is_some()),
        ("server", probes.server.is_some()),
        ("client", probes.client.is_some()),
        ("counters", !probes.counters.is_empty()),
        ("io", probes.io.is_some()),
    ];
    for (probe, is_seen) in seen {
        let lacks = probes.missing.iter().find(|missing| missing.probe == probe);
        assert_eq!(is_seen, lacks.is_none(), "{probe}: {probes:?}");
        assert!(lacks.is_none_or(|lacks| !lacks.what.is_empty() && !lacks.disables.is_empty()), "{probes:?}");
        println!("{probe}: {}", lacks.map_or("seen".into(), |lacks| format!("skipped: {}", lacks.what)));
    }
    // What needs no privilege is available to the user who started the server.
    let scheduling = probes.scheduling.as_ref().unwrap();
    assert!(scheduling.threads.iter().any(|thread| thread.switches_per_s > 0.0), "{scheduling:?}");
    let costs: Vec<&str> = probes.overhead.iter().map(|overhead| overhead.probe.as_str()).collect();
    let seen: Vec<&str> = seen.iter().filter(|(_, is_seen)| *is_seen).map(|(probe, _)| *probe).collect();
    let in_slots: Vec<&str> = seen.into_iter().filter(|probe| *probe != "client").collect();
    assert_eq!(costs, in_slots, "what looks in slots is compared with its absence");
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
    let server = own_counters(trial, "memcached 1.");
    for figure in ["cpu_us_per_request", "proc_cpu_us_per_request", "requests_per_wait", "hit_share"] {
        assert!(server.figure(figure).is_some_and(|value| value > 0.0), "{figure}: {server:?}");
    }
    let client = probes.client.as_ref().unwrap();
    let mean = |part: &LatencySummary| part.mean_us.unwrap();
    let sum = mean(&client.to_device) + mean(&client.away) + mean(&client.to_reader);
    // The parts are contiguous; the clocks' error moves time between them, and a histogram's steps are 0.1 %.
    let off = (sum / mean(&client.service_time) - 1.0).abs();
    assert!(client.requests > 100 && off < 0.01, "{off}: {client:?}");
    let page = fs::read_to_string(out.path().join("observed/report.html")).unwrap();
    for part in [
        "Where the time goes",
        "Probe overhead",
        "stamps in the client",
        "What the server counts itself (memcached",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn sphinx_tells_its_own_service_times_where_it_has_metrics() {
    let out = tempfile::tempdir().unwrap();
    let metrics = "--sphinx-arg=--metrics=127.0.0.1:0";
    let cache = ["cache", "--target", "sphinx", "--server-memory", "64MiB", "--keys", "1000"];
    let with: Vec<&str> = cache.iter().copied().chain([metrics]).collect();
    let experiment = loaded(out.path(), "server", &with);
    let own = own_counters(&experiment.trials[0], "sphinx ").service.unwrap();
    assert!(own.requests > 100 && own.mean_us > 0.0 && own.p50_at_most_us.is_some(), "{own:?}");
    let page = fs::read_to_string(out.path().join("observed/report.html")).unwrap();
    assert!(page.contains("Service time by the server’s own clock"));
    // Without the port, the output still contains the other probes and names the missing one.
    let without = tempfile::tempdir().unwrap();
    let experiment = loaded(without.path(), "server", &cache);
    let trial = &experiment.trials[0];
    assert_eq!(own_counters(trial, "sphinx ").service, None);
    let missing = &trial.probes.as_ref().unwrap().missing;
    assert!(missing.len() == 1 && missing[0].what.contains("--metrics"), "{missing:?}");
}

#[test]
fn nginx_tells_its_requests_and_a_server_without_counters_is_reported() {
    if launch::find_program("nginx").is_none() {
        return println!("skipped: there is no nginx here");
    }
    let out = tempfile::tempdir().unwrap();
    let experiment = loaded(out.path(), "server", &["web", "--target", "nginx", "--files", "100x1KiB"]);
    let server = own_counters(&experiment.trials[0], "nginx");
    assert_eq!(server.figure("dropped_per_s"), Some(0.0), "{server:?}");
    // One that serves pages and nothing about itself.
    let null = Served::start(&["serve", "null", "--dialect", "http"], "null server ready on ");
    let url = format!("http://{}/", null.address);
    let out = tempfile::tempdir().unwrap();
    let experiment = loaded(out.path(), "server", &["web", "--target", &url]);
    let probes = experiment.trials[0].probes.as_ref().unwrap();
    assert!(probes.server.is_none() && probes.missing[0].what.contains("answers 'stats'"), "{probes:?}");
}

/// Debian's user and group without any rights.
const UNPRIVILEGED: u32 = 65534;

#[test]
fn without_root_the_study_says_what_is_missing_and_gives_the_rest() {
    if let Err(error) = launch::memcached::find() {
        return println!("skipped: {error}");
    }
    let out = tempfile::tempdir().unwrap();
    let mut command = taillight(&["study", "run", "breakdown-memcached", "--smoke", "--out", "results"]);
    // On a busy machine the readings of a slot take long, and few slots lie within a short window.
    command.args(["--set", "time.window=5s"]).current_dir(out.path()).env("HOME", out.path());
    if rustix::process::geteuid().is_root() {
        chown(out.path(), Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        // Every other group goes with the number.
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        if taillight(&["--version"]).uid(UNPRIVILEGED).gid(UNPRIVILEGED).output().is_err() {
            return println!(
                "skipped: a user without rights may not run {}",
                command.get_program().display()
            );
        }
    }
    let output = finish(&mut command);
    let printed = text(&output);
    assert!(has_ended(&output), "{printed}");
    let folder = fs::read_dir(out.path().join("results")).unwrap().next().unwrap().unwrap().path();
    let study = StudyFolder::open(&folder).unwrap().load().unwrap();
    // The missing probe is reported with a remedy.
    let lack = study.skipped.iter().find(|skipped| skipped.what == "the probe stages").expect(&printed);
    let hint = if cfg!(feature = "bpf") { "root, or CAP_BPF" } else { "the feature `bpf`" };
    assert!(lack.reason.contains(hint) && lack.reason.contains("the stages of a request"), "{lack:?}");
    assert!(printed.contains("the probe stages"), "{printed}");
    // And the rest.
    assert_eq!(study.cells.len(), 2, "{printed}");
    for cell in &study.cells {
        for metric in [
            "latency_us_mean",
            "service_us_mean",
            "server_cpu_us_per_request",
            "socket_round_trip_us_mean",
            "own_cpu_us_per_request",
            "own_requests_per_wait",
        ] {
            assert!(
                cell.metrics.get(metric).is_some_and(|value| *value > 0.0),
                "{metric}: {:?}",
                cell.metrics
            );
        }
        // With few samples, a part may come out longer than the whole; the output reports this.
        let is_told = study.skipped.iter().any(|skipped| skipped.what == "the probe sockets: unread");
        assert!(cell.metrics.contains_key("socket_read_wait_us_mean") || is_told, "{:?}", cell.metrics);
        assert!(!cell.metrics.contains_key("stage_us_total"), "{:?}", cell.metrics);
    }
    let judged =
        |id: &str| study.claims.iter().find(|claim| claim.id == id).map(|claim| claim.reason.clone());
    assert!(judged("queueing").is_some_and(|reason| reason.contains("cannot be followed here")), "{printed}");
    assert!(judged("unread").is_some_and(|reason| reason.contains("smoke run")), "{printed}");
}

#[test]
fn a_search_which_is_not_observed_takes_no_probe() {
    refuses(&mut taillight(&["peak", "cache", "--probe", "cpu"]), 2, &["unexpected argument '--probe'"]);
}

#[test]
fn an_unknown_probe_is_refused() {
    let mut command = taillight(&["load", "cache", "--rate", "1k", "--probe", "stage"]);
    refuses(&mut command, 2, &["stage", "stages, cpu, runqueue, sockets, server, client, counters, io"]);
}
