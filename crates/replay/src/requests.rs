use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::slice;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::{Error, Header, Record, header};

/// A compiled trace, mapped: the records are in the kernel's page cache, and of this process only those are resident that
/// it looked at lately ([`Requests::walk`]).
///
/// Bounds: the file must not be cut off while it is mapped; a page without a file behind it would end the process. It is
/// replaced by a rename only, which leaves the old file to those that have it.
#[derive(Debug)]
pub struct Requests {
    path: PathBuf,
    header: Header,
    start: NonNull<u8>,
    /// Units: bytes.
    length: usize,
}

// SAFETY: the mapping is only read, and unmapped when nothing has it any more.
unsafe impl Send for Requests {}
// SAFETY: as above.
unsafe impl Sync for Requests {}

/// Records between two pieces of advice to the kernel: 768 KiB of them.
const STRETCH: u64 = 32_768;
/// Stretches behind a reader that stay resident, for requests that are still under way: 65 536 records and more.
const KEPT: u64 = 3;

impl Requests {
    /// Maps a compiled trace.
    ///
    /// Errors: the file cannot be read, is not a compiled trace, or is cut off.
    pub fn open(path: &Path) -> Result<Requests, Error> {
        let failed = |source| Error::Read { path: path.into(), source };
        let damaged = |problem: String| Error::Damaged { path: path.into(), problem };
        let mut file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut bytes = [0; header::BYTES];
        if size < header::BYTES as u64 {
            return Err(damaged(format!("it has {size} B, less than a header")));
        }
        std::io::Read::read_exact(&mut file, &mut bytes).map_err(failed)?;
        let header = Header::from_bytes(&bytes).map_err(damaged)?;
        if header.file_size() != Some(size) {
            return Err(damaged(format!(
                "it has {size} B, which is not the size of {} requests",
                header.requests
            )));
        }
        if header.requests == 0 {
            return Err(Error::Empty { path: path.into() });
        }
        let length = usize::try_from(size).map_err(|_| damaged("it is too large to be mapped".into()))?;
        // SAFETY: a new mapping at an address of the system's choice overlaps no memory that is in use.
        let mapped =
            unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), 0) };
        let mapped = mapped.map_err(|error| failed(error.into()))?;
        let start = NonNull::new(mapped.cast()).ok_or_else(|| damaged("it is mapped at address 0".into()))?;
        Ok(Requests { path: path.into(), header, start, length })
    }

    /// Facts about it.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The compiled file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length, is readable, and lives as long as `self`; nothing writes to the file once it
        // has its name.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// The records one after the other.
    #[inline]
    fn records(&self) -> &[[u8; Record::BYTES]] {
        self.bytes()[header::BYTES..].as_chunks().0
    }

    /// How many there are; at least 1.
    #[inline]
    pub fn len(&self) -> u64 {
        self.header.requests
    }

    /// Never: a trace without requests is refused.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Record `index`. Bounds: below [`Requests::len`].
    #[inline]
    pub fn record(&self, index: u64) -> Record {
        Record::from_bytes(&self.records()[index as usize])
    }

    /// The time of a record. Units: ns after the start. Bounds: as of [`Requests::record`].
    #[inline]
    pub(crate) fn at_ns(&self, index: u64) -> u64 {
        self.record(index).at_ns
    }

    /// The first record of `within` whose time `is_past`, as are those after it; its end if there is none.
    pub(crate) fn first(&self, within: Range<u64>, is_past: impl Fn(u64) -> bool) -> u64 {
        let records = &self.records()[within.start as usize..within.end as usize];
        within.start + records.partition_point(|bytes| !is_past(Record::from_bytes(bytes).at_ns)) as u64
    }

    /// A reader has come to `index`. At the start of each stretch the kernel reads the next one, and takes
    /// those away that lie behind.
    #[inline]
    pub(crate) fn walk(&self, index: u64) {
        if index.is_multiple_of(STRETCH) {
            self.advise(index / STRETCH);
        }
    }

    #[cold]
    fn advise(&self, stretch: u64) {
        // Read from the disk in the background, and one stretch later mapped at once: 0.1 µs a page, in place of faults.
        self.advise_on(stretch + 2, Advice::WillNeed);
        self.advise_on(stretch + 1, Advice::LinuxPopulateRead);
        if let Some(behind) = stretch.checked_sub(KEPT) {
            self.advise_on(behind, Advice::LinuxDontNeed);
        }
    }

    /// The pages that lie within a stretch. Refused advice costs time and no request.
    fn advise_on(&self, stretch: u64, advice: Advice) {
        const PAGE: usize = 4096;
        let bytes = STRETCH as usize * Record::BYTES;
        let Some(from) = (stretch as usize).checked_mul(bytes).map(|from| from + header::BYTES) else {
            return;
        };
        let from = from.next_multiple_of(PAGE);
        let to = from.saturating_add(bytes).min(self.length) / PAGE * PAGE;
        if from < to {
            // SAFETY: the pages are of this mapping, and advice changes residence and not content.
            let _ = unsafe { madvise(self.start.as_ptr().add(from).cast(), to - from, advice) };
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let check = |bytes: &[u8], expect: &str| {
            std::fs::write(&path, bytes).unwrap();
            let error = Requests::open(&path).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        let header = crate::compile::tests::header(1).to_bytes();
        let record = [0; Record::BYTES];
        check(b"x", "it has 1 B, less than a header");
        check(&[0; 600], "does not begin as one");
        check(&header, "not the size of 1 requests");
        check(&[&header[..], &record[..20]].concat(), "not the size of 1 requests");
        check(&crate::compile::tests::header(0).to_bytes(), "it has no request");
        std::fs::write(&path, [&header[..], &record].concat()).unwrap();
        assert_eq!(Requests::open(&path).unwrap().len(), 1);
    }
}
