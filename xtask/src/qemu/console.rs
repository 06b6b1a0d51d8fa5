use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Follows a guest until its last word, and prints its output.
///
/// # Errors
///
/// It took longer than `patience`, or ended before its last word.
pub(super) fn watch(mut child: Child, patience: Duration) -> Result<Checks, String> {
    let (send, lines) = mpsc::channel();
    let console = child.stdout.take().ok_or("the guest has no console")?;
    std::thread::spawn(move || {
        for line in BufReader::new(console).split(b'\n').map_while(Result::ok) {
            if send.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                return;
            }
        }
    });
    let until = Instant::now() + patience;
    let mut checks = Checks::default();
    let mut cut = None;
    while !checks.ended && cut.is_none() {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                println!("  {line}");
                checks.read(&line);
            }
            Err(RecvTimeoutError::Timeout) => {
                cut = Some(format!("the guest did not come to its end within {} s", patience.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => {
                cut = Some("the guest went off before its checks came to their end".to_owned());
            }
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    cut.map_or(Ok(checks), Err)
}

/// Results on the guest's console up to now.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Checks {
    pub(super) passed: usize,
    pub(super) failed: usize,
    ended: bool,
}

impl Checks {
    /// Whether there were checks and all passed.
    pub(super) fn are_well(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }

    fn read(&mut self, line: &str) {
        self.ended |= line == "CHECKS END";
        if let Some(check) = line.strip_prefix("CHECK ") {
            let count = if check.ends_with(": ok") { &mut self.passed } else { &mut self.failed };
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn reads_what_the_guest_says() {
        let check = |lines: &[&str], passed, failed, ended, well| {
            let mut checks = Checks::default();
            lines.iter().for_each(|line| checks.read(line));
            assert_eq!(checks, Checks { passed, failed, ended });
            assert_eq!(checks.are_well(), well, "{lines:?}");
        };
        let lines = ["booting", "CHECK smt: ok", "CHECK a: FAILED: 'x' where 'y' is expected"];
        check(&lines, 1, 1, false, false);
        check(&["CHECK smt: ok", "CHECKS END"], 1, 0, true, true);
        check(&["CHECKS END"], 0, 0, true, false);
    }

    #[test]
    fn a_guest_that_goes_off_early_or_never_has_failed() {
        let guest = |script: &str, patience| {
            let child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
            watch(child, patience)
        };
        let ended =
            guest("echo 'CHECK a: ok'; echo 'CHECKS END'; exec cat /dev/zero", Duration::from_secs(60));
        assert!(ended.unwrap().are_well());
        let error = guest("echo 'CHECK a: ok'", Duration::from_secs(60)).unwrap_err();
        assert!(error.contains("went off"), "{error}");
        let error = guest("exec sleep 60", Duration::ZERO).unwrap_err();
        assert!(error.contains("within 0 s"), "{error}");
    }
}
