use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

use launch::Process;
use launch::testing::comes_true;
use results::{Reason, Trial, Verdict};
use rustix::process::Signal;
use spec::Workload;

use crate::net::{Net, WaitRan};
use crate::program::{
    LONG, agent, await_end, coordinator, coordinator_of, kill, serve, sphinx, start, trial,
};

const SERVER: usize = 0;
const A: usize = 1;
const B: usize = 2;
/// One hour, for shifting a clock.
const HOUR_S: i64 = 3_600;

/// A server and two agents, each on a machine of its own; the coordinator is here.
struct Lab {
    // In this order: processes go before their machines.
    server: Process,
    agents: Vec<Process>,
    target: String,
    addresses: Vec<String>,
    folder: tempfile::TempDir,
    net: Net,
}

impl Lab {
    /// `None`, and says why, where namespaces are unavailable. Agent b runs behind `before_b`.
    fn new(before_b: &[String]) -> Option<Lab> {
        let net = Net::new(3)?;
        let (server, target) = sphinx(&net.on(SERVER), &net.address(SERVER));
        let before_b: Vec<String> = net.on(B).into_iter().chain(before_b.iter().cloned()).collect();
        let (a, at_a) = agent(&net.on(A), &net.address(A), "a");
        let (b, at_b) = agent(&before_b, &net.address(B), "b");
        let folder = tempfile::tempdir().unwrap();
        Some(Lab { server, agents: vec![a, b], target, addresses: vec![at_a, at_b], folder, net })
    }

    fn load(&self, words: &str) -> Process {
        let addresses: Vec<&str> = self.addresses.iter().map(String::as_str).collect();
        coordinator(self.folder.path(), &self.target, &addresses, words)
    }

    /// Runs a load to its end.
    fn measured(&self, words: &str) -> Trial {
        let mut load = self.load(words);
        load.wait_ran(LONG);
        trial(self.folder.path())
    }

    /// The processes on an agent's machine, except the agent itself.
    fn generators(&self, host: usize) -> BTreeSet<u32> {
        let mut processes = self.net.processes(host);
        processes.remove(&self.agents[host - A].pid());
        processes
    }
}

/// The reason and the words of an invalid trial's most severe fault.
fn fault(trial: &Trial) -> (Reason, String) {
    match &trial.verdict {
        Verdict::Invalid { reasons } => (reasons[0].reason, reasons[0].detail.clone()),
        other => panic!("{other}"),
    }
}

#[test]
fn pages_are_asked_for_by_several_machines() {
    let Some(lab) = Lab::new(&[]) else { return };
    let listen = format!("{}:0", lab.net.address(SERVER));
    let words = ["serve", "null", "--dialect", "http", "--value-size", "1024", "--listen", &listen];
    let (_web, at) = serve(&lab.net.on(SERVER), &words, "null server ready on ");
    let addresses: Vec<&str> = lab.addresses.iter().map(String::as_str).collect();
    let words = "--files 100x1KiB --files-seed 3 --rate 2k --window 1s --arrivals constant --connections 4";
    let target = format!("http://{at}/pages");
    let mut load = coordinator_of("web", lab.folder.path(), &target, &addresses, words);
    load.wait_ran(LONG);
    let trial = trial(lab.folder.path());
    assert_eq!((trial.agents.len(), trial.arrivals.intended), (2, 2_000), "{}", trial.verdict);
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    assert_eq!((trial.counters["success_ratio"], trial.counters["verify_failures"]), (1.0, 0.0));
    let Some(Workload::Web(web)) = trial.spec.map(|spec| spec.workload) else { panic!("no web") };
    assert_eq!(web.files.unwrap().to_string(), "100x1KiB");
    let parts: Vec<u64> = trial.agents.iter().map(|agent| agent.arrivals).collect();
    assert_eq!(parts, [1_000, 1_000]);
}

#[test]
fn two_machines_offer_exactly_the_load_of_one() {
    let Some(lab) = Lab::new(&[]) else { return };
    let words = "--keys 1000 --rate 3k --window 1s --warmup 200ms --connections 7 --seed 5";
    let shared = lab.measured(words);
    assert_eq!(shared.agents.len(), 2, "{}", shared.verdict);
    // The same seed on one machine: the same arrivals fall into the window.
    let file = lab.folder.path().join("alone.json").display().to_string();
    let mut alone: Vec<&str> = vec!["load", "cache", "--target", &lab.target, "--trial", &file, "--yes"];
    alone.extend(["--pace", "sleep"].into_iter().chain(words.split_whitespace()));
    start(&[], &alone).wait_ran(LONG);
    let alone: Trial = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(shared.arrivals.intended, alone.arrivals.intended);
    // Merging loses no sample.
    let arrivals: Vec<u64> = shared.agents.iter().map(|agent| agent.arrivals).collect();
    assert_eq!(arrivals.iter().sum::<u64>(), shared.arrivals.intended);
    let times: u64 = shared.agents.iter().map(|agent| agent.response_time.count).sum();
    assert_eq!(times, shared.all.response_time.count);
    let constant = lab.measured("--keys 1000 --rate 2k --window 1s --arrivals constant --connections 4");
    assert_eq!(constant.arrivals.intended, 2_000);
    let parts: Vec<u64> = constant.agents.iter().map(|agent| agent.arrivals).collect();
    assert_eq!(parts, [1_000, 1_000]);
    for (agent, name) in constant.agents.iter().zip(["a", "b"]) {
        assert_eq!((agent.name.as_str(), agent.offered_rps), (name, 1_000.0));
    }
    for host in [A, B] {
        assert_eq!(lab.generators(host), BTreeSet::new());
    }
}

/// A server of videos on this machine, where all of the lab reach it.
fn videos(lab: &Lab) -> String {
    let catalog = datasets::videos::Catalog::new(&"20x1/640".parse().unwrap(), 1).unwrap();
    let at = reactor::Address::Tcp(format!("{}:0", lab.net.address(250)).parse().unwrap());
    let (send, address) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut reactor = reactor::Epoll::new().unwrap();
        send.send(reactor::Reactor::listen(&mut reactor, &at).unwrap().to_string()).unwrap();
        let (faults, limits) = ("".parse().unwrap(), reference_servers::video::Limits::default());
        let mut server = reference_servers::video::VideoServer::new(
            catalog,
            faults,
            reference_servers::Stalls::default(),
            limits,
            Arc::default(),
        );
        while server.step(&mut reactor).is_ok() {}
    });
    format!("http://{}", address.recv().unwrap())
}

const VIEWERS: &str = "--videos 20x1/640 --speed 50 --rate 20 --bandwidth off --warmup 100ms --seed 5";

#[test]
fn viewers_are_shared_by_machines_as_arrivals_are() {
    let Some(lab) = Lab::new(&[]) else { return };
    let target = videos(&lab);
    let addresses: Vec<&str> = lab.addresses.iter().map(String::as_str).collect();
    let words = format!("{VIEWERS} --window 2s");
    let mut load = coordinator_of("video", lab.folder.path(), &target, &addresses, &words);
    load.wait_ran(LONG);
    let shared = trial(lab.folder.path());
    let file = lab.folder.path().join("alone.json").display().to_string();
    let mut alone: Vec<&str> =
        vec!["load", "video", "--target", &target, "--trial", &file, "--pace", "sleep"];
    alone.extend(words.split_whitespace());
    start(&[], &alone).wait_ran(LONG);
    let alone: Trial = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(
        (shared.agents.len(), shared.arrivals.errors),
        (2, 0),
        "{} {:?}",
        shared.verdict,
        shared.errors
    );
    // The same viewers, whichever machine has them: those who came before the load, who make its first second as busy as all
    // others, and those who came in the window. Each chunk that was due is some machine's.
    let (found, expect) = (shared.sessions.as_ref().unwrap(), alone.sessions.as_ref().unwrap());
    assert!(found.underway > 20, "{found:?}");
    assert_eq!((found.underway, found.begun), (expect.underway, expect.begun));
    assert_eq!(found.begun + found.underway, found.ended + found.cut, "{found:?}");
    let a = shared.arrivals;
    assert_eq!(a.intended, a.completed + a.errors + a.timeouts + a.unfinished, "{a:?}");
    assert_eq!(a.intended, alone.arrivals.intended);
    let parts: Vec<u64> = shared.agents.iter().map(|agent| agent.arrivals).collect();
    assert_eq!(parts.iter().sum::<u64>(), a.intended);
    assert!(parts.iter().all(|part| *part > a.intended / 5), "{parts:?}");
    for name in ["startup", "buffer"] {
        assert!(found.distributions[name].count > 20, "{name}: {found:?}");
    }
}

/// A trial of agents that was not run, with the reason.
fn not_run(workload: &str, target: &str, agents: &[&str], words: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut load = coordinator_of(workload, folder.path(), target, agents, words);
    load.wait_ran(LONG);
    let trial = trial(folder.path());
    let (reason, detail) = fault(&trial);
    assert_eq!((reason, trial.arrivals.intended), (Reason::RateMissed, 0), "{detail}");
    detail
}

#[test]
fn more_live_users_than_there_are_make_a_trial_of_agents_invalid() {
    let [(_a, at_a), (_b, at_b)] = ["a", "b"].map(|name| agent(&[], "127.0.0.1", name));
    // The target receives no request.
    let target = "http://127.0.0.1:9";
    let detail =
        not_run("social", target, &[&at_a, &at_b], "--rate 30 --users 1k --window 1s --warmup 0s --yes");
    let says = "30 sessions a second: 2340 on average";
    assert!(detail.contains(says) && detail.contains("on each of 2 threads 500"), "{detail}");
}

#[test]
fn more_viewers_than_an_agent_has_room_for_make_a_trial_invalid() {
    let few: Vec<String> = ["prlimit", "--nofile=200"].map(Into::into).into();
    let Some(lab) = Lab::new(&few) else { return };
    let target = videos(&lab);
    let addresses: Vec<&str> = lab.addresses.iter().map(String::as_str).collect();
    let words = format!("{VIEWERS} --window 1s").replace("--rate 20", "--rate 200");
    let detail = not_run("video", &target, &addresses, &words);
    assert!(detail.starts_with(&format!("b ({}): ", lab.addresses[1])), "{detail}");
    assert!(detail.contains("descriptors and ports for 72"), "{detail}");
}

#[test]
fn an_agent_that_is_lost_takes_its_viewers_along() {
    let Some(lab) = Lab::new(&[]) else { return };
    let target = videos(&lab);
    let addresses: Vec<&str> = lab.addresses.iter().map(String::as_str).collect();
    let words = format!("{VIEWERS} --window 50s");
    let mut load = coordinator_of("video", lab.folder.path(), &target, &addresses, &words);
    load.await_line("{\"live\"", LONG).unwrap();
    let generators = [lab.generators(A), lab.generators(B)];
    kill(lab.agents[1].pid(), Signal::KILL);
    load.wait_ran(LONG);
    let trial = trial(lab.folder.path());
    let (reason, detail) = fault(&trial);
    assert_eq!(reason, Reason::AgentLost);
    assert!(detail.starts_with(&format!("b ({}) was lost", lab.addresses[1])), "{detail}");
    assert!(trial.agents[0].arrivals > 0 && trial.agents[1].arrivals == 0, "{:?}", trial.agents);
    let (a, of) = (trial.arrivals, trial.sessions.as_ref().unwrap());
    assert_eq!(a.intended, trial.agents[0].arrivals);
    assert_eq!(of.begun + of.underway, of.ended + of.cut, "{of:?}");
    assert_eq!(lab.generators(A), BTreeSet::new());
    generators[1].iter().for_each(|&pid| await_end(pid));
}

#[test]
fn a_clock_that_is_an_hour_off_is_found_out() {
    let hour = HOUR_S.to_string();
    let before: Vec<String> = ["unshare", "--time", "--monotonic", &hour].map(Into::into).into();
    let probe = std::process::Command::new("unshare").args(["--time", "--monotonic", "1", "true"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!("skipped: no time namespaces here");
        return;
    }
    let Some(lab) = Lab::new(&before) else { return };
    let trial = lab.measured("--keys 1000 --rate 2k --window 1s --arrivals constant --connections 4");
    let planted = [0.0, HOUR_S as f64 * 1e6];
    for (agent, planted) in trial.agents.iter().zip(planted) {
        let (found, error) = (agent.clock_offset_us.unwrap(), agent.clock_offset_error_us.unwrap());
        assert!((found - planted).abs() <= error, "planted {planted}, found {found} ± {error}");
        assert!(error < 1e6, "an error of a second would find anything: {error}");
    }
    // Both opened their windows together, so all arrivals fall into one of the same length.
    assert_eq!(trial.arrivals.intended, 2_000);
    assert_eq!(trial.agents.iter().map(|agent| agent.arrivals).collect::<Vec<_>>(), [1_000, 1_000]);
}

#[test]
fn an_agent_that_is_killed_makes_the_trial_invalid() {
    let Some(mut lab) = Lab::new(&[]) else { return };
    let mut load = lab.load("--keys 1000 --rate 2k --window 50s --warmup 100ms");
    load.await_line("{\"live\"", LONG).unwrap();
    let generators = [lab.generators(A), lab.generators(B)];
    assert!(generators.iter().all(|g| g.len() == 1), "{generators:?}");
    kill(lab.agents[1].pid(), Signal::KILL);
    load.wait_ran(LONG);
    let trial = trial(lab.folder.path());
    let (reason, detail) = fault(&trial);
    assert_eq!(reason, Reason::AgentLost);
    assert!(detail.starts_with(&format!("b ({}) was lost", lab.addresses[1])), "{detail}");
    // The surviving agent's measurements are kept; its generator has stopped.
    assert!(trial.agents[0].arrivals > 0 && trial.agents[1].arrivals == 0, "{:?}", trial.agents);
    assert_eq!(trial.arrivals.intended, trial.agents[0].arrivals);
    assert_eq!(lab.generators(A), BTreeSet::new());
    generators[1].iter().for_each(|&pid| await_end(pid));
    // It serves on, alone.
    lab.agents.truncate(1);
    lab.addresses.truncate(1);
    assert_eq!(lab.measured("--keys 1000 --rate 1k --window 500ms").agents.len(), 1);
}

#[test]
fn an_agent_without_a_network_is_lost_within_the_lease() {
    let Some(lab) = Lab::new(&[]) else { return };
    let words = "--keys 1000 --rate 2k --window 50s --warmup 100ms --agents-lease 2s";
    let mut load = lab.load(words);
    load.await_line("{\"live\"", LONG).unwrap();
    let orphans = lab.generators(B);
    assert_eq!(orphans.len(), 1);
    lab.net.plug(B, false);
    load.wait_ran(LONG);
    let trial = trial(lab.folder.path());
    let (reason, detail) = fault(&trial);
    assert_eq!(reason, Reason::AgentLost);
    assert!(detail.starts_with("b (") && detail.contains("nothing was heard of it for 2s"), "{detail}");
    assert!(trial.agents[0].arrivals > 0);
    // Behind the dead link the agent ends its generator by itself.
    orphans.iter().for_each(|&pid| await_end(pid));
    lab.net.plug(B, true);
    // The kernel may still know the address as unreachable.
    let address: SocketAddr = lab.addresses[1].parse().unwrap();
    assert!(comes_true(|| TcpStream::connect_timeout(&address, LONG).is_ok()), "{address} stays away");
    assert_eq!(lab.measured("--keys 1000 --rate 1k --window 500ms").agents.len(), 2);
}

#[test]
fn ctrl_c_at_the_coordinator_stops_all() {
    let Some(mut lab) = Lab::new(&[]) else { return };
    let mut load = lab.load("--keys 1000 --rate 2k --window 50s --warmup 100ms");
    load.await_line("{\"live\"", LONG).unwrap();
    kill(load.pid(), Signal::INT);
    assert_eq!(load.wait(LONG).unwrap().code(), Some(130));
    for host in [A, B] {
        lab.generators(host).iter().for_each(|&pid| await_end(pid));
    }
    // An agent exits cleanly on a stop signal, and a server that received no signal keeps running.
    let agent = lab.agents.pop().unwrap();
    let ended = agent.stop(LONG).unwrap();
    assert!(ended.status.success() && !ended.killed, "{ended:?}");
    assert!(ended.stderr.iter().any(|line| line.contains("session of ")), "{ended:?}");
    assert!(lab.server.is_running());
}

#[test]
fn the_laboratory_hands_agents_on() {
    // The agents run on this machine, so that the test needs no namespaces: the saved record names them.
    let (_server, target) = sphinx(&[], "127.0.0.1");
    let agents: Vec<(Process, String)> = ["a", "b"].map(|name| agent(&[], "127.0.0.1", name)).into();
    let addresses = [agents[0].1.as_str(), agents[1].1.as_str()].join(",");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let words = "--keys 1000 --rate 1k --window 500ms --warmup 100ms --pace sleep --name x --out";
    let mut all = vec!["load", "cache", "--target", &target, "--agents", &addresses];
    all.extend(words.split_whitespace().chain([out.as_str()]));
    start(&[], &all).wait_ran(LONG);
    let experiment = results::ResultFolder::open(&folder.path().join("x")).unwrap().load().unwrap();
    let names: Vec<&str> = experiment.trials[0].agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}
