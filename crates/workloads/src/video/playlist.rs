//! Playlists of HTTP Live Streaming, as pure functions over bytes: their content, and which ones to follow.
//!
//! Source: RFC 8216, and hls.js where playlists deviate from it; only the parts that determine requests are parsed:
//! variants, segments with their durations and ranges, their headers and keys, variables, the end.

mod listing;
mod parse;
mod resolve;
mod text;

use thiserror::Error;

pub use listing::{Index, ListedRung, Listing, Loader, Segment};
pub use parse::{ByteRange, Master, Media, MediaSegment, Need, NeedKind, Playlist, Variant, parse, parse_in};
pub use resolve::resolve;
pub use text::Variables;

/// The longest playlist. Units: bytes. Source: ours; a day in segments of 2 s has 43 200 of them, with some 250 B each.
pub const LIMIT: usize = 16 << 20;
/// The most variants that are followed. Source: ours; ladders have up to a dozen rungs, some of them in two codecs.
pub const VARIANTS: usize = 64;

/// Why a playlist cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PlaylistError {
    #[error(
        "it has more than {} MiB ({LIMIT} B), the limit; name the playlist of a shorter recording, or of one quality",
        LIMIT >> 20
    )]
    TooLong,
    #[error("it does not begin with #EXTM3U, so it is no playlist; name the address of one (.m3u8)")]
    NotAPlaylist,
    #[error("it is compressed (gzip), which viewers here do not ask for; have the server send it as it is")]
    Compressed,
    #[error("line {line}: {problem}")]
    Line { line: usize, problem: String },
    #[error(
        "it lists variants (#EXT-X-STREAM-INF) and segments (#EXTINF) at once; name one that lists either"
    )]
    Mixed,
    #[error(
        "it has no #EXT-X-ENDLIST: it is live, and what will be in it is not known; name one of a recording"
    )]
    NoEnd,
    #[error("it has neither variants nor segments; name one with #EXT-X-STREAM-INF or #EXTINF")]
    Empty,
    #[error("it names more than {VARIANTS} variants; name the playlist of one quality")]
    TooManyVariants,
    #[error(
        "'{uri}' is on another server than {server}; all of a video must be on the one that is measured: serve it there, or use \
         relative addresses"
    )]
    OtherHost { uri: String, server: String },
    #[error("'{uri}' is no address that can be asked for: {problem}")]
    Address { uri: String, problem: &'static str },
    #[error("'{uri}' leads back to a list of variants; name a list of segments there")]
    Loop { uri: String },
}

#[cfg(test)]
mod tests;
