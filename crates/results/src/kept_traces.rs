//! Traced requests of a trial, kept for trace viewers next to its record: `trials/ID.traces.json`, and their spans in
//! `trials/ID.spans`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::TracedRequest;

/// The traced requests of a trial's window, and the names needed to interpret their spans.
///
/// The file of spans holds the spans of the first request, then of the second and so on, each in 128 bytes as its
/// service wrote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptTraces {
    /// One request in `one_in` was traced.
    pub one_in: u64,
    /// The number of the entrance service.
    pub entrance: u16,
    /// The services and stores behind the numbers in spans.
    pub services: Vec<KeptService>,
    /// The processes that wrote them.
    pub processes: Vec<KeptProcess>,
    /// Whether the load came from other machines, which have their own clocks.
    pub from_elsewhere: bool,
    /// Each request.
    pub requests: Vec<KeptRequest>,
    /// Requests that were dropped because the limit of spans was reached.
    pub left_out: u64,
}

/// A service or store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct KeptService {
    pub number: u16,
    pub name: String,
    /// In the order of their numbers in spans.
    pub methods: Vec<String>,
}

/// A process that wrote spans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptProcess {
    /// The number of its service.
    pub service: u16,
    /// Number of the instance.
    pub instance: u16,
    /// The boot id of its machine: two processes with the same id share a clock.
    pub boot: String,
    /// Wall clock minus CLOCK_MONOTONIC.
    pub wall_offset_ns: i64,
}

/// A traced request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRequest {
    /// The generator's record of the request.
    #[serde(flatten)]
    pub request: TracedRequest,
    /// Number of its spans.
    pub spans: u32,
}

impl KeptTraces {
    /// Limit of spans kept of a trial: 128 MiB. Source: ours; a minute of 500 rps with every request traced has about
    /// as many.
    pub const MOST_SPANS: usize = 1 << 20;
    /// Limit for one request, which readers hold in memory as a whole. Source: ours; a page of the movie site has some
    /// 40.
    pub const MOST_OF_ONE: usize = 10_000;

    /// The name of the file of the trial `id` within a result.
    pub fn name(id: &str) -> String {
        format!("trials/{id}.traces.json")
    }

    /// The name of the file with its spans.
    pub fn name_of_spans(id: &str) -> String {
        format!("trials/{id}.spans")
    }

    /// Reads the kept traces of trial `id` of the result in `folder`, and the path of their spans; `None` if the trial
    /// kept no traces.
    ///
    /// Errors: the file cannot be read, or is damaged.
    pub fn read(folder: &Path, id: &str) -> io::Result<Option<(KeptTraces, PathBuf)>> {
        let bytes = match fs::read(folder.join(KeptTraces::name(id))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let read = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        Ok(Some((read, folder.join(KeptTraces::name_of_spans(id)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestOutcome;

    #[test]
    fn what_is_kept_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("trials")).unwrap();
        assert_eq!(KeptTraces::read(folder.path(), "0001").unwrap(), None);
        let request = TracedRequest {
            trace: "0f".repeat(16),
            span: u64::MAX,
            operation: "browse".into(),
            intended_ns: 1,
            sent_ns: Some(2),
            first_byte_ns: None,
            done_ns: u64::MAX,
            outcome: RequestOutcome::Error,
            bytes: 4,
        };
        let kept = KeptTraces {
            requests: vec![KeptRequest { request, spans: 3 }],
            left_out: 1,
            ..KeptTraces::default()
        };
        let file = folder.path().join(KeptTraces::name("0001"));
        fs::write(&file, serde_json::to_vec(&kept).unwrap()).unwrap();
        let (read, spans) = KeptTraces::read(folder.path(), "0001").unwrap().unwrap();
        assert_eq!((read, spans), (kept, folder.path().join("trials/0001.spans")));
        fs::write(&file, "{").unwrap();
        assert!(KeptTraces::read(folder.path(), "0001").is_err());
    }
}
