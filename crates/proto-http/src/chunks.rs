use memchr::memchr2;

use crate::limits::{CHUNK_LINE_MAX, HEAD_MAX};
use crate::{Defect, Sink};

/// A body in chunks, received in any pieces.
///
/// Shape: a machine over bytes that consumes all of its input. A line ends with LF, with or without CR before it, as curl
/// and browsers read it. Source: RFC 9112 §7.1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chunks {
    at: At,
    /// The rest of the chunk, or the part of its length read so far.
    left: u64,
    /// Bytes of the line before the chunk, or of all trailers.
    line: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// The first digit of a chunk's length.
    #[default]
    Start,
    /// Another digit, or the end of the number.
    Size,
    /// Behind the number: extensions, until the line ends.
    Extension,
    /// The LF of that line.
    SizeEnd,
    Data,
    /// The CR after the data, and its LF.
    DataCr,
    DataLf,
    /// The start of a trailer's line, or of the line that ends all.
    LineStart,
    Trailer,
    TrailerLf,
    /// The last LF of all.
    LastLf,
}

impl Chunks {
    /// Uses up `bytes`, up to the end of the body; returns how many that were, and whether the body is done.
    pub(crate) fn take(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(usize, bool), Defect> {
        let mut used = 0;
        while let Some(&byte) = bytes.get(used) {
            match self.at {
                At::Data => {
                    let rest = &bytes[used..];
                    let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
                    sink.body(&rest[..length]);
                    self.left -= length as u64;
                    used += length;
                    if self.left == 0 {
                        self.at = At::DataCr;
                    }
                    continue;
                }
                At::Extension | At::Trailer => {
                    let rest = &bytes[used..];
                    let length = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                    self.line += length;
                    used += length;
                    self.check_line()?;
                    if length < rest.len() {
                        self.at = if self.at == At::Extension { At::SizeEnd } else { At::TrailerLf };
                        used += usize::from(rest[length] == b'\r');
                    }
                    continue;
                }
                At::Start | At::Size => self.size(byte)?,
                At::SizeEnd if byte == b'\n' => {
                    self.at = if self.left == 0 { At::LineStart } else { At::Data };
                    self.line = 0;
                }
                At::SizeEnd => return Err(Defect::ChunkSize),
                At::DataCr if byte == b'\r' => self.at = At::DataLf,
                At::DataCr | At::DataLf if byte == b'\n' => *self = Chunks::default(),
                At::DataCr | At::DataLf => return Err(Defect::ChunkEnd),
                At::LineStart if byte == b'\r' => self.at = At::LastLf,
                At::LineStart if byte == b'\n' => return Ok((used + 1, true)),
                At::LineStart => {
                    self.at = At::Trailer;
                    continue;
                }
                At::TrailerLf if byte == b'\n' => {
                    self.line += 2;
                    self.at = At::LineStart;
                }
                At::LastLf if byte == b'\n' => return Ok((used + 1, true)),
                At::TrailerLf | At::LastLf => return Err(Defect::Trailers),
            }
            used += 1;
        }
        Ok((used, false))
    }

    /// One byte of the line before a chunk, up to the end of the number.
    fn size(&mut self, byte: u8) -> Result<(), Defect> {
        self.line += 1;
        self.check_line()?;
        match (byte as char).to_digit(16) {
            Some(digit) => {
                let longer = self.left.checked_mul(16).and_then(|left| left.checked_add(digit.into()));
                self.left = longer.ok_or(Defect::ChunkSize)?;
                self.at = At::Size;
            }
            None if self.at == At::Start => return Err(Defect::ChunkSize),
            None if byte == b'\r' => self.at = At::SizeEnd,
            None if byte == b'\n' => {
                self.at = if self.left == 0 { At::LineStart } else { At::Data };
                self.line = 0;
            }
            // Some servers pad the number with blanks.
            None if matches!(byte, b';' | b' ' | b'\t') => self.at = At::Extension,
            None => return Err(Defect::ChunkSize),
        }
        Ok(())
    }

    fn check_line(&self) -> Result<(), Defect> {
        match self.at {
            At::Trailer if self.line > HEAD_MAX => Err(Defect::Trailers),
            At::Start | At::Size | At::Extension if self.line > CHUNK_LINE_MAX => Err(Defect::ChunkLine),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Body(Vec<u8>);

    impl Sink for Body {
        fn body(&mut self, slice: &[u8]) {
            self.0.extend_from_slice(slice);
        }
    }

    /// The result for the bytes in pieces of `step`: the body and the number of bytes left over, if it ends.
    fn read(bytes: &[u8], step: usize) -> Result<Option<(Vec<u8>, usize)>, Defect> {
        let (mut chunks, mut body, mut start) = (Chunks::default(), Body::default(), 0);
        for piece in bytes.chunks(step) {
            let (used, done) = chunks.take(piece, &mut body)?;
            if done {
                return Ok(Some((body.0, bytes.len() - start - used)));
            }
            assert_eq!(used, piece.len(), "all is used up until the end");
            start += used;
        }
        Ok(None)
    }

    #[test]
    fn reads_chunks_in_any_pieces() {
        let check = |bytes: &[u8], expect: Result<Option<(&[u8], usize)>, Defect>| {
            for step in 1..=bytes.len() {
                let expect = expect.map(|whole| whole.map(|(body, left)| (body.to_vec(), left)));
                let found = read(bytes, step);
                match (&found, &expect) {
                    // Bytes after the end come in a piece of their own or not.
                    (Ok(Some(found)), Ok(Some(expect))) => assert_eq!(found, expect, "step {step}"),
                    _ => assert_eq!(found, expect, "{} in steps of {step}", bytes.escape_ascii()),
                }
            }
        };
        check(b"5\r\nhello\r\n0\r\n\r\n", Ok(Some((b"hello", 0))));
        check(b"5\r\nhello\r\n00\r\n\r\nHTTP", Ok(Some((b"hello", 4))));
        check(b"a;x=\"y z\"\r\n0123456789\r\n1 \r\n!\r\n0\r\n\r\n", Ok(Some((b"0123456789!", 0))));
        check(b"0\r\nDigest: abc\r\nB: c\r\n\r\n", Ok(Some((b"", 0))));
        check(b"5\r\nhello\r\n", Ok(None));
        check(b"0\r\n\r", Ok(None));
        check(b"\r\n", Err(Defect::ChunkSize));
        check(b"5\nhello\n0\n\nHTTP", Ok(Some((b"hello", 4))));
        check(b"5;a\nhello", Ok(None));
        check(b"-5\r\n", Err(Defect::ChunkSize));
        check(b"0x5\r\n", Err(Defect::ChunkSize));
        check(b"10000000000000000\r\n", Err(Defect::ChunkSize));
        check(b"ffffffffffffffff\r\nx", Ok(None));
        check(b"4\r\nhello\r\n", Err(Defect::ChunkEnd));
        check(b"6\r\nhello\r\r\n0", Ok(None));
        check(b"7\r\nhello\r\n0", Err(Defect::ChunkEnd));
        check(b"0\r\nA: b\n\r\n", Ok(Some((b"", 0))));
        check(b"0\r\n\rX", Err(Defect::Trailers));
    }

    #[test]
    fn endless_lines_end() {
        let check = |bytes: Vec<u8>, expect: Defect| assert_eq!(read(&bytes, 1000), Err(expect));
        check([&b"5;"[..], &[b'x'; CHUNK_LINE_MAX]].concat(), Defect::ChunkLine);
        check(vec![b'0'; CHUNK_LINE_MAX + 1], Defect::ChunkLine);
        check([&b"0\r\n"[..], &[b'x'; HEAD_MAX + 1]].concat(), Defect::Trailers);
        check([&b"0\r\n"[..], &b"A: b\r\n".repeat(HEAD_MAX / 6 + 2)].concat(), Defect::Trailers);
    }
}
