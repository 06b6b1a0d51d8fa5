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

/// Of the children that were waited for. Source: `proc_pid_stat(5)`, fields 16 and 17, counted behind the
/// command's name in brackets.
fn children() -> Cpu {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let seconds = |i: usize| fields[i].parse::<f64>().expect("it is a number") / ticks_per_second();
    Cpu { user: seconds(13), kernel: seconds(14) }
}

/// Runs a command to its end. Returns what it wrote and the processor time that it took; `None` if it failed.
pub(crate) fn timed(command: &mut Command) -> Option<(String, Cpu)> {
    let before = children();
    let output = command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    let after = children();
    let cpu = Cpu { user: after.user - before.user, kernel: after.kernel - before.kernel };
    output.status.success().then(|| (String::from_utf8_lossy(&output.stdout).into_owned(), cpu))
}
