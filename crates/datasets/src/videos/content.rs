use std::io::{self, Read};
use std::ops::Range;

use dist::mixed;

/// The content of a file of a video: numbers that look drawn, 8 bytes each.
///
/// Not text, unlike a web server's files: a video does not compress, and a file system with compression would read less
/// from its disk than was requested. Each number follows from its place alone, so that any range can be computed
/// directly.
#[derive(Clone, Debug)]
pub struct Content {
    key: u64,
    at: u64,
    end: u64,
}

/// Keeps contents apart from all else that is drawn from the seed. Source: the fraction of √11.
const SEED: u64 = 0x510e_527f_ade6_82d1;
/// The bytes of a number.
const WORD: usize = 8;
/// The step of SplitMix64: 2⁶⁴ divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Content {
    /// The content of file `file` of the set of `seed`, with `size` bytes.
    pub(super) fn new(seed: u64, file: u64, size: u64) -> Content {
        Content { key: mixed(mixed(seed ^ SEED).wrapping_add(file)), at: 0, end: size }
    }

    /// A part of it. Bounds: cut at the end of the file.
    pub fn range(&self, range: Range<u64>) -> Content {
        let end = range.end.min(self.end);
        Content { key: self.key, at: range.start.min(end), end }
    }

    /// How much is left. Units: bytes.
    pub fn left(&self) -> u64 {
        self.end - self.at
    }

    /// Writes the next bytes into `out`; returns how many: less than `out` holds at the end only.
    ///
    /// Cost: at most 0.3 ns a byte.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let most = usize::try_from(self.left()).unwrap_or(usize::MAX).min(out.len());
        let (out, _) = out.split_at_mut(most);
        let (head, rest) = out.split_at_mut(self.to_next_word().min(most));
        self.fill_within(head);
        let (words, tail) = rest.as_chunks_mut::<WORD>();
        let first = self.at / WORD as u64;
        for (n, word) in (first..).zip(words.iter_mut()) {
            *word = self.word(n).to_le_bytes();
        }
        self.at += (words.len() * WORD) as u64;
        self.fill_within(tail);
        most
    }

    /// Whether `bytes` are the next ones, which it passes over: for a body that arrives piece by piece.
    ///
    /// Cost: as that of [`Content::fill`].
    pub fn matches(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() as u64 > self.left() {
            self.at = self.end;
            return false;
        }
        let (head, rest) = bytes.split_at(self.to_next_word().min(bytes.len()));
        let begins = self.matches_within(head);
        let (words, tail) = rest.as_chunks::<WORD>();
        let first = self.at / WORD as u64;
        let differs =
            (first..).zip(words).fold(0, |bits, (n, word)| bits | (self.word(n) ^ u64::from_le_bytes(*word)));
        self.at += (words.len() * WORD) as u64;
        let ends = self.matches_within(tail);
        begins && differs == 0 && ends
    }

    #[inline]
    fn word(&self, n: u64) -> u64 {
        mixed(self.key.wrapping_add((n + 1).wrapping_mul(STEP)))
    }

    /// Bytes to the beginning of the next number; 0 at a beginning.
    fn to_next_word(&self) -> usize {
        (WORD - (self.at % WORD as u64) as usize) % WORD
    }

    /// The next bytes, which are all of one number.
    fn fill_within(&mut self, out: &mut [u8]) {
        let from = (self.at % WORD as u64) as usize;
        let word = self.word(self.at / WORD as u64).to_le_bytes();
        out.copy_from_slice(&word[from..from + out.len()]);
        self.at += out.len() as u64;
    }

    fn matches_within(&mut self, bytes: &[u8]) -> bool {
        let mut expect = [0; WORD];
        let expect = &mut expect[..bytes.len()];
        self.fill_within(expect);
        expect == bytes
    }
}

impl Read for Content {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Ok(self.fill(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(seed: u64, file: u64, size: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Content::new(seed, file, size).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn does_not_compress() {
        let bytes = all(1, 0, 1 << 20);
        let mut counts = [0u32; 256];
        bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        // 4096 of each, with a standard deviation of 64; six of them.
        assert!(counts.iter().all(|count| count.abs_diff(4096) < 384), "{counts:?}");
        let words: std::collections::HashSet<&[u8]> = bytes.chunks(8).collect();
        assert_eq!(words.len(), 1 << 17, "none of its numbers comes twice");
    }

    #[test]
    fn files_and_seeds_differ() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..20 {
            for file in 0..200 {
                assert!(seen.insert(all(seed, file, 16)), "seed {seed}, file {file}");
            }
        }
    }

    #[test]
    fn a_short_or_long_body_is_seen() {
        let body = all(7, 3, 3_001);
        let check = |bytes: &[u8], matches: bool, left: u64| {
            let mut content = Content::new(7, 3, 3_001);
            assert_eq!((content.matches(bytes), content.left()), (matches, left), "{} B", bytes.len());
        };
        check(&body, true, 0);
        check(&body[..3_000], true, 1);
        check(&[], true, 3_001);
        check(&[&body[..], b"x"].concat(), false, 0);
    }

    proptest! {
        #[test]
        fn any_range_is_that_of_the_whole(seed: u64, file: u64, from in 0u64..4_000, to in 0u64..4_000) {
            let whole = all(seed, file, 3_001);
            let mut part = Vec::new();
            Content::new(seed, file, 3_001).range(from..to).read_to_end(&mut part).unwrap();
            let end = to.min(3_001);
            prop_assert_eq!(&part[..], &whole[from.min(end) as usize..end as usize]);
        }

        #[test]
        fn pieces_make_the_whole(seed: u64, cuts in prop::collection::vec(0usize..300, 0..20)) {
            let whole = all(seed, 5, 3_001);
            let (mut content, mut checked) = (Content::new(seed, 5, 3_001), Content::new(seed, 5, 3_001));
            let mut at = 0;
            for cut in cuts {
                let mut piece = vec![0; cut];
                let filled = content.fill(&mut piece);
                prop_assert_eq!(filled, cut.min(3_001 - at));
                prop_assert_eq!(&piece[..filled], &whole[at..at + filled]);
                prop_assert!(checked.matches(&piece[..filled]));
                at += filled;
                prop_assert_eq!(content.left(), 3_001 - at as u64);
            }
        }

        #[test]
        fn a_changed_byte_is_seen(at in 0usize..3_001, flip in 1u8.., cut in 1usize..3_001) {
            let mut body = all(7, 3, 3_001);
            body[at] ^= flip;
            let mut content = Content::new(7, 3, 3_001);
            let pieces: Vec<bool> = body.chunks(cut).map(|piece| content.matches(piece)).collect();
            for (n, matched) in pieces.iter().enumerate() {
                prop_assert_eq!(*matched, n != at / cut, "piece {}", n);
            }
        }
    }
}
