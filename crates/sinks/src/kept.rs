//! The traced requests that trials kept, read request by request.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use results::{Experiment, KeptRequest, KeptTraces};
use traces::{SPAN_BYTES, Span, TraceId};

use crate::Error;

/// The traced requests that one trial kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The identity of the result: its start, and its name.
    pub(crate) result: String,
    /// The trial.
    pub(crate) trial: String,
    pub(crate) traces: KeptTraces,
    /// The file of its spans.
    spans: PathBuf,
}

impl Kept {
    /// The traces that the trials of `experiment` kept, in order; its result is in `folder`.
    ///
    /// Errors: a kept file cannot be read, or is damaged.
    pub fn of(folder: &Path, experiment: &Experiment) -> Result<Vec<Kept>, Error> {
        let result = format!("{} {}", experiment.created, experiment.name);
        let kept = experiment.trials.iter().map(|trial| Kept::of_trial(folder, &result, &trial.id));
        kept.filter_map(Result::transpose).collect()
    }

    /// The traces that the trial `id` kept; `None` if it kept no traces.
    pub(crate) fn of_trial(folder: &Path, result: &str, id: &str) -> Result<Option<Kept>, Error> {
        let error = |e: std::io::Error| Error::Kept {
            path: folder.join(KeptTraces::name(id)),
            problem: e.to_string(),
        };
        let read = KeptTraces::read(folder, id).map_err(error)?;
        Ok(read.map(|(traces, spans)| Kept { result: result.into(), trial: id.into(), traces, spans }))
    }

    /// The trial that kept it.
    pub fn trial(&self) -> &str {
        &self.trial
    }

    /// The number of traced requests, and how many of them were not kept because there were too many spans.
    pub fn requests(&self) -> (usize, u64) {
        (self.traces.requests.len(), self.traces.left_out)
    }

    /// Each request with its spans.
    ///
    /// Errors: the file of spans is missing.
    pub(crate) fn read(&self) -> Result<Reader<'_>, Error> {
        let file = File::open(&self.spans).map_err(|e| self.damaged(e.to_string()))?;
        Ok(Reader { kept: self, file: BufReader::new(file), next: 0 })
    }

    fn damaged(&self, problem: String) -> Error {
        Error::Kept { path: self.spans.clone(), problem }
    }
}

/// Reads one request after the other, so that no more than the largest is in memory.
pub(crate) struct Reader<'a> {
    kept: &'a Kept,
    file: BufReader<File>,
    next: usize,
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(&'a KeptRequest, Vec<Span>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let request = self.kept.traces.requests.get(self.next)?;
        let read = self.spans(request).map_err(|problem| self.kept.damaged(problem));
        self.next += 1;
        if read.is_err() {
            // The position of the next request is unknown, so stop.
            self.next = usize::MAX;
        }
        Some(read.map(|spans| (request, spans)))
    }
}

impl Reader<'_> {
    fn spans(&mut self, request: &KeptRequest) -> Result<Vec<Span>, String> {
        let (trace, count) = (&request.request.trace, request.spans as usize);
        if count > KeptTraces::MOST_OF_ONE {
            let most = KeptTraces::MOST_OF_ONE;
            return Err(format!("request {trace} has {count} spans, and at most {most} are read"));
        }
        let mut spans = Vec::with_capacity(count);
        for _ in 0..count {
            let mut record = [0; SPAN_BYTES];
            let cut = |e| format!("the spans of request {trace} are not whole: {e}");
            self.file.read_exact(&mut record).map_err(cut)?;
            let span = Span::read(&record).map_err(|e| format!("a span of request {trace}: {e}"))?;
            if identity(trace) != Some(span.trace) {
                return Err(format!("a span of another request lies among those of {trace}"));
            }
            spans.push(span);
        }
        Ok(spans)
    }
}

/// Parses 32 hexadecimal digits.
pub(crate) fn identity(text: &str) -> Option<TraceId> {
    let is_whole = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_whole)?;
    Some(TraceId(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing;

    #[test]
    fn requests_come_with_their_spans() {
        let folder = tempfile::tempdir().unwrap();
        let kept = testing::kept(folder.path(), 2);
        assert_eq!((kept.trial(), kept.requests()), ("0001", (2, 0)));
        let read: Vec<(u64, usize)> = kept
            .read()
            .unwrap()
            .map(|one| one.map(|(request, spans)| (request.request.span, spans.len())).unwrap())
            .collect();
        assert_eq!(read, [(99, 4), (99, 4)]);
    }

    #[test]
    fn what_is_damaged_is_said_and_ends_it() {
        let check = |damage: &dyn Fn(&mut Vec<u8>), says: &str| {
            let folder = tempfile::tempdir().unwrap();
            let mut kept = testing::kept(folder.path(), 2);
            let mut bytes = fs::read(&kept.spans).unwrap();
            damage(&mut bytes);
            fs::write(&kept.spans, &bytes).unwrap();
            let read: Vec<_> = kept.read().unwrap().collect();
            let error = read.last().unwrap().as_ref().unwrap_err().to_string();
            assert!(
                error.contains("0001.spans") && error.contains(says) && error.contains("--trial"),
                "{error}"
            );
            assert!(read[..read.len() - 1].iter().all(Result::is_ok));
            kept.traces.requests[0].spans = u32::MAX;
            let error = kept.read().unwrap().next().unwrap().unwrap_err().to_string();
            assert!(error.contains("4294967295 spans, and at most 10000"), "{error}");
        };
        check(&|bytes| bytes.truncate(SPAN_BYTES * 5 + 1), "are not whole");
        check(&Vec::clear, "are not whole");
        check(&|bytes| bytes[0] = 0, "does not begin with SPN1");
        check(&|bytes| bytes.rotate_left(SPAN_BYTES * 4), "a span of another request");
        let folder = tempfile::tempdir().unwrap();
        let kept = testing::kept(folder.path(), 1);
        fs::remove_file(&kept.spans).unwrap();
        assert!(kept.read().is_err());
    }

    #[test]
    fn identities_are_32_digits() {
        assert_eq!(identity(&"0f".repeat(16)), Some(TraceId([15; 16])));
        for text in ["", "0f", "+0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0", &"0g".repeat(16), &"0".repeat(33)] {
            assert_eq!(identity(text), None, "{text}");
        }
    }
}
