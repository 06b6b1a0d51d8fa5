//! The generator's records of a trial's traced requests: stored next to the trial until they are joined with the spans
//! of the services.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use hist::Latency;
use serde::{Deserialize, Serialize};

/// The traced requests of a trial's window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TracedRequests {
    /// One request in `one_in` was traced.
    pub one_in: u64,
    /// The traced requests.
    pub requests: Vec<TracedRequest>,
    /// The service times of all requests that were answered correctly, by operation.
    pub by_lot: BTreeMap<String, ByLot>,
}

/// Service times of an operation's traced and untraced requests, which the generator chose at random.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct ByLot {
    pub traced: Latency,
    pub untraced: Latency,
}

/// A traced request. Units: times in ns of CLOCK_MONOTONIC; if agents generate the load, since the opening of each
/// agent's window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the other fields are their names")]
pub struct TracedRequest {
    /// Its identity, in 32 hexadecimal digits.
    pub trace: String,
    /// Parent of the entrance service's span.
    pub span: u64,
    /// Its operation.
    pub operation: String,
    pub intended_ns: u64,
    /// `None` if it was never sent.
    pub sent_ns: Option<u64>,
    pub first_byte_ns: Option<u64>,
    pub done_ns: u64,
    pub outcome: RequestOutcome,
    /// Bytes of its response's content.
    pub bytes: u64,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// The response was correct.
    Completed,
    /// Refused, with a wrong response, or lost with its connection.
    Error,
    /// Not answered within the time-out.
    Timeout,
    /// Not answered when the load ended.
    Unfinished,
}

impl TracedRequests {
    /// Path of the file, next to the file of a trial.
    pub fn beside(trial: &Path) -> PathBuf {
        trial.with_extension("traced")
    }

    /// Reads the file next to the file of a trial, and removes it; `None` if it does not exist.
    ///
    /// Errors: it cannot be read, or is damaged.
    pub fn take(trial: &Path) -> io::Result<Option<TracedRequests>> {
        let file = TracedRequests::beside(trial);
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        fs::remove_file(&file)?;
        serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    #[test]
    fn they_are_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let trial = folder.path().join("0001.json");
        assert_eq!(TracedRequests::take(&trial).unwrap(), None);
        let mut lot = ByLot::default();
        lot.traced.record(Nanos(5_000));
        let one = TracedRequest {
            trace: "0f".repeat(16),
            span: u64::MAX,
            operation: "browse".into(),
            intended_ns: 1,
            sent_ns: Some(2),
            first_byte_ns: None,
            done_ns: 3,
            outcome: RequestOutcome::Timeout,
            bytes: 4,
        };
        let all = TracedRequests {
            one_in: 100,
            requests: vec![one],
            by_lot: BTreeMap::from([("browse".into(), lot)]),
        };
        fs::write(TracedRequests::beside(&trial), serde_json::to_vec(&all).unwrap()).unwrap();
        assert_eq!(TracedRequests::take(&trial).unwrap(), Some(all));
        assert_eq!(TracedRequests::take(&trial).unwrap(), None);
        fs::write(TracedRequests::beside(&trial), "{").unwrap();
        assert!(TracedRequests::take(&trial).is_err());
    }
}
