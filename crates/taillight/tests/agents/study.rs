//! A study whose server and generators have machines of their own.

use std::path::Path;

use launch::Process;

use crate::net::Net;
use crate::program::{LONG, agent, serve, start};

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
    _net: Net,
}

impl Lab {
    /// `None`, and says why, where namespaces are unavailable.
    fn new() -> Option<Lab> {
        let net = Net::new(3)?;
        let listen = format!("{}:0", net.address(SERVER));
        let words = ["agent", "--role", "server", "--listen", &listen, "--name", "s", "--insecure-token"];
        let (s, server) = serve(&net.on(SERVER), &words, "taillight agent s ready on ");
        let (a, at_a) = agent(&net.on(A), &net.address(A), "a");
        let (b, at_b) = agent(&net.on(B), &net.address(B), "b");
        let generators = format!("{at_a},{at_b}");
        let folder = tempfile::tempdir().unwrap();
        Some(Lab { _agents: vec![s, a, b], server, generators, folder, _net: net })
    }

    /// Runs a study and returns its folder.
    fn study(&self, words: &str) -> std::path::PathBuf {
        let out = self.folder.path().display().to_string();
        let mut all: Vec<&str> = ["study", "run"].into_iter().chain(words.split_whitespace()).collect();
        all.extend(["--server-agent", &self.server, "--agents", &self.generators]);
        all.extend(["--agents-insecure-token", "--out", &out]);
        start(&[], &all).wait_success(5 * LONG).unwrap();
        let mut folders = std::fs::read_dir(self.folder.path()).unwrap();
        folders.next().expect("a result").unwrap().path()
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
