use thiserror::Error;

use crate::span::{SPAN_BYTES, Span, word};

/// The first four bytes of a file, as a little-endian number: `SPH1`.
const MAGIC: u32 = 0x3148_5053;
const VERSION: u16 = 1;

/// The process that wrote a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The number of its service.
    pub service: u16,
    /// Its instance number.
    pub instance: u16,
    /// The id of the machine's boot: two processes share a clock if it is equal.
    pub boot: String,
    /// Wall clock − CLOCK_MONOTONIC. Units: ns.
    pub wall_offset: i64,
    /// Its process.
    pub pid: u64,
}

/// The spans that a process wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanFile {
    /// Which one.
    pub origin: Origin,
    /// In the order of writing.
    pub spans: Vec<Span>,
    /// The number of records that were incomplete or invalid, and the defect of the first.
    pub broken: Option<(u64, String)>,
}

/// Why a file is not a span file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FileError {
    #[error("it has {0} bytes, and the first record alone takes {SPAN_BYTES}")]
    Short(usize),
    #[error("it does not begin with SPH1")]
    Magic,
    #[error("it is of version {0}; known is {VERSION}")]
    Version(u16),
}

impl SpanFile {
    /// Reads the bytes of a file. Broken records are counted and left out, since a process may be killed while it
    /// writes.
    ///
    /// Errors: it is not a span file.
    pub fn read(bytes: &[u8]) -> Result<SpanFile, FileError> {
        let Some((head, rest)) = bytes.split_first_chunk::<SPAN_BYTES>() else {
            return Err(FileError::Short(bytes.len()));
        };
        if u32::from_le_bytes(word(head, 0)) != MAGIC {
            return Err(FileError::Magic);
        }
        let version = u16::from_le_bytes(word(head, 4));
        if version != VERSION {
            return Err(FileError::Version(version));
        }
        let origin = Origin {
            service: u16::from_le_bytes(word(head, 6)),
            instance: u16::from_le_bytes(word(head, 8)),
            boot: String::from_utf8_lossy(&head[16..52]).into_owned(),
            wall_offset: i64::from_le_bytes(word(head, 56)),
            pid: u64::from_le_bytes(word(head, 64)),
        };
        let mut file = SpanFile { origin, spans: Vec::with_capacity(rest.len() / SPAN_BYTES), broken: None };
        let (records, last) = rest.as_chunks::<SPAN_BYTES>();
        for record in records {
            match Span::read(record) {
                Ok(span) => file.spans.push(span),
                Err(error) => file.breaks(&error.to_string()),
            }
        }
        if !last.is_empty() {
            file.breaks("it is not whole");
        }
        Ok(file)
    }

    fn breaks(&mut self, why: &str) {
        let (count, _) = self.broken.get_or_insert_with(|| (0, why.to_owned()));
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{SpanKind, SpanOutcome, TraceId};
    use units::Nanos;

    fn head() -> Vec<u8> {
        let mut head = vec![0; SPAN_BYTES];
        head[..10].copy_from_slice(b"SPH1\x01\0\x06\0\x02\0");
        head[16..52].copy_from_slice(b"01234567-89ab-cdef-0123-456789abcdef");
        head[56..64].copy_from_slice(&(-5i64).to_le_bytes());
        head[64..72].copy_from_slice(&77u64.to_le_bytes());
        head
    }

    fn span(number: u64) -> Span {
        Span {
            service: 6,
            instance: 2,
            peer: 0,
            method: 0,
            kind: SpanKind::Server,
            outcome: SpanOutcome::Ok,
            is_retried: false,
            trace: TraceId([1; 16]),
            span: number,
            parent: 0,
            stamps: [1, 2, 3, 4, 5, 6],
            cpu: Nanos(1),
            bytes_in: 0,
            bytes_out: 0,
        }
    }

    #[test]
    fn what_is_whole_is_read() {
        let bytes = [head(), span(1).write().to_vec(), span(2).write().to_vec()].concat();
        let file = SpanFile::read(&bytes).unwrap();
        assert_eq!((file.spans.len(), &file.broken), (2, &None));
        let origin = file.origin;
        assert_eq!((origin.service, origin.instance, origin.wall_offset, origin.pid), (6, 2, -5, 77));
        assert_eq!(origin.boot, "01234567-89ab-cdef-0123-456789abcdef");
        // A process that was killed while it wrote.
        let cut = SpanFile::read(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!((cut.spans.len(), cut.broken), (1, Some((1, "it is not whole".into()))));
        let mut damaged = bytes.clone();
        damaged[SPAN_BYTES + 12] = 9;
        let file = SpanFile::read(&damaged).unwrap();
        assert_eq!((file.spans, file.broken.unwrap().0), (vec![span(2)], 1));
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(SpanFile::read(b"SPH1"), Err(FileError::Short(4)));
        assert_eq!(SpanFile::read(&[0; 200]), Err(FileError::Magic));
        let mut later = head();
        later[4] = 2;
        assert_eq!(SpanFile::read(&later), Err(FileError::Version(2)));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600)) {
            let _ = SpanFile::read(&bytes);
            let _ = SpanFile::read(&[&head()[..], &bytes].concat());
        }
    }
}
