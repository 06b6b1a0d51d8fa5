//! Sets of videos: how long each is, in which qualities it is there, and what is in its files.
//!
//! A set follows from a few words and a seed ([`Catalog`]). What makes its files (`taillight fileset make --video`), what
//! serves them without a disk (`taillight serve video-server`) and what asks for them know length, size, content and
//! playlists of each without a list; they share this description and nothing else.
//!
//! Try it: `cargo test -p videos`.

mod body;
mod catalog;
mod content;
mod durations;
mod entry;
mod ladder;
mod playlist;

pub use body::Body;
pub use catalog::Catalog;
pub use content::Content;
pub use durations::{duration_at, share_up_to};
pub use entry::Entry;
pub use ladder::{CHUNK, CHUNK_BYTES, HIGH_IN, PICTURES, RUNGS};
pub use playlist::master;
