use spec::Url;
use units::Nanos;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    ByteRange, Master, Media, NeedKind, Playlist, PlaylistError, Variables, Variant, parse_in, resolve,
};

/// A video on a server, as its playlists list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The list of its qualities, if it has one.
    pub master: Option<Index>,
    /// Its qualities, by their bit rate. Bounds: at least one.
    pub rungs: Vec<ListedRung>,
}

/// A quality.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRung {
    /// By the lines of its picture, or by its bit rate.
    pub name: String,
    /// Its bit rate; 0 if unknown. Units: bits per second.
    pub bits_per_s: u64,
    /// Objects requested before a segment: its playlist, headers and keys of segments; by [`Index::before`].
    pub indexes: Vec<Index>,
    /// Its segments. Bounds: at least one.
    pub segments: Vec<Segment>,
}

/// An object requested before a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its path on the server.
    pub target: String,
    /// Which part of it.
    pub range: Option<ByteRange>,
    /// The length and the xxh3 received before the load; `None`: not requested then.
    pub known: Option<(u64, u64)>,
    /// The segment before which it is requested, from 0.
    pub before: u32,
    /// Whether it holds media: a header.
    pub is_media: bool,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its path on the server.
    pub target: Box<str>,
    /// Which part of it.
    pub range: Option<ByteRange>,
    /// When it is shown, from the beginning of the video.
    pub start: Nanos,
    /// How long it plays.
    pub media: Nanos,
}

/// Follows playlists: names the next one to fetch, and takes its bytes. It requests each address once, and accepts a
/// list of variants only at the beginning, so that it ends for any playlists.
#[derive(Clone, Debug)]
pub struct Loader {
    /// Where the first one is.
    first: Url,
    master: Option<Index>,
    /// Addresses still to fetch, the next one last; with the quality, if listed.
    wanted: Vec<(Option<Variant>, Url)>,
    /// Variables of the list of qualities.
    variables: Variables,
    rungs: Vec<ListedRung>,
}

impl Loader {
    /// From the playlist at this address.
    pub fn new(first: &Url) -> Loader {
        let wanted = vec![(None, first.clone())];
        Loader { first: first.clone(), master: None, wanted, variables: Variables::new(), rungs: Vec::new() }
    }

    /// The next address to fetch; `None`: complete.
    pub fn wants(&self) -> Option<&Url> {
        self.wanted.last().map(|(_, url)| url)
    }

    /// Takes the bytes of that address.
    ///
    /// Errors: it is not a playlist of a whole recording; it leads to another server, or back to a list of variants.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), PlaylistError> {
        let Some((variant, url)) = self.wanted.pop() else { return Ok(()) };
        let known = Some((bytes.len() as u64, xxh3_64(bytes)));
        let index = Index { target: target_of(&url), range: None, known, before: 0, is_media: false };
        let query = url.path.split_once('?').map_or("", |(_, query)| query);
        match (parse_in(bytes, query, &self.variables)?, variant) {
            (Playlist::Master(master), None) => {
                self.master = Some(index);
                self.follow(master)?;
            }
            (Playlist::Master(_), Some(variant)) => return Err(PlaylistError::Loop { uri: variant.uri }),
            (Playlist::Media(media), variant) => self.rungs.push(rung(&url, index, media, variant)?),
        }
        Ok(())
    }

    fn follow(&mut self, master: Master) -> Result<(), PlaylistError> {
        for variant in master.variants {
            let url = resolved(&self.first, &variant.uri, variant.line)?;
            if target_of(&url) == target_of(&self.first) {
                let problem = PlaylistError::Loop { uri: variant.uri };
                return Err(PlaylistError::Line { line: variant.line, problem: problem.to_string() });
            }
            // One quality may be listed again with another sound.
            if !self.wanted.iter().any(|(_, known)| known.path == url.path) {
                self.wanted.push((Some(variant), url));
            }
        }
        // The last one is taken first: from here on in the order of the list.
        self.wanted.reverse();
        self.variables = master.variables;
        Ok(())
    }

    /// All playlists found, once no file is wanted.
    ///
    /// Errors: no playlist was found.
    pub fn listing(mut self) -> Result<Listing, PlaylistError> {
        if self.rungs.is_empty() {
            return Err(PlaylistError::Empty);
        }
        self.rungs.sort_by_key(|rung| rung.bits_per_s);
        name_apart(&mut self.rungs, |rung, _| format!("{}-{}k", rung.name, rung.bits_per_s / 1_000));
        name_apart(&mut self.rungs, |rung, number| format!("{}-{number}", rung.name));
        Ok(Listing { master: self.master, rungs: self.rungs })
    }
}

/// Renames qualities of the same name, given each one's number among these, from 1.
fn name_apart(rungs: &mut [ListedRung], rename: impl Fn(&ListedRung, usize) -> String) {
    let names: Vec<String> = rungs.iter().map(|rung| rung.name.clone()).collect();
    for (i, rung) in rungs.iter_mut().enumerate() {
        let alike = |among: &[String]| among.iter().filter(|name| **name == names[i]).count();
        if alike(&names) > 1 {
            rung.name = rename(rung, alike(&names[..=i]));
        }
    }
}

/// Where an address in a line leads.
fn resolved(base: &Url, uri: &str, line: usize) -> Result<Url, PlaylistError> {
    resolve(base, uri).map_err(|error| PlaylistError::Line { line, problem: error.to_string() })
}

/// The path of an address, as a request has it.
fn target_of(url: &Url) -> String {
    if url.path.is_empty() { "/".into() } else { url.path.clone() }
}

fn rung(
    url: &Url,
    index: Index,
    media: Media,
    variant: Option<Variant>,
) -> Result<ListedRung, PlaylistError> {
    let mut indexes = vec![index];
    for need in media.needs {
        let target = target_of(&resolved(url, &need.uri, need.line)?);
        let is_media = need.kind == NeedKind::Header;
        indexes.push(Index { target, range: need.range, known: None, before: need.before, is_media });
    }
    let (mut segments, mut start, mut bytes) = (Vec::new(), Nanos::ZERO, Some(0u64));
    for segment in media.segments {
        let target = target_of(&resolved(url, &segment.uri, segment.line)?).into();
        let length = segment.range.map(ByteRange::length);
        bytes = bytes.and_then(|sum| sum.checked_add(length?));
        segments.push(Segment { target, range: segment.range, start, media: segment.duration });
        start += segment.duration;
    }
    let own = || bytes.map(|bytes| (bytes as f64 * 8.0 / start.as_secs_f64()) as u64);
    let bits_per_s = variant.as_ref().and_then(|variant| variant.bandwidth).or_else(own).unwrap_or(0);
    let name = match variant.and_then(|variant| variant.height) {
        Some(height) => format!("{height}p"),
        None if bits_per_s > 0 => format!("{}k", bits_per_s / 1_000),
        None => "segment".into(),
    };
    Ok(ListedRung { name, bits_per_s, indexes, segments })
}
