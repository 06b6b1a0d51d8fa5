//! Requests over HTTP, with bounds on time and on the size of the response.

use std::time::Duration;

use ureq::http::Response;
use ureq::{Agent, Body, Error};

use crate::patience::Failure;

/// The longest answer that is read: Jaeger returns about 2 KB for a span, of at most
/// [`results::KeptTraces::MOST_OF_ONE`].
const LONGEST: u64 = 64 << 20;
/// The longest quotation of an answer. Units: bytes.
const QUOTED: usize = 300;

/// What sends them.
pub(crate) struct Http {
    agent: Agent,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    after: Option<Duration>,
}

impl Http {
    /// A client that waits at most `within` for a response.
    pub(crate) fn new(within: Duration) -> Http {
        let config = Agent::config_builder().timeout_global(Some(within)).http_status_as_error(false);
        // The user named the address: no proxy and no redirect may lead elsewhere.
        Http { agent: config.proxy(None).max_redirects(0).build().into() }
    }

    pub(crate) fn post(&self, url: &str, json: &[u8]) -> Result<Answer, Failure> {
        read(self.agent.post(url).header("Content-Type", "application/json").send(json))
    }

    pub(crate) fn get(&self, url: &str) -> Result<Answer, Failure> {
        read(self.agent.get(url).call())
    }
}

fn read(answer: Result<Response<Body>, Error>) -> Result<Answer, Failure> {
    let failed = |error: Error| Failure::passing(error.to_string());
    let mut answer = answer.map_err(failed)?;
    let after = answer.headers().get("retry-after").and_then(|text| text.to_str().ok()?.trim().parse().ok());
    let body = answer.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(failed)?;
    Ok(Answer { status: answer.status().as_u16(), body, after: after.map(Duration::from_secs) })
}

impl Answer {
    /// The body of a successful answer.
    ///
    /// Errors: any other status. Source of those that may pass: the specification of OTLP, "Retryable Response Codes".
    pub(crate) fn ok(self, asked: &str) -> Result<Vec<u8>, Failure> {
        let Answer { status, body, after } = self;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let said = String::from_utf8_lossy(&body[..body.len().min(QUOTED)]).trim().to_owned();
        let problem = format!("it answers HTTP {status} to {asked}: {said}");
        Err(match status {
            429 | 502 | 503 | 504 => Failure::Passing { problem, after },
            _ => Failure::Final(problem),
        })
    }
}
