//! How far something is that takes long: one line on a terminal, and elsewhere the lines that end a part of it.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::Result;
use launch::{Interrupt, Interrupted};
use units::clock;

use crate::making::overwrite;
use crate::terminal::tell;

/// The interval between two updates of the line.
const EVERY: Duration = Duration::from_millis(100);

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
        if self.last.is_none_or(|last| last.elapsed() >= EVERY) {
            if self.is_terminal {
                overwrite(&format!("{} · {} · {line}", self.what, clock(self.begun.elapsed())));
            } else if self.last.is_none() {
                tell(&format!("{} …", self.what));
            }
            self.last = Some(Instant::now());
        }
        self.interrupt.cause().is_none()
    }

    /// Ends the part with a line that stays.
    pub(crate) fn end(self, line: &str) {
        self.clear();
        tell(line);
    }

    /// Ends it without one.
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
