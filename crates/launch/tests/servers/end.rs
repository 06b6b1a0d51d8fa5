//! The unplanned end: SIGKILL of the parent, and of the guardian with it.
//!
//! The test program runs itself once more in the role of the parent, so that it can be killed.

use std::env;
use std::thread;

use launch::{Form, Process, Spec, clean_up};
use rustix::process::{Pid, Signal, kill_process};

use crate::docker::Docker;
use crate::place::{LONG, places, start};
use crate::traces;

const ROLE: &str = "TAILLIGHT_TEST_FORM";

/// Not a test by itself: the parent that the others kill.
#[test]
fn role_of_the_parent() {
    let Ok(form) = env::var(ROLE) else { return };
    let Some((memcached, places)) = places(form.parse().unwrap(), 1) else { return };
    let (instance, _) = start(&memcached, &places, 0);
    // The harness prints what it says itself on the same line before.
    println!("\nserves {} {}", places.name().unwrap(), instance.pid());
    thread::sleep(LONG);
    panic!("the parent was not killed");
}

/// A parent with a server in this form, the name of what it made, and the server's process; `None` where the form
/// is unavailable.
fn parent(form: Form, docker: Option<&str>) -> Option<(Process, String, u32)> {
    let test = env::current_exe().unwrap();
    let args = ["--exact", "end::role_of_the_parent", "--nocapture"];
    let mut spec = Spec::new("parent", test).args(args).env(ROLE, form.name());
    if let Some(host) = docker {
        spec = spec.env("DOCKER_HOST", host);
    }
    let mut parent = Process::spawn(spec).unwrap();
    loop {
        let line = parent.next_line(LONG).expect("the parent says something");
        // It may stand behind what the harness says.
        if let Some(at) = line.find("skipped: ") {
            println!("{}", &line[at..]);
            return None;
        }
        if let Some(words) = line.strip_prefix("serves ") {
            let (name, pid) = words.split_once(' ').unwrap();
            return Some((parent, name.into(), pid.parse().unwrap()));
        }
    }
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

fn killed(form: Form, docker: Option<&str>) {
    let Some((parent, name, server)) = parent(form, docker) else { return };
    assert!(!traces::of(&name, docker).is_empty());
    // Only the parent itself: its group is what a Drop would kill.
    kill(parent.pid());
    traces::await_none(&name, docker);
    assert!(!traces::processes().iter().any(|(pid, line)| *pid == server && line.contains("memcached")));
}

#[test]
fn nothing_is_left_of_a_bridge() {
    killed(Form::Bridged, None);
}

#[test]
fn nothing_is_left_of_lxc() {
    killed(Form::Lxc, None);
}

#[test]
fn nothing_is_left_of_podman() {
    killed(Form::Podman, None);
}

#[test]
fn nothing_is_left_of_docker() {
    let Some(docker) = Docker::start() else { return };
    killed(Form::Docker, Some(&docker.host()));
}

#[test]
fn what_a_killed_guardian_leaves_is_removed_by_the_next() {
    for form in [Form::Bridged, Form::Lxc, Form::Podman] {
        let Some((mut parent, name, _)) = parent(form, None) else { continue };
        let guardians = traces::processes()
            .into_iter()
            .filter(|(_, line)| line.starts_with("/bin/sh -c while read") && line.contains(&name));
        let guardians: Vec<u32> = guardians.map(|(pid, _)| pid).collect();
        assert!(!guardians.is_empty());
        guardians.into_iter().for_each(kill);
        // Looked at while its owner lives: afterwards another test that runs beside may be the next, and remove it.
        assert!(!traces::of(&name, None).is_empty(), "{form}: there is something to remove");
        kill(parent.pid());
        parent.wait(LONG).unwrap();
        drop(parent);
        clean_up(&[form]);
        traces::await_none(&name, None);
    }
}
