//! How far something is that takes long: one line on a terminal, and elsewhere the lines that end a part of it.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use lab::{Making, Seed, ServerOptions, TargetName};
use launch::Interrupt;
use units::clock;

use crate::terminal::{USUAL_WIDTH, size, tell};

/// The interval between two updates of the line.
const EVERY: Duration = Duration::from_millis(100);
/// How long something must have gone on before it says how long it will: a rate of less is chance.
const TELLS_AFTER: Duration = Duration::from_secs(1);

/// The progress display of one part.
pub(crate) struct Shown<'a> {
    what: String,
    begun: Instant,
    last: Option<Instant>,
    is_terminal: bool,
    interrupt: &'a Interrupt,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(what: impl Into<String>, interrupt: &'a Interrupt) -> Shown<'a> {
        let is_terminal = io::stderr().is_terminal();
        Shown { what: what.into(), begun: Instant::now(), last: None, is_terminal, interrupt }
    }

    /// Shows `line`; returns whether it is to go on.
    pub(crate) fn show(&mut self, line: &str) -> bool {
        self.put(|what, elapsed| format!("{what} · {} · {line}", clock(elapsed)));
        self.interrupt.cause().is_none()
    }

    /// Shows a line of the part and the time since its start, unless one was shown just now.
    fn put(&mut self, line: impl FnOnce(&str, Duration) -> String) {
        if self.last.is_none_or(|last| last.elapsed() >= EVERY) {
            if self.is_terminal {
                overwrite(&line(&self.what, self.begun.elapsed()));
            } else if self.last.is_none() {
                tell(&format!("{} …", self.what));
            }
            self.last = Some(Instant::now());
        }
    }

    /// Ends the part with a line that stays.
    pub(crate) fn end(self, line: &str) {
        self.clear();
        tell(line);
    }

    /// Ends it without one: the next message starts on an empty line.
    pub(crate) fn clear(&self) {
        if self.is_terminal && self.last.is_some() {
            overwrite("");
        }
    }

    /// Clears the line. A part that fails after an interrupt returns that interrupt as its error.
    pub(crate) fn outcome<T, E: Into<Error>>(&self, result: Result<T, E>) -> Result<T> {
        self.clear();
        or_interrupted(result, self.interrupt)
    }
}

/// The result of work that an interrupt may have ended; its error is then that interrupt.
pub(crate) fn or_interrupted<T, E: Into<Error>>(result: Result<T, E>, interrupt: &Interrupt) -> Result<T> {
    result.map_err(|error| interrupt.check().map_or_else(Into::into, |()| error.into()))
}

/// A file that takes nothing after an interrupt.
pub(crate) struct Interruptible<'a> {
    pub(crate) file: File,
    pub(crate) interrupt: &'a Interrupt,
}

impl Write for Interruptible<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupt.check().map_err(io::Error::other)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Makes the initial data of `target` on this machine, unless they exist, and shows the progress.
///
/// Errors: the data cannot be made, and no partial data remain; the run was interrupted.
pub(crate) fn make_data(target: &TargetName, options: &ServerOptions) -> Result<Vec<Seed>, lab::Error> {
    let has_data = lab::application(target)?.is_some_and(|app| app.data.is_some());
    let what = match options.people {
        Some(people) => format!("making the data of {} users, which are kept", people.users),
        None if has_data => format!("making the data of {target}, which are kept"),
        None => return Ok(Vec::new()),
    };
    let interrupt = Interrupt::signalled();
    let mut shown = Shown::new(what, &interrupt);
    let made = lab::make_data(target, options, &mut |making| {
        shown.put(|what, elapsed| line(what, making, elapsed));
    });
    shown.clear();
    made
}

/// `0:42 left · making … · 12 %, posts`.
fn line(what: &str, making: &Making, elapsed: Duration) -> String {
    match making {
        Making::DataSet { line } => format!("{what} · {line}"),
        Making::Awaited => format!("{what} · another process makes the same"),
        Making::Prepared => format!("{what} · a server starts"),
        Making::Kept => format!("{what} · copied to where they are kept"),
        Making::Filled { table, rows, of } => {
            let share = *rows as f64 / (*of).max(1) as f64;
            let far = format!("{:.0} %, {table}", 100.0 * share);
            if elapsed < TELLS_AFTER || *rows == 0 {
                return format!("{what} · {far}");
            }
            let left = elapsed.mul_f64((1.0 - share) / share);
            format!("{} left · {what} · {far}", clock(left))
        }
    }
}

/// As [`overwrite`], where standard error is a terminal.
pub(crate) fn overwrite_on_terminal(line: &str) {
    if io::stderr().is_terminal() {
        overwrite(line);
    }
}

/// Writes a line over the one before, as much of it as the terminal has columns for.
pub(crate) fn overwrite(line: &str) {
    let columns = size(io::stderr()).map_or(USUAL_WIDTH, |(columns, _)| columns);
    // A character in the last column makes some terminals begin a line of their own.
    let line: String = line.chars().take(usize::from(columns - 1)).collect();
    let _ = write!(io::stderr(), "\r{line}\x1b[K");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_how_long_it_takes() {
        let check = |making: Making, seconds: u64, expect: &str| {
            assert_eq!(line("making", &making, Duration::from_secs(seconds)), expect);
        };
        check(Making::DataSet { line: "clip 2 of 4".into() }, 5, "making · clip 2 of 4");
        check(Making::Awaited, 5, "making · another process makes the same");
        let filled = |rows| Making::Filled { table: "posts".into(), rows, of: 200 };
        check(filled(0), 5, "making · 0 %, posts");
        check(filled(50), 0, "making · 25 %, posts");
        check(filled(50), 5, "0:15 left · making · 25 %, posts");
        check(filled(200), 5, "0:00 left · making · 100 %, posts");
        check(Making::Filled { table: String::new(), rows: 0, of: 0 }, 5, "making · 0 %, ");
    }
}
