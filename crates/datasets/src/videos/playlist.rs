//! Playlists of HTTP live streaming: which rungs a video has, and which ranges of a file its chunks are.
//!
//! Source: RFC 8216.

use std::fmt::Write;

use crate::videos::{CHUNK, Catalog, PICTURES, RUNGS};

/// The first version of the protocol that has ranges of files. Source: RFC 8216 §7.
const VERSION: u32 = 4;

impl Catalog {
    /// The rungs of a video, lowest first.
    pub fn master(&self, video: u64) -> String {
        // The peak bit rate of its segments: every chunk but the last has `chunk_bytes` bytes.
        let peak = |rung| (self.chunk_bytes(rung) * 8 * 1_000_000_000).div_ceil(CHUNK.0);
        master((0..self.rungs(video)).map(|rung| (rung, peak(rung))))
    }

    /// The chunks of a rung as ranges of its file.
    pub fn playlist(&self, video: u64, rung: usize) -> String {
        let seconds = CHUNK.0 / 1_000_000_000;
        let mut text = format!(
            "#EXTM3U\n#EXT-X-VERSION:{VERSION}\n#EXT-X-TARGETDURATION:{seconds}\n#EXT-X-MEDIA-SEQUENCE:0\n\
             #EXT-X-PLAYLIST-TYPE:VOD\n"
        );
        let (duration, size, chunk) = (self.duration(video), self.size(video, rung), self.chunk_bytes(rung));
        for n in 0..self.chunks(video) {
            // Lengths are whole milliseconds.
            let ms = CHUNK.0.min(duration.0 - n * CHUNK.0) / 1_000_000;
            let from = n * chunk;
            let _ = writeln!(
                text,
                "#EXTINF:{}.{:03},\n#EXT-X-BYTERANGE:{}@{from}\n{}.bin",
                ms / 1000,
                ms % 1000,
                chunk.min(size - from),
                RUNGS[rung]
            );
        }
        text += "#EXT-X-ENDLIST\n";
        text
    }
}

/// The list of rungs, each with the peak bit rate of its chunks in bits per second.
pub fn master(rungs: impl IntoIterator<Item = (usize, u64)>) -> String {
    let mut text = format!("#EXTM3U\n#EXT-X-VERSION:{VERSION}\n");
    for (rung, bits_per_s) in rungs {
        let (width, height) = PICTURES[rung];
        // Writing into a text cannot fail.
        let _ = writeln!(
            text,
            "#EXT-X-STREAM-INF:BANDWIDTH={bits_per_s},RESOLUTION={width}x{height}\n{}.m3u8",
            RUNGS[rung]
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(text: &str) -> Catalog {
        Catalog::new(&text.parse().unwrap(), 1).unwrap()
    }

    #[test]
    fn a_master_names_each_rung_with_its_bit_rate() {
        let catalog = catalog("5x1");
        let of = |high: bool| (0..5).find(|video| catalog.has(*video, 3) == high).unwrap();
        let lower = "#EXTM3U\n#EXT-X-VERSION:4\n\
            #EXT-X-STREAM-INF:BANDWIDTH=419431,RESOLUTION=426x240\n240p.m3u8\n\
            #EXT-X-STREAM-INF:BANDWIDTH=1048576,RESOLUTION=640x360\n360p.m3u8\n\
            #EXT-X-STREAM-INF:BANDWIDTH=2621440,RESOLUTION=854x480\n480p.m3u8\n";
        assert_eq!(catalog.master(of(false)), lower);
        let all = format!("{lower}#EXT-X-STREAM-INF:BANDWIDTH=5242880,RESOLUTION=1280x720\n720p.m3u8\n");
        assert_eq!(catalog.master(of(true)), all);
    }

    #[test]
    fn the_ranges_of_a_playlist_make_the_file_and_its_times_the_video() {
        for text in ["50x1", "50x1/8", "50x1/4096"] {
            let catalog = catalog(text);
            for (video, rung) in (0..50).flat_map(|video| (0..3).map(move |rung| (video, rung))) {
                let playlist = catalog.playlist(video, rung);
                assert!(playlist.starts_with("#EXTM3U\n") && playlist.ends_with("\n#EXT-X-ENDLIST\n"));
                let (mut at, mut ms, mut named) = (0, 0, 0);
                for line in playlist.lines() {
                    if let Some(range) = line.strip_prefix("#EXT-X-BYTERANGE:") {
                        let (length, from) = range.split_once('@').unwrap();
                        assert_eq!(from.parse(), Ok(at), "{line}");
                        at += length.parse::<u64>().unwrap();
                    } else if let Some(time) = line.strip_prefix("#EXTINF:") {
                        let (seconds, rest) = time.trim_end_matches(',').split_once('.').unwrap();
                        assert_eq!(rest.len(), 3);
                        let span = seconds.parse::<u64>().unwrap() * 1000 + rest.parse::<u64>().unwrap();
                        assert!((1..=10_000).contains(&span), "{line}");
                        ms += span;
                    } else if line == format!("{}.bin", RUNGS[rung]) {
                        named += 1;
                    }
                }
                assert_eq!((at, named), (catalog.size(video, rung), catalog.chunks(video)));
                assert_eq!(ms * 1_000_000, catalog.duration(video).0);
            }
        }
    }
}
