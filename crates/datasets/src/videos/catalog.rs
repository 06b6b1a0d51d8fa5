use std::fmt;

use dist::{Scatter, mixed};
use spec::workload::VideoSet;
use units::{Nanos, ParseError};

use crate::videos::{CHUNK, CHUNK_BYTES, Content, HIGH_IN, RUNGS, duration_at};

/// Keep lengths and rungs of one seed apart. Source: the fractions of √13 and √17.
const LENGTHS: u64 = 0x9b05_688c_2b3e_6c1f;
const HIGH: u64 = 0x1f83_d9ab_fb41_bd6b;

/// A set of videos: numbered from 0, each with a length and files that follow from its number.
///
/// Lengths are the quantiles of their distribution at n equal steps, in an order that the seed draws, so that a small set
/// is as long on average as a large one; of each five that follow each other in length, one has the highest rung.
/// Cost: no list; about 30 ns for a length or a size, and as little to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalog {
    set: VideoSet,
    seed: u64,
    lengths: Scatter,
    chunk_bytes: [u64; RUNGS.len()],
}

impl Catalog {
    /// The set of this description. Two seeds give other lengths to each video, and other contents.
    ///
    /// Errors: its number of videos is out of bounds.
    pub fn new(set: &VideoSet, seed: u64) -> Result<Catalog, ParseError> {
        set.check()?;
        Ok(Catalog {
            set: *set,
            seed,
            lengths: Scatter::new(set.videos, seed ^ LENGTHS),
            chunk_bytes: CHUNK_BYTES.map(|bytes| set.bytes.of(bytes)),
        })
    }

    /// Its description: number and share of the bytes.
    pub fn description(&self) -> &VideoSet {
        &self.set
    }

    /// The seed of lengths, rungs and contents.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many videos there are.
    pub fn videos(&self) -> u64 {
        self.set.videos
    }

    /// How long a video is: whole milliseconds from 5 to 1000 s. Bounds: `video` below [`Catalog::videos`], here and below.
    #[inline]
    pub fn duration(&self, video: u64) -> Nanos {
        let rank = self.lengths.apply(video);
        duration_at((rank as f64 + 0.5) / self.set.videos as f64)
    }

    /// How many chunks a video has, of which the last may be shorter.
    pub fn chunks(&self, video: u64) -> u64 {
        self.duration(video).0.div_ceil(CHUNK.0)
    }

    /// How many rungs a video has: all, or all but the highest.
    #[inline]
    pub fn rungs(&self, video: u64) -> usize {
        if self.has(video, RUNGS.len() - 1) { RUNGS.len() } else { RUNGS.len() - 1 }
    }

    /// Whether a video exists in a rung.
    #[inline]
    pub fn has(&self, video: u64, rung: usize) -> bool {
        let highest = RUNGS.len() - 1;
        rung < highest || rung == highest && self.has_highest(video)
    }

    fn has_highest(&self, video: u64) -> bool {
        let rank = self.lengths.apply(video);
        let group = rank / HIGH_IN;
        let members = HIGH_IN.min(self.set.videos - group * HIGH_IN);
        rank % HIGH_IN == mixed(mixed(self.seed ^ HIGH).wrapping_add(group)) % members
    }

    /// The bytes of a chunk that is not the last. Bounds: `rung` below the number of [`RUNGS`], here and below.
    pub fn chunk_bytes(&self, rung: usize) -> u64 {
        self.chunk_bytes[rung]
    }

    /// The bytes of the file of a rung, whether or not the video has it: as long as the video, rounded up.
    #[inline]
    pub fn size(&self, video: u64, rung: usize) -> u64 {
        // 1000 s of the highest rung are under 2⁶³ in this product.
        (self.duration(video).0 * self.chunk_bytes[rung]).div_ceil(CHUNK.0)
    }

    /// Appends the path of a rung's file, below the root of the set: `/v000123/720p.bin`, whose length is the same for
    /// all.
    #[inline]
    pub fn append_path(&self, video: u64, rung: usize, out: &mut Vec<u8>) {
        append_folder(video, out);
        out.push(b'/');
        out.extend_from_slice(RUNGS[rung].as_bytes());
        out.extend_from_slice(b".bin");
    }

    /// The same as a text.
    pub fn path(&self, video: u64, rung: usize) -> String {
        format!("{}/{}.bin", self.folder(video), RUNGS[rung])
    }

    /// The folder of a video, below the root of the set: `/v000123`.
    pub fn folder(&self, video: u64) -> String {
        format!("/v{video:06}")
    }

    /// The content of the file of a rung.
    pub fn content(&self, video: u64, rung: usize) -> Content {
        let file = video * RUNGS.len() as u64 + rung as u64;
        Content::new(self.seed, file, self.size(video, rung))
    }

    /// The bytes of all files of a video.
    pub fn video_bytes(&self, video: u64) -> u64 {
        (0..self.rungs(video)).map(|rung| self.size(video, rung)).sum()
    }

    /// The bytes of all files. Cost: about 0.2 µs a video.
    pub fn total(&self) -> u64 {
        (0..self.set.videos).map(|video| self.video_bytes(video)).sum()
    }
}

/// Appends `/v000123` without a formatter, for the way of a request.
#[inline]
fn append_folder(video: u64, out: &mut Vec<u8>) {
    let digit = |place: u64| b'0' + (video / place % 10) as u8;
    out.extend_from_slice(b"/v");
    out.extend_from_slice(&[100_000, 10_000, 1_000, 100, 10, 1].map(digit));
}

impl fmt::Display for Catalog {
    /// Its description, so without the seed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.set.fmt(f)
    }
}

#[cfg(test)]
mod tests;
