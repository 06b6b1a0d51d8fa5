//! A study whose server and generators have machines of their own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use launch::Process;

use crate::net::{Net, WaitRan};
use crate::program::{LONG, agent_with, start};

const SERVER: usize = 0;
const A: usize = 1;
const B: usize = 2;

/// An agent that runs servers and two that generate, each on a machine of its own; the coordinator is here.
struct Lab {
    // In this order: processes go before their machines.
    _agents: Vec<Process>,
    server: String,
    generators: String,
    folder: tempfile::TempDir,
    // The folders in which the machines record the settings they have changed.
    states: tempfile::TempDir,
    net: Net,
}

impl Lab {
    /// `None`, and says why, where namespaces are unavailable.
    fn new() -> Option<Lab> {
        let net = Net::new(3)?;
        let states = tempfile::tempdir().unwrap();
        let on = |host: usize| {
            let state = format!("TAILLIGHT_STATE={}", states.path().join(host.to_string()).display());
            [net.on(host), vec!["env".into(), state]].concat()
        };
        let options = ["--allow-knobs"];
        let server_options = [&options[..], &["--role", "server"]].concat();
        let (s, server) = agent_with(&on(SERVER), &net.address(SERVER), "s", &server_options);
        let (a, at_a) = agent_with(&on(A), &net.address(A), "a", &options);
        let (b, at_b) = agent_with(&on(B), &net.address(B), "b", &options);
        let generators = format!("{at_a},{at_b}");
        let folder = tempfile::tempdir().unwrap();
        Some(Lab { _agents: vec![s, a, b], server, generators, folder, states, net })
    }

    /// Runs a study and returns its folder.
    fn study(&self, words: &str) -> PathBuf {
        self.start(&format!("study run {words}")).wait_ran(5 * LONG);
        let mut folders = std::fs::read_dir(self.folder.path()).unwrap();
        folders.next().expect("a result").unwrap().path()
    }

    /// Starts a command of the laboratory.
    fn start(&self, words: &str) -> Process {
        let out = self.folder.path().display().to_string();
        let mut all: Vec<&str> = words.split_whitespace().collect();
        all.extend(["--server-agent", &self.server, "--agents", &self.generators]);
        all.extend(["--agents-insecure-token", "--out", &out]);
        start(&[], &all)
    }
}

fn page(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("report.html")).unwrap()
}

#[test]
fn a_study_between_machines_ends_with_the_servers_stages_and_processor_time() {
    if launch::find_program("memcached").is_none() {
        return println!("skipped: there is no memcached here");
    }
    let Some(lab) = Lab::new() else { return };
    let folder = lab.study("breakdown-memcached --smoke");
    let record = results::study::StudyFolder::open(&folder).unwrap().load().unwrap();
    assert!(record.complete && !record.cells.is_empty(), "{:?}", record.interrupted);
    assert!(record.limits.iter().any(|limit| limit.contains("another machine")), "{:?}", record.limits);
    let lack = record.skipped.iter().find(|skipped| skipped.what == "the probe stages");
    for cell in &record.cells {
        assert!(cell.metrics["server_cpu_us_per_request"] > 0.0, "{:?}", cell.metrics);
        match (cell.metrics.get("stage_us_total"), lack) {
            (Some(total), _) => assert!(*total > 0.0, "{total}"),
            (None, Some(lack)) => {
                assert!(lack.reason.contains("on the machine of the agent s ("), "{lack:?}");
                println!("stages were not looked at: {}", lack.reason);
            }
            (None, None) => panic!("no stages: {:?} {:?}", cell.metrics, record.skipped),
        }
    }
    assert!(page(&folder).contains("Mean time in the server"));
    let mut trials = 0;
    for bench in std::fs::read_dir(folder.join("experiments")).unwrap() {
        let bench = bench.unwrap().path();
        let result = results::ResultFolder::open(&bench).unwrap().load().unwrap();
        assert_eq!(result.targets[0].agent.as_deref(), Some(&format!("s ({})", lab.server)[..]));
        for trial in result.trials.iter().filter(|trial| trial.probes.is_some()) {
            let agents: Vec<&str> = trial.agents.iter().map(|agent| &agent.name[..]).collect();
            assert_eq!(agents, ["a", "b"]);
            assert!(trial.window_opened_monotonic_ns.is_some());
            assert_eq!(trial.noise.server_machines.len(), 1);
            let [server] = &trial.services[..] else { panic!("{:?}", trial.services) };
            assert!(server.cpu_s.is_some_and(|seconds| seconds > 0.0), "{server:?}");
            let stages = trial.probes.as_ref().and_then(|probes| probes.stages.as_ref());
            assert!(stages.is_some() || lack.is_some(), "{:?}", trial.probes);
            trials += 1;
        }
        if lack.is_none() {
            assert!(page(&bench).contains("Where the time goes"), "{}", bench.display());
        }
    }
    assert!(trials >= 2, "{trials} were observed");
}

#[test]
fn knobs_of_all_machines_are_in_force_under_load_and_reverted_after() {
    let Some(lab) = Lab::new() else { return };
    let all = [SERVER, A, B];
    let before = all.map(|host| lab.net.congestion_control(host));
    assert!(before.iter().all(|control| control != "reno"), "it would show nothing: {before:?}");
    let words = "load cache --target sphinx --server-memory 64MiB --keys 1000 --rate 1k --warmup 100ms --window 3s \
                 --connections 4 --pace sleep --no-live --name knobs --server-knob congestion-control=reno \
                 --client-knob congestion-control=reno";
    let mut load = lab.start(words);
    let mut seen = all.map(|_| BTreeSet::new());
    while load.is_running() {
        for (host, seen) in all.into_iter().zip(&mut seen) {
            seen.insert(lab.net.congestion_control(host));
        }
    }
    load.wait_ran(LONG);
    for ((host, seen), before) in all.into_iter().zip(seen).zip(before) {
        assert!(seen.contains("reno"), "{host}: {seen:?}");
        assert_eq!(lab.net.congestion_control(host), before, "{host}");
    }
    let result = results::ResultFolder::open(&lab.folder.path().join("knobs")).unwrap().load().unwrap();
    let [trial] = &result.trials[..] else { panic!("{:?}", result.trials) };
    for agent in &trial.agents {
        assert_eq!(agent.knobs, ["echo reno > /proc/sys/net/ipv4/tcp_congestion_control"], "{}", agent.name);
    }
    let spec = trial.spec.as_ref().expect("it is recorded");
    assert_eq!(spec.client_knobs[0].as_str(), "congestion-control=reno");
    // A setting that the agent refuses ends the run with the agent's reason.
    let words = words.replace("--name knobs", "--name refused");
    let words = words.replace("--client-knob congestion-control=reno", "--client-knob cpu.quota=50%");
    let error = lab.start(&words).wait_success(LONG).unwrap_err().to_string();
    assert!(
        error.contains("knobs of the generator's machine: a (") && error.contains("it acts on processes"),
        "{error}"
    );
}

#[test]
fn what_is_resolved_and_run_through_agents_is_what_was_typed() {
    let Some(lab) = Lab::new() else { return };
    let line = "load cache --target sphinx --server-memory 64MiB --keys 500 --rate 2k --mix get:90,set:10 \
                --connections 4 --warmup 100ms --window 300ms --pace sleep";
    let program = std::process::Command::new(env!("CARGO_BIN_EXE_taillight"))
        .args(line.split_whitespace().chain(["--resolve"]))
        .output()
        .unwrap();
    assert!(program.status.success(), "{}", String::from_utf8_lossy(&program.stderr));
    // Stored next to the results, so that the only folder is the run's.
    let file = lab.states.path().join("t.json");
    std::fs::write(&file, &program.stdout).unwrap();
    lab.start(&format!("run {}", file.display())).wait_ran(2 * LONG);
    let folder = std::fs::read_dir(lab.folder.path()).unwrap().next().expect("a result").unwrap().path();
    let bench = std::fs::read_dir(folder.join("experiments")).unwrap().next().expect("one").unwrap().path();
    lab.start(&format!("{line} --no-live --name typed")).wait_ran(2 * LONG);
    let spec = |folder: &Path| {
        let result = results::ResultFolder::open(folder).unwrap().load().unwrap();
        let trial = &result.trials[0];
        assert_eq!(trial.agents.len(), 2);
        // Seeds and processors are chosen again; the server's machine is in the target's record.
        let mut spec = spec::Spec { seed: 1, ..trial.spec.clone().unwrap() };
        (spec.generator.cpus, spec.target.agent) = (None, None);
        assert!(result.targets[0].agent.as_deref().is_some_and(|agent| agent.starts_with("s (")));
        spec
    };
    assert_eq!(spec(&bench), spec(&lab.folder.path().join("typed")));
}
