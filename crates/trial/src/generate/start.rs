use std::io::{BufRead, Write};

use units::Time;

/// Says on standard output that all connections are established, and waits on standard input for `start NS`, the moment on
/// CLOCK_MONOTONIC at which the warm-up begins.
///
/// Errors: anything else was said, or standard input ended.
pub(super) fn on_stdin() -> Result<Time, String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    match line.trim().strip_prefix("start ").map(str::parse) {
        Some(Ok(moment)) => Ok(Time(moment)),
        _ if read == 0 => Err("standard input ended before the moment to start was given".into()),
        _ => Err(format!("'{}' was said instead of 'start' and a moment", line.trim())),
    }
}
