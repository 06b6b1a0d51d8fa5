//! The qualities in which a video exists.

use units::Nanos;

/// The rungs of the ladder, lowest first: lines of the picture. Source: ISPASS'16 §IV-A2c.
pub const RUNGS: [&str; 4] = ["240p", "360p", "480p", "720p"];

/// Width and height of the picture by rung: 16 to 9, to even numbers.
pub const PICTURES: [(u32, u32); 4] = [(426, 240), (640, 360), (854, 480), (1280, 720)];

/// How much of a video one request asks for. Source: CloudSuite's request generator, which has 10 s in each line.
pub const CHUNK: Nanos = Nanos::from_secs(10);

/// The bytes of a chunk by rung: 0.5, 1.25, 3.125 and 6.25 MiB in 10 s, which are 0.42, 1.05, 2.62 and 5.24 Mbps.
///
/// Source: CloudSuite's request generator; ISPASS'16 §IV-A2c says the bit rates that YouTube suggested, and no number.
pub const CHUNK_BYTES: [u64; 4] = [512 << 10, 1280 << 10, 3200 << 10, 6400 << 10];

/// One video in this many has the highest rung, rounded up. Source: 20 % of the videos, ISPASS'16 §IV-A2c.
pub const HIGH_IN: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_the_lines_of_their_rungs() {
        for (rung, (width, height)) in RUNGS.iter().zip(PICTURES) {
            assert_eq!(rung.strip_suffix('p'), Some(height.to_string().as_str()));
            assert!((f64::from(width) / f64::from(height) - 16.0 / 9.0).abs() < 0.01 && width % 2 == 0);
        }
    }

    #[test]
    fn chunks_have_the_published_bit_rates() {
        let published = [0.42, 1.05, 2.62, 5.24];
        for (bytes, mbps) in CHUNK_BYTES.iter().zip(published) {
            let found = *bytes as f64 * 8.0 / CHUNK.as_secs_f64() / 1e6;
            assert!((found - mbps).abs() < 0.005, "{bytes} B: {found} Mbps");
        }
    }
}
