//! A social network: users who arrive, log in, do the operations of a mix, and log out.
//!
//! [`SocialConfig`] describes users, operations and the [`Site`]; each generator thread has a [`Social`] that draws
//! users and follows their sessions. An operation is due at a time that is fixed when its user arrives, and lasts until
//! the last byte of its last request; a [`Site`] defines these requests and the required contents of their answers.

mod config;
mod counts;
pub mod explain;
mod login;
mod mix;
mod pages;
mod people;
mod prime;
mod session;
mod site;
mod user;

pub use config::{Known, Share, SocialConfig, TIMEOUT_LIMITS};
pub use counts::{TIERS, of_operation};
pub use login::{LoginError, Ready, log_in};
pub use mix::Draw;
pub use pages::Wire;
pub use prime::{PrimeError, prime};
pub use site::{By, Site, SiteError};
pub use user::{Job, Social};
