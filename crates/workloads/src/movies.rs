//! A site of films: visitors who browse, search, review, rent and watch.
//!
//! [`MoviesConfig`] is who asks for what; each generator thread has a [`Movies`] that draws visitors. A visitor asks for one thing over
//! a connection of their own; who rents a film goes on to watch it, by requests at the times at which a player makes them. Every
//! answer is compared with what the site was filled with, as far as that is known.

mod answers;
mod config;
mod counts;
mod expected;
mod login;
mod visit;
mod visitors;

pub use answers::Wire;
pub use config::{Known, MoviesConfig, TitlesError, titles_of};
pub use login::{AskError, Member, ask_titles, log_in};
pub use visit::{SEGMENT, STREAM};
pub use visitors::{Job, Movies};
