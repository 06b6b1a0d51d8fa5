//! How far a study is, on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use lab::study::Watcher;

use crate::progress::clock;
use crate::terminal::tell;

/// One line that lives on a terminal, plain lines in a pipe.
pub(crate) struct Lines {
    terminal: bool,
}

impl Lines {
    pub(crate) fn new() -> Lines {
        Lines { terminal: io::stderr().is_terminal() }
    }

    /// Ends the line that lives.
    pub(crate) fn end(&self) {
        if self.terminal {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

impl Watcher for Lines {
    fn step(&mut self, number: usize, of: usize, left: Duration, words: &str) {
        let line = format!("{} left · step {number} of {of} · {words}", clock(left));
        if self.terminal {
            let _ = write!(io::stderr().lock(), "\r\x1b[K{}", line.chars().take(100).collect::<String>());
            let _ = io::stderr().lock().flush();
        } else {
            tell(&line);
        }
    }

    fn tell(&mut self, words: &str) {
        self.end();
        tell(words);
    }
}
