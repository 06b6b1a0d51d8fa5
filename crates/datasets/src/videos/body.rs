use std::io::{self, Read};
use std::ops::Range;

use crate::videos::Content;

/// The content of a file of a set: numbers that follow from their place, or a text.
#[derive(Clone, Debug)]
pub enum Body {
    /// A video in a rung.
    Media(Content),
    /// A playlist or the index.
    Text {
        /// The whole.
        text: Vec<u8>,
        /// The part that is left of it.
        left: Range<usize>,
    },
}

impl Body {
    /// A text.
    pub fn text(text: Vec<u8>) -> Body {
        let left = 0..text.len();
        Body::Text { text, left }
    }

    /// How much is left. Units: bytes.
    pub fn left(&self) -> u64 {
        match self {
            Body::Media(content) => content.left(),
            Body::Text { left, .. } => left.len() as u64,
        }
    }

    /// A part of the whole. Bounds: cut at the end of the file.
    pub fn range(self, range: Range<u64>) -> Body {
        match self {
            Body::Media(content) => Body::Media(content.range(range)),
            Body::Text { text, .. } => {
                let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
                let (start, end) = (within(range.start), within(range.end));
                Body::Text { left: start.min(end)..end, text }
            }
        }
    }

    /// Writes the next bytes into `out`; returns how many: less than `out` holds at the end only.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        match self {
            Body::Media(content) => content.fill(out),
            Body::Text { text, left } => {
                let count = left.len().min(out.len());
                out[..count].copy_from_slice(&text[left.start..left.start + count]);
                left.start += count;
                count
            }
        }
    }

    /// Whether `bytes` are the next ones, which it passes over.
    pub fn matches(&mut self, bytes: &[u8]) -> bool {
        match self {
            Body::Media(content) => content.matches(bytes),
            Body::Text { text, left } => {
                let next = &text[left.start..left.end];
                let fits = next.starts_with(bytes);
                left.start += bytes.len().min(next.len());
                fits
            }
        }
    }
}

impl Read for Body {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Ok(self.fill(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_piece_by_piece() {
        let mut body = Body::text(b"abcdef".to_vec());
        let mut out = [0; 4];
        assert_eq!((body.left(), body.fill(&mut out), &out), (6, 4, b"abcd"));
        assert_eq!((body.fill(&mut out), &out[..2]), (2, &b"ef"[..]));
        assert_eq!((body.left(), body.fill(&mut out)), (0, 0));
    }

    #[test]
    fn a_part_of_a_text_is_that_part() {
        let check = |range: Range<u64>, expect: &str| {
            let mut body = Body::text(b"abcdef".to_vec()).range(range.clone());
            assert_eq!(body.left(), expect.len() as u64, "{range:?}");
            assert!(body.matches(expect.as_bytes()) && body.left() == 0, "{range:?}");
        };
        check(0..6, "abcdef");
        check(2..4, "cd");
        check(4..100, "ef");
        check(6..7, "");
        check(9..12, "");
        check(0..u64::MAX, "abcdef");
    }

    #[test]
    fn another_text_is_seen() {
        let check = |bytes: &[u8], matches: bool, left: u64| {
            let mut body = Body::text(b"abcdef".to_vec());
            assert_eq!((body.matches(bytes), body.left()), (matches, left));
        };
        check(b"abc", true, 3);
        check(b"abx", false, 3);
        check(b"abcdefg", false, 0);
    }
}
