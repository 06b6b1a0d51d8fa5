use std::io::{BufRead, Write};

use serde_json::json;
use units::{Nanos, Time};

use crate::noise::MachineSeen;

/// Reports on standard output that all connections are established, and waits on standard input for `start NS`, the
/// moment on CLOCK_MONOTONIC at which the warm-up begins.
///
/// Errors: another line was read, or standard input ended.
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

/// Requests on standard output, by a line `{"window": …}`, the activity of the server's other machines in the window
/// that opened then on CLOCK_MONOTONIC, and reads it from standard input: a list, with `null` for a machine without
/// data.
///
/// Errors: another line was read, or standard input ended.
pub(super) fn of_servers(opened: Time, window: Nanos) -> Result<Vec<Option<MachineSeen>>, String> {
    let asked = json!({ "window": { "opened_ns": opened.0, "length_ns": window.0 } });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{asked}").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    serde_json::from_str(&line)
        .map_err(|error| format!("what is said of the server's other machines is damaged: {error}"))
}
