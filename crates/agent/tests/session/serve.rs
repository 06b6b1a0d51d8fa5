//! The role of a server, with pretended servers.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use agent::{Agent, Clock, Coordinator, Credentials, Serve, Served, Servers, Tenant, Tune, Watch};
use launch::testing::{comes_true, found};
use launch::{Process, Spec};

use crate::setup::{Here, LEASE, LONG, agent_config, is_child, load_of, settings};

/// Starts processes that sleep; reports the orders that it received.
struct Pretend {
    told: Mutex<Sender<String>>,
}

impl Pretend {
    fn tell(&self, what: String) {
        let _ = self.told.lock().unwrap().send(what);
    }
}

impl Servers for Pretend {
    fn start(&self, _session: u64, serve: &Serve) -> Result<Box<dyn Served>, String> {
        if !serve.spec.starts_with("pretend") {
            return Err(format!("there is no server '{}' here", serve.spec));
        }
        let logs = serve.spec.split(' ').skip(1).map(str::to_owned).collect();
        Ok(Box::new(Sleeper { process: Some(sleeper()), halted: false, logs }))
    }

    fn facts(&self) -> Result<String, String> {
        Ok("{\"processors\":3}".into())
    }

    fn tune(&self, _session: u64, tune: &Tune) -> Result<String, String> {
        if tune.knobs == ["slow"] {
            thread::sleep(2 * LEASE);
        }
        if tune.knobs.is_empty() { Err("nothing to set".into()) } else { Ok(tune.knobs.join(" ")) }
    }

    fn leave(&self, _session: u64) {
        self.tell("leave".into());
    }
}

fn sleeper() -> Process {
    Process::spawn(Spec::new("sleeper", "sleep").arg("600")).unwrap()
}

struct Sleeper {
    process: Option<Process>,
    halted: bool,
    logs: Vec<String>,
}

impl Served for Sleeper {
    fn record(&self) -> String {
        self.process.as_ref().map_or(String::new(), |process| process.pid().to_string())
    }

    fn gone(&mut self) -> Option<String> {
        let runs = self.process.as_mut().is_some_and(Process::is_running);
        (!runs && !self.halted).then(|| "it was killed".into())
    }

    fn logs(&self) -> Vec<String> {
        self.logs.clone()
    }

    fn usage(&self) -> String {
        "{\"used\":1}".into()
    }

    fn watch(&mut self, watch: &Watch) -> Result<String, String> {
        match watch.action.as_str() {
            "end" => Ok(format!("{} {}", watch.opened_ns, watch.window_ns)),
            other => Err(format!("'{other}' is not known")),
        }
    }

    fn halt(&mut self) -> Result<Duration, String> {
        self.halted = true;
        self.process = None;
        Ok(Duration::from_millis(3))
    }

    fn resume(&mut self, called: &str) -> Result<Duration, String> {
        if called == "nothing" {
            return Err("it calls something".into());
        }
        (self.halted, self.process) = (false, Some(sleeper()));
        Ok(Duration::from_millis(4))
    }

    fn stop(self: Box<Self>) {}
}

/// An agent in the role of a server, and the orders that its servers received.
fn server_agent() -> (Here, Receiver<String>) {
    server_agent_with(Clock::monotonic())
}

/// An agent in the role of a server with a wrong clock.
fn server_agent_with(clock: Clock) -> (Here, Receiver<String>) {
    let (told, hear) = channel();
    let (mut settings, log) = settings("s", clock, Credentials::default());
    settings.generators = None;
    settings.servers = Some(Arc::new(Pretend { told: Mutex::new(told) }));
    (Here::new(Agent::start("127.0.0.1:0".parse().unwrap(), settings).unwrap(), log), hear)
}

fn serve(target: &str) -> Serve {
    Serve { spec: format!("{target} some words"), connections: 8, ..Serve::default() }
}

fn tune(knobs: &[&str]) -> Tune {
    let knobs = knobs.iter().map(|text| (*text).into()).collect();
    Tune { action: "apply".into(), knobs, ..Tune::default() }
}

/// Waits until process `pid` is no longer a child of this one.
fn await_gone(pid: u32) {
    assert!(comes_true(|| !is_child(pid)), "process {pid} was left");
}

#[test]
fn a_server_is_started_halted_resumed_and_stopped() {
    let (agent, _) = server_agent();
    let mut tenant = Tenant::open(&agent_config(&[&agent])).unwrap();
    assert_eq!(tenant.label(), format!("s ({})", agent.address()));
    assert_eq!(tenant.facts().unwrap(), "{\"processors\":3}");
    let first: u32 = tenant.serve(serve("pretend"), LONG).unwrap().record.parse().unwrap();
    assert!(is_child(first));
    // Facts and knobs while it serves.
    assert_eq!(tenant.facts().unwrap(), "{\"processors\":3}");
    assert_eq!(tenant.tune(tune(&["cpu.set=0", "smt=off"])).unwrap(), "cpu.set=0 smt=off");
    assert!(tenant.tune(tune(&[])).unwrap_err().to_string().contains("nothing to set"));
    assert_eq!(tenant.usage().unwrap(), "{\"used\":1}");
    assert_eq!(tenant.halt().unwrap(), 3_000_000);
    assert!(!is_child(first) && tenant.gone().is_none());
    let again = tenant.resume("{}".into(), LONG).unwrap();
    assert_eq!(again.start_ns, 4_000_000);
    let second: u32 = again.record.parse().unwrap();
    assert!(is_child(second));
    assert_eq!(tenant.gone(), None);
    assert_eq!(tenant.stop().unwrap(), "some\nwords");
    assert!(!is_child(second));
    // The same session serves again.
    let third: u32 = tenant.serve(serve("pretend"), LONG).unwrap().record.parse().unwrap();
    assert!(is_child(third));
    // A server that cannot be resumed has ended.
    tenant.halt().unwrap();
    let error = tenant.resume("nothing".into(), LONG).unwrap_err().to_string();
    assert!(error.contains("it calls something"), "{error}");
    let fourth: u32 = tenant.serve(serve("pretend"), LONG).unwrap().record.parse().unwrap();
    assert!(!is_child(third) && is_child(fourth));
    drop(tenant);
    assert!(!is_child(fourth));
}

#[test]
fn a_window_is_told_by_the_clock_of_the_servers_machine() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let (agent, _) = server_agent_with(Clock::skewed(HOUR_NS, 0.0));
    let mut tenant = Tenant::open(&agent_config(&[&agent])).unwrap();
    let watch = |action: &str, opened_ns| Watch {
        action: action.into(),
        opened_ns,
        window_ns: 7,
        ..Watch::default()
    };
    let error = tenant.watch(watch("end", 0)).unwrap_err().to_string();
    assert!(error.contains("no server that could do so"), "{error}");
    tenant.serve(serve("pretend"), LONG).unwrap();
    // The server's side reads CLOCK_MONOTONIC, which both machines share here, and the agent's clock is an hour off.
    let opened_ns = 5_000_000_000_000_u64;
    let said = tenant.watch(watch("end", opened_ns)).unwrap();
    let (found, window) = said.split_once(' ').unwrap();
    let off = found.parse::<u64>().unwrap().abs_diff(opened_ns);
    assert!(off < 1_000_000_000 && window == "7", "{said}: {off} ns off");
    assert_eq!(tenant.watch(watch("end", 0)).unwrap(), "0 7");
    let error = tenant.watch(watch("wipe", 0)).unwrap_err().to_string();
    assert!(error.contains("'wipe' is not known"), "{error}");
    assert_eq!(tenant.gone(), None);
}

#[test]
fn knobs_may_take_longer_than_the_lease() {
    let (agent, _) = server_agent();
    let mut tenant = Tenant::open(&agent_config(&[&agent])).unwrap();
    let pid: u32 = tenant.serve(serve("pretend"), LONG).unwrap().record.parse().unwrap();
    assert_eq!(tenant.tune(tune(&["slow"])).unwrap(), "slow");
    assert!(is_child(pid) && tenant.gone().is_none());
    assert_eq!(tenant.facts().unwrap(), "{\"processors\":3}");
}

#[test]
fn a_coordinator_that_goes_takes_its_server_and_its_knobs_along() {
    let (agent, told) = server_agent();
    let mut tenant = Tenant::open(&agent_config(&[&agent])).unwrap();
    let mut other = Tenant::open(&agent_config(&[&agent])).unwrap();
    let pids = [&mut tenant, &mut other].map(|tenant| {
        let serving = tenant.serve(serve("pretend"), LONG).unwrap();
        serving.record.parse::<u32>().unwrap()
    });
    drop(tenant);
    assert_eq!(told.recv_timeout(LONG).unwrap(), "leave");
    await_gone(pids[0]);
    // The other tenant's server keeps running.
    assert!(is_child(pids[1]) && other.gone().is_none());
}

#[test]
fn an_agent_that_ends_ends_its_servers() {
    let (agent, _) = server_agent();
    let mut tenant = Tenant::open(&agent_config(&[&agent])).unwrap();
    let pid: u32 = tenant.serve(serve("pretend"), LONG).unwrap().record.parse().unwrap();
    // In another thread: an agent has a runtime of its own, which cannot be dropped inside another's.
    thread::spawn(move || drop(agent)).join().unwrap();
    await_gone(pid);
    assert!(found(|| tenant.gone()).is_some());
}

#[test]
fn a_server_that_dies_is_told() {
    let (agent, _) = server_agent();
    let mut tenant = Tenant::open(&agent_config(&[&agent])).unwrap();
    let pid: i32 = tenant.serve(serve("pretend"), LONG).unwrap().record.parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(found(|| tenant.gone()).as_deref(), Some("it was killed"));
    // A failed usage request keeps the reason why the server ended.
    assert!(tenant.usage().is_err());
    assert_eq!(tenant.gone().as_deref(), Some("it was killed"));
    // The server had ended, not the agent.
    tenant.serve(serve("pretend"), LONG).unwrap();
    assert_eq!(tenant.gone(), None);
}

#[test]
fn each_role_refuses_the_others_tasks() {
    let (server, _) = server_agent();
    let client = crate::setup::agent("c");
    let mut tenant = Tenant::open(&agent_config(&[&client])).unwrap();
    for error in [tenant.serve(serve("pretend"), LONG).unwrap_err(), tenant.facts().unwrap_err()] {
        assert!(error.to_string().contains("--role server"), "{error}");
    }
    drop(tenant);
    let mut coordinator = Coordinator::open(&agent_config(&[&server])).unwrap();
    let error = coordinator.run(&load_of(&[""]), &AtomicBool::new(false), |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("role of a server"), "{error}");
    drop(coordinator);
    let mut tenant = Tenant::open(&agent_config(&[&server])).unwrap();
    let error = tenant.serve(serve("sh"), LONG).unwrap_err().to_string();
    assert!(error.contains("no server 'sh some words' here"), "{error}");
    for error in [
        tenant.halt().unwrap_err(),
        tenant.resume(String::new(), LONG).unwrap_err(),
        tenant.usage().unwrap_err(),
    ] {
        assert!(error.to_string().contains("no server that could do so"), "{error}");
    }
}
