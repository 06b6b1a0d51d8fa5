//! Children die with their parent, whichever thread started them.
//!
//! The test program runs itself once more in the role of the parent, so that it can be killed.

use std::env;
use std::io;
use std::thread;
use std::time::Duration;

use launch::{Process, Spec, User};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

const LONG: Duration = Duration::from_secs(60);
const ROLE: &str = "TAILLIGHT_TEST_PARENT";

/// Not a test by itself: the parent that [`dies_with_its_parent`] kills.
#[test]
fn role_of_the_parent() {
    let Ok(user) = env::var(ROLE) else { return };
    let mut spec = Spec::new("child", "sleep").arg("600");
    spec.user = User::nobody().filter(|_| user == "nobody");
    let child = thread::spawn(|| Process::spawn(spec).unwrap()).join().unwrap();
    // The harness prints its own text earlier on the same line.
    println!("\nchild {}", child.pid());
    thread::sleep(LONG);
    panic!("the parent was not killed");
}

fn dies_with_its_parent(user: &str) {
    let test = env::current_exe().unwrap();
    let args = ["--exact", "parent_death::role_of_the_parent", "--nocapture"];
    let mut parent = Process::spawn(Spec::new("parent", test).args(args).env(ROLE, user)).unwrap();
    let child = parent.await_line("child ", LONG).unwrap()[6..].parse().unwrap();
    let child = pidfd_open(Pid::from_raw(child).unwrap(), PidfdFlags::empty()).unwrap();
    let ended = |within: Duration| {
        let within = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
        poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&within)).map_err(io::Error::from).unwrap() == 1
    };
    // The thread that started it has ended by now.
    assert!(!ended(Duration::from_millis(20)), "the child did not outlive the thread that started it");
    // Only the parent itself, not its group, in which the child is not anyway.
    kill_process(Pid::from_raw(parent.pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
    assert!(ended(LONG), "the child outlived its parent");
}

#[test]
fn a_child_dies_with_its_parent() {
    dies_with_its_parent("same");
}

#[test]
fn a_child_of_another_user_dies_with_its_parent() {
    if !User::is_root() || User::nobody().is_none() {
        println!("skipped: needs root");
        return;
    }
    dies_with_its_parent("nobody");
}
