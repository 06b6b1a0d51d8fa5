//! The videos watched, each in several qualities, each quality in chunks.

use std::sync::Arc;

use datasets::videos::{Body, CHUNK, CHUNK_BYTES, Catalog, Entry, RUNGS, duration_at};
use spec::workload::Delivery;
use units::Nanos;

use crate::video::playlist::{ByteRange, Index, Listing};

/// The videos that viewers choose from, played at a speed.
///
/// Times are a viewer's: at speed 10 a chunk of 10 s lasts 1 s.
#[derive(Clone, Debug, PartialEq)]
pub struct Library {
    videos: Videos,
    speed: u32,
}

/// Where videos, qualities and chunks are known from.
#[derive(Clone, Debug, PartialEq)]
pub enum Videos {
    /// From the description of a set, requested in this form.
    Set(Catalog, Delivery),
    /// From the playlists of one video.
    Listed(Arc<Listing>),
}

/// A video in one of its qualities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The video's number.
    pub video: u64,
    /// The quality, from the lowest.
    pub rung: usize,
}

/// The object of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A playlist, or a header or key of segments: by the order in which a session requests them.
    Index(u32),
    /// A chunk.
    Chunk(u32),
}

/// Which bytes a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The part of the file; `None`: the whole.
    pub range: Option<ByteRange>,
    /// The length of the whole file, if known.
    pub complete: Option<u64>,
}

impl Library {
    /// These videos, played `speed` times as fast. Bounds: at least once.
    pub fn new(videos: Videos, speed: u32) -> Library {
        Library { videos, speed: speed.max(1) }
    }

    /// The source of the videos.
    pub fn source(&self) -> &Videos {
        &self.videos
    }

    /// How many videos there are.
    pub fn videos(&self) -> u64 {
        match &self.videos {
            Videos::Set(catalog, _) => catalog.videos(),
            Videos::Listed(_) => 1,
        }
    }

    /// The seed that scatters the ranks of popularity: the popular videos of a set are the same in every trial.
    pub(super) fn scatter(&self) -> u64 {
        if let Videos::Set(catalog, _) = &self.videos { catalog.seed() } else { 0 }
    }

    /// The names of the qualities, lowest first.
    pub fn rungs(&self) -> Vec<String> {
        match &self.videos {
            Videos::Set(..) => RUNGS.map(str::to_owned).to_vec(),
            Videos::Listed(listing) => listing.rungs.iter().map(|rung| rung.name.clone()).collect(),
        }
    }

    /// How many qualities there are.
    pub fn rung_count(&self) -> usize {
        match &self.videos {
            Videos::Set(..) => RUNGS.len(),
            Videos::Listed(listing) => listing.rungs.len(),
        }
    }

    /// A length that no video exceeds.
    pub(super) fn longest(&self) -> Nanos {
        match &self.videos {
            Videos::Set(..) => self.lasts(duration_at(1.0)),
            Videos::Listed(listing) => {
                let lengths = (0..listing.rungs.len()).map(|rung| self.duration(Watched { video: 0, rung }));
                lengths.max().unwrap_or_default()
            }
        }
    }

    /// Whether a video exists in a quality.
    pub fn has(&self, of: Watched) -> bool {
        match &self.videos {
            Videos::Set(catalog, _) => catalog.has(of.video, of.rung),
            Videos::Listed(listing) => of.rung < listing.rungs.len(),
        }
    }

    /// The bandwidth that a viewer needs to play a quality without a stall; 0 if unknown. Units: bits per second.
    pub fn bit_rate(&self, rung: usize) -> f64 {
        let bits_per_s = match &self.videos {
            Videos::Set(catalog, _) => catalog.chunk_bytes(rung) as f64 * 8.0 / CHUNK.as_secs_f64(),
            Videos::Listed(listing) => listing.rungs[rung].bits_per_s as f64,
        };
        bits_per_s * f64::from(self.speed)
    }

    /// How many times the published bandwidth viewers have: less with fewer bytes, more at a higher speed, so that it carries
    /// the same qualities.
    pub fn bandwidth_scale(&self) -> f64 {
        const HIGHEST: usize = RUNGS.len() - 1;
        let bytes = match &self.videos {
            Videos::Set(catalog, _) => catalog.chunk_bytes(HIGHEST) as f64 / CHUNK_BYTES[HIGHEST] as f64,
            Videos::Listed(_) => 1.0,
        };
        bytes * f64::from(self.speed)
    }

    /// How long a time of the video is for a viewer.
    pub fn lasts(&self, media: Nanos) -> Nanos {
        Nanos(media.0 / u64::from(self.speed))
    }

    /// How long a video is.
    pub fn duration(&self, of: Watched) -> Nanos {
        self.lasts(match &self.videos {
            Videos::Set(catalog, _) => catalog.duration(of.video),
            Videos::Listed(listing) => {
                listing.rungs[of.rung].segments.last().map_or(Nanos::ZERO, |last| last.start + last.media)
            }
        })
    }

    /// How many chunks begin before `until`; at least one.
    pub fn chunks_until(&self, rung: usize, until: Nanos) -> u32 {
        let chunks = match &self.videos {
            // Counted in the video's time: a chunk's duration for a viewer is rounded down, and 100 of them may be
            // shorter than a video of 100 chunks, which would then have one chunk more.
            Videos::Set(..) => until.0.saturating_mul(self.speed.into()).div_ceil(CHUNK.0),
            Videos::Listed(listing) => {
                let segments = &listing.rungs[rung].segments;
                segments.partition_point(|segment| self.lasts(segment.start) < until) as u64
            }
        };
        u32::try_from(chunks).unwrap_or(u32::MAX).max(1)
    }

    /// When a chunk is shown, from the beginning of the video. Bounds: one of its chunks, here and below.
    pub fn start(&self, rung: usize, chunk: u32) -> Nanos {
        match &self.videos {
            Videos::Set(..) => self.lasts(Nanos(CHUNK.0 * u64::from(chunk))),
            Videos::Listed(listing) => self.lasts(listing.rungs[rung].segments[chunk as usize].start),
        }
    }

    /// How long a chunk plays to a viewer who leaves the video at `until`.
    pub fn media(&self, rung: usize, chunk: u32, until: Nanos) -> Nanos {
        let start = self.start(rung, chunk);
        // From moment to moment, as lengths that are each rounded down are together less than the video.
        let end = match &self.videos {
            Videos::Set(..) => self.start(rung, chunk + 1),
            Videos::Listed(listing) => {
                let segment = &listing.rungs[rung].segments[chunk as usize];
                self.lasts(segment.start + segment.media)
            }
        };
        end.min(until) - start
    }

    /// How many requests of [`Ask::Index`] have come once a chunk is requested.
    pub fn indexes(&self, rung: usize, chunk: u32) -> u32 {
        match &self.videos {
            Videos::Set(_, Delivery::Ranges) => 0,
            Videos::Set(_, Delivery::Hls) => 2,
            Videos::Listed(listing) => {
                let needed = listing.rungs[rung].indexes.partition_point(|index| index.before <= chunk);
                u32::from(listing.master.is_some()) + needed as u32
            }
        }
    }

    /// Whether viewers request other objects than chunks.
    pub(super) fn has_indexes(&self) -> bool {
        (0..self.rung_count()).any(|rung| self.indexes(rung, 0) > 0)
    }

    /// Whether an answer must hold media of unknown content.
    pub(super) fn is_media(&self, of: Watched, ask: Ask) -> bool {
        match (&self.videos, ask) {
            (Videos::Set(..), _) => false,
            (Videos::Listed(_), Ask::Chunk(_)) => true,
            (Videos::Listed(listing), Ask::Index(index)) => listed(listing, of.rung, index).is_media,
        }
    }

    /// Which bytes a request asks for.
    pub(super) fn part(&self, of: Watched, ask: Ask) -> Part {
        match (&self.videos, ask) {
            (Videos::Set(catalog, _), Ask::Chunk(chunk)) => {
                let (bytes, size) = (catalog.chunk_bytes(of.rung), catalog.size(of.video, of.rung));
                let first = u64::from(chunk) * bytes;
                let range = ByteRange::new(bytes.min(size.saturating_sub(first)), first);
                Part { range, complete: Some(size) }
            }
            (Videos::Set(..), Ask::Index(_)) => Part { range: None, complete: None },
            (Videos::Listed(listing), Ask::Chunk(chunk)) => {
                Part { range: listing.rungs[of.rung].segments[chunk as usize].range, complete: None }
            }
            (Videos::Listed(listing), Ask::Index(index)) => {
                Part { range: listed(listing, of.rung, index).range, complete: None }
            }
        }
    }

    /// Appends the path of `ask`.
    pub(super) fn append_path(&self, of: Watched, ask: Ask, out: &mut Vec<u8>) {
        match (&self.videos, ask) {
            (Videos::Set(catalog, _), Ask::Chunk(_)) => catalog.append_path(of.video, of.rung, out),
            (Videos::Set(catalog, _), Ask::Index(index)) => {
                out.extend_from_slice(catalog.entry_path(entry(of, index)).as_bytes());
            }
            (Videos::Listed(listing), Ask::Chunk(chunk)) => {
                out.extend_from_slice(listing.rungs[of.rung].segments[chunk as usize].target.as_bytes());
            }
            (Videos::Listed(listing), Ask::Index(index)) => {
                out.extend_from_slice(listed(listing, of.rung, index).target.as_bytes());
            }
        }
    }

    /// The content of `ask`, cut to the requested part; `None` if unknown.
    pub(super) fn body(&self, of: Watched, ask: Ask) -> Option<Body> {
        let Videos::Set(catalog, _) = &self.videos else { return None };
        Some(match ask {
            Ask::Index(index) => catalog.body(entry(of, index)),
            Ask::Chunk(_) => {
                let content = catalog.content(of.video, of.rung);
                let range = self.part(of, ask).range;
                Body::Media(
                    range.map_or(content.range(0..0), |part| content.range(part.first..part.last + 1)),
                )
            }
        })
    }

    /// The length and the xxh3 of the same object received before the load, if it was requested.
    pub(super) fn known(&self, of: Watched, ask: Ask) -> Option<(u64, u64)> {
        match (&self.videos, ask) {
            (Videos::Listed(listing), Ask::Index(index)) => listed(listing, of.rung, index).known,
            _ => None,
        }
    }
}

/// The playlists of a set: the list of a video's qualities, and the playlist of one of them.
fn entry(of: Watched, index: u32) -> Entry {
    match index {
        0 => Entry::Master { video: of.video },
        _ => Entry::Playlist { video: of.video, rung: of.rung },
    }
}

fn listed(listing: &Listing, rung: usize, index: u32) -> &Index {
    match (&listing.master, index as usize) {
        (Some(master), 0) => master,
        (Some(_), after) => &listing.rungs[rung].indexes[after - 1],
        (None, index) => &listing.rungs[rung].indexes[index],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, delivery: Delivery, speed: u32) -> Library {
        Library::new(Videos::Set(Catalog::new(&text.parse().unwrap(), 1).unwrap(), delivery), speed)
    }

    #[test]
    fn the_chunks_of_a_video_are_its_file_and_its_length() {
        for speed in [1, 3, 7, 10, 999] {
            let library = set("50x1/8", Delivery::Ranges, speed);
            let Videos::Set(catalog, _) = library.source() else { panic!("no set") };
            let whole = (0..50).filter(|video| catalog.duration(*video) == Nanos::from_secs(1_000)).count();
            assert_eq!(whole, 1, "one has 100 chunks of 10 s, of which none is shorter");
            for video in 0..50 {
                let of = Watched { video, rung: 2 };
                let duration = library.duration(of);
                let chunks = library.chunks_until(2, duration);
                assert_eq!(u64::from(chunks), catalog.chunks(video), "video {video} at speed {speed}");
                let (mut next, mut shown) = (0, Nanos::ZERO);
                for chunk in 0..chunks {
                    let Part { range: Some(range), complete: Some(size) } =
                        library.part(of, Ask::Chunk(chunk))
                    else {
                        panic!("video {video}: chunk {chunk} of {chunks} is empty")
                    };
                    assert_eq!(range.first, next);
                    assert_eq!((range.last + 1 == size, range.last < size), (chunk + 1 == chunks, true));
                    assert_eq!(library.start(2, chunk), shown);
                    (next, shown) = (range.last + 1, shown + library.media(2, chunk, duration));
                    let body = library.body(of, Ask::Chunk(chunk)).unwrap();
                    assert_eq!(body.left(), range.length());
                }
                assert_eq!(shown, duration);
            }
        }
    }

    #[test]
    fn a_viewer_who_leaves_sees_a_part_of_the_last_chunk() {
        let library = set("5x1/8", Delivery::Ranges, 10);
        let check = |until_ms: u64, chunks: u32, last_ms: u64| {
            let until = Nanos::from_millis(until_ms);
            assert_eq!(library.chunks_until(0, until), chunks, "{until}");
            assert_eq!(library.media(0, chunks - 1, until), Nanos::from_millis(last_ms), "{until}");
        };
        check(1, 1, 1);
        check(1_000, 1, 1_000);
        check(1_001, 2, 1);
        check(2_500, 3, 500);
    }

    #[test]
    fn bandwidths_shrink_with_the_bytes_and_grow_with_the_speed() {
        let check = |text: &str, speed: u32, scale: f64| {
            let library = set(text, Delivery::Ranges, speed);
            assert!((library.bandwidth_scale() / scale - 1.0).abs() < 1e-3, "{}", library.bandwidth_scale());
            // A class carries the same rungs: 720p takes 5.24 Mbps.
            let of_published = library.bit_rate(3) / library.bandwidth_scale() / 1e6;
            assert!((of_published - 5.243).abs() < 0.01, "{of_published}");
        };
        check("10x1", 1, 1.0);
        check("10x1/8", 1, 0.125);
        check("10x1/160", 20, 0.125);
    }

    #[test]
    fn playlists_come_before_the_first_chunk() {
        let library = set("5x1/8", Delivery::Hls, 1);
        assert_eq!(library.indexes(1, 0), 2);
        let paths: Vec<String> = [Ask::Index(0), Ask::Index(1), Ask::Chunk(7)]
            .into_iter()
            .map(|ask| {
                let mut path = Vec::new();
                library.append_path(Watched { video: 3, rung: 1 }, ask, &mut path);
                String::from_utf8(path).unwrap()
            })
            .collect();
        assert_eq!(paths, ["/v000003/master.m3u8", "/v000003/360p.m3u8", "/v000003/360p.bin"]);
        assert_eq!(set("5x1/8", Delivery::Ranges, 1).indexes(1, 9), 0);
    }
}
