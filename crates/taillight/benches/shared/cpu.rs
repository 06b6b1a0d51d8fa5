//! The processor time of a command.

use std::fs;
use std::process::{Command, Stdio};

use host::cpu_time::ticks_per_second;

/// User and system time. Units: seconds.
#[derive(Clone, Copy)]
pub(crate) struct Cpu {
    pub(crate) user: f64,
    pub(crate) kernel: f64,
}

impl Cpu {
    /// The processor time of a process, `self` for this one: its own, or its terminated and awaited children's.
    ///
    /// Source: `proc_pid_stat(5)`, fields 14 to 17, counted behind the command's name in brackets.
    pub(crate) fn of(process: &str, children: bool) -> Cpu {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let seconds = |i: usize| fields[i].parse::<f64>().expect("it is a number") / ticks_per_second();
        let first = if children { 13 } else { 11 };
        Cpu { user: seconds(first), kernel: seconds(first + 1) }
    }
}

/// Runs a command to its end. Returns its output and its processor time; `None` if it failed.
pub(crate) fn timed(command: &mut Command) -> Option<(String, Cpu)> {
    let before = Cpu::of("self", true);
    let output = command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    let after = Cpu::of("self", true);
    let cpu = Cpu { user: after.user - before.user, kernel: after.kernel - before.kernel };
    output.status.success().then(|| (String::from_utf8_lossy(&output.stdout).into_owned(), cpu))
}
