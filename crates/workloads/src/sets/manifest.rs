use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// The content of files that follow no rule: size and checksum of each, by its path below the root of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Manifest {
    /// The files.
    pub files: BTreeMap<String, Sum>,
}

/// Size and checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Units: bytes.
    pub bytes: u64,
    /// The xxh3 of its content.
    #[serde(with = "hexadecimal")]
    pub xxh3: u64,
}

impl Sum {
    /// The checksum of `content`; `told` receives each piece, and may end the reading.
    ///
    /// Errors: it cannot be read.
    pub fn of<E: From<io::Error>>(
        mut content: impl Read,
        mut told: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Sum, E> {
        let (mut hash, mut bytes, mut piece) = (Xxh3::new(), 0, vec![0; PIECE]);
        loop {
            match content.read(&mut piece)? {
                0 => return Ok(Sum { bytes, xxh3: hash.digest() }),
                read => {
                    hash.update(&piece[..read]);
                    bytes += read as u64;
                    told(read as u64)?;
                }
            }
        }
    }
}

impl Manifest {
    /// Reads its text. Errors: it is none.
    pub fn read(text: &[u8]) -> Result<Manifest, String> {
        serde_json::from_slice(text).map_err(|e| e.to_string())
    }

    /// Its text.
    pub fn text(&self) -> String {
        // A map of texts to numbers always has a JSON form.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// 64 bits as a text, since readers of JSON may take numbers for floating-point ones.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_tells_contents_apart_and_reads_back() {
        let of = |content: &[u8]| Sum::of(content, |_| Ok::<_, io::Error>(())).unwrap();
        let large = vec![7; PIECE + 1];
        assert_eq!(of(&large).bytes, PIECE as u64 + 1);
        assert_eq!(of(&large).xxh3, xxhash_rust::xxh3::xxh3_64(&large));
        assert_ne!(of(b"a"), of(b"b"));
        let files =
            [("/v000000/240p.mp4".to_owned(), of(b"a")), ("/v000000/360p.mp4".to_owned(), of(&large))];
        let manifest = Manifest { files: files.into() };
        assert_eq!(Manifest::read(manifest.text().as_bytes()), Ok(manifest));
        assert!(Manifest::read(b"[]").is_err());
    }

    #[test]
    fn who_is_told_of_a_piece_may_end_the_reading() {
        let content = vec![0; 3 * PIECE];
        let mut told = 0;
        let error = Sum::of(&content[..], |bytes| {
            told += bytes;
            if told > PIECE as u64 { Err(io::Error::other("enough")) } else { Ok(()) }
        });
        assert_eq!((error.unwrap_err().to_string().as_str(), told), ("enough", 2 * PIECE as u64));
    }
}
