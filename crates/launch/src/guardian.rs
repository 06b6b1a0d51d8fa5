use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process::await_end;
use crate::program::BESIDE_PATH;

/// How long to wait for an undo; an image of some MB is removed within a second.
const UNDO_WAIT: Duration = Duration::from_secs(30);

/// A shell that undoes something once the process that started it has ended or dropped this, for whatever reason.
///
/// The kernel kills children of a process that dies, but a bridge or a container is not a child. The shell waits for
/// the end of its input, whose other end only this process holds: a planned stop, a panic, Ctrl-C and SIGKILL all
/// close it, so that every end takes the same path. It leads a process group of its own, so that a terminal's Ctrl-C
/// does not reach it, and ignores what a service manager sends to all processes of a control group.
#[derive(Debug)]
pub(crate) struct Guardian {
    child: Child,
    undo: String,
}

impl Guardian {
    /// Starts it *before* the resources that it will undo are made; `undo` is a shell script that does nothing if there
    /// is nothing to undo.
    pub(crate) fn start(undo: &str) -> io::Result<Guardian> {
        let undo = with_path(undo);
        // `read` rather than `cat`: no second process sleeps during a measurement.
        let script = format!("trap '' HUP INT QUIT TERM\nwhile read -r _; do :; done\n{undo}\nexit 0");
        let child = shell(&script).stdin(Stdio::piped()).process_group(0).spawn()?;
        Ok(Guardian { child, undo })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // A slow guardian continues by itself; if it was killed, its remaining work is done here.
        if status_of(&mut self.child).is_some_and(|status| !status.success())
            && let Ok(mut undoing) = shell(&self.undo).stdin(Stdio::null()).spawn()
        {
            status_of(&mut undoing);
        }
    }
}

/// Exit status of `child`; `None` if it takes too long.
fn status_of(child: &mut Child) -> Option<ExitStatus> {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()?;
    if await_end(&pidfd, UNDO_WAIT).ok()? { child.wait().ok() } else { None }
}

/// `script` as a process without output.
fn shell(script: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    shell
}

/// Extends `PATH` in `script` by the folders that [`crate::find_program`] also searches; a service's `PATH` may lack
/// them.
pub(crate) fn with_path(script: &str) -> String {
    format!("PATH=\"$PATH:{}:/sbin:/bin\"\n{script}", BESIDE_PATH.join(":"))
}

/// `words` as a line of the shell.
pub(crate) fn line<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// `word` quoted as a single shell word, with any content.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '=' | ',');
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The script that kills all processes in the control groups whose paths match `pattern` and removes the groups.
///
/// A control group can only be removed when its last process has ended, which may take a moment after the kill.
pub(crate) fn groups(pattern: &str) -> String {
    format!(
        "for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
           groups=$(find /sys/fs/cgroup -depth -type d -path {pattern} 2>/dev/null); \
           [ -z \"$groups\" ] && break; \
           for group in $groups; do \
             for pid in $(cat \"$group/cgroup.procs\" 2>/dev/null); do kill -9 \"$pid\" 2>/dev/null; done; \
             rmdir \"$group\" 2>/dev/null; \
           done; \
           [ $turn -gt 1 ] && sleep 0.1; \
         done",
        pattern = quoted(pattern)
    )
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn undoes_when_it_is_dropped_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        std::fs::write(&file, "").unwrap();
        let guardian = Guardian::start(&line(&["rm", "-f", &file.display().to_string()])).unwrap();
        let pid = guardian.child.id();
        assert!(file.exists());
        drop(guardian);
        assert!(!file.exists());
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    /// The signals that process `pid` ignores, as a set of bits. Source: `proc_pid_status(5)`.
    fn ignored(pid: u32) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    #[test]
    fn outlives_what_a_service_manager_sends_and_is_stood_in_for_when_it_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        std::fs::write(&file, "").unwrap();
        let start = || Guardian::start(&line(&["rm", "-f", &file.display().to_string()])).unwrap();
        let guardian = start();
        // HUP, INT, QUIT and TERM have the numbers 1, 2, 3 and 15. The shell takes a moment until it has read that.
        let wanted = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14;
        let end = Instant::now() + UNDO_WAIT;
        while ignored(guardian.child.id()) & wanted != wanted {
            assert!(Instant::now() < end, "{:x}", ignored(guardian.child.id()));
            std::thread::yield_now();
        }
        let kill = |guardian: &Guardian| {
            let sent = Command::new("kill").args(["-s", "KILL", &guardian.child.id().to_string()]).status();
            assert!(sent.unwrap().success() && file.exists(), "its owner is there");
        };
        kill(&guardian);
        drop(guardian);
        assert!(!file.exists());
    }

    #[test]
    fn programs_are_found_beside_the_path() {
        let found = shell(&with_path("command -v rm")).env("PATH", "/no/such/folder").status();
        assert!(found.unwrap().success());
    }

    #[test]
    fn words_are_quoted_only_where_they_must_be() {
        let check = |word: &str, expect: &str| assert_eq!(quoted(word), expect);
        check("ip", "ip");
        check("/a-b_c.d:1", "/a-b_c.d:1");
        check("", "''");
        check("a b", "'a b'");
        check("it's", r"'it'\''s'");
        check("$(x)", "'$(x)'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_shell_reads_back_every_word(word in "[^\0]{0,20}") {
            let script = format!("printf %s {}", quoted(&word));
            let said = Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
