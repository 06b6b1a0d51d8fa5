//! Playlists of HTTP Live Streaming, as pure functions over bytes: their content, and which ones to follow.
//!
//! Source: RFC 8216; only the parts that determine requests are parsed: variants, segments with their lengths and
//! ranges, the header of segments, the end.

mod listing;
mod parse;
mod resolve;

use thiserror::Error;

pub use listing::{Index, ListedRung, Listing, Loader, Segment};
pub use parse::{ByteRange, Map, Master, Media, MediaSegment, Playlist, Variant, parse};
pub use resolve::resolve;

/// The longest playlist. Units: bytes. Source: ours; a video of an hour in segments of 2 s has 1800 lines with some 100 B each.
pub const LIMIT: usize = 1 << 20;
/// The most variants that are followed. Source: ours; ladders have up to a dozen rungs, some of them in two codecs.
pub const VARIANTS: usize = 64;

/// Why a playlist cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PlaylistError {
    #[error("it has more than {LIMIT} B")]
    TooLong,
    #[error("it is not text in UTF-8")]
    NotText,
    #[error("it does not begin with #EXTM3U, so it is no playlist")]
    NotAPlaylist,
    #[error("line {line}: {problem}")]
    Line { line: usize, problem: &'static str },
    #[error("it lists variants and segments at once")]
    Mixed,
    #[error(
        "it has no #EXT-X-ENDLIST: it is live, and what will be in it is not known; name one of a recording"
    )]
    NoEnd,
    #[error("it has neither variants nor segments")]
    Empty,
    #[error("it names more than {VARIANTS} variants")]
    TooManyVariants,
    #[error("'{uri}' is on another server than {server}; all of a video must be on the one that is measured")]
    OtherHost { uri: String, server: String },
    #[error("'{uri}' is no address that can be asked for: {problem}")]
    Address { uri: String, problem: &'static str },
    #[error("'{uri}' leads back to a list of variants, so that they go round in a loop")]
    Loop { uri: String },
    #[error("its variants have the same name '{name}' and the same bandwidth, so they cannot be told apart")]
    Alike { name: String },
}

#[cfg(test)]
mod tests;
