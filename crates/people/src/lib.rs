//! The people of a social network: who they are, who is whose friend, what they have written.
//!
//! All of it follows from a number of users and a seed ([`People`]). What fills a site's database, what logs in there as
//! one of its users and what checks the answers know names, friendships and texts without asking the site; they share this
//! description and nothing else.
//!
//! Try it: `cargo test -p people`.

mod activity;
mod degrees;
mod graph;
mod names;
mod password;
mod people;
mod tables;
mod words;

pub use activity::{Chat, Chats, Message, Post};
pub use degrees::{SIGMA, mean_degree};
pub use graph::{WITHIN, community_size};
pub use password::{COSTS, PASSWORD, hash};
pub use people::{Degrees, People, USERS};
pub use tables::Table;
