//! The unplanned end: SIGKILL of the parent, and of the guardian with it.
//!
//! The test program runs itself once more in the role of the parent, so that it can be killed.

use std::env;
use std::thread;

use launch::testing::comes_true;
use launch::{Form, Instance, Process, Spec, clean_up};
use rustix::process::{Pid, Signal, kill_process};

use crate::docker::Docker;
use crate::place::{LONG, places, start};
use crate::traces;

const ROLE: &str = "TAILLIGHT_TEST_FORM";

/// Not a test by itself: the parent that the others kill.
#[test]
fn role_of_the_parent() {
    let Ok(forms) = env::var(ROLE) else { return };
    let forms: Vec<Form> = forms.split(',').map(|form| form.parse().unwrap()).collect();
    let Some((memcached, places)) = places(&forms) else { return };
    let instances: Vec<Instance> =
        (0..forms.len()).map(|place| start(&memcached, &places, place).0).collect();
    let pids: Vec<String> = instances.iter().map(|instance| instance.pid().to_string()).collect();
    // The harness prints its own text earlier on the same line.
    println!("\nserves {} {}", places.names().join(","), pids.join(","));
    thread::sleep(LONG);
    panic!("the parent was not killed");
}

/// A parent with a server in each of these forms, the names of everything it made, and the servers' processes; `None`
/// if a form is unavailable.
fn parent(forms: &[Form], docker: Option<&str>) -> Option<(Process, Vec<String>, Vec<u32>)> {
    let test = env::current_exe().unwrap();
    let args = ["--exact", "end::role_of_the_parent", "--nocapture"];
    let forms: Vec<&str> = forms.iter().map(|form| form.name()).collect();
    let mut spec = Spec::new("parent", test).args(args).env(ROLE, forms.join(","));
    if let Some(host) = docker {
        spec = spec.env("DOCKER_HOST", host);
    }
    let mut parent = Process::spawn(spec).unwrap();
    loop {
        let line = parent.next_line(LONG).expect("the parent says something");
        // It may follow the harness's own text.
        if let Some(at) = line.find("skipped: ") {
            println!("{}", &line[at..]);
            return None;
        }
        if let Some(words) = line.strip_prefix("serves ") {
            let (names, pids) = words.split_once(' ').unwrap();
            let pids = pids.split(',').map(|pid| pid.parse().unwrap());
            return Some((parent, names.split(',').map(str::to_owned).collect(), pids.collect()));
        }
    }
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

fn killed(forms: &[Form], docker: Option<&str>) {
    let Some((parent, names, servers)) = parent(forms, docker) else { return };
    assert!(names.iter().all(|name| !traces::of(name, docker).is_empty()));
    // Only the parent itself: killing its group is the job of Drop.
    kill(parent.pid());
    names.iter().for_each(|name| traces::await_none(name, docker));
    let is_left = |(pid, line): &(u32, String)| servers.contains(pid) && line.contains("memcached");
    // A killed process is there until it has had a processor to end on.
    assert!(comes_true(|| !traces::processes().iter().any(is_left)), "{servers:?}");
}

#[test]
fn nothing_is_left_of_a_bridge() {
    killed(&[Form::Bridged], None);
}

#[test]
fn nothing_is_left_of_lxc() {
    killed(&[Form::Lxc], None);
}

#[test]
fn nothing_is_left_of_podman() {
    killed(&[Form::Podman], None);
}

#[test]
fn nothing_is_left_of_docker() {
    let Some(docker) = Docker::start() else { return };
    killed(&[Form::Docker], Some(&docker.host()));
}

#[test]
fn nothing_is_left_of_several_forms() {
    killed(&[Form::Bridged, Form::Lxc, Form::Podman], None);
}

#[test]
fn what_a_killed_guardian_leaves_is_removed_by_the_next() {
    for form in [Form::Bridged, Form::Lxc, Form::Podman] {
        let Some((mut parent, names, _)) = parent(&[form], None) else { continue };
        let [name] = &names[..] else { panic!("{names:?}") };
        let guardians = traces::processes()
            .into_iter()
            .filter(|(_, line)| line.starts_with("/bin/sh -c trap") && line.contains(name));
        let guardians: Vec<u32> = guardians.map(|(pid, _)| pid).collect();
        assert!(!guardians.is_empty());
        guardians.into_iter().for_each(kill);
        // Checked while its owner lives: afterwards a concurrent test may remove it first.
        assert!(!traces::of(name, None).is_empty(), "{form}: there is something to remove");
        kill(parent.pid());
        parent.wait(LONG).unwrap();
        drop(parent);
        clean_up(&[form]);
        traces::await_none(name, None);
    }
}
