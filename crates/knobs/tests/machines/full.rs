//! A state folder on a full disk: whichever line of the journal does not fit, no change stays in force.
//!
//! The test program runs itself again, with a file size limit of 1 KiB.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use knobs::{Action, Engine, Moment, plan, status};

use crate::kernel::Played;
use crate::{Machine, knobs};

const ROLE: &str = "TAILLIGHT_TEST_FULL";
/// Files of two blocks of 512 bytes each. Source: `ulimit` in POSIX.
const SCRIPT: &str = "trap '' XFSZ; ulimit -f 2; exec \"$@\"";

#[derive(serde::Serialize, serde::Deserialize)]
struct Orders {
    root: PathBuf,
    state: PathBuf,
    plan: Vec<Action>,
}

/// Not a test: the program that finds the disk full.
#[test]
fn role_of_the_cramped() {
    let Ok(orders) = env::var(ROLE) else { return };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    let watcher = Box::new(|moment| {
        if let Moment::Made(at) = moment {
            println!("made {at}");
        }
    });
    let engine = Engine::watched(&orders.state, Played::new(&orders.root), Some(watcher)).unwrap();
    match engine.apply(&orders.plan) {
        Ok(applied) => println!("applied, and reverted: {:?}", applied.revert()),
        Err(error) => println!("refused: {error}"),
    }
}

#[test]
fn whichever_line_finds_the_disk_full_nothing_stays_set() {
    let machine = Machine::thunderx();
    let before = machine.snapshot();
    let plan = plan(&knobs(&["aslr=off", "busy-poll=50us"]), &machine.host(), &machine.subject()).unwrap();
    let orders = Orders { root: machine.root.path().into(), state: machine.state.path().into(), plan };
    let orders = serde_json::to_string(&orders).unwrap();
    let (mut applied, mut refused_after_a_change) = (0, 0);
    // The first line of a journal has the command in it, so that the length of a word there decides which line does not
    // fit. The shortest line has 25 bytes.
    for length in (0..1000).step_by(20) {
        let (program, word) = (env::current_exe().unwrap(), "x".repeat(length));
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).arg(program);
        command.args(["--exact", "full::role_of_the_cramped", "--nocapture", "--skip", &word]);
        let output = command.env(ROLE, &orders).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && (said.contains("applied") || said.contains("refused")), "{said}");
        applied += u32::from(said.contains("applied, and reverted: Ok([])"));
        refused_after_a_change += u32::from(said.contains("made 0") && said.contains("refused"));
        let files = ["kernel/randomize_va_space", "net/core/busy_poll", "net/core/busy_read"];
        let values = files.map(|file| machine.text(&format!("proc/sys/{file}")));
        assert_eq!(values, ["2", "0", "0"], "{length}: {said}");
        assert!(status(machine.state.path()).unwrap().journals.is_empty(), "{length}: {said}");
    }
    assert!(applied > 0 && refused_after_a_change > 2, "{applied} {refused_after_a_change}");
    assert_eq!(machine.snapshot(), before);
}
