//! Daemons that a knob starts and stops: irqbalance.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::threads::numbers;
use rustix::process::{Pid, Signal, kill_process};

/// The time limit for a daemon to start or end. irqbalance ends after its sleep at the latest, 10 s.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often its state is checked during that wait.
const LOOK: Duration = Duration::from_millis(10);

/// The processes of this name with their command lines, which are empty for zombies.
pub(crate) fn find(root: &Path, name: &str) -> Vec<(u32, Vec<String>)> {
    let process = |pid: u32| {
        let folder = root.join(format!("proc/{pid}"));
        let comm = fs::read_to_string(folder.join("comm")).ok()?;
        // The kernel keeps 15 bytes of a name. Source: proc(5).
        let is = comm.trim() == name.get(..15).unwrap_or(name);
        let line = fs::read(folder.join("cmdline")).ok().filter(|line| is && !line.is_empty())?;
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut words: Vec<String> = words.collect();
        words.pop_if(|last| last.is_empty());
        Some((pid, words))
    };
    numbers(&root.join("proc")).into_iter().filter_map(process).collect()
}

/// Starts the daemon with these arguments, or stops it. If systemd started it, systemd restarts it.
pub(crate) fn set(root: &Path, name: &str, run: Option<&[String]>) -> io::Result<()> {
    let by_systemd = root.join("run/systemd/system").is_dir() && systemctl(&["cat", name]).is_ok();
    let variables =
        find(root, name).first().map(|(pid, _)| own_variables(root, *pid, name)).unwrap_or_default();
    stop(root, name, by_systemd)?;
    let Some(run) = run else { return Ok(()) };
    if by_systemd && run.iter().any(|word| word == "--foreground") {
        systemctl(&["start", name])?;
    } else {
        start(run, variables)?;
    }
    wait_until(|| !find(root, name).is_empty(), &format!("{name} did not start"))
}

/// Whether two command lines are equivalent: systemd adds `--foreground` to its own.
pub(crate) fn same(a: &[String], b: &[String]) -> bool {
    let plain = |line: &[String]| -> Vec<String> {
        let mut words: Vec<String> = line.iter().filter(|word| *word != "--foreground").cloned().collect();
        if let Some(program) = words.first_mut() {
            *program = program.rsplit('/').next().unwrap_or_default().to_owned();
        }
        words
    };
    plain(a) == plain(b)
}

fn stop(root: &Path, name: &str, by_systemd: bool) -> io::Result<()> {
    if find(root, name).is_empty() {
        return Ok(());
    }
    if by_systemd {
        systemctl(&["stop", name])?;
    }
    for (pid, _) in find(root, name) {
        if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
            match kill_process(pid, Signal::TERM) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    wait_until(|| find(root, name).is_empty(), &format!("{name} did not end"))
}

/// Variables of a daemon's environment that begin with its name: `IRQBALANCE_BANNED_CPULIST` of Debian's configuration.
fn own_variables(root: &Path, pid: u32, name: &str) -> Vec<(OsString, OsString)> {
    let text = fs::read(root.join(format!("proc/{pid}/environ"))).unwrap_or_default();
    let prefix = format!("{}_", name.to_uppercase());
    let own = text.split(|byte| *byte == 0).filter(|variable| variable.starts_with(prefix.as_bytes()));
    let pair = |variable: &[u8]| {
        let at = variable.iter().position(|byte| *byte == b'=')?;
        let part = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        Some((part(&variable[..at]), part(&variable[at + 1..])))
    };
    own.filter_map(pair).collect()
}

fn start(run: &[String], variables: Vec<(OsString, OsString)>) -> io::Result<()> {
    let (program, args) = run.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.envs(variables);
    // It outlives this program on purpose, and must not hold its lock or its terminal.
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn()?;
    // A daemon's first process forks and ends; one in the foreground keeps running.
    thread::Builder::new().name("daemon".into()).spawn(move || child.wait()).map(|_| ())
}

fn systemctl(args: &[&str]) -> io::Result<()> {
    let output = Command::new("systemctl").args(args).stdin(Stdio::null()).output()?;
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(io::Error::other(words)) }
}

fn wait_until(done: impl Fn() -> bool, otherwise: &str) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        if Instant::now() >= deadline {
            return Err(io::Error::other(format!("{otherwise} within {PATIENCE:?}")));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn finds_by_name_and_leaves_out_the_dead() {
        let root = tempfile::tempdir().unwrap();
        for (pid, comm, line) in [
            (5, "irqbalance\n", &b"/usr/sbin/irqbalance\0--foreground\0"[..]),
            (6, "irqbalance\n", b""),
            (7, "other\n", b"other\0"),
        ] {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), comm).unwrap();
            fs::write(folder.join("cmdline"), line).unwrap();
        }
        assert_eq!(find(root.path(), "irqbalance"), [(5, words("/usr/sbin/irqbalance --foreground"))]);
        assert_eq!(find(root.path(), "none"), []);
    }

    #[test]
    fn keeps_what_the_environment_tells_a_daemon() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/5");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("environ"), b"PATH=/bin\0IRQBALANCE_BANNED_CPULIST=2-3\0IRQBALANCED=1\0")
            .unwrap();
        let expect = ("IRQBALANCE_BANNED_CPULIST".into(), "2-3".into());
        assert_eq!(own_variables(root.path(), 5, "irqbalance"), [expect]);
        assert_eq!(own_variables(root.path(), 6, "irqbalance"), []);
    }

    #[test]
    fn knows_the_same_start() {
        let check =
            |a: &str, b: &str, expect: bool| assert_eq!(same(&words(a), &words(b)), expect, "{a} {b}");
        check("irqbalance", "/usr/sbin/irqbalance --foreground", true);
        check("irqbalance --banirq=4", "irqbalance --banirq=5", false);
        check("", "irqbalance", false);
    }
}
