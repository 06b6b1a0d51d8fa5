use std::collections::HashMap;

use units::Nanos;

use super::{LIMIT, PlaylistError, VARIANTS};

/// The longest segment that is believed: a day.
const SEGMENT_MAX: f64 = 86_400.0;

/// The two kinds of playlists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Playlist {
    /// A list of the qualities of a video.
    Master(Master),
    /// A list of the segments of one.
    Media(Media),
}

/// A list of the qualities of a video. Bounds: 1 to [`VARIANTS`] of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Master {
    /// The qualities, in the order of the playlist.
    pub variants: Vec<Variant>,
}

/// One quality.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The highest bit rate of its segments. Units: bits per second.
    pub bandwidth: u64,
    /// Lines of its picture, if given.
    pub height: Option<u32>,
    /// Its playlist, as it is written there.
    pub uri: String,
}

/// A list of segments. Bounds: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The header to fetch before the first segment.
    pub map: Option<Map>,
    /// The segments.
    pub segments: Vec<MediaSegment>,
}

/// The header of segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Where it is.
    pub uri: String,
    /// Which part of that.
    pub range: Option<ByteRange>,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSegment {
    /// How long it plays; over 0.
    pub duration: Nanos,
    /// Its address, as written in the playlist.
    pub uri: String,
    /// Which part of that; `None`: all.
    pub range: Option<ByteRange>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte.
    pub first: u64,
    /// The last byte, no less than the first.
    pub last: u64,
}

impl ByteRange {
    /// `length` bytes from an offset; `None` for no bytes or beyond 2⁶⁴.
    pub fn new(length: u64, offset: u64) -> Option<ByteRange> {
        let last = offset.checked_add(length.checked_sub(1)?)?;
        (last < u64::MAX).then_some(ByteRange { first: offset, last })
    }

    /// How many bytes.
    pub fn length(self) -> u64 {
        self.last - self.first + 1
    }
}

/// Reads a playlist. Lines end with LF or CR LF; tags that decide nothing are passed over.
///
/// Errors: it is not a playlist, too long, contradictory, without an end, or empty.
pub fn parse(bytes: &[u8]) -> Result<Playlist, PlaylistError> {
    if bytes.len() > LIMIT {
        return Err(PlaylistError::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| PlaylistError::NotText)?;
    let mut lines = (1..).zip(text.lines().map(|line| line.trim_end_matches('\r')));
    if lines.next().is_none_or(|(_, first)| first.trim_end() != "#EXTM3U") {
        return Err(PlaylistError::NotAPlaylist);
    }
    let mut reader = Reader::default();
    for (number, line) in lines {
        reader.line(line).map_err(|failed| match failed {
            Failed::Here(problem) => PlaylistError::Line { line: number, problem },
            Failed::Whole(error) => error,
        })?;
    }
    reader.end()
}

/// Tags that change requests in a way that is not followed here, and the error for each. Others change nothing:
/// `#EXT-X-DISCONTINUITY` restarts the media clock, and the segments after it are requested as before.
const REFUSED: [(&str, &str); 3] = [
    (
        "#EXT-X-GAP",
        "the segment that follows is not there, which is not followed here; name a playlist without gaps",
    ),
    ("#EXT-X-I-FRAMES-ONLY", "it lists single pictures and no segments; name the playlist of a quality"),
    ("#EXT-X-DEFINE", "it has variables, which are not filled in here; name a playlist without them"),
];

/// Whether a line is this tag, with attributes or without.
fn is_tag(line: &str, tag: &str) -> bool {
    line.strip_prefix(tag).is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with(':'))
}

/// The attributes of a line that names a key, of segments or of a whole session.
fn key(line: &str) -> Option<&str> {
    line.strip_prefix("#EXT-X-KEY:").or_else(|| line.strip_prefix("#EXT-X-SESSION-KEY:"))
}

/// Why a line cannot be read.
enum Failed {
    Here(&'static str),
    Whole(PlaylistError),
}

impl From<&'static str> for Failed {
    fn from(problem: &'static str) -> Failed {
        Failed::Here(problem)
    }
}

/// The content read so far.
#[derive(Default)]
struct Reader<'a> {
    variants: Vec<Variant>,
    segments: Vec<MediaSegment>,
    map: Option<Map>,
    ended: bool,
    /// The context of the next address.
    variant: Option<(u64, Option<u32>)>,
    duration: Option<Nanos>,
    range: Option<(u64, Option<u64>)>,
    /// Where the last part of a file ended.
    after: Option<(&'a str, u64)>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), Failed> {
        if let Some(attributes) = line.strip_prefix("#EXT-X-STREAM-INF:") {
            let attributes = attribute_list(attributes)?;
            let bandwidth = attributes.get("BANDWIDTH").and_then(|text| number(text));
            let bandwidth = bandwidth.filter(|bits| *bits > 0);
            let height = attributes.get("RESOLUTION").and_then(|text| text.split_once('x')?.1.parse().ok());
            self.variant = Some((bandwidth.ok_or("its variant has no BANDWIDTH that is a number")?, height));
        } else if let Some(duration) = line.strip_prefix("#EXTINF:") {
            let text = duration.split_once(',').map_or(duration, |(duration, _)| duration);
            self.duration = Some(seconds(text).ok_or("its length is not a number of seconds over 0")?);
        } else if let Some(range) = line.strip_prefix("#EXT-X-BYTERANGE:") {
            self.range = Some(byte_range(range).ok_or("its range is not LENGTH or LENGTH@OFFSET")?);
        } else if let Some(attributes) = line.strip_prefix("#EXT-X-MAP:") {
            self.map(attributes)?;
        } else if let Some(attributes) = key(line) {
            self.key(attributes)?;
        } else if let Some(attributes) = line.strip_prefix("#EXT-X-MEDIA:") {
            self.rendition(attributes)?;
        } else if line.trim_end() == "#EXT-X-ENDLIST" {
            self.ended = true;
        } else if let Some((_, problem)) = REFUSED.iter().find(|(tag, _)| is_tag(line, tag)) {
            return Err((*problem).into());
        } else if !line.is_empty() && !line.starts_with('#') {
            self.address(line)?;
        }
        Ok(())
    }

    /// The encryption of the segments that follow.
    fn key(&mut self, attributes: &'a str) -> Result<(), Failed> {
        match attribute_list(attributes)?.get("METHOD") {
            Some(&"NONE") => Ok(()),
            _ => Err(
                "its segments are encrypted, and keys are not asked for here; name a playlist without them"
                    .into(),
            ),
        }
    }

    /// Another version of a part of the video. Subtitles and angles are requested by viewers who choose them; sound by
    /// all.
    fn rendition(&mut self, attributes: &'a str) -> Result<(), Failed> {
        let attributes = attribute_list(attributes)?;
        if attributes.get("TYPE") == Some(&"AUDIO") && attributes.contains_key("URI") {
            return Err("its sound is in a playlist of its own, which is not asked for here, so that the load would lack it; name \
                        the playlist of one quality, to ask for its pictures alone"
                .into());
        }
        Ok(())
    }

    /// The header of the segments that follow; with several, each would have to be read at its beginning.
    fn map(&mut self, attributes: &'a str) -> Result<(), Failed> {
        let attributes = attribute_list(attributes)?;
        let uri = attributes.get("URI").ok_or("its header has no URI")?;
        let range = match attributes.get("BYTERANGE") {
            None => None,
            Some(text) => {
                let (length, offset) = byte_range(text).ok_or("the range of its header cannot be read")?;
                let range = ByteRange::new(length, offset.unwrap_or(0));
                Some(range.ok_or("the range of its header is empty or too large")?)
            }
        };
        let map = Map { uri: (*uri).to_owned(), range };
        if self.map.as_ref().is_some_and(|before| *before != map) {
            return Err("a second header follows, which is not read here".into());
        }
        self.map = Some(map);
        Ok(())
    }

    fn address(&mut self, uri: &'a str) -> Result<(), Failed> {
        let uri = uri.trim_end();
        if let Some((bandwidth, height)) = self.variant.take() {
            if self.variants.len() == VARIANTS {
                return Err(Failed::Whole(PlaylistError::TooManyVariants));
            }
            self.variants.push(Variant { bandwidth, height, uri: uri.to_owned() });
            return Ok(());
        }
        let duration =
            self.duration.take().ok_or("an address without #EXTINF or #EXT-X-STREAM-INF before it")?;
        let range = match self.range.take() {
            None => None,
            Some((length, offset)) => {
                // Without an offset it follows the part before of the same file.
                let follows = || self.after.filter(|(file, _)| *file == uri).map(|(_, end)| end);
                let offset = offset.or_else(follows);
                let offset =
                    offset.ok_or("its range has no offset, and no part of the same file is before it")?;
                Some(ByteRange::new(length, offset).ok_or("its range is empty or too large")?)
            }
        };
        self.after = range.map(|range| (uri, range.last + 1));
        self.segments.push(MediaSegment { duration, uri: uri.to_owned(), range });
        Ok(())
    }

    fn end(self) -> Result<Playlist, PlaylistError> {
        match (self.variants.is_empty(), self.segments.is_empty()) {
            (true, true) => Err(PlaylistError::Empty),
            (false, false) => Err(PlaylistError::Mixed),
            (false, true) => Ok(Playlist::Master(Master { variants: self.variants })),
            (true, false) if self.ended => {
                Ok(Playlist::Media(Media { map: self.map, segments: self.segments }))
            }
            (true, false) => Err(PlaylistError::NoEnd),
        }
    }
}

/// `NAME=VALUE,…`, where a value in quotation marks may hold commas; the marks are left out. Source: RFC 8216 §4.2.
fn attribute_list(text: &str) -> Result<HashMap<&str, &str>, &'static str> {
    let mut found = HashMap::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or("its attributes are not NAME=VALUE")?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => {
                let (value, next) = quoted.split_once('"').ok_or("a quotation mark is not closed")?;
                (value, next.strip_prefix(',').or(next.is_empty().then_some("")))
            }
            None => match after.split_once(',') {
                Some((value, next)) => (value, Some(next)),
                None => (after, Some("")),
            },
        };
        rest = next.ok_or("something follows a quotation mark that is not a comma")?.trim_start();
        found.insert(name.trim(), value.trim());
    }
    Ok(found)
}

/// Parses digits only.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A decimal number of seconds, over 0 and at most a day.
fn seconds(text: &str) -> Option<Nanos> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let seconds: f64 = text.parse().ok()?;
    let span = Nanos((seconds * 1e9).round() as u64);
    (seconds <= SEGMENT_MAX && span > Nanos::ZERO).then_some(span)
}

/// `LENGTH` or `LENGTH@OFFSET`.
fn byte_range(text: &str) -> Option<(u64, Option<u64>)> {
    match text.trim().split_once('@') {
        Some((length, offset)) => Some((number(length)?, Some(number(offset)?))),
        None => Some((number(text.trim())?, None)),
    }
}
