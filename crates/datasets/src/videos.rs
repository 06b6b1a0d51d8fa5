//! Sets of videos: length and qualities of each, and the content of its files.
//!
//! A set follows from a few words and a seed ([`Catalog`]). The maker of its files (`taillight fileset make --video`),
//! the server without a disk (`taillight serve video-server`) and the clients know length, size, content and playlists
//! of each without a list; they share only this description.

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
pub use durations::{duration_at, on_line};
pub use entry::Entry;
pub use ladder::{CHUNK, CHUNK_BYTES, HIGH_IN, PICTURES, RUNGS};
pub use playlist::master;
