use thiserror::Error;
use units::Nanos;

/// The length of a record, and of the beginning of a file.
pub const SPAN_BYTES: usize = 128;
/// The first four bytes of a record, as a little-endian number: `SPN1`.
pub(crate) const MAGIC: u32 = 0x314E_5053;

/// The identity of a request, the same in all of its spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// The end of a call that a span describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// The called service's end.
    Server,
    /// The caller's end.
    Client,
    /// The caller's end of a call to a database or a cache, which has no spans of its own.
    Store,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanOutcome {
    /// With an answer.
    Ok,
    /// With a refusal, which is an answer.
    Refused,
    /// With none.
    Failed,
    /// With no answer in time.
    Deadline,
}

/// One end of a call, with six moments in their order.
///
/// Units: moments in ns of the clock CLOCK_MONOTONIC of its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The number of the service that wrote it.
    pub service: u16,
    /// Its instance number.
    pub instance: u16,
    /// The number of the called service or store; 0 in a server's span.
    pub peer: u16,
    /// The method's index in the called service's list; for a store, the operation.
    pub method: u16,
    /// Which end.
    pub kind: SpanKind,
    /// How it ended.
    pub outcome: SpanOutcome,
    /// Whether the call was retried after its connection had failed.
    pub is_retried: bool,
    /// Of which request.
    pub trace: TraceId,
    /// Its identity within the request.
    pub span: u64,
    /// The id of the span that caused it: the caller's for a server's span, the server's for any other.
    pub parent: u64,
    /// Of a server: frame complete, taken from the queue, decoded; handler returned; answer encoded, written. Of a
    /// client: called, connection acquired, encoded, written; answer readable, decoded.
    pub stamps: [u64; 6],
    /// Processor time of the thread; only in a server's span.
    pub cpu: Nanos,
    /// Bytes of the request.
    pub bytes_in: u32,
    /// Bytes of the answer.
    pub bytes_out: u32,
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SpanError {
    #[error("it does not begin with SPN1")]
    Magic,
    #[error("its kind is {0}; there are 0 to 2")]
    Kind(u8),
    #[error("its outcome is {0}; there are 0 to 3")]
    Outcome(u8),
    #[error("its moments are not in their order")]
    Order,
}

pub(crate) fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the slice has that length")
}

impl Span {
    /// Reads a record.
    ///
    /// Errors: it is another record, or invalid.
    pub fn read(bytes: &[u8; SPAN_BYTES]) -> Result<Span, SpanError> {
        if u32::from_le_bytes(word(bytes, 0)) != MAGIC {
            return Err(SpanError::Magic);
        }
        let short = |at| u16::from_le_bytes(word(bytes, at));
        let long = |at| u64::from_le_bytes(word(bytes, at));
        let kind = match bytes[12] {
            0 => SpanKind::Server,
            1 => SpanKind::Client,
            2 => SpanKind::Store,
            other => return Err(SpanError::Kind(other)),
        };
        let outcome = match bytes[13] {
            0 => SpanOutcome::Ok,
            1 => SpanOutcome::Refused,
            2 => SpanOutcome::Failed,
            3 => SpanOutcome::Deadline,
            other => return Err(SpanError::Outcome(other)),
        };
        let stamps = [0, 1, 2, 3, 4, 5].map(|i| long(48 + 8 * i));
        if !stamps.is_sorted() {
            return Err(SpanError::Order);
        }
        Ok(Span {
            service: short(4),
            instance: short(6),
            peer: short(8),
            method: short(10),
            kind,
            outcome,
            is_retried: short(14) & 1 == 1,
            trace: TraceId(word(bytes, 16)),
            span: long(32),
            parent: long(40),
            stamps,
            cpu: Nanos(long(96)),
            bytes_in: u32::from_le_bytes(word(bytes, 104)),
            bytes_out: u32::from_le_bytes(word(bytes, 108)),
        })
    }

    /// Its record in a span file.
    pub fn write(&self) -> [u8; SPAN_BYTES] {
        let mut bytes = [0; SPAN_BYTES];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &MAGIC.to_le_bytes());
        for (at, number) in [(4, self.service), (6, self.instance), (8, self.peer), (10, self.method)] {
            put(at, &number.to_le_bytes());
        }
        put(12, &[self.kind as u8, self.outcome as u8, u8::from(self.is_retried)]);
        put(16, &self.trace.0);
        put(32, &self.span.to_le_bytes());
        put(40, &self.parent.to_le_bytes());
        for (i, stamp) in self.stamps.iter().enumerate() {
            put(48 + 8 * i, &stamp.to_le_bytes());
        }
        put(96, &self.cpu.0.to_le_bytes());
        put(104, &self.bytes_in.to_le_bytes());
        put(108, &self.bytes_out.to_le_bytes());
        bytes
    }

    /// From its first moment to its last.
    pub fn length(&self) -> Nanos {
        self.between(0, 5)
    }

    /// The time between two of its moments, each from 0 to 5.
    pub(crate) fn between(&self, from: usize, to: usize) -> Nanos {
        Nanos(self.stamps[to] - self.stamps[from])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn any(stamps: [u64; 6]) -> Span {
        Span {
            service: 6,
            instance: 1,
            peer: 0,
            method: 2,
            kind: SpanKind::Server,
            outcome: SpanOutcome::Refused,
            is_retried: true,
            trace: TraceId([7; 16]),
            span: 0x0102_0304_0506_0708,
            parent: 9,
            stamps,
            cpu: Nanos(55),
            bytes_in: 100,
            bytes_out: 200,
        }
    }

    #[test]
    fn records_are_read_back() {
        let span = any([1, 2, 2, 3, 5, 8]);
        let bytes = span.write();
        assert_eq!(Span::read(&bytes), Ok(span));
        // The bytes that other languages write.
        assert_eq!(&bytes[..16], b"SPN1\x06\0\x01\0\0\0\x02\0\0\x01\x01\0");
        assert_eq!(bytes[32..40], [8, 7, 6, 5, 4, 3, 2, 1]);
        let broken = |at: usize, value: u8| {
            let mut bytes = bytes;
            bytes[at] = value;
            Span::read(&bytes)
        };
        assert_eq!(broken(0, 0), Err(SpanError::Magic));
        assert_eq!(broken(12, 3), Err(SpanError::Kind(3)));
        assert_eq!(broken(13, 9), Err(SpanError::Outcome(9)));
        assert_eq!(broken(48, 9), Err(SpanError::Order));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), SPAN_BYTES)) {
            let mut record: [u8; SPAN_BYTES] = bytes.try_into().unwrap();
            let _ = Span::read(&record);
            record[..4].copy_from_slice(b"SPN1");
            let _ = Span::read(&record);
        }
    }
}
