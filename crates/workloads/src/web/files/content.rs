use std::io::{self, Read};

use dist::mixed;

/// The content of a file: words of plain text, 8 bytes each with the following space, drawn from 256.
///
/// Text, so that a browser shows it and a server that compresses finds something to do. The words of a file follow from
/// the seed of its set and its number; a file of 4 KiB is one of 256⁵¹², so that no two of a set are alike.
#[derive(Clone, Debug)]
pub struct Content {
    key: u64,
    at: u64,
    size: u64,
}

/// Keeps contents and sizes of one seed apart. Source: the fraction of √7.
const SEED: u64 = 0xa54f_f53a_5f1d_36f1;
/// The bytes that one draw of 64 bits gives: 8 words.
const BLOCK: usize = 64;

impl Content {
    pub(super) fn new(seed: u64, file: u64, size: u64) -> Content {
        Content { key: mixed(mixed(seed ^ SEED).wrapping_add(file)), at: 0, size }
    }

    /// How much is left. Units: bytes.
    pub fn left(&self) -> u64 {
        self.size - self.at
    }

    /// The content from `offset` on. Bounds: empty beyond the file.
    pub fn starting_at(self, offset: u64) -> Content {
        Content { at: offset.min(self.size), ..self }
    }

    /// Writes the next bytes into `out`; returns how many: less than `out` holds at the end only.
    ///
    /// Cost: about 0.3 ns a byte.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let most = usize::try_from(self.left()).unwrap_or(usize::MAX).min(out.len());
        let mut done = 0;
        while done < most {
            let block = block(self.key, self.at / BLOCK as u64);
            let from = (self.at % BLOCK as u64) as usize;
            let count = (BLOCK - from).min(most - done);
            out[done..done + count].copy_from_slice(&block[from..from + count]);
            done += count;
            self.at += count as u64;
        }
        done
    }
}

impl Read for Content {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Ok(self.fill(out))
    }
}

/// Block `n` of a file. Each follows from its place alone, so that a file can be read from anywhere.
fn block(key: u64, n: u64) -> [u8; BLOCK] {
    // Output n of SplitMix64, whose step is 2⁶⁴ divided by the golden ratio.
    let drawn = mixed(key.wrapping_add((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let mut out = [0; BLOCK];
    for (word, byte) in out.as_chunks_mut().0.iter_mut().zip(drawn.to_le_bytes()) {
        *word = WORDS[usize::from(byte)];
    }
    out
}

/// Each of 16 beginnings with each of 16 ends, and a space.
const WORDS: [[u8; 8]; 256] = {
    let beginnings = b"aldebrancenddoloestofrangildhoveincajoltkernlumimoranaveopalpres";
    let ends = b"barceldenfingorhalirokuslanmitnorpelquerostamven";
    let mut words = [[b' '; 8]; 256];
    let mut word = 0;
    while word < 256 {
        let mut letter = 0;
        while letter < 7 {
            words[word][letter] = match letter {
                0..4 => beginnings[word / 16 * 4 + letter],
                _ => ends[word % 16 * 3 + letter - 4],
            };
            letter += 1;
        }
        word += 1;
    }
    words
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use proptest::prelude::*;

    fn all(seed: u64, file: u64, size: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Content::new(seed, file, size).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn is_text_of_256_words() {
        let text = String::from_utf8(all(1, 0, 1 << 20)).unwrap();
        let words: HashSet<&str> = text.split_terminator(' ').collect();
        assert_eq!(words.len(), 256);
        assert!(words.iter().all(|word| word.len() == 7 && word.bytes().all(|b| b.is_ascii_lowercase())));
    }

    #[test]
    fn files_and_seeds_differ() {
        let mut seen = HashSet::new();
        for seed in 0..20 {
            for file in 0..200 {
                assert!(seen.insert(all(seed, file, 64)), "seed {seed}, file {file}");
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_make_the_whole(seed: u64, file in 0u64..4_194_304, cuts in prop::collection::vec(0usize..300, 0..20)) {
            let whole = all(seed, file, 3_000);
            prop_assert_eq!(whole.len(), 3_000);
            let mut content = Content::new(seed, file, 3_000);
            let mut at = 0;
            for cut in cuts {
                let mut piece = vec![0; cut];
                let filled = content.fill(&mut piece);
                prop_assert_eq!(filled, cut.min(3_000 - at));
                prop_assert_eq!(&piece[..filled], &whole[at..at + filled]);
                at += filled;
            }
        }
    }
}
