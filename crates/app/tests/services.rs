//! Applications of several services: order, death, stop, stores, counters.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use app::{
    Address, Addresses, Elsewhere, EndedPart, Machines, Placement, Plan, Running, RunningPart, StartReport,
    WatchOrder,
};
use tempfile::TempDir;

/// An application of the services in `text`, each a shell that runs a script.
fn plan(text: &str) -> (Plan, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    let text = format!("name = \"{name}\"\ntitle = \"T\"\n{text}");
    fs::write(folder.path().join("app.toml"), text).unwrap();
    fs::write(folder.path().join("list.j2"), "{{ services.back | length }} of {{ own }}").unwrap();
    let app = app::of_folder(folder.path()).unwrap_or_else(|e| panic!("{e}"));
    (Plan::new(Arc::new(app), Path::new("/no/such/taillight")), folder)
}

fn names(running: &Running) -> Vec<String> {
    running.services().map(|service| service.service.name.clone()).collect()
}

const TWO: &str = r#"
[[service]]
name = "front"
calls = ["back"]
program = { name = "sh" }
args = ["-c", "echo front up; exec sleep 600"]
file = [{ path = "conf/list", template = "list.j2", record = true }]
ready = { line = "front up" }
[[service]]
name = "back"
program = { name = "sh" }
args = ["-c", "echo 'last words' >&2; echo back up; while [ ! -e die ]; do sleep 0.02; done; exit 3"]
own-folder = true
prepare = [{ program = "sh", args = ["-c", "echo {{ settings.word }} >> prepared"] }]
setting = [{ name = "word", doc = "d", type = "text", default = "usual" }]
ready = { line = "back up", error-line = "words" }
"#;

fn folder_of(running: &Running, service: &str) -> std::path::PathBuf {
    let found = running.services().find(|one| one.service.name == service).unwrap();
    found.instances[0].process.spec().dir.clone().unwrap()
}

/// Waits until `holds`, for which a minute is ample.
fn await_that(holds: impl FnMut() -> bool) {
    assert!(launch::testing::comes_true(holds), "not so after a minute");
}

#[test]
fn services_start_behind_those_that_they_call_and_leave_nothing() {
    let (mut plan, _folder) = plan(TWO);
    plan.set(&["word=changed"]).unwrap();
    let mut running = plan.start().unwrap();
    assert_eq!(names(&running), ["back", "front"]);
    assert!(running.gone().is_none());
    let (back, front) = (folder_of(&running, "back"), folder_of(&running, "front"));
    let prepared = || fs::read_to_string(back.join("prepared")).unwrap();
    assert_eq!(prepared(), "changed\n");
    let list = format!("1 of {}", front.display());
    assert_eq!(fs::read_to_string(front.join("conf/list")).unwrap(), list);
    assert_eq!(running.services().last().unwrap().configuration, Some(list.as_str()));
    let before = running.pids();
    running.restart().unwrap();
    assert_eq!(prepared(), "changed\n", "a folder is prepared once");
    assert!(running.pids().iter().all(|pid| !before.contains(pid)));
    let pids = running.pids();
    assert!(pids.len() >= 2 && front.exists());
    drop(running);
    assert!(!back.exists() && !front.exists());
    await_that(|| {
        !pids.iter().any(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty()))
    });
}

#[test]
fn a_service_that_dies_is_named_with_its_last_words() {
    let (plan, _folder) = plan(TWO);
    let mut running = plan.start().unwrap();
    fs::write(folder_of(&running, "back").join("die"), "").unwrap();
    let mut gone = None;
    await_that(|| {
        gone = running.gone();
        gone.is_some()
    });
    let (name, how, last) = ("back".into(), "exit status: 3".into(), vec!["last words".into()]);
    assert_eq!(gone, Some(EndedPart::Service { instance: 0, name, how, last }));
}

#[test]
fn what_cannot_start_is_named() {
    let check = |old: &str, new: &str, says: &[&str]| {
        assert!(TWO.contains(old), "{old}");
        let (plan, _folder) = plan(&TWO.replace(old, new));
        let error = plan.start().err().unwrap().to_string();
        assert!(says.iter().all(|words| error.contains(words)), "{new}: {error}");
    };
    check(
        "echo front up; exec sleep 600",
        "echo no luck >&2; exit 7",
        &["front ended before it was ready", "no luck"],
    );
    check("echo {{ settings.word }} >> prepared", "exit 5", &["back: sh ended", "exit status: 5"]);
}

#[test]
fn a_service_that_does_not_become_ready_is_told_so() {
    let text = TWO.replace("{ line = \"front up\" }", "{ line = \"other\", within = \"100ms\" }");
    let (plan, _folder) = plan(&text);
    let error = plan.start().err().unwrap().to_string();
    assert!(error.contains("front did not print a line 'other…'"), "{error}");
    assert!(error.contains("back: last words"), "also what a service that it calls has said: {error}");
}

#[test]
fn checks_forms_and_arguments_refuse_before_anything_starts() {
    let check = |line: &str, change: fn(&mut Plan), says: &str| {
        let (mut plan, _folder) = plan(&TWO.replace("own-folder = true", line));
        change(&mut plan);
        let error = plan.start().err().unwrap().to_string();
        assert!(error.contains(says), "{line}: {error}");
    };
    let holds =
        "own-folder = true\ncheck = [{ holds = \"threads > 1\", message = \"{{ threads }} are too few\" }]";
    check(holds, |_| (), "back: 1 are too few");
    let forms = "own-folder = true\nforms = [\"bridged\"]";
    check(forms, |_| (), "back: it does not run in the form bare; use --form bridged");
    let args = |plan: &mut Plan| {
        plan.place_all(&Placement { args: vec!["-x".into()], ..Placement::default() });
    };
    check("own-folder = true", args, "it takes no further arguments, and '-x' was given");
    check("own-folder = true\nneeds = [\"files\"]", |_| (), "back must have something to serve");
    check("own-folder = true\nenv = { A = \"{{ unknown }}\" }", |_| (), "back: line 1: undefined value");
}

#[test]
fn memcached_counts_and_forgets() {
    let app = Arc::new(app::of_name("memcached").unwrap());
    let mut plan = Plan::new(app, Path::new("/x"));
    plan.placement_mut("memcached").unwrap().instances = 2;
    plan.placement_mut("memcached").unwrap().threads = 2;
    let running = match plan.start() {
        Ok(running) => running,
        Err(app::Error::Launch(error @ launch::Error::NotFound { .. })) => {
            println!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let count = |name: &str| running.counters("memcached").unwrap().unwrap()[name];
    let address = running.address(None);
    let first = address.split(',').next().unwrap();
    assert_eq!(address.split(',').count(), 2);
    let mut stream = std::net::TcpStream::connect(first).unwrap();
    std::io::Write::write_all(&mut stream, b"set a 0 0 1\r\nx\r\n").unwrap();
    let mut stored = [0; 8];
    std::io::Read::read_exact(&mut stream, &mut stored).unwrap();
    assert_eq!(&stored, b"STORED\r\n");
    assert_eq!((count("cmd_set"), count("cmd_flush"), count("threads")), (1.0, 0.0, 2.0));
    running.reset().unwrap();
    assert_eq!(count("cmd_flush"), 2.0);
}

#[test]
fn each_thread_of_memcached_gets_a_processor() {
    let app = Arc::new(app::of_name("memcached").unwrap());
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let allowed: units::CpuList = allowed.trim().parse().unwrap();
    if allowed.len() < 2 {
        println!("skipped: it takes two processors");
        return;
    }
    let mut plan = Plan::new(app, Path::new("/no/such/taillight"));
    plan.set(&["pin=on"]).unwrap();
    let placement = plan.placement_mut("memcached").unwrap();
    (placement.threads, placement.cpus) = (2, allowed.as_slice()[..2].to_vec());
    let running = match plan.start() {
        Err(app::Error::Launch(launch::Error::NotFound { .. })) => {
            println!("skipped: there is no memcached");
            return;
        }
        started => started.unwrap(),
    };
    let mut pinned = Vec::new();
    for task in fs::read_dir(format!("/proc/{}/task", running.pids()[0])).unwrap() {
        let task = task.unwrap().path();
        if fs::read_to_string(task.join("comm")).unwrap().trim() == "mc-worker" {
            let status = fs::read_to_string(task.join("status")).unwrap();
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
            pinned.push(list.trim().parse::<usize>().unwrap());
        }
    }
    pinned.sort_unstable();
    assert_eq!(pinned, allowed.as_slice()[..2]);
}

#[test]
fn an_embedded_server_prints_its_address() {
    // In place of this program: it prints the line of Sphinx and its own arguments.
    let folder = tempfile::tempdir().unwrap();
    let exe = folder.path().join("fake");
    let script = "echo \"sphinxd ready on 127.0.0.1:4711 with 2 threads\"\nexec sleep 600";
    launch::testing::write_program(&exe, script);
    let mut plan = Plan::new(Arc::new(app::of_name("sphinx").unwrap()), &exe);
    let memory = units::Bytes(64 << 20);
    let args = vec!["--io=epoll".into()];
    plan.place_all(&Placement { threads: 2, memory, cpus: vec![0], args, ..Placement::default() });
    plan.set(&["sharing=read"]).unwrap();
    let running = plan.start().unwrap();
    assert_eq!(running.address(None), "127.0.0.1:4711");
    let service = running.services().next().unwrap();
    let expect = "serve sphinx --port 0 --eager-memory --cpus 0 -t 2 -m 64 -c 1024 --sharing read --io=epoll";
    assert_eq!(service.instances[0].process.spec().args.join(" "), expect);
    assert!(service.version().starts_with("sphinx "));
}

/// A fake machine that records its calls.
#[derive(Clone, Default)]
struct Pretend {
    told: Arc<Mutex<Vec<String>>>,
    gone: Arc<Mutex<Option<String>>>,
}

impl Pretend {
    fn note(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }

    /// The calls since the last query.
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

impl Machines for Pretend {
    fn open(&self, agent: &str, services: &[String]) -> Result<Box<dyn Elsewhere>, String> {
        self.note(format!("open {agent}: {}", services.join(" ")));
        if agent.starts_with("lost") { Err("it does not answer".into()) } else { Ok(Box::new(self.clone())) }
    }
}

impl Elsewhere for Pretend {
    fn name(&self) -> &str {
        "b (h:1)"
    }

    fn start(&mut self, called: &Addresses) -> Result<StartReport, String> {
        self.note(format!("start with {}", serde_json::to_string(called).unwrap()));
        let instances = [1, 2].map(|port| vec![Address::Tcp(([10, 0, 0, 5], port).into())]);
        let addresses = Addresses::from([("back".into(), instances.to_vec())]);
        Ok(StartReport { addresses, record: "record".into(), took: Duration::from_secs(7) })
    }

    fn halt(&mut self) -> Result<Duration, String> {
        self.note("halt".into());
        Ok(Duration::from_secs(5))
    }

    fn usage(&self) -> Result<String, String> {
        Ok("usage".into())
    }

    fn watch(&self, what: &WatchOrder<'_>) -> Result<String, String> {
        Ok(format!("{what:?}"))
    }

    fn gone(&mut self) -> Option<String> {
        self.gone.lock().unwrap().clone()
    }

    fn stop(&mut self) {
        self.note("stop".into());
    }
}

#[test]
fn a_service_of_another_machine_starts_before_its_caller_and_stops_after_it() {
    let machine = Pretend::default();
    let (mut plan, _folder) = plan(&TWO.replace("own-folder = true", "listen = [{ port = 80 }]"));
    plan.set(&["back.agent=h:1"]).unwrap();
    let mut running = plan.clone().start_with(Some(&machine)).unwrap();
    assert_eq!(machine.told(), ["open h:1: back", "start with {}"]);
    // The caller knows both instances.
    let list = running.services().next().unwrap().configuration.unwrap().to_owned();
    assert!(list.starts_with("2 of "), "{list}");
    let parts: Vec<String> = running
        .parts()
        .map(|part| match part {
            RunningPart::Here(one) => one.service.name.clone(),
            RunningPart::Elsewhere(away) => format!("{:?} on {}", away.services(), away.name()),
        })
        .collect();
    assert_eq!(parts, ["[\"back\"] on b (h:1)", "front"]);
    assert_eq!(running.gone(), None);
    // Its times come from the other machine's clock.
    let pids = running.pids();
    let restart = running.restart().unwrap();
    assert!(restart.stop >= Duration::from_secs(5) && restart.start >= Duration::from_secs(7));
    assert_eq!(machine.told(), ["halt", "start with {}"]);
    assert!(running.pids().iter().all(|pid| !pids.contains(pid)));
    *machine.gone.lock().unwrap() = Some("it was lost".into());
    assert_eq!(
        running.gone(),
        Some(EndedPart::Elsewhere { name: "b (h:1)".into(), why: "it was lost".into() })
    );
    running.stop();
    assert_eq!(machine.told(), ["stop"]);
    // Without a machine of that name, and with one that does not answer.
    let error = plan.clone().start().err().unwrap().to_string();
    assert!(error.contains("back: the agent at h:1 is to run it"), "{error}");
    plan.set(&["back.agent=lost:1"]).unwrap();
    let error = plan.start_with(Some(&machine)).err().unwrap().to_string();
    assert!(error.contains("back: it does not answer"), "{error}");
}

#[test]
fn one_service_alone_is_told_where_the_others_are() {
    let (mut plan, _folder) = plan(TWO);
    plan.only = vec!["front".into()];
    let back = vec![vec!["10.0.0.5:80".to_owned().try_into().unwrap()]];
    plan.called = Addresses::from([("back".into(), back)]);
    let mut running = plan.start().unwrap();
    assert_eq!(names(&running), ["front"]);
    let list = |running: &Running| running.services().next().unwrap().configuration.unwrap().to_owned();
    assert!(list(&running).starts_with("1 of "), "{}", list(&running));
    running.halt().unwrap();
    assert!(running.pids().is_empty() && running.gone().is_none());
    running.resume(Some(Addresses::new())).unwrap_err();
}
