//! From the lines of a log to its intervals.

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use units::Nanos;

use super::decode::decode;
use super::{HlogError, Interval, Log};
use crate::Latency;

/// Reads line by line, so that an error can name the line.
pub(super) fn read(text: &[u8]) -> Result<Log, HlogError> {
    let mut log = Log::default();
    let mut promised = None;
    let mut last = 0;
    for (i, line) in text.split_inclusive(|&b| b == b'\n').enumerate() {
        last = i + 1;
        let damaged = |problem: String| HlogError::Damaged { line: last, problem };
        if !line.ends_with(b"\n") {
            return Err(damaged("it has no end".into()));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(comment) = line.strip_prefix(b"#").filter(|c| !c.starts_with(b"[")) {
            log.comments.push(String::from_utf8_lossy(comment).trim_end().into());
        } else if let Some(n) = line.strip_prefix(b"#[Intervals: ") {
            let n = String::from_utf8_lossy(n).trim_end().trim_end_matches(']').parse::<usize>();
            promised = Some(n.map_err(|_| damaged("the number of intervals is not a number".into()))?);
        } else {
            for entry in IntervalLogIterator::new(line) {
                match entry.map_err(|_| damaged("it is neither a comment nor an interval".into()))? {
                    LogEntry::BaseTime(base) => log.base = Some(base.into()),
                    // When the program started, which nothing here is counted from.
                    LogEntry::StartTime(_) => {}
                    LogEntry::Interval(line) => log.intervals.push(Interval {
                        tag: line.tag().map(|tag| tag.as_str().into()),
                        start: Nanos::from(line.start_timestamp()),
                        duration: Nanos::from(line.duration()),
                        latency: Latency::from_foreign(decode(line.encoded_histogram()).map_err(damaged)?),
                    }),
                }
            }
        }
    }
    match promised {
        Some(n) if n != log.intervals.len() => {
            let problem = format!("the log ends after {} of {n} intervals", log.intervals.len());
            Err(HlogError::Damaged { line: last, problem })
        }
        None if log.intervals.is_empty() => {
            Err(HlogError::Damaged { line: last, problem: "there is no interval".into() })
        }
        _ => Ok(log),
    }
}
