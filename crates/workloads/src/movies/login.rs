//! Requests to a site before a load, over a blocking stream: the titles of its films, and the logins of those who write
//! and rent.

use std::io::{self, Read, Write};

use thiserror::Error;

use crate::exchange::{ExchangeError, HttpAnswer, exchange};
use crate::movies::answers::{Hits, LoggedIn, login_of};
use crate::movies::config::MoviesConfig;

/// A user who is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Their number, from 1 on.
    pub user: u32,
    pub(super) token: String,
}

/// Why a site cannot be measured.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum AskError {
    #[error(
        "user{user} cannot be logged in before the load: {problem}; is the site filled with the users that --users says?"
    )]
    Login { user: u32, problem: String },
    #[error(
        "the titles of films {from} to {to} are unavailable before the load: {problem}; is the site filled with as many as --films says?"
    )]
    Titles { from: u32, to: u32, problem: String },
}

/// Titles requested at once. Source: the site's limit of lists.
const TITLES: u32 = 100;
/// Most bytes of an answer. Source: ours; a hundred titles of 100 B with their JSON have 20 kB.
const MOST: usize = 1 << 20;

/// Logs a user in over a stream that `connect` opens and that has a time-out of its own.
///
/// Errors: the site cannot be reached, or answers unexpectedly; with the answer.
pub fn log_in<S: Read + Write>(
    config: &MoviesConfig,
    user: u32,
    connect: &mut dyn FnMut() -> io::Result<S>,
) -> Result<Member, AskError> {
    let body = login_of(user).to_string();
    let request = format!(
        "POST /api/login HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        host(config),
        body.len()
    );
    let found: LoggedIn =
        ask(config, &request, connect).map_err(|problem| AskError::Login { user, problem })?;
    if found.user != user
        || found.token.is_empty()
        || !found.token.bytes().all(|byte| byte.is_ascii_graphic())
    {
        let problem = format!("it logged user {} in", found.user);
        return Err(AskError::Login { user, problem });
    }
    Ok(Member { user, token: found.token })
}

/// The titles of all films, as the site has them.
///
/// Errors: as of [`log_in`].
pub fn ask_titles<S: Read + Write>(
    config: &MoviesConfig,
    connect: &mut dyn FnMut() -> io::Result<S>,
) -> Result<Vec<String>, AskError> {
    let films = config.options.films;
    let mut titles = Vec::with_capacity(films as usize);
    for from in (1..=films).step_by(TITLES as usize) {
        let to = (from + TITLES - 1).min(films);
        let failed = |problem: String| AskError::Titles { from, to, problem };
        let ids: Vec<String> = (from..=to).map(|film| film.to_string()).collect();
        let request = format!(
            "GET /api/titles?ids={} HTTP/1.1\r\n{}Connection: close\r\n\r\n",
            ids.join(","),
            host(config)
        );
        let Hits { hits } = ask(config, &request, connect).map_err(failed)?;
        if !hits.iter().map(|hit| hit.movie).eq(from..=to) {
            return Err(failed(format!("it has {} of them", hits.len())));
        }
        titles.extend(hits.into_iter().map(|hit| hit.title));
    }
    Ok(titles)
}

fn host(config: &MoviesConfig) -> String {
    config.url.as_ref().map_or(String::new(), |url| format!("Host: {}\r\n", url.host_field()))
}

fn ask<T: serde::de::DeserializeOwned, S: Read + Write>(
    config: &MoviesConfig,
    request: &str,
    connect: &mut dyn FnMut() -> io::Result<S>,
) -> Result<T, String> {
    let (server, encrypted) =
        config.url.as_ref().map_or((String::new(), false), |url| (url.host_field(), url.https));
    let mut stream = connect().map_err(|error| error.to_string())?;
    let answer = exchange((&server, encrypted), request.as_bytes(), MOST, &mut stream);
    let HttpAnswer { status, body, .. } = answer.map_err(|error: ExchangeError| error.to_string())?;
    if status != 200 {
        let start = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        return Err(format!("status {status}: {start}"));
    }
    serde_json::from_slice(&body).map_err(|error| format!("its answer is not what it should be: {error}"))
}
