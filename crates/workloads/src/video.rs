//! Videos: viewers and their videos, requests and their times, and the playback that viewers see.
//!
//! [`VideoConfig`] describes the videos and viewers; each generator thread has a [`Video`] that draws viewers and
//! follows their sessions. A viewer's chunks are due at times that are fixed on arrival; a [`Player`] derives the
//! playback solely from the times at which the chunks were complete.

mod answers;
mod audience;
mod beginning;
mod classes;
mod config;
mod counts;
mod course;
pub mod explain;
mod library;
mod links;
mod player;
pub mod playlist;
mod probe;
mod requests;
mod session;
mod watched;

pub use answers::Wire;
pub use audience::{Audience, Viewer};
pub use classes::{CLASSES, Class, FIT, SHARES};
pub use config::VideoConfig;
pub use datasets::videos::{CHUNK, CHUNK_BYTES, Catalog, Content, RUNGS};
pub use library::{Ask, Library, Part, Videos, Watched};
pub use player::{Player, Seen};
pub use probe::{Probe, ProbeError, fetch};
pub use requests::{Job, Known, Video};
pub use session::GOOD_START;
pub use spec::workload::Verify;
pub use watched::watched_at;
