//! A file of traces: a line of OTLP's JSON for each batch.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Error;
use crate::otlp::TracesRequest;
use crate::sending::Sink;
use crate::trace::{Trace, hex};

/// A new file, which gets its name once it is complete.
pub(crate) struct Lines {
    path: PathBuf,
    /// `None` once it is complete.
    written: Option<BufWriter<NamedTempFile>>,
    /// Spans by trace, counted once the file has been read.
    read: Option<HashMap<String, u64>>,
}

impl Lines {
    /// Errors: a file of that name exists, or a temporary file cannot be created next to it.
    pub(crate) fn new(path: &Path) -> Result<Lines, Error> {
        if path.exists() {
            return Err(error(path, "it exists"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).map_err(|e| error(path, e))?;
        Ok(Lines { path: path.into(), written: Some(BufWriter::new(file)), read: None })
    }
}

fn error(path: &Path, problem: impl ToString) -> Error {
    Error::File { path: path.into(), problem: problem.to_string() }
}

impl Sink for Lines {
    fn send(&mut self, traces: &[Trace]) -> Result<(), Error> {
        let Some(file) = &mut self.written else { return Err(error(&self.path, "it is whole already")) };
        let mut line = TracesRequest::of(traces).json();
        line.push(b'\n');
        file.write_all(&line).map_err(|e| error(&self.path, e))
    }

    fn finish(&mut self) -> Result<(), Error> {
        let Some(file) = self.written.take() else { return Ok(()) };
        let file = file.into_inner().map_err(|e| error(&self.path, e.error()))?;
        file.as_file().sync_all().map_err(|e| error(&self.path, e))?;
        file.persist_noclobber(&self.path).map_err(|e| error(&self.path, e.error))?;
        Ok(())
    }

    fn held(&mut self, traces: &[[u8; 16]]) -> Result<Option<Vec<u64>>, Error> {
        let read = match &mut self.read {
            Some(read) => read,
            none => none.insert(read(&self.path)?),
        };
        Ok(Some(traces.iter().map(|trace| read.get(&hex(trace)).copied().unwrap_or(0)).collect()))
    }
}

/// The number of spans of each trace in a file.
fn read(path: &Path) -> Result<HashMap<String, u64>, Error> {
    let file = File::open(path).map_err(|e| error(path, e))?;
    let mut found = HashMap::new();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|e| error(path, e))?;
        let request: TracesRequest = serde_json::from_str(&line).map_err(|e| error(path, e))?;
        // All spans of a trace are in one line.
        for (trace, spans) in request.identities() {
            *found.entry(trace.to_owned()).or_default() += spans.len() as u64;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing;

    #[test]
    fn a_file_appears_whole_and_holds_what_was_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("traces.jsonl");
        let traces = testing::traces(3);
        let mut lines = Lines::new(&path).unwrap();
        lines.send(&traces[..2]).unwrap();
        lines.send(&traces[2..]).unwrap();
        assert!(!path.exists());
        lines.finish().unwrap();
        lines.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
        let ids = [traces[0].id, [0; 16], traces[2].id];
        assert_eq!(lines.held(&ids).unwrap(), Some(vec![5, 0, 5]));
        let error = Lines::new(&path).err().unwrap().to_string();
        assert!(error.contains("traces.jsonl: it exists; name another file"), "{error}");
        assert!(lines.send(&traces).is_err());
    }

    #[test]
    fn what_cannot_be_written_or_read_is_said() {
        assert!(Lines::new(Path::new("/no/such/folder/a")).is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "{}\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("resourceSpans"));
        fs::write(&path, [0xff, b'\n']).unwrap();
        assert!(read(&path).is_err());
        // Two processes that write the same.
        fs::remove_file(&path).unwrap();
        let (mut one, mut other) = (Lines::new(&path).unwrap(), Lines::new(&path).unwrap());
        one.finish().unwrap();
        assert!(other.finish().is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
