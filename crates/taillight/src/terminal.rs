//! What standard output is, and how to write to it.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anyhow::Result;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

/// Columns of a table that goes into a pipe or a file.
const IN_A_PIPE: usize = 120;

/// Columns of a terminal that does not tell its size.
pub(crate) const USUAL_WIDTH: u16 = 80;

/// Columns and rows of a terminal; `None` if it does not tell them, or if `stream` is not a terminal.
pub(crate) fn size(stream: impl AsFd) -> Option<(u16, u16)> {
    let size = tcgetwinsize(stream).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Columns that a table may take.
pub(crate) fn table_width() -> usize {
    size(io::stdout()).map_or(IN_A_PIPE, |(columns, _)| columns.into())
}

/// Whether standard output takes colours: a terminal, and `NO_COLOR` is not set.
pub(crate) fn uses_color() -> bool {
    takes_color(&io::stdout())
}

/// Whether a stream takes colours: a terminal, and `NO_COLOR` is not set.
pub(crate) fn takes_color(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Writes `text` to standard output.
///
/// Errors: it cannot be written. A reader that has seen enough (`| head`) is none.
pub(crate) fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

pub(crate) fn say_json(value: &impl Serialize) -> Result<()> {
    say(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Writes `value` to standard output: as JSON, or else as text.
pub(crate) fn say_as<T: Serialize>(json: bool, value: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
    if json { say_json(value) } else { say(&text(value)) }
}

/// Writes a line to standard error. A failed write does not stop the measurement.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
