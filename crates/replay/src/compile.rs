use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use dist::{Arrivals, Process, Rng};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use units::Rate;

use crate::formats::Seen;
use crate::reader::Reader;
use crate::spread::{self, Spread};
use crate::{Error, Format, Header, Record, Requests, header};

/// How far a trace is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the source that were read.
    pub read: u64,
    /// Its size.
    pub of: u64,
    /// Requests so far.
    pub requests: u64,
}

/// Requests between two reports of progress.
const REPORTED: u64 = 1 << 16;
/// Records of one second that are kept until their number is known: 1.5 MiB. More are written, and given their times
/// afterwards.
const PENDING: usize = 1 << 16;
/// Keys whose last known size is kept; two keys with one place displace each other. 16 MiB.
const KNOWN: usize = 1 << 20;
/// The rate at which a trace without times is written: any, since it is scaled. Units: rps.
const UNTIMED: f64 = 1e6;

/// Where the compiled form of a trace lies, unless a place is given.
pub fn beside(source: &Path) -> PathBuf {
    let mut name = source.as_os_str().to_owned();
    name.push(".replay");
    name.into()
}

/// The requests of a trace: compiled ones as they are; of any other the compiled file in the same folder, which is made if it is
/// missing or of an earlier content. `progress` returns whether to go on.
///
/// Errors: the trace cannot be read or is malformed, or the compiled form cannot be written.
pub fn open(source: &Path, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Requests, Error> {
    let failed = |error| Error::Read { path: source.into(), source: error };
    let mut beginning = [0; header::MAGIC.len()];
    let read = File::open(source).and_then(|mut file| file.read(&mut beginning)).map_err(failed)?;
    if beginning[..read] == header::MAGIC {
        return Requests::open(source);
    }
    let compiled = beside(source);
    let identity = header::identity(source).map_err(failed)?;
    if let Ok(requests) = Requests::open(&compiled)
        && (requests.header().source_size, requests.header().source_changed_ns) == identity
    {
        return Ok(requests);
    }
    compile(source, &compiled, None, progress)?;
    Requests::open(&compiled)
}

/// Compiles a trace into `to`, which has its name once it is whole.
///
/// Requests keep their order. One that was written after a later one comes with it. Where times are whole seconds, the
/// requests of a second are spread over it as by a Poisson process; without times, over all the trace. A get whose
/// value has no size gets the key's last known one. Bounds: 20 MiB of memory, for a trace of any size.
///
/// Errors: the trace cannot be read or is malformed, or `to` cannot be written; it is removed then.
pub fn compile(
    source: &Path,
    to: &Path,
    format: Option<Format>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Header, Error> {
    let failed = |error| Error::Read { path: source.into(), source: error };
    let (source_size, source_changed_ns) = header::identity(source).map_err(failed)?;
    let reader = Reader::open(source, format)?;
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let header = Header {
        format: reader.format,
        requests: 0,
        last_ns: 0,
        source_size,
        source_changed_ns,
        is_timed: true,
        reordered: 0,
        skipped: 0,
        largest: 0,
        counts: [0; 10],
        name,
    };
    let mut writer = Writer::new(to, header).map_err(|source| Error::Write { path: to.into(), source })?;
    let skipped = reader.each(&mut |seen, read| {
        for _ in 0..seen.times {
            writer.push(&seen).map_err(|source| Error::Write { path: to.into(), source })?;
            let requests = writer.header.requests;
            if requests % REPORTED == 0 && !progress(&Progress { read, of: source_size, requests }) {
                return Err(Error::Stopped);
            }
        }
        Ok(())
    })?;
    writer.header.skipped = skipped;
    if writer.header.requests == 0 {
        return Err(Error::Empty { path: source.into() });
    }
    writer.finish(to).map_err(|source| Error::Write { path: to.into(), source })
}

/// A compiled trace that is being written.
struct Writer {
    unfinished: Unfinished,
    header: Header,
    /// The first time of the source. Units: ns.
    first_ns: Option<u64>,
    /// The latest so far, from the first on.
    last_ns: u64,
    /// Times of a trace without any.
    drawn: Arrivals,
    rng: Rng,
    /// Records that are not written yet. Of a source of whole seconds, they are of one second.
    pending: Vec<Record>,
    /// Records of the same time that are written already.
    spilled: u64,
    /// Records written.
    written: u64,
    buffer: Vec<u8>,
    /// By the lowest bits of a key: key, and its last known size.
    sizes: Vec<(u64, Option<u32>)>,
}

/// A file without a name until it is whole, so that a killed process leaves no file behind. If the file system has no
/// such files, it has a temporary name, and is removed at the end.
struct Unfinished {
    /// The name before it replaces an earlier file.
    path: PathBuf,
    file: File,
    is_named: bool,
}

impl Unfinished {
    fn new(to: &Path) -> io::Result<Unfinished> {
        let mut name = to.as_os_str().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let path = PathBuf::from(name);
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)) {
            return Ok(Unfinished { path, file: file.into(), is_named: false });
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Unfinished { path, file, is_named: true })
    }

    /// Gives it its name, in place of an earlier file. Source: `open(2)`, how an `O_TMPFILE` becomes a file.
    fn finish(&self, to: &Path) -> io::Result<()> {
        self.file.sync_data()?;
        if !self.is_named {
            let unnamed = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            rustix::fs::linkat(CWD, unnamed, CWD, &self.path, AtFlags::SYMLINK_FOLLOW)?;
        }
        std::fs::rename(&self.path, to)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Writer {
    fn new(to: &Path, header: Header) -> io::Result<Writer> {
        let mut unfinished = Unfinished::new(to)?;
        // Its place; it is written once the counts are known.
        unfinished.file.write_all(&[0; header::BYTES])?;
        let rate = Rate::new(UNTIMED).map_err(io::Error::other)?;
        Ok(Writer {
            unfinished,
            header,
            first_ns: None,
            last_ns: 0,
            drawn: Arrivals::new(Process::Poisson, None, rate),
            rng: spread::rng(),
            pending: Vec::with_capacity(PENDING),
            spilled: 0,
            written: 0,
            buffer: Vec::with_capacity(PENDING * Record::BYTES),
            sizes: vec![(0, None); KNOWN],
        })
    }

    fn push(&mut self, seen: &Seen) -> io::Result<()> {
        let at_ns = match seen.at_ns {
            Some(at) => at.saturating_sub(*self.first_ns.get_or_insert(at)),
            None => {
                self.header.is_timed = false;
                self.drawn.next(&mut self.rng).unwrap_or_default() as u64
            }
        };
        if at_ns > Record::LATEST {
            return Err(io::Error::other("a request comes over 36 years after the first"));
        }
        let is_early = at_ns < self.last_ns || seen.at_ns.is_some_and(|at| Some(at) < self.first_ns);
        self.header.reordered += u64::from(is_early);
        let at_ns = at_ns.max(self.last_ns);
        if at_ns != self.last_ns && self.spreads() {
            self.flush(Some(at_ns))?;
        } else if self.pending.len() == PENDING {
            self.flush(None)?;
        }
        self.last_ns = at_ns;
        let place = &mut self.sizes[seen.key as usize % KNOWN];
        let size = seen.size.or(place.1.filter(|_| place.0 == seen.key));
        if seen.size.is_some() {
            *place = (seen.key, seen.size);
        }
        self.header.largest = self.header.largest.max(size.unwrap_or(0).into());
        self.header.counts[seen.op as usize] += 1;
        self.header.requests += 1;
        let Seen { op, key, key_size, ttl_s, .. } = *seen;
        self.pending.push(Record { at_ns, op, key, key_size, size, ttl_s });
        Ok(())
    }

    /// Whether times may be whole seconds.
    fn spreads(&self) -> bool {
        self.header.format.has_seconds() && self.header.is_timed
    }

    /// Writes the pending records. `next`: the time after theirs, if it is known; if theirs is a whole second, and the next
    /// comes no earlier than a second later, they are spread over it.
    fn flush(&mut self, next: Option<u64>) -> io::Result<()> {
        const SECOND: u64 = 1_000_000_000;
        let mut spread = None;
        if let Some(next) = next {
            let is_whole = (self.last_ns + self.first_ns.unwrap_or(0)).is_multiple_of(SECOND);
            if self.spreads() && is_whole && next - self.last_ns >= SECOND {
                let mut moments = Spread::new(self.spilled + self.pending.len() as u64);
                self.spread_spilled(&mut moments)?;
                spread = Some(moments);
            }
            self.spilled = 0;
        }
        self.buffer.clear();
        for record in &mut self.pending {
            if let Some(moments) = &mut spread {
                record.at_ns += moments.next(&mut self.rng);
            }
            self.buffer.extend_from_slice(&record.to_bytes());
        }
        self.unfinished.file.write_all(&self.buffer)?;
        if let Some(last) = self.pending.last() {
            self.header.last_ns = last.at_ns;
        }
        if next.is_none() {
            self.spilled += self.pending.len() as u64;
        }
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Gives the written records of the present second their times.
    fn spread_spilled(&mut self, moments: &mut Spread) -> io::Result<()> {
        let first = self.written - self.spilled;
        let mut done = 0;
        while done < self.spilled {
            let count = (self.spilled - done).min(PENDING as u64);
            let offset = header::BYTES as u64 + (first + done) * Record::BYTES as u64;
            self.buffer.resize(count as usize * Record::BYTES, 0);
            self.unfinished.file.read_exact_at(&mut self.buffer, offset)?;
            for bytes in self.buffer.as_chunks_mut::<{ Record::BYTES }>().0 {
                let mut record = Record::from_bytes(bytes);
                record.at_ns += moments.next(&mut self.rng);
                *bytes = record.to_bytes();
            }
            self.unfinished.file.write_all_at(&self.buffer, offset)?;
            done += count;
        }
        Ok(())
    }

    /// Writes the rest and the header, and gives the file its name.
    fn finish(mut self, to: &Path) -> io::Result<Header> {
        self.flush(Some(u64::MAX))?;
        self.unfinished.file.write_all_at(&self.header.to_bytes(), 0)?;
        self.unfinished.finish(to)?;
        Ok(self.header.clone())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Op;
    use proptest::prelude::*;

    /// The header of a trace that has nothing to tell.
    pub(crate) fn header(requests: u64) -> Header {
        Header {
            format: Format::Watch,
            requests,
            last_ns: 0,
            source_size: 0,
            source_changed_ns: 0,
            is_timed: true,
            reordered: 0,
            skipped: 0,
            largest: 0,
            counts: [0; 10],
            name: String::new(),
        }
    }

    /// The compiled form of a text.
    pub(crate) fn compiled(text: &[u8], format: Option<Format>) -> Result<Requests, Error> {
        let folder = tempfile::tempdir().unwrap();
        let (source, to) = (folder.path().join("source"), folder.path().join("compiled"));
        std::fs::write(&source, text).unwrap();
        compile(&source, &to, format, &mut |_| true)?;
        // The mapping outlives the name.
        Requests::open(&to)
    }

    fn records(requests: &Requests) -> Vec<Record> {
        (0..requests.len()).map(|index| requests.record(index)).collect()
    }

    #[test]
    fn times_are_counted_from_the_first_and_never_go_back() {
        let line = |ts: &str| format!("ts={ts} gid=1 type=item_get key=a status=not_found\n");
        let text = [line("5.500000"), line("6.250000"), line("6"), line("4"), line("7")].concat();
        let requests = compiled(text.as_bytes(), None).unwrap();
        let at: Vec<u64> = records(&requests).iter().map(|record| record.at_ns).collect();
        assert_eq!(at, [0, 750_000_000, 750_000_000, 750_000_000, 1_500_000_000]);
        let header = requests.header();
        assert_eq!((header.reordered, header.last_ns, header.is_timed), (2, 1_500_000_000, true));
    }

    #[test]
    fn whole_seconds_are_spread() {
        let text: String = (0..6_000).map(|i| format!("{},k{i},9,1,1,get,0\n", 100 + i / 2_000)).collect();
        let requests = compiled(text.as_bytes(), None).unwrap();
        let at: Vec<u64> = records(&requests).iter().map(|record| record.at_ns).collect();
        assert!(at.is_sorted());
        for second in 0..3 {
            let within = |ns: u64| ns / 1_000_000_000 == second;
            assert_eq!(at.iter().filter(|ns| within(**ns)).count(), 2_000);
            let early = at.iter().filter(|ns| within(**ns) && **ns % 1_000_000_000 < 500_000_000).count();
            // The standard deviation is √(2 000 × 0.25), 22; five of them.
            assert!(early.abs_diff(1_000) < 112, "{early}");
        }
        assert_eq!(requests.header().last_ns, *at.last().unwrap());
    }

    #[test]
    fn a_second_of_more_requests_than_are_kept_is_spread_too() {
        let count = PENDING + PENDING / 2;
        let text: String =
            (0..count + 1).map(|i| format!("{},k{},9,1,1,get,0\n", 7 + i / count, i % 5)).collect();
        let requests = compiled(text.as_bytes(), None).unwrap();
        let at: Vec<u64> = records(&requests).iter().map(|record| record.at_ns).collect();
        assert!(at.is_sorted() && at[count - 1] < 1_000_000_000 && at[count] >= 1_000_000_000);
        let early = at.iter().filter(|ns| **ns < 500_000_000).count();
        // The standard deviation is √(98 304 × 0.25), 157; five of them.
        assert!(early.abs_diff(count / 2) < 785, "{early} of {count}");
    }

    #[test]
    fn a_trace_without_times_gets_drawn_ones() {
        let text = "key,op,size,op_count\na,GET,0,3\nb,SET,5,1\na,GET,9,1\na,GET,0,1\n";
        let requests = compiled(text.as_bytes(), None).unwrap();
        let all = records(&requests);
        assert_eq!((all.len(), requests.header().is_timed), (6, false));
        assert!(all.is_sorted_by(|a, b| a.at_ns < b.at_ns));
        // Only the last get comes after the size of its value was seen.
        let sizes: Vec<_> = all.iter().map(|record| record.size).collect();
        assert_eq!(sizes, [None, None, None, Some(5), Some(9), Some(9)]);
        assert_eq!((requests.header().count(Op::Get), requests.header().count(Op::Set)), (5, 1));
        // A value of 0 B is as known as any other.
        let text = "0,a,1,0,1,set,0\n0,a,1,0,1,get,0\n0,b,1,0,1,get,0\n";
        let requests = compiled(text.as_bytes(), None).unwrap();
        let sizes: Vec<_> = records(&requests).iter().map(|record| record.size).collect();
        assert_eq!(sizes, [Some(0), Some(0), None]);
    }

    #[test]
    fn the_compiled_form_is_used_until_its_source_changes() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("t.csv");
        let write = |text: &str| std::fs::write(&source, text).unwrap();
        let mut calls = 0;
        let requests = |path: &Path| open(path, &mut |_| true).map(|requests| requests.len());
        write("1,a,1,0,1,get,0\n");
        assert_eq!(requests(&source).unwrap(), 1);
        let first = std::fs::metadata(beside(&source)).unwrap().modified().unwrap();
        assert_eq!(requests(&source).unwrap(), 1);
        assert_eq!(std::fs::metadata(beside(&source)).unwrap().modified().unwrap(), first, "not again");
        write("1,a,1,0,1,get,0\n1,a,1,0,1,get,0\n");
        assert_eq!(requests(&source).unwrap(), 2);
        assert_eq!(requests(&beside(&source)).unwrap(), 2, "as it is");
        // A damaged one is made again.
        std::fs::write(beside(&source), "TLREPLAY").unwrap();
        assert_eq!(requests(&source).unwrap(), 2);
        // Nothing remains of one that failed.
        write("1,a,1,0,1,get,0\nx\n");
        assert!(requests(&source).unwrap_err().to_string().contains("line 2: 'x'"));
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".part")), "{left:?}");
        write(&"1,a,1,0,1,get,0\n".repeat(REPORTED as usize));
        let stopped = open(&source, &mut |progress| {
            calls += 1;
            progress.requests == 0
        });
        assert!(matches!(stopped, Err(Error::Stopped)) && calls == 1);
    }

    proptest! {
        #[test]
        fn what_is_compiled_reads_back(
            given in proptest::collection::vec((0u64..50, 0u64..20, 1u8..=250, 0u32..5_000, 0usize..10, 0u32..100), 1..200)
        ) {
            let mut time = 0;
            let mut text = String::new();
            let mut expect = Vec::new();
            for (gap, key, key_size, size, op, ttl) in given {
                time += gap;
                let op = Op::ALL[op];
                text += &format!("{}.{:03},{key},{key_size},{size},1,{},{ttl}\n", 9 + time / 1000, time % 1000, op.name());
                expect.push((op, key_size, ttl));
            }
            let requests = compiled(text.as_bytes(), Some(Format::Twitter)).unwrap();
            let all = records(&requests);
            let got: Vec<_> = all.iter().map(|record| (record.op, record.key_size, record.ttl_s)).collect();
            prop_assert_eq!(got, expect);
            prop_assert!(all.is_sorted_by_key(|record| record.at_ns));
        }
    }
}
