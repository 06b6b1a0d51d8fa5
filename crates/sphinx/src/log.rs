use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;

use crate::LogFormat;

/// Sends log lines to standard error from now on, unless the program has set up another logger before.
///
/// Only starts, ends, failures and signals are logged, never a request: a thread that serves must not wait for
/// the reader of the log.
pub(crate) fn start(verbose: u8, format: LogFormat) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let log = fmt().with_writer(io::stderr).with_max_level(level).with_ansi(false);
    let _ = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}
