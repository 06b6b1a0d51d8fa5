//! Users who log in before a load, so that its first second is as all others: over a stream that blocks, by the same requests.

use std::io::{self, Read, Write};

use openloop::{Closed, Fault, Parsed, Then};
use proto_http::Jar;
use thiserror::Error;

use crate::social::config::{Known, UNDERWAY};
use crate::social::counts::Answers;
use crate::social::pages::{self, Wire};
use crate::social::session::Session;
use crate::social::user::Job;

/// The state of a logged-in user.
#[derive(Clone, Debug)]
pub struct Ready {
    pub(super) user: u32,
    jar: Jar,
    taken: Vec<Vec<u8>>,
}

/// Why a user cannot be logged in before a load.
#[derive(Debug, Error)]
#[error(
    "user {user} cannot be logged in before the load: {problem}; is the site filled with the users that --users and --users-seed say?"
)]
pub struct LoginError {
    user: String,
    problem: String,
}

impl Ready {
    /// Gives a session its user's login state.
    pub(super) fn moves_in(self, session: &mut Session) {
        (session.jar, session.taken) = (self.jar, self.taken);
        session.has_assets = true;
    }
}

/// Logs a user in over streams that `connect` opens, each with a time-out of its own.
///
/// Errors: the site cannot be reached, or answers unexpectedly; with the answer.
pub fn log_in<S: Read + Write>(
    known: &Known,
    user: u32,
    connect: &mut dyn FnMut() -> io::Result<S>,
) -> Result<Ready, LoginError> {
    let rng = known.streams.stream(UNDERWAY, u64::from(user));
    let mut session = Session::new(user, 0, rng, known).before_login(known);
    match carry_out(known, &mut session, &mut None, connect) {
        Ok(_) => Ok(Ready { user, jar: session.jar, taken: session.taken }),
        Err(problem) => Err(LoginError { user: known.people.name(user), problem }),
    }
}

/// Executes the current step of a session, to the last of its requests, over the open stream, which stays open if the
/// site allows; returns the number of requests. If the site has closed the stream since its last answer, another is
/// opened.
///
/// Errors: as those of [`log_in`].
pub(super) fn carry_out<S: Read + Write>(
    known: &Known,
    session: &mut Session,
    open: &mut Option<S>,
    connect: &mut dyn FnMut() -> io::Result<S>,
) -> Result<u64, String> {
    let mut connect = || connect().map_err(|error| error.to_string());
    let mut is_idle = open.is_some();
    let (mut scratch, mut out) = ([Vec::new(), Vec::new()], Vec::new());
    // An operation has a bounded number of requests, of which each is redirected a bounded number of times.
    let mut requests = 0;
    loop {
        requests += 1;
        out.clear();
        pages::write(known, session, false, &mut scratch, &mut out);
        let mut stream = open.take().map_or_else(&mut connect, Ok)?;
        let mut answered = ask(known, session, &mut stream, &out);
        if std::mem::take(&mut is_idle) && matches!(answered, Err(Problem::Closed(_))) {
            stream = connect()?;
            answered = ask(known, session, &mut stream, &out);
        }
        let (outcome, then) =
            answered.map_err(|(Problem::Closed(problem) | Problem::Other(problem))| problem)?;
        outcome.map_err(|Fault { kind, detail }| format!("{kind}: {detail}"))?;
        match then {
            Then::Again { .. } => *open = Some(stream),
            Then::Anew { .. } => {}
            Then::End => {
                *open = Some(stream);
                return Ok(requests);
            }
            Then::Close | Then::Also { .. } => return Ok(requests),
        }
    }
}

/// Why a request has no answer.
enum Problem {
    /// The connection was closed before the answer had begun.
    Closed(String),
    Other(String),
}

impl Problem {
    fn of(error: &io::Error, has_begun: bool) -> Problem {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
        match error.kind() {
            BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof if !has_begun => {
                Problem::Closed(error.to_string())
            }
            _ => Problem::Other(error.to_string()),
        }
    }
}

/// Sends a request and reads its answer.
fn ask(
    known: &Known,
    session: &mut Session,
    stream: &mut (impl Read + Write),
    request: &[u8],
) -> Result<Closed<Job>, Problem> {
    let sent = stream.write_all(request).and_then(|()| stream.flush());
    sent.map_err(|error| Problem::of(&error, false))?;
    answer(known, session, stream)
}

fn answer(known: &Known, session: &mut Session, stream: &mut impl Read) -> Result<Closed<Job>, Problem> {
    let (mut wire, mut counts) = (Wire::default(), Answers::default());
    let mut has_begun = false;
    let (mut received, mut piece) = (Vec::new(), [0; 16 * 1024]);
    loop {
        if !received.is_empty() {
            match pages::read(known, session, &mut wire, &received, &mut counts) {
                Parsed::Done { outcome, then, .. } => return Ok((outcome, then)),
                Parsed::Used(used) => drop(received.drain(..used)),
                Parsed::Partial => {}
                Parsed::Garbage(problem) => return Err(Problem::Other(problem)),
                Parsed::Refused(fault) => return Err(Problem::Other(fault.detail)),
            }
        }
        match stream.read(&mut piece) {
            Ok(0) => {
                let closed = pages::closed(known, session, &mut wire, &mut counts);
                let problem = "the site closed the connection without an answer".to_owned();
                return closed.ok_or(if has_begun {
                    Problem::Other(problem)
                } else {
                    Problem::Closed(problem)
                });
            }
            Ok(length) => {
                has_begun = true;
                received.extend_from_slice(&piece[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Problem::of(&error, has_begun)),
        }
    }
}
