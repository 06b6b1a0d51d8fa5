use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

const HINT: &str = "write a number of videos and the share of their bytes that is made, such as 8000x1, 1000x1/8 or \
     1000x1/160";

/// A set of videos: number and size.
///
/// A smaller set has smaller videos, not fewer, since with fewer videos a cache of a fifth of the bytes answers for
/// less. Bounds: 1 to [`VideoSet::MAX`] videos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VideoSet {
    /// How many videos.
    pub videos: u64,
    /// The share of the published bit rates at which they are made.
    pub bytes: ByteShare,
}

/// A share of bytes, kept as the ratio that was written, so that sizes are the same everywhere.
///
/// Bounds: over 0, at most 1; both numbers at most [`ByteShare::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteShare {
    part: u32,
    whole: u32,
}

impl VideoSet {
    /// The most videos: one million, as a video's number has six digits in its path.
    pub const MAX: u64 = 1_000_000;
    /// Bytes of a video of whole size in all of its rungs, on average. Source: 258.4 s at 6.125 MiB in 10 s are 158 MiB, the highest
    /// rung of one video in five among them; a test compares it with the sets themselves.
    pub const MEAN_BYTES: u64 = 158 << 20;
    /// Bytes that a viewer requests, of videos of whole size, on average. Source: 16 chunks of 3.26 MB each, the mix of
    /// qualities of `--mix table-1`; a test compares it, too.
    pub const VIEWER_BYTES: u64 = 16 * 3_260_000;

    /// A set of `videos` videos with a share of the bytes.
    ///
    /// Errors: no video, or more than [`VideoSet::MAX`].
    pub fn new(videos: u64, bytes: ByteShare) -> Result<VideoSet, ParseError> {
        let set = VideoSet { videos, bytes };
        set.check().map(|()| set)
    }

    /// Checks that the number of videos is within bounds, since the field can be set directly.
    ///
    /// Errors: it is out of bounds.
    pub fn check(&self) -> Result<(), ParseError> {
        if (1..=VideoSet::MAX).contains(&self.videos) {
            Ok(())
        } else {
            let problem = format!("it has {} videos, and a set has 1 to {}", self.videos, VideoSet::MAX);
            Err(error(&self.to_string(), problem))
        }
    }
}

impl Default for VideoSet {
    /// 1000 videos that take 1 GB, which a laptop has room for. Source: ours; ISPASS'16 §VI-B has 8000x1.
    fn default() -> VideoSet {
        VideoSet { videos: 1000, bytes: ByteShare { part: 1, whole: 160 } }
    }
}

impl ByteShare {
    /// All bytes.
    pub const ALL: ByteShare = ByteShare { part: 1, whole: 1 };
    /// The largest number above or below the stroke: at one 4096th a chunk of the lowest rung has 128 bytes.
    pub const MOST: u32 = 4096;

    /// `part` of `whole`, in lowest terms.
    ///
    /// Errors: a sentence with the violated bound.
    pub fn new(part: u32, whole: u32) -> Result<ByteShare, String> {
        if part == 0 || whole == 0 || part > whole || whole > ByteShare::MOST {
            let most = ByteShare::MOST;
            return Err(format!(
                "the share {part}/{whole} is not over 0 and at most 1, in numbers up to {most}"
            ));
        }
        let by = common_factor(part, whole);
        Ok(ByteShare { part: part / by, whole: whole / by })
    }

    /// This share of `bytes`, to the nearest whole byte. Bounds: `bytes` up to 2⁵¹.
    pub fn of(self, bytes: u64) -> u64 {
        let whole = u64::from(self.whole);
        (bytes * u64::from(self.part) + whole / 2) / whole
    }

    /// As a number, over 0 and at most 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.part) / f64::from(self.whole)
    }
}

/// Source: Euclid.
fn common_factor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

impl FromStr for VideoSet {
    type Err = ParseError;

    /// Reads `1000`, `1000x1/8` and `1000x1`: without an x all bytes are meant.
    fn from_str(text: &str) -> Result<VideoSet, ParseError> {
        let (videos, share) = match text.trim().split_once('x') {
            Some((videos, share)) => (videos.trim(), share.trim()),
            None => (text.trim(), "1"),
        };
        let number = units::count(videos, 0..=u64::MAX)
            .map_err(|_| error(text, format!("'{videos}' before the x is not a whole number of videos")))?;
        let bytes = share_of(share).map_err(|problem| error(text, problem))?;
        VideoSet::new(number, bytes).map_err(|e| error(text, e.problem))
    }
}

fn share_of(text: &str) -> Result<ByteShare, String> {
    let (part, whole) = text.split_once('/').unwrap_or((text, "1"));
    match (part.trim().parse(), whole.trim().parse()) {
        (Ok(part), Ok(whole)) => ByteShare::new(part, whole),
        _ => Err(format!("'{text}' behind the x is not a share of the bytes")),
    }
}

impl fmt::Display for ByteShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole {
            1 => write!(f, "{}", self.part),
            whole => write!(f, "{}/{whole}", self.part),
        }
    }
}

impl fmt::Display for VideoSet {
    /// A text that reads back as the same set, always with its share.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}", self.videos, self.bytes))
    }
}

fn error(given: &str, problem: String) -> ParseError {
    ParseError { what: "set of videos", given: given.into(), problem, hint: HINT }
}

as_text! { VideoSet; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, videos: u64, of_1000: u64, shown: &str| {
            let set: VideoSet = text.parse().unwrap();
            assert_eq!((set.videos, set.bytes.of(1000)), (videos, of_1000), "{text}");
            assert_eq!(set.to_string(), shown);
            assert_eq!(shown.parse(), Ok(set));
        };
        check("1000", 1000, 1000, "1000x1");
        check("8000x1", 8000, 1000, "8000x1");
        check(" 1000 x 1/8 ", 1000, 125, "1000x1/8");
        check("1000x2/16", 1000, 125, "1000x1/8");
        check("5x2/3", 5, 667, "5x2/3");
        check("1x1/4096", 1, 0, "1x1/4096");
        check("7x3/3", 7, 1000, "7x1");
        assert_eq!(VideoSet::default().to_string(), "1000x1/160");
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<VideoSet>().unwrap_err().to_string();
            assert!(error.contains(expect) && error.contains("1000x1/8"), "{text}: {error}");
        };
        check("", "'' before the x");
        check("x1", "'' before the x");
        check("-5", "'-5' before the x");
        check("0x1", "it has 0 videos");
        check("1000001x1", "a set has 1 to 1000000");
        check("10x", "'' behind the x");
        check("10x0.5", "'0.5' behind the x");
        check("10x0/8", "the share 0/8");
        check("10x9/8", "the share 9/8");
        check("10x1/0", "the share 1/0");
        check("10x1/4097", "numbers up to 4096");
        check("10x1/8/2", "'1/8/2' behind the x");
        let set = VideoSet { videos: 0, bytes: ByteShare::ALL };
        assert!(set.check().unwrap_err().to_string().contains("'0x1'"));
    }

    #[test]
    fn a_share_of_all_bytes_keeps_them() {
        for bytes in [0, 1, 524_288, 6_553_600, 1 << 51] {
            assert_eq!(ByteShare::ALL.of(bytes), bytes);
        }
        assert_eq!(ByteShare::new(1, 8).unwrap().as_f64(), 0.125);
    }
}
