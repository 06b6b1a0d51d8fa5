//! How far something is that takes long: one line on a terminal, and elsewhere the lines that end a part of it.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use lab::{Making, Seed, ServerOptions, TargetName};
use launch::{Interrupt, Interrupted};
use rustix::termios::tcgetwinsize;
use units::clock;

use crate::terminal::tell;

/// Columns of a terminal that does not say how many it has.
const USUAL_WIDTH: u16 = 80;
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

    /// Clears the line after a failure. A part that was stopped by an interrupt returns that interrupt as its error.
    pub(crate) fn outcome<T>(&self, result: Result<T, app::Error>) -> Result<T> {
        if result.is_err() {
            self.clear();
        }
        result.map_err(|error| match (error, self.interrupt.cause()) {
            (app::Error::Stopped, Some(cause)) => Interrupted(cause).into(),
            (error, _) => error.into(),
        })
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
    let columns = tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    // A character in the last column makes some terminals begin a line of their own.
    let width = usize::from(if columns == 0 { USUAL_WIDTH } else { columns }).saturating_sub(1);
    let line: String = line.chars().take(width).collect();
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
