//! The people of a social network: their identities, friendships and texts.
//!
//! Everything follows from a number of users and a seed ([`People`]). The program that fills a site's database, the
//! load that logs in as its users and the check of its answers know names, friendships and texts without asking the
//! site; they share only this description.

mod activity;
mod degrees;
mod graph;
mod names;
mod password;
mod population;
mod tables;
mod words;

pub use activity::{Chat, Chats, Message, Post};
pub use degrees::{SIGMA, mean_degree};
pub use graph::{WITHIN, community_size};
pub use password::{COSTS, PASSWORD, hash};
pub use population::{Degrees, People, USERS};
pub use tables::Table;
