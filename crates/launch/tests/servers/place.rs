use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use launch::memcached::{self, Memcached, Options};
use launch::{Error, Form, Instance, PlaceRequest, Places, User};
use units::Bytes;

use crate::{tenant, traces};

pub(crate) const LONG: Duration = Duration::from_secs(60);
const PORT: u16 = 11211;

/// memcached and places of these forms for it; prints the reason and returns `None` if one is unavailable here.
pub(crate) fn places(forms: &[Form]) -> Option<(Memcached, Places)> {
    let skip = |why: String| println!("skipped: {why}");
    if !User::is_root() {
        skip("needs root".into());
        return None;
    }
    let found = memcached::find().map_err(|error| skip(error.to_string())).ok()?;
    let wanted: Vec<PlaceRequest<'_>> = forms.iter().map(|form| place(*form, &found.path)).collect();
    match Places::prepare(&wanted) {
        Ok(places) => Some((found, places)),
        Err(error @ (Error::NotFound { .. } | Error::NoForm { .. })) => {
            skip(error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn place(form: Form, program: &Path) -> PlaceRequest<'_> {
    PlaceRequest { form, program, image: None }
}

/// Starts memcached in a place, pinned to the last processor, and returns its address.
pub(crate) fn start(memcached: &Memcached, places: &Places, place: usize) -> (Instance, SocketAddr) {
    let options = Options {
        threads: 1,
        memory: Bytes(16 << 20),
        connections: 64,
        cpus: Some(vec![last_cpu()]),
        extra: vec![],
    };
    let spec = memcached.spec_at(SocketAddr::new(places.listen(place), PORT), &options);
    let mut instance = places.start(place, spec).unwrap();
    let address = SocketAddr::new(places.address(place), PORT);
    instance.await_answer(address, LONG).unwrap();
    (instance, address)
}

fn last_cpu() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    (0..1024).rfind(|&cpu| allowed.is_set(cpu)).unwrap()
}

/// The answer to one command.
fn ask(address: SocketAddr, command: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.trim_end().into()
}

/// The value of a line of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.split(':').next() == Some(name)).unwrap();
    line.split_once(':').unwrap().1.trim().into()
}

fn namespace(pid: &str, kind: &str) -> String {
    fs::read_link(format!("/proc/{pid}/ns/{kind}")).unwrap().display().to_string()
}

/// TCP's congestion control of process `pid`: `/proc/sys/net` shows each process its own namespace.
fn congestion_control(pid: u32) -> String {
    let words = ["--target", &pid.to_string(), "--net", "cat", "/proc/sys/net/ipv4/tcp_congestion_control"];
    let output = Command::new("nsenter").args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// The control groups of process `pid`, a path in each hierarchy.
fn groups(pid: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    text.lines().map(|line| line.splitn(3, ':').last().unwrap().to_owned()).collect()
}

/// Not a test by itself: the role that the tests of each form run as a tenant.
#[test]
fn role_of_one_that_serves() {
    let Some(form) = tenant::form() else { return };
    let before = tenant::files();
    let Some((memcached, places)) = places(&[form; 2]) else { return };
    let name = places.names()[0].to_owned();
    let (one, at_one) = start(&memcached, &places, 0);
    let (other, at_other) = start(&memcached, &places, 1);
    assert_ne!(at_one.ip(), at_other.ip());
    let own_groups = groups(std::process::id());
    for (instance, address) in [(&one, at_one), (&other, at_other)] {
        assert_eq!(ask(address, "version"), format!("VERSION {}", memcached.version));
        // The same program with the same rights on the same processor, in every form.
        let pid = instance.pid();
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        assert_eq!(comm.trim(), "memcached");
        assert_eq!(status(pid, "Cpus_allowed_list"), last_cpu().to_string());
        let uid = User::nobody().map_or(0, |user| user.uid);
        assert_eq!(status(pid, "Uid").split_whitespace().next(), Some(uid.to_string().as_str()));
        let apart = |kind: &str| namespace("self", kind) != namespace(&pid.to_string(), kind);
        assert!(apart("net"));
        assert_eq!((apart("pid"), apart("mnt")), (form.is_container(), form.is_container()));
        assert_eq!(instance.container().is_some(), form.is_container());
        if let Some(id) = instance.container() {
            // Groups without our name or the container's would be shared with others, and stay.
            let ours = |path: &String| path.contains(&name) || path.contains(id);
            let strange: Vec<String> = groups(pid).into_iter().filter(|path| !ours(path)).collect();
            assert!(strange.iter().all(|path| own_groups.contains(path)), "{strange:?}");
        }
        assert_eq!(instance.congestion_control(), Some(congestion_control(pid).as_str()));
    }
    assert_ne!(namespace(&one.pid().to_string(), "net"), namespace(&other.pid().to_string(), "net"));
    assert_eq!((places.names().len(), places.versions().len()), (1, usize::from(form.is_container())));
    // One that was stopped is started again in its place.
    let pid = one.pid();
    assert!(!one.stop(LONG).unwrap().killed);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    let (mut one, at) = start(&memcached, &places, 0);
    assert_eq!((at, ask(at, "version")), (at_one, format!("VERSION {}", memcached.version)));
    // A container that does not end by itself: a process run by an engine is not our child.
    if form.has_images() {
        let pid = one.pid();
        let frozen = Command::new("kill").args(["-s", "STOP", &pid.to_string()]).status().unwrap();
        assert!(frozen.success());
        assert!(one.stop(Duration::ZERO).unwrap().killed);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        one = start(&memcached, &places, 0).0;
    }
    // One is dropped, the other stopped.
    drop(one);
    assert!(!other.stop(LONG).unwrap().killed);
    drop(places);
    assert_eq!(traces::of(&name, env::var("DOCKER_HOST").ok().as_deref()), BTreeSet::new());
    let left: BTreeSet<String> = tenant::files().difference(&before).cloned().collect();
    assert_eq!(left, BTreeSet::new());
}

fn serves(form: Form) {
    tenant::run(form, "place::role_of_one_that_serves");
}

#[test]
fn behind_a_bridge() {
    serves(Form::Bridged);
}

#[test]
fn in_lxc() {
    serves(Form::Lxc);
}

#[test]
fn in_podman() {
    serves(Form::Podman);
}

#[test]
fn in_docker() {
    serves(Form::Docker);
}

/// Not a test by itself: the role that the next test runs in each form.
#[test]
fn role_of_one_that_cannot_start() {
    let Some(form) = tenant::form() else { return };
    let Some((memcached, places)) = places(&[form]) else { return };
    let address = SocketAddr::new(places.listen(0), PORT);
    let options = Options {
        threads: 1,
        memory: Bytes(16 << 20),
        connections: 64,
        cpus: None,
        extra: vec!["--no-such-option".into()],
    };
    let started = places.start(0, memcached.spec_at(address, &options));
    let waited = started
        .and_then(|mut instance| instance.await_answer(SocketAddr::new(places.address(0), PORT), LONG));
    let error = waited.unwrap_err().to_string();
    assert!(error.contains("no-such-option"), "{form}: {error}");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    for form in [Form::Bridged, Form::Lxc, Form::Podman, Form::Docker] {
        tenant::run(form, "place::role_of_one_that_cannot_start");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let refused = |wanted: &[PlaceRequest<'_>]| Places::prepare(wanted).err().unwrap().to_string();
    let program = Path::new("/bin/true");
    let with_image = PlaceRequest { image: Some("memcached:1"), ..place(Form::Lxc, program) };
    let error = refused(&[place(Form::Bare, program), with_image]);
    assert!(error.contains("--form podman or docker"), "{error}");
    if User::is_root() {
        let error = refused(&[place(Form::Bridged, program); 251]);
        assert!(error.contains("fewer --server-instances"), "{error}");
    } else {
        let error = refused(&[place(Form::Bridged, program)]);
        assert!(error.contains("--form bare"), "{error}");
    }
}

/// Not a test by itself: servers of several forms, which share a bridge, as a tenant.
#[test]
fn role_of_several_forms() {
    if tenant::form().is_none() {
        return;
    }
    let before = tenant::files();
    let forms = [Form::Bare, Form::Bridged, Form::Lxc, Form::Podman, Form::Lxc];
    let Some((memcached, places)) = places(&forms) else { return };
    let names: Vec<String> = places.names().into_iter().map(str::to_owned).collect();
    assert_eq!((names.len(), places.versions().len()), (2, 2));
    let mut running: Vec<(Instance, SocketAddr)> =
        (1..forms.len()).map(|place| start(&memcached, &places, place)).collect();
    // A bare server is reached at the bridge, also by servers behind it.
    assert!(places.is_bare(0) && !places.is_bare(1));
    let options = Options { threads: 1, memory: Bytes(16 << 20), connections: 64, cpus: None, extra: vec![] };
    let port = launch::free_port_at(places.listen(0)).unwrap();
    let bare = SocketAddr::new(places.listen(0), port);
    let mut instance = places.start(0, memcached.spec_at(bare, &options)).unwrap();
    instance.await_answer(bare, LONG).unwrap();
    assert_eq!(namespace(&instance.pid().to_string(), "net"), namespace("self", "net"));
    let script = format!("exec 3<>/dev/tcp/{}/{port}; echo version >&3; head -1 <&3", bare.ip());
    for (inside, address) in &running {
        assert_eq!(ask(*address, "version"), format!("VERSION {}", memcached.version));
        assert_eq!(inside.container().is_some(), inside.pid() != inside.process.pid());
        let words = ["--target", &inside.pid().to_string(), "--net", "bash", "-c", &script];
        let output = Command::new("nsenter").args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert_eq!(said, format!("VERSION {}", memcached.version), "{output:?}");
    }
    running.push((instance, bare));
    let distinct: BTreeSet<IpAddr> = running.iter().map(|(_, address)| address.ip()).collect();
    assert_eq!(distinct.len(), forms.len());
    drop((running, places));
    for name in names {
        assert_eq!(traces::of(&name, None), BTreeSet::new());
    }
    let left: BTreeSet<String> = tenant::files().difference(&before).cloned().collect();
    assert_eq!(left, BTreeSet::new());
}

#[test]
fn several_forms_behind_one_bridge() {
    tenant::run(Form::Podman, "place::role_of_several_forms");
}
