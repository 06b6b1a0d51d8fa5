//! The server role: an agent on another machine runs the server under test.

use std::collections::BTreeSet;
use std::time::Instant;

use launch::Process;
use results::Experiment;
use rustix::process::Signal;

use crate::docker::Docker;
use crate::net::{Net, WaitRan};
use crate::program::{LONG, agent, await_end, kill, serve, start};

const SERVER: usize = 0;
/// The switch's own address, at which the others reach this machine.
const HERE: usize = 250;

/// An agent in the role of a server on a machine of its own; the coordinator and its generator are here.
struct Lab {
    // In this order: processes go before their machines.
    agent: Process,
    address: String,
    folder: tempfile::TempDir,
    net: Net,
}

impl Lab {
    /// `None`, and says why, where namespaces are unavailable.
    fn new() -> Option<Lab> {
        Some(Lab::on(Net::new(1)?, &[]))
    }

    /// With an agent that has these options, too.
    fn on(net: Net, options: &[&str]) -> Lab {
        let before = net.on(SERVER);
        Lab::with(net, &before, options)
    }

    /// With an agent that is started behind these words.
    fn with(net: Net, before: &[String], options: &[&str]) -> Lab {
        let listen = format!("{}:0", net.address(SERVER));
        let mut words = vec!["agent", "--role", "server", "--listen", &listen, "--name", "s"];
        words.extend(["--insecure-token", "--allow-knobs"].iter().chain(options));
        let (agent, address) = serve(before, &words, "taillight agent s ready on ");
        Lab { agent, address, folder: tempfile::tempdir().unwrap(), net }
    }

    fn load(&self, words: &str) -> Process {
        self.run(&format!("load cache --keys 1000 --warmup 100ms --pace sleep --no-live {words}"))
    }

    /// A command of the laboratory whose servers the agent starts.
    fn run(&self, words: &str) -> Process {
        let out = self.folder.path().display().to_string();
        let mut all: Vec<&str> = words.split_whitespace().collect();
        all.extend(["--server-agent", &self.address, "--agents-insecure-token", "--out", &out]);
        start(&[], &all)
    }

    fn result(&self, name: &str) -> Experiment {
        results::ResultFolder::open(&self.folder.path().join(name)).unwrap().load().unwrap()
    }

    /// The processes on the agent's machine, except the agent itself.
    fn servers(&self) -> BTreeSet<u32> {
        let mut processes = self.net.processes(SERVER);
        processes.remove(&self.agent.pid());
        processes
    }

    /// Waits until `load` has as many servers.
    fn await_servers(&self, load: &mut Process, count: usize) -> BTreeSet<u32> {
        let deadline = Instant::now() + LONG;
        loop {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let servers = self.servers();
            if servers.len() == count {
                return servers;
            }
            if Instant::now() > deadline || !load.is_running() {
                panic!(
                    "{servers:?}, not {count}: {}",
                    load.not_ready("have its servers started".into(), LONG)
                );
            }
        }
    }
}

#[test]
fn a_server_elsewhere_is_started_measured_and_stopped() {
    let Some(lab) = Lab::new() else { return };
    let words = "--target sphinx --server-threads 2 --server-instances 2 --server-memory 64MiB --sphinx-arg=--io \
                 --sphinx-arg=epoll --rate 1k --window 300ms --name two";
    lab.load(words).wait_ran(LONG);
    assert_eq!(lab.servers(), BTreeSet::new());
    let result = lab.result("two");
    let target = &result.targets[0];
    assert_eq!(target.agent.as_deref(), Some(format!("s ({})", lab.address).as_str()));
    assert_eq!((target.form.as_str(), target.instances), ("bare", 2));
    let servers: Vec<&str> = target.address.split(',').collect();
    assert_eq!(servers.len(), 2);
    assert!(
        servers.iter().all(|one| one.starts_with(&format!("{}:", lab.net.address(SERVER)))),
        "{servers:?}"
    );
    assert!(target.host.as_ref().is_some_and(|host| host.is_object()), "{:?}", target.host);
    assert!(target.command.iter().any(|word| word == "epoll"), "{:?}", target.command);
    assert!(result.trials[0].arrivals.intended > 0 && result.complete);
    assert!(result.notes.iter().any(|note| note.contains("another machine")), "{:?}", result.notes);
}

#[test]
fn probes_look_on_the_servers_machine_and_its_processor_time_is_known() {
    let Some(lab) = Lab::new() else { return };
    let words = "--target sphinx --server-memory 64MiB --sphinx-arg=--io --sphinx-arg=epoll --rate 2k --connections 4 \
                 --window 5s --probe all --name seen";
    lab.load(words).wait_ran(LONG);
    let result = lab.result("seen");
    let (target, trial) = (&result.targets[0], &result.trials[0]);
    assert!(trial.counters["server_cpu_us_per_request"] > 0.0, "{:?}", trial.counters);
    assert!(trial.counters.contains_key("busiest_cpu_interrupt_share"), "{:?}", trial.counters);
    let [machine] = &trial.noise.server_machines[..] else { panic!("{:?}", trial.noise) };
    assert!(machine.foreign_cpu_share.is_some_and(|share| (0.0..=1.0).contains(&share)), "{machine:?}");
    let taken = trial.disturbance.as_ref().and_then(|disturbance| disturbance.server_taken_share);
    assert!(taken.is_some_and(|share| (0.0..=1.0).contains(&share)), "{taken:?}");
    let probes = trial.probes.as_ref().expect("they were asked for");
    let lacks = |probe: &str| probes.missing.iter().find(|missing| missing.probe == probe);
    assert!(probes.slots >= 3 && probes.asked.len() == 8, "{probes:?}");
    // The probes that need no privilege are present: the server's threads, its connections, its own counters.
    let scheduling = probes.scheduling.as_ref().expect("it takes nothing");
    assert!(scheduling.threads.iter().any(|thread| thread.running_share > 0.0), "{scheduling:?}");
    assert!(probes.sockets.is_some() || lacks("sockets").is_some(), "{:?}", probes.missing);
    assert!(probes.server.is_some(), "{:?}", probes.missing);
    // The stamps are the generator's, which is here.
    assert!(probes.client.is_some(), "{:?}", probes.missing);
    match (&probes.stages, lacks("stages")) {
        (Some(stages), _) => {
            assert!(stages.correlated > 0, "{stages:?}");
            assert!(probes.overhead.iter().any(|one| one.probe == "stages"), "{:?}", probes.overhead);
        }
        (None, Some(missing)) => {
            let machine = target.agent.as_deref().unwrap();
            assert!(missing.what.ends_with(&format!("on the machine of the agent {machine}")), "{missing:?}");
            println!("stages were not looked at: {}", missing.what);
        }
        (None, None) => panic!("{probes:?}"),
    }
    assert_eq!(lab.servers(), BTreeSet::new());
}

#[test]
fn a_coordinator_that_is_killed_leaves_no_server() {
    let Some(lab) = Lab::new() else { return };
    let mut load = lab.load("--target sphinx --server-memory 64MiB --rate 1k --window 50s --name killed");
    let servers = lab.await_servers(&mut load, 1);
    kill(load.pid(), Signal::KILL);
    servers.iter().for_each(|&pid| await_end(pid));
    // It serves on.
    let again = "--target sphinx --server-memory 64MiB --rate 1k --window 200ms --name again";
    lab.load(again).wait_ran(LONG);
}

#[test]
fn a_coordinator_behind_a_dead_network_is_given_up_after_the_lease() {
    let Some(lab) = Lab::new() else { return };
    let words = "--target sphinx --server-memory 64MiB --rate 1k --window 50s --agents-lease 2s --name dead";
    let mut load = lab.load(words);
    let servers = lab.await_servers(&mut load, 1);
    lab.net.plug(SERVER, false);
    servers.iter().for_each(|&pid| await_end(pid));
    drop(load);
    lab.net.plug(SERVER, true);
}

#[test]
fn an_agent_that_is_killed_takes_its_servers_along() {
    let Some(lab) = Lab::new() else { return };
    let mut load = lab.load("--target sphinx --server-memory 64MiB --rate 1k --window 50s --name lost");
    let servers = lab.await_servers(&mut load, 1);
    kill(lab.agent.pid(), Signal::KILL);
    servers.iter().for_each(|&pid| await_end(pid));
}

#[test]
fn settings_are_in_force_while_the_server_runs_and_reverted_after() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.net.congestion_control(SERVER);
    assert_ne!(before, "reno", "it would show nothing");
    let words = "--target sphinx --server-memory 64MiB --server-knob congestion-control=reno --rate 1k --window 50s \
                 --name knob";
    let load = lab.load(words);
    let becomes = |expect: &str| {
        (0..6_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            lab.net.congestion_control(SERVER) == expect
        })
    };
    assert!(becomes("reno"), "it stays {}", lab.net.congestion_control(SERVER));
    kill(load.pid(), Signal::KILL);
    assert!(becomes(&before), "it stays {}", lab.net.congestion_control(SERVER));
}

#[test]
fn what_it_may_not_start_is_refused() {
    let Some(lab) = Lab::new() else { return };
    let check = |words: &str, says: &str| {
        let mut load = lab.load(&format!("--rate 1k --window 200ms --name refused {words}"));
        let error = load.wait_success(LONG).unwrap_err().to_string();
        assert!(error.contains(says), "{words}: {error}");
        assert!(!lab.folder.path().join("refused").exists());
    };
    check("--target memcached --server-binary /bin/sh", "--allow /bin/sh");
    check("--target sphinx --form bridged", "own machine only");
    check("--target sphinx --sphinx-arg=--pidfile=/tmp/x", "'--pidfile=/tmp/x' is not an option");
    check("--target 127.0.0.1:1", "already runs");
    assert_eq!(lab.servers(), BTreeSet::new());
}

#[test]
fn a_server_behind_a_bridge_of_its_machine_is_reached_at_an_address_that_is_routed_there() {
    let Some(net) = Net::new(1) else { return };
    let range = net.route(SERVER);
    let before = net.within(SERVER);
    let lab = Lab::with(net, &before, &["--serve-range", &range]);
    let load = |form: &str| {
        let words = format!(
            "--target sphinx --server-memory 64MiB --rate 1k --window 1s --form {form} --name {form}"
        );
        lab.load(&words).wait_success(LONG)
    };
    let error = load("bridged").unwrap_err().to_string();
    assert!(error.contains("forwards no packets") && error.contains("ip_forward=1"), "{error}");
    lab.net.forward(SERVER);
    for form in ["bridged", "lxc"] {
        match load(form) {
            Ok(_) => {}
            // On a busy machine nothing may be known of the server; the trial is kept.
            Err(error) if error.to_string().contains("exit status: 75") => {}
            Err(error) if form == "lxc" && error.to_string().contains("lxc") => {
                println!("skipped: {form}: {error}");
                continue;
            }
            Err(error) => panic!("{form}: {error}"),
        }
        let result = lab.result(form);
        let (target, trial) = (&result.targets[0], &result.trials[0]);
        assert_eq!(target.form, form);
        let first = range.trim_end_matches("0/28");
        assert!(target.address.starts_with(first), "{} is not of {range}", target.address);
        assert!(trial.arrivals.completed > 0 && trial.arrivals.errors == 0, "{form}: {:?}", trial.errors);
        assert!(trial.counters["server_cpu_us_per_request"] > 0.0, "{form}: {:?}", trial.counters);
    }
}

/// A load on memcached in a container that an agent starts, of an engine that is there.
fn in_container_of(form: &str, docker: Option<&Docker>) {
    if let Some(missing) =
        [form, "memcached"].into_iter().find(|program| launch::find_program(program).is_none())
    {
        return println!("skipped: there is no {missing} here");
    }
    let Some(net) = Net::new(1) else { return };
    net.forward(SERVER);
    let range = net.route(SERVER);
    let mut before = net.within(SERVER);
    let daemon = docker.map(|docker| ["env".to_owned(), format!("DOCKER_HOST={}", docker.host())]);
    before.extend(daemon.into_iter().flatten());
    let lab = Lab::with(net, &before, &["--serve-range", &range]);
    let words =
        format!("--target memcached --server-memory 64MiB --rate 1k --window 1s --form {form} --name {form}");
    lab.load(&words).wait_ran(LONG);
    let result = lab.result(form);
    let (target, trial) = (&result.targets[0], &result.trials[0]);
    assert_eq!((target.form.as_str(), target.containers.len(), target.engine.is_some()), (form, 1, true));
    assert!(
        target.address.starts_with(range.trim_end_matches("0/28")),
        "{} is not of {range}",
        target.address
    );
    assert!(target.agent.as_deref().is_some_and(|agent| agent.starts_with("s (")), "{:?}", target.agent);
    assert!(trial.arrivals.completed > 0 && trial.arrivals.errors == 0, "{form}: {:?}", trial.errors);
    assert!(trial.counters["server_cpu_us_per_request"] > 0.0, "{form}: {:?}", trial.counters);
    assert_eq!(lab.servers(), BTreeSet::new());
}

#[test]
fn a_container_of_podman_on_its_machine_is_measured() {
    in_container_of("podman", None);
}

#[test]
fn a_container_of_docker_on_its_machine_is_measured() {
    let Some(docker) = Docker::start() else { return };
    in_container_of("docker", Some(&docker));
}

#[test]
fn pages_are_served_from_files_that_are_made_there() {
    let Some(lab) = Lab::new() else { return };
    if launch::find_program("nginx").is_none() {
        return println!("skipped: there is no nginx here");
    }
    let load = |words: &str, name: &str| {
        let words = format!(
            "load web --target nginx --warmup 100ms --window 500ms --rate 500 --pace sleep --no-live --name {name} {words}"
        );
        lab.run(&words)
    };
    let words = "--files 50x1KiB --files-seed 3 --verify checksum --server-threads 2 --nginx-set gzip=1";
    load(words, "pages").wait_ran(LONG);
    let result = lab.result("pages");
    let (target, trial) = (&result.targets[0], &result.trials[0]);
    assert!(target.agent.as_deref().is_some_and(|agent| agent.starts_with("s (")), "{:?}", target.agent);
    assert!(target.address.starts_with(&format!("{}:", lab.net.address(SERVER))), "{}", target.address);
    assert_eq!((trial.arrivals.errors, trial.counters["verify_failures"]), (0, 0.0), "{:?}", trial.errors);
    assert!(trial.arrivals.completed > 0 && trial.counters["success_ratio"] == 1.0);
    assert_eq!(lab.servers(), BTreeSet::new());
    // A folder of this machine does not exist on the agent's machine.
    let set = lab.folder.path().join("set").display().to_string();
    start(&[], &["fileset", "make", &set, "--files", "10x1KiB"]).wait_ran(LONG);
    let error = load(&format!("--file-set {set}"), "folder").wait_success(LONG).unwrap_err().to_string();
    assert!(error.contains("is one of this machine"), "{error}");
    let error =
        load("--files 50x1KiB --files-in /etc/none", "place").wait_success(LONG).unwrap_err().to_string();
    assert!(error.contains("may not choose folders"), "{error}");
}

/// Loads of Varnish in front of NGINX with services on the agent's machine and on this one.
struct Pair {
    lab: Lab,
}

impl Pair {
    /// `None`, with the reason printed, if a program or the network is unavailable.
    fn new() -> Option<Pair> {
        let lab = Lab::new()?;
        match ["varnishd", "nginx"].into_iter().find(|program| launch::find_program(program).is_none()) {
            None => Some(Pair { lab }),
            Some(missing) => {
                println!("skipped: there is no {missing} here");
                None
            }
        }
    }

    fn load(&self, name: &str, words: &str) -> Process {
        let out = self.lab.folder.path().display();
        let words = format!(
            "load web --target varnish-nginx --files 20x1KiB --warmup 100ms --rate 200 --pace sleep --no-live \
             --agents-insecure-token --out {out} --name {name} {words}"
        );
        start(&[], &words.split_whitespace().collect::<Vec<_>>())
    }
}

#[test]
fn each_service_has_its_machine() {
    let Some(pair) = Pair::new() else { return };
    let (lab, there) = (&pair.lab, format!("s ({})", pair.lab.address));
    let check = |name: &str, words: &str, nginx: bool, varnish: bool| {
        // Varnish compiles its configuration, which takes its time on a busy machine.
        pair.load(name, &format!("--window 1s {words}")).wait_ran(3 * LONG);
        let result = lab.result(name);
        let (target, trial) = (&result.targets[0], &result.trials[0]);
        let names: Vec<&str> = target.services.iter().map(|one| &one.name[..]).collect();
        assert_eq!(names, ["nginx", "varnish"]);
        for (service, is_there) in target.services.iter().zip([nginx, varnish]) {
            assert_eq!(service.agent.as_deref(), is_there.then_some(&there[..]), "{name}: {service:?}");
            let at_agent = service.addresses[0].starts_with(&format!("{}:", lab.net.address(SERVER)));
            assert_eq!(at_agent, is_there, "{name}: {service:?}");
        }
        assert_eq!(target.agent.as_deref(), varnish.then_some(&there[..]), "{name}");
        assert_eq!(target.address, target.services[1].addresses[0]);
        assert!(target.version.contains("varnish") && target.version.contains("nginx"), "{}", target.version);
        assert!(trial.arrivals.completed > 0 && trial.arrivals.errors == 0, "{name}: {:?}", trial.errors);
        // The resources used by each service are recorded, on whichever machine it ran.
        assert_eq!(trial.services.iter().map(|one| &one.name[..]).collect::<Vec<_>>(), names);
        for used in &trial.services {
            assert!(used.cpu_s.is_some() && used.resident_bytes.is_some_and(|bytes| bytes > 0), "{used:?}");
        }
        let asked = trial.services[0].counters.get("requests").copied();
        assert!(asked.is_none_or(|asked| asked >= 5.0), "{asked:?}");
        let per_request = trial.counters["server_cpu_us_per_request"];
        assert!(per_request > 0.0, "{name}: {per_request}");
        assert_eq!(trial.noise.server_machines.len(), 1, "{name}");
        assert!(
            result.notes.iter().any(|note| note.contains("started by the agent at")),
            "{:?}",
            result.notes
        );
        assert_eq!(lab.servers(), BTreeSet::new(), "{name}");
    };
    let agent = &lab.address;
    check("back", &format!("--server-set nginx.agent={agent}"), true, false);
    let here = lab.net.address(HERE);
    let front = format!("--server-set varnish.agent={agent} --server-set nginx.listen={here}");
    check("front", &front, false, true);
    check("both", &format!("--server-set agent={agent}"), true, true);
    // No service listens beyond loopback unless the user requests it.
    let error = pair.load("closed", &format!("--window 500ms --server-set varnish.agent={agent}"));
    let error = { error }.wait_success(LONG).unwrap_err().to_string();
    assert!(error.contains("--server-set nginx.listen=IP"), "{error}");
    assert_eq!(lab.servers(), BTreeSet::new());
}

#[test]
fn a_service_that_dies_on_another_machine_is_named_and_ends_the_trial() {
    let Some(pair) = Pair::new() else { return };
    let lab = &pair.lab;
    let set = format!("--window 5s --connections 8 --server-set nginx.agent={}", lab.address);
    let mut load = pair.load("dies", &set);
    let mut await_that = |holds: &dyn Fn() -> bool| {
        while !holds() {
            assert!(load.is_running(), "{:?}", load.wait_success(LONG));
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    // Written when all services run.
    let written = lab.folder.path().join("dies/result.json");
    await_that(&|| written.exists());
    // Before the generator has all of its connections it looks at a page: a service that ended then would be a failed start and no
    // trial.
    let front = lab.result("dies").targets[0].address.clone();
    await_that(&|| connections(&front) >= 8);
    // The first process started the others; shells that clean up run next to them.
    let is_nginx = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "nginx")
    };
    kill(lab.servers().into_iter().find(is_nginx).expect("it runs"), Signal::KILL);
    let error = load.wait_success(LONG).unwrap_err().to_string();
    assert!(error.contains("its service nginx ended") && error.contains(&lab.address), "{error}");
    let result = lab.result("dies");
    let results::Verdict::Invalid { reasons } = &result.trials[0].verdict else { panic!("{result:?}") };
    assert_eq!(reasons[0].reason, results::Reason::ServiceEnded);
    assert!(reasons[0].detail.contains("its service nginx ended"), "{reasons:?}");
    assert_eq!((result.trials.len(), result.complete), (1, false));
    assert_eq!(lab.servers(), BTreeSet::new());
}

/// Connections that a server of this machine has.
fn connections(address: &str) -> usize {
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let local = format!(":{port:04X}");
    let is_one = |line: &&str| {
        let mut fields = line.split_whitespace().skip(1);
        // Source of the state: TCP_ESTABLISHED in include/net/tcp_states.h.
        fields.next().is_some_and(|address| address.ends_with(&local)) && fields.nth(1) == Some("01")
    };
    table.lines().filter(is_one).count()
}

/// Two series that differ by a setting of the server's machine.
const STUDY: &str = "\
title = 'Elsewhere'
question = 'Q?'
source = 'S'
method = 'M'
[experiment.workload]
keys = 100
[experiment.target]
memory = '64MiB'
[experiment.generator]
connections = 4
pace = 'sleep'
drain = '50ms'
[experiment.time]
warmup = '50ms'
window = '1500ms'
[x]
label = 'load'
unit = 'rps'
sets = 'load.rate'
values.smoke = ['500rps']
values.quick = ['500rps']
values.full = ['500rps']
[[series]]
name = 'as it is'
[[series]]
name = 'reno'
set.knobs = ['congestion-control=reno']
[[series]]
name = 'behind a bridge'
set.target.form = 'bridged'
[effort.smoke]
blocks = 2
[effort.quick]
blocks = 2
[effort.full]
blocks = 2
[[figure]]
id = 'p50'
title = 'Median'
metric = 'latency_us_p50'
label = 'median'
unit = 'µs'
";

#[test]
fn a_study_has_its_servers_and_their_settings_on_another_machine() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.net.congestion_control(SERVER);
    assert_ne!(before, "reno", "it would show nothing");
    let study = lab.folder.path().join("definition");
    std::fs::create_dir(&study).unwrap();
    std::fs::write(study.join("study.toml"), STUDY).unwrap();
    std::fs::write(study.join("claims.toml"), "").unwrap();
    // The load comes from a third one, as far as processes go.
    let (_client, client) = agent(&[], "127.0.0.1", "c");
    let mut run = lab.run(&format!("study run {} --smoke --agents {client}", study.display()));
    // The setting is in force for the trials that ask for it, and for no others.
    let mut seen = BTreeSet::new();
    while run.is_running() {
        seen.insert(lab.net.congestion_control(SERVER));
    }
    run.wait_ran(LONG);
    assert_eq!(seen, BTreeSet::from([before.clone(), "reno".into()]));
    assert_eq!(lab.net.congestion_control(SERVER), before);
    assert_eq!(lab.servers(), BTreeSet::new());
    let mut folders = std::fs::read_dir(lab.folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.find(|folder| *folder != study).expect("a result");
    let record = results::study::StudyFolder::open(&folder).unwrap().load().unwrap();
    assert!(record.complete);
    let cells: Vec<&str> = record.cells.iter().map(|cell| cell.series.as_str()).collect();
    assert_eq!((cells.len(), cells.contains(&"as it is"), cells.contains(&"reno")), (4, true, true));
    assert!(
        record.limits.iter().any(|limit| limit.contains("started by the agent at")),
        "{:?}",
        record.limits
    );
    // A setting that the agent refuses is skipped, with the agent's reason.
    let [skipped] = &record.skipped[..] else { panic!("{:?}", record.skipped) };
    assert_eq!(skipped.what, "behind a bridge");
    assert!(skipped.reason.contains("own machine only"), "{}", skipped.reason);
    for bench in std::fs::read_dir(folder.join("experiments")).unwrap() {
        let result = results::ResultFolder::open(&bench.unwrap().path()).unwrap().load().unwrap();
        let target = &result.targets[0];
        assert!(result.trials.iter().all(|trial| trial.agents.len() == 1 && trial.agents[0].name == "c"));
        assert_eq!(target.agent.as_deref(), Some(format!("s ({})", lab.address).as_str()));
        assert!(target.address.starts_with(&format!("{}:", lab.net.address(SERVER))), "{}", target.address);
    }
}
