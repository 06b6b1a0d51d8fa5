//! The program that applies a knob is killed with SIGKILL at each moment of it; another reverts the machine.
//!
//! The test program runs itself again as the program to be killed.

use std::env;
use std::path::Path;
use std::time::Duration;

use knobs::{Action, Engine, LocalKernel, Moment};
use launch::{Process, Spec};
use rustix::process::{Signal, getpid, kill_process};

use crate::snapshot::snapshot;
use crate::victim::Victim;
use crate::{SETTINGS, alone, may_change, planned};

const LONG: Duration = Duration::from_secs(60);
pub(crate) const ROLE: &str = "TAILLIGHT_TEST_KILLED";

/// Orders for the program that is killed: the changes, the folder of journals, and when it ends. The plan is made once,
/// since looking at the machine runs a dozen programs.
#[derive(serde::Serialize, serde::Deserialize)]
struct Orders {
    plan: Vec<Action>,
    folder: String,
    /// The kind (0 announced, 1 made, 2 noted, 3 reverted) and the index of the action.
    moment: (usize, usize),
}

fn moment((kind, index): (usize, usize)) -> Moment {
    [Moment::Announced, Moment::Made, Moment::Noted, Moment::PutBack][kind](index)
}

/// Not a test: the program that [`killed_at_any_moment_the_knobs_are_reverted`] kills.
#[test]
fn role_of_the_killed() {
    let Ok(orders) = env::var(ROLE) else { return };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    let last = moment(orders.moment);
    let watcher = Box::new(move |moment| {
        if moment == last {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    });
    let here = LocalKernel::new(Path::new("/"));
    let engine = Engine::watched(Path::new(&orders.folder), here, Some(watcher)).unwrap();
    let applied = engine.apply(&orders.plan).unwrap();
    applied.revert().unwrap();
    panic!("it was not killed");
}

#[test]
fn killed_at_any_moment_the_knobs_are_reverted() {
    let _alone = alone();
    if !may_change() {
        return;
    }
    let Some(victim) = Victim::new("fault") else { return };
    let mut kills = 0;
    for words in SETTINGS {
        let subject = victim.subject(words);
        let Some(plan) = planned(words, &subject) else { continue };
        let before = snapshot(&victim);
        let mut differed = false;
        for (index, action) in plan.iter().enumerate() {
            for kind in 0..4 {
                // A change that goes with its folder has no revert of its own.
                if kind == 3 && action.scratch {
                    continue;
                }
                let state = tempfile::tempdir().unwrap();
                kill_at(&plan, state.path(), (kind, index));
                kills += 1;
                differed |= kind == 1 && snapshot(&victim) != before;
                let engine = Engine::open(state.path(), LocalKernel::new(Path::new("/"))).unwrap();
                let undone = engine.undo().unwrap();
                assert_eq!(undone.drifts, [], "{words:?} {:?}", moment((kind, index)));
                assert_eq!(snapshot(&victim), before, "{words:?} {:?}", moment((kind, index)));
                assert!(knobs::status(state.path()).unwrap().journals.is_empty());
            }
        }
        println!(
            "{words:?}: {} actions, {}",
            plan.len(),
            if differed { "left changed by some kills" } else { "set so already" }
        );
    }
    println!("{kills} kills");
    assert!(kills >= 8, "aslr alone has 4 moments, and every Linux has it");
}

fn kill_at(plan: &[Action], folder: &Path, moment: (usize, usize)) {
    let orders = Orders { plan: plan.to_vec(), folder: folder.display().to_string(), moment };
    let args = ["--exact", "faults::role_of_the_killed", "--nocapture"];
    let spec = Spec::new("killed", env::current_exe().unwrap()).args(args);
    let spec = spec.env(ROLE, serde_json::to_string(&orders).unwrap());
    let mut process = Process::spawn(spec).unwrap();
    let status = process.wait(LONG).unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(Signal::KILL.as_raw()), "{plan:?} {moment:?}: {:?}", process.stderr_tail());
}
