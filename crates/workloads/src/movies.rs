//! A site of films: visitors who browse, search, review, rent and watch.
//!
//! [`MoviesConfig`] describes visitors and their queries; each generator thread has a [`Movies`] that draws visitors. A
//! visitor sends one query over a connection of their own; a visitor who rents a film then watches it, by requests at
//! the times at which a player makes them. Every answer is compared with the site's data, if known.

mod answers;
mod config;
mod counts;
mod expected;
pub mod explain;
mod login;
mod visit;
mod visitors;

pub use answers::Wire;
pub use config::{Known, MoviesConfig, TitlesError, titles_of};
pub use login::{AskError, Member, ask_titles, log_in};
pub use visit::{SEGMENT, STREAM};
pub use visitors::{Job, Movies};
