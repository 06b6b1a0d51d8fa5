//! An application that is made from source: kinds of services, builds, a data set, stores that begin with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::{App, BuildOutcome, Making, Plan, Running, Starting};
use tempfile::TempDir;

/// Two kinds: programs that are built, which listen and answer counters, and a store of files. The shell and Python stand for
/// languages.
const TWO_KINDS: &str = r#"
name = "made"
title = "T"

[[setting]]
name = "films"
doc = "d"
type = "integer"
default = 2

[[build]]
name = "python"
languages = ["Python"]
script = "build/python.sh"

[[build]]
name = "other"
languages = ["Other"]
script = "build/other.sh"

[data]
program = "sh"
script = "data/make.sh"
args = ["{{ settings.films }}"]
whole = "manifest"

[kind.service]
account = "nobody"
written = true
methods = ["read"]
program = { name = "made-{{ service }}", built = true }
args = ["{{ own }}/service.conf"]
file = [{ path = "service.conf", template = "service.conf.j2" }]
listen = [{ port = 9090 }]
ready = { line = "ready " }
serving = { path = "service.conf", line = "threads=" }
counters = { thrift = "counters" }

[kind.python]
kind = "service"
language = "Python"
threads = 3

[[service]]
name = "front"
number = 1
kind = "python"
calls = ["plot", "ads"]
optional = ["ads"]
instances = 2

[[service]]
name = "plot"
number = 2
kind = "python"
stores = ["films"]
caches = ["films"]
needs = ["data"]

[[service]]
name = "ads"
number = 3
kind = "python"

[[service]]
name = "films-cache"
number = 4
program = { name = "sh" }
args = ["-c", "exec sleep 600"]

[[cache]]
name = "films"
services = ["films-cache"]

[[service]]
name = "films-db"
number = 5
account = "nobody"
program = { name = "sh" }
args = ["-c", "echo up; exec sleep 600"]
prepare = [{ program = "mkdir", args = ["data"] }]
ready = { line = "up" }

[[store]]
name = "films"
service = "films-db"
[store.seed]
folder = "data"
check = { program = "sh", args = ["-c", "cat data/*"] }
[[store.seed.step]]
program = "sh"
args = ["-c", "cat > data/schema"]
data = "films/schema.sql"
[[store.seed.step]]
program = "sh"
args = ["-c", "cat > data/table-{{ table.name }}"]
data = "films/*.tsv"

[[member]]
name = "batch"
number = 6
role = "r"
runs = "by hand"
"#;

const CONF: &str = "service={{ service }} {{ number }} {{ instance }}
listen={{ address }}
threads={{ threads }}
data={{ data }}
callers={% for one in callers %}{{ one.name }}*{{ one.instances }} {% endfor %}

{% for name in calls %}
upstream.{{ name }}={{ services[name] | map(attribute='address') | join(',') }}{{ ' optional' if name in optional }}
{% endfor %}
{% for name, all in stores | items %}
store.{{ name }}={{ all | map(attribute='own') | join(',') }} {{ all[0].near }}
{% endfor %}
{% for name, all in caches | items %}
cache.{{ name }}={{ all | length }}
{% endfor %}
";

/// Answers every frame with a map of one number.
const SERVER: &str = r#"#!/usr/bin/env python3
import socket, struct, sys
conf = dict(line.split("=", 1) for line in open(sys.argv[1]).read().split("\n") if "=" in line)
host, port = conf["listen"].rsplit(":", 1)
listener = socket.create_server((host, int(port)))
print("ready " + conf["service"], flush=True)
text = lambda words: struct.pack(">I", len(words)) + words
while True:
    taken, _ = listener.accept()
    if taken.recv(4096):
        answer = struct.pack(">I", 0x80010002) + text(b"counters") + bytes(4) + bytes([13, 0, 0, 11, 10])
        answer += struct.pack(">I", 1) + text(b"requests") + struct.pack(">q", 7) + bytes(1)
        taken.sendall(struct.pack(">I", len(answer)) + answer)
    taken.close()
"#;

const BUILD: &str = "#!/bin/sh
set -e
echo building from $1
mkdir -p $2/bin
for name in front plot ads; do cp $1/services/server.py $2/bin/made-$name; chmod 755 $2/bin/made-$name; done
echo built >> $2/builds
";

const DATA: &str = "set -e
echo begun
mkdir -p $1/films
echo schema > $1/films/schema.sql
seq $2 > $1/films/movies.tsv
seq 3 > $1/films/plots.tsv
chmod -R a+rX $1
echo made >> LOG
touch $1/manifest
";

struct Fixture {
    root: TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let root = tempfile::tempdir().unwrap();
        // The account of services looks in.
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let fixture = Fixture { root };
        for (name, text) in [
            ("app.toml", TWO_KINDS),
            ("service.conf.j2", CONF),
            ("services/server.py", SERVER),
            ("build/python.sh", BUILD),
            ("build/other.sh", "echo 'other.sh: missing packages: otherlang'; exit 3\n"),
            ("data/make.sh", &DATA.replace("LOG", &fixture.root.path().join("log").display().to_string())),
        ] {
            fixture.write(name, text);
        }
        fixture
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.root.path().join("made").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn app(&self) -> Arc<App> {
        Arc::new(app::of_folder(&self.root.path().join("made")).unwrap_or_else(|e| panic!("{e}")))
    }

    fn out(&self) -> PathBuf {
        self.root.path().join("out")
    }

    fn build(&self, name: &str) -> BuildOutcome {
        let app = self.app();
        let build = app.builds.iter().find(|build| build.name == name).unwrap();
        app.build(build, &self.out(), &mut |_| true).unwrap()
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.root.path().join(name)).map_or(0, |text| text.lines().count())
    }

    /// With an existing data set, since its default folder is the user's.
    fn plan(&self) -> Plan {
        let mut plan = Plan::new(self.app(), Path::new("/no/such/taillight"));
        let data = self.root.path().join("data");
        if !data.exists() {
            let args = [data.display().to_string(), "2".into()];
            let script = self.root.path().join("made/data/make.sh");
            assert!(std::process::Command::new("sh").arg(script).args(args).status().unwrap().success());
        }
        plan.data = Some(data);
        plan.built = vec![self.out()];
        plan.cache = Some(self.root.path().join("cache"));
        plan
    }
}

fn has_python() -> bool {
    let there = std::process::Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped: there is no python3");
    }
    there
}

fn folder_of(running: &Running, service: &str) -> PathBuf {
    let found = running.services().find(|one| one.service.name == service).unwrap();
    found.instances[0].process.spec().dir.clone().unwrap()
}

#[test]
fn an_application_of_two_kinds_is_built_and_runs() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    let error = fixture.plan().start().err().unwrap().to_string();
    assert!(error.contains("made from source") && error.contains("out/bin"), "{error}");
    assert!(!fixture.root.path().join("cache").exists(), "no data are made for what does not start");
    assert_eq!(fixture.app().not_built(&[fixture.out()])["python"], ["front", "plot", "ads"]);
    assert!(matches!(fixture.build("python"), BuildOutcome::Made(_)));
    assert!(fixture.app().not_built(&[fixture.out()]).is_empty());
    assert_ne!(fixture.app().built_folder(), Fixture::new().app().built_folder(), "each folder has its own");
    let mut told = Vec::new();
    let running = fixture.plan().start_telling(&mut |starting| {
        if let Starting::Ready { service, instance, pid, addresses, .. } = starting {
            assert!(*pid > 0);
            told.push((format!("{service}.{instance}"), addresses.to_vec()));
        }
        true
    });
    let running = running.unwrap();
    let ready: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    let place = |name: &str| ready.iter().position(|one| *one == name).unwrap();
    assert_eq!(ready.len(), 6, "{ready:?}");
    assert!(place("films-db.0") < place("plot.0") && place("plot.0") < place("front.0"), "{ready:?}");
    let conf = |service: &str| fs::read_to_string(folder_of(&running, service).join("service.conf")).unwrap();
    let address = |name: &str| told[place(name)].1[0].to_string();
    let front = conf("front");
    assert!(front.starts_with("service=front 1 0\n"), "{front}");
    assert!(front.contains(&format!("\nupstream.plot={}\n", address("plot.0"))), "{front}");
    assert!(front.contains(&format!("\nupstream.ads={} optional\n", address("ads.0"))), "{front}");
    assert!(front.contains("\ndata=\n") && front.contains("\nthreads=2\n"), "of three for two: {front}");
    let serving = |name: &str| running.services().find(|one| one.service.name == name).unwrap().serving();
    assert_eq!((serving("front"), serving("films-cache")), (Some(3), None), "all instances together");
    let plot = conf("plot");
    let db = folder_of(&running, "films-db").display().to_string();
    assert!(plot.contains(&format!("\nstore.films={db} True\ncache.films=1\n")), "{plot}");
    assert!(plot.contains("\ncallers=front*2 \n"), "{plot}");
    assert!(plot.contains(&format!("\ndata={}\n", fixture.root.path().join("data").display())), "{plot}");
    let db = PathBuf::from(db).join("data");
    assert_eq!(fs::read_to_string(db.join("table-movies")).unwrap(), "1\n2\n");
    assert_eq!(fs::read_to_string(db.join("table-plots")).unwrap(), "1\n2\n3\n");
    assert_eq!(fs::read_to_string(db.join("schema")).unwrap(), "schema\n");
    assert_eq!(running.address(None), format!("{},{}", address("front.0"), address("front.1")));
    let counters = running.counters("front").unwrap().unwrap();
    assert_eq!(counters["requests"] as u64, 14, "of two instances");
}

#[test]
fn an_instance_that_ended_is_started_anew_where_it_was() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    fixture.build("python");
    let mut running = fixture.plan().start().unwrap();
    let addresses = running.address(None);
    for (service, number, says) in [
        ("front", 1, "instance 1 runs; one that has ended can be started anew"),
        ("front", 2, "there is no instance 2; 2 were started, from 0 on"),
        ("fronts", 0, "it does not run on this machine"),
    ] {
        let error = running.revive(service, number).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let front = running.services().find(|one| one.service.name == "front").unwrap();
    let pid = rustix::process::Pid::from_raw(front.instances[1].pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    while running.gone().is_none() {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    running.revive("front", 1).unwrap();
    assert_eq!((running.gone(), running.address(None)), (None, addresses));
    assert_eq!(running.counters("front").unwrap().unwrap()["requests"] as u64, 14, "both answer");
}

#[test]
fn a_start_ends_when_it_is_told_so() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    fixture.build("python");
    let stopped = fixture
        .plan()
        .start_telling(&mut |starting| !matches!(starting, Starting::Begun { service: "front", .. }));
    assert!(matches!(stopped, Err(app::Error::Stopped)));
}

#[test]
fn what_was_built_of_the_same_sources_is_not_built_again() {
    let fixture = Fixture::new();
    assert!(matches!(fixture.build("python"), BuildOutcome::Made(_)));
    assert_eq!((fixture.build("python"), fixture.lines("out/builds")), (BuildOutcome::There, 1));
    fixture.write("README.md", "no source");
    assert_eq!(fixture.build("python"), BuildOutcome::There);
    fixture.write("services/server.py", &format!("{SERVER}#\n"));
    assert!(matches!(fixture.build("python"), BuildOutcome::Made(_)));
    assert_eq!(fixture.lines("out/builds"), 2);
    let missing = vec!["other.sh: missing packages: otherlang".to_owned()];
    assert_eq!(fixture.build("other"), BuildOutcome::Missing(missing));
    fixture.write("build/python.sh", "echo one; echo no luck >&2; exit 1\n");
    let BuildOutcome::Failed { last, log } = fixture.build("python") else { panic!("it fails") };
    assert_eq!(
        (last.join(" ").as_str(), fs::read_to_string(log).unwrap().lines().count()),
        ("one no luck", 2)
    );
    fs::remove_file(fixture.root.path().join("made/build/other.sh")).unwrap();
    let missing = vec!["there is no build/other.sh beside the description".to_owned()];
    assert_eq!(fixture.build("other"), BuildOutcome::Missing(missing));
    fixture.write("build/python.sh", BUILD);
    assert!(matches!(fixture.build("python"), BuildOutcome::Made(_)), "what failed is no build");
}

#[test]
fn databases_go_on_with_what_was_written() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    fixture.build("python");
    let plan = || {
        let mut plan = fixture.plan();
        plan.kept = Some(fixture.root.path().join("kept"));
        plan
    };
    let movies = |running: &Running| folder_of(running, "films-db").join("data/table-movies");
    let running = plan().start().unwrap();
    let written = movies(&running);
    assert_eq!(fs::read_to_string(&written).unwrap(), "1\n2\n");
    fs::write(&written, "written").unwrap();
    drop(running);
    let running = plan().start().unwrap();
    assert_ne!(movies(&running), written, "another folder, which leads to the same data");
    assert_eq!(fs::read_to_string(movies(&running)).unwrap(), "written");
    drop(running);
    let data = fixture.root.path().join("data");
    fs::write(data.join("films/movies.tsv"), "9\n").unwrap();
    fs::write(data.join("manifest"), "other").unwrap();
    let error = plan().start().err().unwrap().to_string();
    let says = format!("began with another data set in {}, or belong to another account;", data.display());
    assert!(error.contains(&says), "{error}");
    let kept = fixture.root.path().join("kept");
    assert_eq!(fs::read_to_string(kept.join("films-db-0/data/table-movies")).unwrap(), "written");
    // As `up --fresh` does.
    fs::remove_dir_all(&kept).unwrap();
    let running = plan().start().unwrap();
    assert_eq!(fs::read_to_string(movies(&running)).unwrap(), "9\n");
}

#[test]
fn databases_go_on_with_a_data_set_that_was_moved() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    fixture.build("python");
    let plan = |data: &str| {
        let mut plan = fixture.plan();
        plan.kept = Some(fixture.root.path().join("kept"));
        plan.data = Some(fixture.root.path().join(data));
        plan
    };
    let movies = |running: &Running| folder_of(running, "films-db").join("data/table-movies");
    let running = plan("data").start().unwrap();
    fs::write(movies(&running), "written").unwrap();
    drop(running);
    fs::rename(fixture.root.path().join("data"), fixture.root.path().join("moved")).unwrap();
    let running = plan("moved").start().unwrap();
    assert_eq!(fs::read_to_string(movies(&running)).unwrap(), "written");
}

#[test]
fn a_data_set_that_cannot_be_made_is_told() {
    let fixture = Fixture::new();
    let mut plan = fixture.plan();
    let root = fixture.root.path().join("data");
    let mut nothing = |_: &Making| true;
    assert_eq!(plan.make_data_set(&mut nothing).unwrap(), Some(root.clone()));
    fs::remove_file(root.join("manifest")).unwrap();
    let error = plan.make_data_set(&mut nothing).unwrap_err().to_string();
    assert!(
        error.contains("made: cannot make its data set:") && error.contains("holds no manifest"),
        "{error}"
    );
    fs::write(root.join("manifest"), "").unwrap();
    fs::remove_file(root.join("films/plots.tsv")).unwrap();
    fs::remove_file(root.join("films/movies.tsv")).unwrap();
    fixture.build("python");
    plan.data = Some(root);
    let error = plan.start().err().unwrap().to_string();
    assert!(error.contains("there is no films/*.tsv in"), "{error}");
}

#[test]
fn mistakes_of_the_registry_are_named() {
    let check = |old: &str, new: &str, says: &[&str]| {
        assert!(TWO_KINDS.contains(old), "{old}");
        let fixture = Fixture::new();
        fixture.write("app.toml", &TWO_KINDS.replacen(old, new, 1));
        let error = app::of_folder(&fixture.root.path().join("made")).unwrap_err().to_string();
        assert!(says.iter().all(|words| error.contains(words)), "{new}: {error}");
    };
    check("number = 3", "number = 2", &["number 2: 'ads' and 'plot' both have it"]);
    check("number = 6", "number = 5", &["number 5: 'batch' and 'films-db' both have it"]);
    check(
        "stores = [\"films\"]",
        "stores = [\"film\"]",
        &["service 'plot': stores", "did you mean 'films'?"],
    );
    check("caches = [\"films\"]", "caches = [\"x\"]", &["service 'plot': caches: there is no cache 'x'"]);
    check(
        "optional = [\"ads\"]",
        "optional = [\"films-db\"]",
        &["service 'front': optional: it is one of `calls`"],
    );
    check(
        "methods = [\"read\"]",
        "methods = []",
        &["service 'front': it is written here and has no `methods`"],
    );
    check("methods = [\"read\"]", "methods = [\"a\", \"a\"]", &["two methods of one service are called 'a'"]);
    check("build/other.sh", "/build/other.sh", &["script '/build/other.sh': a path within the folder"]);
    check("data/make.sh", "../make.sh", &["script '../make.sh': a path within the folder"]);
    check("threads = 3", "threads = 0", &["service 'front': threads: a number from 1 to 256"]);
    check("data = \"films/schema.sql\"", "data = \"/etc/passwd\"", &["a path within the data set"]);
    check(
        "services = [\"films-cache\"]",
        "services = [\"film-cache\"]",
        &["cache 'films': there is no service"],
    );
    check("name = \"batch\"", "name = \"ads\"", &["two members are called 'ads'"]);
    check(
        "threads = 3",
        "thread = 3",
        &["of kind 'python' (line", "of kind 'service' (line", "did you mean 'threads'?"],
    );
}
