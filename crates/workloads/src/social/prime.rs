//! Priming the cache with the site's data of its users before they arrive: each user is requested once, through the
//! site.

use std::io::{self, Read, Write};

use thiserror::Error;

use crate::social::config::{Known, UNDERWAY};
use crate::social::login::{Ready, carry_out};
use crate::social::session::{At, Session};

/// Why the data of a user cannot be read into the cache before a load.
#[derive(Debug, Error)]
#[error(
    "the cache cannot be primed with user {user}: {problem}; is the site filled with the users that --users and --users-seed say?"
)]
pub struct PrimeError {
    user: String,
    problem: String,
}

/// Makes the site load its data of `user` into its cache, by requests of a logged-in user; returns the number of
/// requests, redirects included. Uses the stream that is `open`, or one that `connect` opens and that stays open if the
/// site allows.
///
/// Errors: the site cannot be reached, or answers unexpectedly; with the answer.
pub fn prime<S: Read + Write>(
    known: &Known,
    ready: &Ready,
    user: u32,
    open: &mut Option<S>,
    connect: &mut dyn FnMut() -> io::Result<S>,
) -> Result<u64, PrimeError> {
    let rng = known.streams.stream(UNDERWAY, u64::from(user));
    let mut session = Session::new(ready.user, 0, rng, known);
    ready.clone().moves_in(&mut session);
    session.each = Some(user);
    let mut requests = 0;
    for place in known.config.site.prime.clone() {
        session.at = At::Request(place);
        requests += carry_out(known, &mut session, open, connect)
            .map_err(|problem| PrimeError { user: known.people.name(user), problem })?;
    }
    Ok(requests)
}
