//! Runs programs that make something and report their progress.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use launch::{Process, Spec};

use crate::Error;

/// How often it is looked whether it is to go on.
const LOOK: Duration = Duration::from_millis(100);
/// Lines that are kept for a message.
const LAST: usize = 20;
/// Source: longer ones make no message that is read.
const LINE: usize = 500;

pub(crate) struct Exit {
    pub(crate) status: ExitStatus,
    /// The last lines that it printed, wherever it did.
    pub(crate) last: Vec<String>,
}

/// Runs `program` to its end in the folder `dir`. `tell` receives each line, and every 100 ms the last one again; it
/// returns whether to go on. All lines also go to `log`.
///
/// Errors: it cannot be started; it was stopped.
pub(crate) fn run(
    name: &str,
    program: &Path,
    args: &[String],
    dir: &Path,
    log: &mut File,
    tell: &mut dyn FnMut(&str) -> bool,
) -> Result<Exit, Error> {
    // One stream, so that lines come in the order in which they were printed.
    let spec =
        Spec::new(name, "sh").args(["-c", r#"exec "$@" 2>&1"#, "sh"]).arg(program.display().to_string());
    let mut process =
        Process::spawn(spec.args(args.iter().cloned()).dir(dir).env("PYTHONDONTWRITEBYTECODE", "1"))?;
    let mut last: Vec<String> = Vec::new();
    let mut ended = None;
    loop {
        let line = process.next_line(LOOK);
        if let Some(mut line) = line {
            // A failure to write the log must not end the work.
            let _ = writeln!(log, "{line}");
            if let Some((cut, _)) = line.char_indices().nth(LINE) {
                line.truncate(cut);
            }
            last.push(line);
            if last.len() > LAST {
                last.remove(0);
            }
        } else if let Some(status) = ended {
            return Ok(Exit { status, last });
        } else if let Ok(status) = process.wait(Duration::ZERO) {
            ended = Some(status);
        }
        if !tell(last.last().map_or("", String::as_str)) {
            return Err(Error::Stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, tell: &mut dyn FnMut(&str) -> bool) -> (Result<Exit, Error>, String) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        let mut log = File::create(&path).unwrap();
        let args = ["-c".to_owned(), script.to_owned()];
        let ended = run("shell", Path::new("sh"), &args, root.path(), &mut log, tell);
        (ended, std::fs::read_to_string(path).unwrap())
    }

    #[test]
    fn lines_come_in_order_with_the_status() {
        let mut told = Vec::new();
        let (ended, log) = shell("echo one; echo two >&2; echo three; exit 3", &mut |line| {
            told.push(line.to_owned());
            true
        });
        let ended = ended.unwrap();
        assert_eq!((ended.status.code(), ended.last.join(" ").as_str()), (Some(3), "one two three"));
        assert_eq!(log, "one\ntwo\nthree\n");
        told.dedup();
        assert_eq!(
            told.iter().filter(|line| !line.is_empty()).cloned().collect::<Vec<_>>(),
            ["one", "two", "three"]
        );
    }

    #[test]
    fn it_ends_when_it_is_told_so_and_keeps_the_last_lines() {
        let (ended, _) = shell("echo up; exec sleep 600", &mut |line| line != "up");
        assert!(matches!(ended, Err(Error::Stopped)));
        let (ended, _) = shell("seq 100", &mut |_| true);
        assert_eq!(ended.unwrap().last.first().unwrap(), "81");
    }
}
