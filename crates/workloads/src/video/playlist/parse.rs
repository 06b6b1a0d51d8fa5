use std::collections::HashSet;

use units::Nanos;

use super::text::{
    Variables, attributes, byte_range, is_data, is_sound, parameter, positive, seconds, substituted,
};
use super::{LIMIT, PlaylistError, VARIANTS};

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
    /// The variables that its playlists may import.
    pub variables: Variables,
}

/// One quality.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The highest bit rate of its segments; `None`: unknown, which only a single variant may be. Units: bits per second.
    pub bandwidth: Option<u64>,
    /// Lines of its picture, if given.
    pub height: Option<u32>,
    /// Its playlist.
    pub uri: String,
    /// Whether it has no pictures.
    pub is_sound: bool,
    /// The line of the URI.
    pub line: usize,
}

/// A list of segments. Bounds: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The segments.
    pub segments: Vec<MediaSegment>,
    /// Objects that segments need, in the order of these.
    pub needs: Vec<Need>,
}

/// An object that a player requests before a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The segment before which it is requested, from 0.
    pub before: u32,
    /// Its kind.
    pub kind: NeedKind,
    /// Its address.
    pub uri: String,
    /// Which part of that.
    pub range: Option<ByteRange>,
    /// The line of the URI.
    pub line: usize,
}

/// The kinds of [`Need`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedKind {
    /// The header of segments.
    Header,
    /// The key of encrypted segments.
    Key,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSegment {
    /// How long it plays; over 0.
    pub duration: Nanos,
    /// Its address.
    pub uri: String,
    /// Which part of that; `None`: all.
    pub range: Option<ByteRange>,
    /// The line of the URI.
    pub line: usize,
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

/// Reads a playlist without a query and without variables of another one. Errors: as [`parse_in`].
pub fn parse(bytes: &[u8]) -> Result<Playlist, PlaylistError> {
    parse_in(bytes, "", &Variables::new())
}

/// Reads a playlist that was requested with this query, under a list of variants with these variables.
///
/// Lines end with LF, CR LF or CR; blank lines, comments and tags without an effect on requests are skipped.
///
/// Errors: it is not a playlist, too long, contradictory, without an end, or empty; it would be played with requests that are not
/// sent here.
pub fn parse_in(bytes: &[u8], query: &str, imported: &Variables) -> Result<Playlist, PlaylistError> {
    if bytes.len() > LIMIT {
        return Err(PlaylistError::TooLong);
    }
    if bytes.starts_with(b"\x1f\x8b") {
        return Err(PlaylistError::Compressed);
    }
    // Titles and comments may be in another encoding; addresses are checked.
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines = (1..).zip(text.lines());
    if lines.next().is_none_or(|(_, first)| !first.starts_with("#EXTM3U")) {
        return Err(PlaylistError::NotAPlaylist);
    }
    let mut reader = Reader { query, imported: Some(imported), ..Reader::default() };
    for (number, line) in lines {
        reader.number = number;
        let read = substituted(line.trim(), &reader.variables).map_err(|name| {
            format!(
                "the variable {name} is not defined; add #EXT-X-DEFINE:NAME=\"{name}\",VALUE=\"…\" above it"
            )
        });
        // An unknown variable in a comment has no effect.
        let is_comment = line.trim_start().starts_with('#') && !line.trim_start().starts_with("#EXT");
        let outcome = match read {
            Ok(line) => reader.line(&line),
            Err(_) if is_comment => Ok(()),
            Err(problem) => Err(problem),
        };
        outcome.map_err(|problem| PlaylistError::Line { line: reader.number, problem })?;
    }
    reader.end()
}

/// The value of a tag, which may be without one.
fn tag<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(name)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(':') }
}

/// A version of the sound.
struct Sound {
    group: String,
    is_default: bool,
    /// Whether it has a playlist of its own.
    is_apart: bool,
    line: usize,
}

/// The attributes of the next variant.
struct Announced {
    bandwidth: Option<u64>,
    height: Option<u32>,
    is_sound: bool,
    sound: Option<String>,
    /// All that tells it from other variants; a later one that agrees in it is a substitute on another server or path.
    identity: [String; 5],
}

/// The content read so far.
#[derive(Default)]
struct Reader<'a> {
    query: &'a str,
    imported: Option<&'a Variables>,
    variables: Variables,
    number: usize,
    variants: Vec<Variant>,
    /// The groups of sound that variants name.
    groups: Vec<String>,
    sounds: Vec<Sound>,
    known: HashSet<[String; 5]>,
    segments: Vec<MediaSegment>,
    needs: Vec<Need>,
    /// The header in force.
    header: Option<(String, Option<ByteRange>)>,
    /// The keys that were requested.
    keys: HashSet<String>,
    /// The line of a key in force that is not a file.
    locked: Option<usize>,
    /// Whether a key that is a file is in force, too.
    is_open: bool,
    ended: bool,
    has_gap: bool,
    /// The context of the next address.
    variant: Option<Announced>,
    duration: Option<Nanos>,
    range: Option<(u64, Option<u64>)>,
    /// Where the part before ended.
    after: u64,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(list) = tag(line, "#EXT-X-STREAM-INF") {
            self.variant = Some(announced(list));
        } else if let Some(duration) = tag(line, "#EXTINF") {
            self.duration = Some(seconds(duration)?);
        } else if let Some(range) = tag(line, "#EXT-X-BYTERANGE") {
            self.range = Some(byte_range(range).ok_or("the range is not LENGTH or LENGTH@OFFSET")?);
        } else if let Some(list) = tag(line, "#EXT-X-MAP") {
            self.header(list)?;
        } else if let Some(list) = tag(line, "#EXT-X-KEY") {
            self.key(list)?;
        } else if let Some(list) = tag(line, "#EXT-X-MEDIA") {
            self.rendition(list);
        } else if let Some(list) = tag(line, "#EXT-X-DEFINE") {
            self.define(list)?;
        } else if let Some(kind) = tag(line, "#EXT-X-PLAYLIST-TYPE") {
            // A playlist of this type does not change. Source: RFC 8216 §4.3.3.5.
            self.ended |= kind.trim().eq_ignore_ascii_case("VOD");
        } else if tag(line, "#EXT-X-ENDLIST").is_some() {
            self.ended = true;
        } else if tag(line, "#EXT-X-GAP").is_some() {
            self.has_gap = true;
        } else if tag(line, "#EXT-X-I-FRAMES-ONLY").is_some() {
            return Err("it lists single pictures and no segments; name the playlist of a quality".into());
        } else if !line.is_empty() && !line.starts_with('#') {
            self.address(line)?;
        }
        Ok(())
    }

    fn define(&mut self, list: &str) -> Result<(), String> {
        let list = attributes(list);
        let (name, value) = match (list.get("NAME"), list.get("QUERYPARAM"), list.get("IMPORT")) {
            (Some(name), ..) => (*name, list.get("VALUE").copied()),
            (None, Some(name), _) => (*name, parameter(self.query, name)),
            (None, None, Some(name)) => {
                (*name, self.imported.and_then(|all| all.get(*name)).map(String::as_str))
            }
            (None, None, None) => return Err("the variable has no NAME, QUERYPARAM or IMPORT".into()),
        };
        let value = value.ok_or_else(|| {
            format!(
                "the variable {name} has no value here; give it a VALUE, or name the address or the list of qualities that \
                 has it"
            )
        })?;
        self.variables.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// The encryption of the segments that follow. A player requests each key once. Of several in force, for players with and
    /// without DRM, one that is a file suffices.
    fn key(&mut self, list: &str) -> Result<(), String> {
        let list = attributes(list);
        if list.get("METHOD").is_none_or(|method| method.eq_ignore_ascii_case("NONE")) {
            (self.locked, self.is_open) = (None, false);
            return Ok(());
        }
        if list.get("KEYFORMAT").is_some_and(|format| *format != "identity") {
            self.locked.get_or_insert(self.number);
            return Ok(());
        }
        let uri = list.get("URI").filter(|uri| !uri.is_empty());
        let uri = uri.ok_or("the key has no URI; write #EXT-X-KEY:METHOD=AES-128,URI=\"…\"")?;
        self.is_open = true;
        if !is_data(uri) && self.keys.insert((*uri).to_owned()) {
            self.need(NeedKind::Key, uri, None);
        }
        Ok(())
    }

    /// Another version of a part of the video. Subtitles and angles are requested by viewers who choose them; sound by all.
    fn rendition(&mut self, list: &str) {
        let list = attributes(list);
        if list.get("TYPE") == Some(&"AUDIO") {
            self.sounds.push(Sound {
                group: list.get("GROUP-ID").copied().unwrap_or_default().to_owned(),
                is_default: list.get("DEFAULT") == Some(&"YES"),
                is_apart: list.get("URI").is_some_and(|uri| !uri.is_empty()),
                line: self.number,
            });
        }
    }

    /// The header of the segments that follow. A player requests it when it differs from the one before.
    fn header(&mut self, list: &str) -> Result<(), String> {
        let list = attributes(list);
        let uri = list.get("URI").ok_or("the header has no URI; write #EXT-X-MAP:URI=\"…\"")?;
        let range = match list.get("BYTERANGE") {
            None => None,
            Some(text) => {
                let range =
                    byte_range(text).and_then(|(length, from)| ByteRange::new(length, from.unwrap_or(0)));
                Some(range.ok_or("the range of the header is not LENGTH@OFFSET, or empty, or beyond 2^64")?)
            }
        };
        let header = Some(((*uri).to_owned(), range));
        if self.header != header {
            if !is_data(uri) {
                self.need(NeedKind::Header, uri, range);
            }
            self.header = header;
        }
        Ok(())
    }

    fn need(&mut self, kind: NeedKind, uri: &str, range: Option<ByteRange>) {
        let before = self.segments.len() as u32;
        // A header that is replaced before any segment is not requested.
        if kind != NeedKind::Key {
            let from = self.needs.partition_point(|need| need.before < before);
            let kept = self.needs.split_off(from).into_iter().filter(|need| need.kind != kind);
            self.needs.extend(kept);
        }
        self.needs.push(Need { before, kind, uri: uri.to_owned(), range, line: self.number });
    }

    fn address(&mut self, uri: &str) -> Result<(), String> {
        if uri.contains(char::REPLACEMENT_CHARACTER) {
            return Err(
                "the address is not in UTF-8; save the playlist in UTF-8, or percent-encode the address"
                    .into(),
            );
        }
        let (uri, line) = (uri.to_owned(), self.number);
        if let Some(Announced { bandwidth, height, is_sound, sound, identity }) = self.variant.take() {
            // Players keep an equal variant for the case that the first one fails.
            if self.known.insert(identity) {
                self.groups.extend(sound);
                self.variants.push(Variant { bandwidth, height, uri, is_sound, line });
            }
            return Ok(());
        }
        if let (Some(line), false) = (self.locked, self.is_open) {
            self.number = line;
            return Err(
                "its segments are encrypted, with a key that is not a file (DRM) and not asked for here; name a playlist without \
                 encryption, or with METHOD=AES-128"
                    .into(),
            );
        }
        let duration = self.duration.take().ok_or(
            "the address has no #EXTINF or #EXT-X-STREAM-INF before it, so its duration is not known; add one, or remove it",
        )?;
        // Without an offset a part follows the one before. Source: hls.js and FFmpeg; RFC 8216 wants one of the same file.
        let range =
            match self.range.take() {
                None => None,
                Some((length, offset)) => {
                    let range = ByteRange::new(length, offset.unwrap_or(self.after));
                    Some(range.ok_or(
                        "the range is empty or beyond 2^64; write LENGTH@OFFSET with a LENGTH over 0",
                    )?)
                }
            };
        self.after = range.map_or(0, |range| range.last + 1);
        // Players skip a gap, and go on with the segment behind it.
        if !std::mem::take(&mut self.has_gap) {
            self.segments.push(MediaSegment { duration, uri, range, line });
        }
        Ok(())
    }

    fn end(mut self) -> Result<Playlist, PlaylistError> {
        match (self.variants.is_empty(), self.segments.is_empty()) {
            (true, true) => Err(PlaylistError::Empty),
            (false, false) => Err(PlaylistError::Mixed),
            (false, true) => self.master(),
            (true, false) if self.ended => {
                let all = self.segments.len() as u32;
                self.needs.retain(|need| need.before < all);
                Ok(Playlist::Media(Media { segments: self.segments, needs: self.needs }))
            }
            (true, false) => Err(PlaylistError::NoEnd),
        }
    }

    fn master(mut self) -> Result<Playlist, PlaylistError> {
        // A player ignores audio-only variants if there are others.
        if self.variants.iter().any(|variant| !variant.is_sound) {
            self.variants.retain(|variant| !variant.is_sound);
        }
        if self.variants.len() > VARIANTS {
            return Err(PlaylistError::TooManyVariants);
        }
        let unknown = self.variants.iter().find(|variant| variant.bandwidth.is_none());
        if let (Some(variant), 2..) = (unknown, self.variants.len()) {
            let problem = "the variant has no BANDWIDTH, by which viewers choose among several; add it, or name the playlist of \
                           one quality";
            return Err(PlaylistError::Line { line: variant.line, problem: problem.into() });
        }
        for group in &self.groups {
            let mut all = self.sounds.iter().filter(|sound| sound.group == *group);
            let first = all.clone().next();
            if let Some(sound) = all.find(|sound| sound.is_default).or(first).filter(|sound| sound.is_apart) {
                let problem = "its sound is in a playlist of its own, which is not asked for here, so that the load would lack it; \
                               name the playlist of one quality, to ask for its pictures alone";
                return Err(PlaylistError::Line { line: sound.line, problem: problem.into() });
            }
        }
        Ok(Playlist::Master(Master { variants: self.variants, variables: self.variables }))
    }
}

/// The attributes of a variant.
fn announced(list: &str) -> Announced {
    let list = attributes(list);
    let text = |name: &str| list.get(name).copied().unwrap_or_default().to_owned();
    let bandwidth = ["BANDWIDTH", "AVERAGE-BANDWIDTH"].into_iter().find_map(|name| positive(list.get(name)?));
    let height = list.get("RESOLUTION").and_then(|text| positive(text.split_once(['x', 'X'])?.1));
    let rate = bandwidth.map_or(String::new(), |rate| rate.to_string());
    Announced {
        bandwidth,
        height: height.and_then(|lines| u32::try_from(lines).ok()),
        is_sound: !list.contains_key("RESOLUTION")
            && list.get("CODECS").is_some_and(|codecs| is_sound(codecs)),
        sound: list.get("AUDIO").map(|group| (*group).to_owned()),
        identity: [rate, text("RESOLUTION"), text("CODECS"), text("FRAME-RATE"), text("VIDEO-RANGE")],
    }
}
