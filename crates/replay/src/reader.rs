use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::formats::{Line, Parser, Seen, oracle_general, watch};
use crate::zstd::{self, Frames};
use crate::{Error, Format};

/// The bytes at which a format is recognised, and that are read at once. Units: bytes.
const BUFFER: usize = 256 << 10;
/// Characters of a line that an error shows.
const SHOWN: usize = 60;

/// A trace that is read from its beginning to its end, compressed or not. Bounds: two buffers, a line and the window of
/// a frame.
pub(crate) struct Reader {
    path: PathBuf,
    source: Box<dyn BufRead>,
    pub(crate) format: Format,
    /// Bytes of the file that were read.
    read: Arc<AtomicU64>,
}

/// Counts the bytes read from a file.
struct Counted(File, Arc<AtomicU64>);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Reader {
    /// Opens a trace. Its content tells its format, unless one is given.
    ///
    /// Errors: the file cannot be read, or its format is not recognised.
    pub(crate) fn open(path: &Path, format: Option<Format>) -> Result<Reader, Error> {
        let failed = |source| Error::Read { path: path.into(), source };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Error::NoFile { path: path.into() });
        }
        let read = Arc::new(AtomicU64::new(0));
        let mut plain = BufReader::with_capacity(BUFFER, Counted(file, Arc::clone(&read)));
        let is_compressed = plain.fill_buf().map_err(failed)?.starts_with(&zstd::MAGIC);
        let mut source: Box<dyn BufRead> = match is_compressed {
            true => Box::new(BufReader::with_capacity(BUFFER, Frames::new(plain))),
            false => Box::new(plain),
        };
        let beginning = source.fill_buf().map_err(failed)?;
        if beginning.is_empty() {
            return Err(Error::Empty { path: path.into() });
        }
        let format = format.or_else(|| Format::recognise(beginning));
        let format = format.ok_or_else(|| Error::Unrecognised { path: path.into() })?;
        Ok(Reader { path: path.into(), source, format, read })
    }

    /// Reads all requests; returns how many lines were skipped, which are messages and operations that are not replayed.
    /// `emit` also gets the bytes of the file that were read so far.
    ///
    /// Errors: of `emit`; the file cannot be read, or a line or record is not one of the format.
    pub(crate) fn each(mut self, emit: &mut dyn FnMut(Seen, u64) -> Result<(), Error>) -> Result<u64, Error> {
        match Parser::of(self.format) {
            Some(parser) => self.lines(parser, emit),
            None => self.records(emit).map(|()| 0),
        }
    }

    fn malformed(&self, place: String, given: &[u8], problem: String) -> Error {
        let given = given.trim_ascii();
        let shown = given[..given.len().min(SHOWN)].escape_ascii().to_string();
        Error::Malformed { path: self.path.clone(), place, given: shown, problem }
    }

    fn lines(
        &mut self,
        mut parser: Parser,
        emit: &mut dyn FnMut(Seen, u64) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let longest = self.format.longest_line();
        let (mut line, mut skipped, mut fetches) = (Vec::new(), 0, watch::Fetches::default());
        for number in 1u64.. {
            line.clear();
            let read = (&mut self.source).take(longest as u64 + 1).read_until(b'\n', &mut line);
            if read.map_err(|source| Error::Read { path: self.path.clone(), source })? == 0 {
                break;
            }
            let place = || format!("line {number}");
            if line.len() > longest {
                return Err(self.malformed(place(), &line, format!("it is longer than {longest} B")));
            }
            let so_far = self.read.load(Ordering::Relaxed);
            let mut emitted = Ok(());
            if self.format == Format::Watch {
                fetches.look(&line);
            }
            let parsed = parser.line(line.trim_ascii(), &mut |seen| {
                if emitted.is_ok()
                    && let Some(seen) = fetches.next(seen)
                {
                    emitted = emit(seen, so_far);
                }
            });
            emitted?;
            match parsed {
                Ok(Line::Requests | Line::Nothing) => {}
                Ok(Line::Skipped) => skipped += 1,
                Err(problem) => return Err(self.malformed(place(), &line, problem)),
            }
        }
        let (rest, own) = fetches.rest();
        rest.into_iter().try_for_each(|seen| emit(seen, self.read.load(Ordering::Relaxed)))?;
        Ok(skipped + own)
    }

    fn records(&mut self, emit: &mut dyn FnMut(Seen, u64) -> Result<(), Error>) -> Result<(), Error> {
        for number in 1u64.. {
            let mut record = Vec::with_capacity(oracle_general::BYTES);
            let read = (&mut self.source).take(oracle_general::BYTES as u64).read_to_end(&mut record);
            if read.map_err(|source| Error::Read { path: self.path.clone(), source })? == 0 {
                break;
            }
            let place = || format!("record {number}");
            let whole = <[u8; oracle_general::BYTES]>::try_from(&record[..]).map_err(|_| {
                let problem = format!("it has {} of {} B", record.len(), oracle_general::BYTES);
                self.malformed(place(), &record, problem)
            })?;
            let seen = oracle_general::record(&whole)
                .map_err(|problem| self.malformed(place(), &record, problem))?;
            emit(seen, self.read.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(content: &[u8], format: Option<Format>) -> Result<(usize, u64), Error> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let mut requests = 0;
        let skipped = Reader::open(file.path(), format)?.each(&mut |_, _| {
            requests += 1;
            Ok(())
        })?;
        Ok((requests, skipped))
    }

    #[test]
    fn reads_plain_and_compressed_files() {
        let text = b"0,a,1,0,1,get,0\n1,b,1,5,1,set,0\n";
        let packed =
            ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(read(text, None).unwrap(), (2, 0));
        assert_eq!(read(&packed, None).unwrap(), (2, 0));
        assert_eq!(read(b"OK\n1.5 [0 a:1] \"ping\"\n1.5 [0 a:1] \"get\" \"x\"\n", None).unwrap(), (1, 2));
    }

    #[test]
    fn memcacheds_own_fetches_are_no_requests() {
        let log = |first: &str| {
            let line = |at: &str, what: &str| format!("ts=1.{at} gid=1 type={what} clsid=1\n");
            [
                // A fetch that misses, its set, and another thread's fetch between the two lines of that.
                line(first, "item_get key=a status=not_found"),
                line("200001", "item_get key=a status=not_found"),
                line("200001", "item_get key=b status=found size=1"),
                line("200002", "item_store key=a status=stored cmd=set ttl=0 size=3"),
                line("200003", "item_get key=a status=found size=3"),
                line("200004", "deleted key=a cmd=delete size=3"),
            ]
            .concat()
        };
        assert_eq!(read(log("9").as_bytes(), None).unwrap(), (4, 2));
        assert_eq!(read(log("000009").as_bytes(), None).unwrap(), (6, 0), "Sphinx");
    }

    #[test]
    fn errors_name_the_place() {
        let check = |content: &[u8], format: Option<Format>, expect: &str| {
            let error = read(content, format).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(b"", None, "it has no request");
        check(b"hello\n", None, "--format FORMAT: twitter kvcache");
        check(
            b"0,a,1,0,1,get,0\n0,a,x,0,1,get,0\n",
            Some(Format::Twitter),
            "line 2: '0,a,x,0,1,get,0': its key size",
        );
        check(
            &[0; 30],
            Some(Format::OracleGeneral),
            "record 2: '\\x00\\x00\\x00\\x00\\x00\\x00': it has 6 of 24 B",
        );
        let long = [&[b'7'; 70_000][..], b"\n"].concat();
        check(&long, Some(Format::Twitter), "longer than 65536 B");
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Reader::open(folder.path(), None), Err(Error::NoFile { .. })));
    }
}
