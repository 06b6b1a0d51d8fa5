use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use agent::{
    Agent, AgentConfig, AgentsLoad, Clock, ClockReport, Coordinator, Credentials, Error, Generate,
    Generators, Outcome, Settings, Tune,
};
use launch::Spec;

/// Far longer than any step here takes, and short enough that a hang becomes a failure.
pub(crate) const LONG: Duration = Duration::from_secs(60);
/// Short, since some tests wait for its end, but many times as long as a busy machine keeps a thread waiting.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// Starts pretended generators: the specification holds the words for `pretend_generator`.
pub(crate) struct Pretend;

impl Generators for Pretend {
    fn spec(&self, task: &Generate, recording: &Path) -> Result<Spec, String> {
        if task.spec == "other" {
            return Err("there is nothing to pretend".into());
        }
        // Cargo builds examples for `cargo test`, into a folder next to the tests' folder.
        let tests = std::env::current_exe().map_err(|error| error.to_string())?;
        let program = tests.ancestors().nth(2).expect("a folder").join("examples/pretend_generator");
        if !program.exists() {
            return Err(format!("{} is missing: cargo build -p agent --examples", program.display()));
        }
        let spec = Spec::new("generator", program);
        Ok(spec.arg(recording.display().to_string()).args(task.spec.split_whitespace()))
    }

    fn tune(&self, _session: u64, tune: &Tune) -> Result<String, String> {
        match tune.knobs.join(" ").as_str() {
            "refused" => Err("its operator allows no knobs".into()),
            knobs => Ok(format!("{} {knobs} on {}", tune.action, tune.cpus)),
        }
    }

    fn leave(&self, _session: u64) {}
}

/// An agent and its log.
pub(crate) struct Here {
    pub(crate) agent: Agent,
    log: Receiver<String>,
}

impl Here {
    pub(crate) fn new(agent: Agent, log: Receiver<String>) -> Here {
        Here { agent, log }
    }

    pub(crate) fn address(&self) -> String {
        self.agent.address().to_string()
    }

    /// The line about the next session, written at its end.
    pub(crate) fn logged(&self) -> String {
        self.log.recv_timeout(LONG).expect("the session ends")
    }
}

pub(crate) fn settings(name: &str, clock: Clock, credentials: Credentials) -> (Settings, Receiver<String>) {
    let (to, log) = channel();
    let settings = Settings {
        name: name.into(),
        credentials,
        insecure_token: false,
        clock,
        generators: Some(Arc::new(Pretend)),
        servers: None,
        // The send fails once the test has ended.
        log: Arc::new(move |line| drop(to.send(line.to_owned()))),
    };
    (settings, log)
}

pub(crate) fn agent_with(name: &str, clock: Clock, credentials: Credentials) -> Here {
    let (settings, log) = settings(name, clock, credentials);
    let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
    Here { agent: Agent::start(listen, settings).unwrap(), log }
}

pub(crate) fn agent(name: &str) -> Here {
    agent_with(name, Clock::monotonic(), Credentials::default())
}

pub(crate) fn agent_config(agents: &[&Here]) -> AgentConfig {
    AgentConfig {
        agents: agents.iter().map(|agent| agent.address()).collect(),
        credentials: Credentials::default(),
        insecure_token: false,
        name: "test".into(),
        lease: LEASE,
    }
}

pub(crate) fn load_of(words: &[&str]) -> AgentsLoad {
    AgentsLoad {
        specs: words.iter().map(|words| (*words).to_owned()).collect(),
        prepare_within: LONG,
        end_within: LONG,
    }
}

/// Runs one load in its own session; each agent gets its words.
pub(crate) fn run(agents: &[&Here], words: &[&str]) -> Result<Outcome, Error> {
    Coordinator::open(&agent_config(agents))?.run(&load_of(words), &AtomicBool::new(false), |_, _| {})
}

/// Recording of a pretended generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) pid: u32,
    /// Its start time, by `CLOCK_MONOTONIC`.
    pub(crate) start_ns: u64,
    pub(crate) end: String,
}

pub(crate) fn recorded(recording: &[u8]) -> Recorded {
    let text = std::str::from_utf8(recording).unwrap();
    let words: Vec<&str> = text.lines().next().unwrap().split(' ').collect();
    Recorded { pid: words[0].parse().unwrap(), start_ns: words[1].parse().unwrap(), end: words[3].into() }
}

/// Limit of the difference between an agent's start and the others': the error of the comparison, plus the clock's drift from the
/// comparison to the start. Units: ns.
pub(crate) fn start_error_ns(clock: &ClockReport, start_ns: u64) -> u64 {
    let since = start_ns.saturating_sub(clock.at_start.at_ns) as f64;
    let drifted = clock.drift.map_or(0.0, |drift| (drift.ppm.abs() + drift.error_ppm) * 1e-6 * since);
    clock.at_start.error_ns + drifted.ceil() as u64
}

/// Whether this process has a child with that id. Children keep their ids until they are reaped.
pub(crate) fn is_child(pid: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
    let parent = format!("PPid:\t{}", std::process::id());
    status.lines().any(|line| line == parent)
}

/// The children of this process that are pretended generators with `word` in their arguments.
pub(crate) fn children(word: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_child(pid) && line.split(|&b| b == 0).any(|part| part == word.as_bytes())
    })
    .collect()
}
