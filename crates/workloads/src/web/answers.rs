use openloop::{Fault, Parsed, Then};
use proto_http::{Asked, ContentRange, Head, Response, ResponseParser, Sink};
use xxhash_rust::xxh3::Xxh3;

use crate::parsed::parsed;
use crate::status::{CUT_OFF, is_redirect, kind};
use crate::web::requests::{Checked, Job};
use crate::web::{Verify, WebConfig};

/// The state of an incomplete answer.
#[derive(Default)]
pub struct Wire {
    parser: ResponseParser,
    seen: Seen,
}

/// The known facts of an answer apart from its status and length.
#[derive(Default)]
pub(super) struct Seen {
    /// The hash of the content so far; allocated once, if contents are checked.
    pub(super) hash: Option<Box<Xxh3>>,
    /// Whether the body is compressed, so that it is not as long as the file.
    pub(super) encoded: bool,
    /// Where a redirect leads.
    pub(super) location: Option<Box<str>>,
}

/// A complete answer, of any version of HTTP.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    pub(super) status: u16,
    /// The length of its body.
    pub(super) body: u64,
    /// The part of a file in it, if stated.
    pub(super) range: Option<ContentRange>,
}

impl From<Response> for Whole {
    fn from(response: Response) -> Whole {
        Whole { status: response.status, body: response.body, range: response.range }
    }
}

/// Looks at answers.
pub(super) struct Judge {
    asked: Asked,
    verify: Verify,
    /// Whether bodies may be compressed: only a client that asks for it gets it.
    pub(super) may_be_encoded: bool,
    /// Whether they may be parts, which a client also has to ask for.
    may_be_part: bool,
    method: String,
}

/// A thread's counters over the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WebCounts {
    answered: u64,
    successes: u64,
    /// Wrong bodies, and bodies validated against known pages.
    wrong: u64,
    verified: u64,
    /// Connections that the server ended without being asked.
    pub(super) ended: u64,
}

impl WebCounts {
    /// Name, count, and of how many; the same names in every thread.
    pub(super) fn list(&self, verifies: bool) -> Vec<(String, u64, u64)> {
        let mut all = vec![
            ("success_ratio".into(), self.successes, self.answered),
            ("closed_by_server".into(), self.ended, self.answered),
        ];
        if verifies {
            all.push(("verify_failures".into(), self.wrong, self.verified));
        }
        all
    }
}

/// Hands the body to the checksum, if one is wanted.
struct BodyCheck<'a> {
    seen: &'a mut Seen,
    looks_at_head: bool,
}

impl Sink for BodyCheck<'_> {
    fn head(&mut self, head: &Head<'_>) {
        if self.looks_at_head {
            self.seen.encoded = head.header("content-encoding").is_some();
        }
        if is_redirect(head.status) {
            self.seen.location = head.header("location").map(|value| String::from_utf8_lossy(value).into());
        }
    }

    #[inline]
    fn body(&mut self, slice: &[u8]) {
        self.seen.body(slice);
    }
}

impl Seen {
    #[inline]
    pub(super) fn body(&mut self, slice: &[u8]) {
        if let Some(hash) = &mut self.hash {
            hash.update(slice);
        }
    }
}

impl Judge {
    pub(super) fn new(config: &WebConfig) -> Judge {
        Judge {
            asked: if config.options.method.is_head() { Asked::Head } else { Asked::Any },
            verify: config.verify(),
            may_be_encoded: config.has_header("accept-encoding"),
            may_be_part: config.has_header("range"),
            method: config.options.method.to_string().to_ascii_lowercase(),
        }
    }

    /// The requests' name in results.
    pub(super) fn operation(&self) -> String {
        self.method.clone()
    }

    /// Whether bodies are checked.
    pub(super) fn verifies(&self) -> bool {
        self.verify != Verify::None && self.method == "get"
    }

    /// Whether their contents are.
    pub(super) fn hashes(&self) -> bool {
        self.verify == Verify::Checksum
    }

    /// Reads on in the answer to `job`.
    #[inline]
    pub(super) fn read(
        &self,
        pages: &Checked,
        job: Job,
        wire: &mut Wire,
        bytes: &[u8],
        counts: &mut WebCounts,
    ) -> Parsed<Job> {
        if self.hashes() && wire.seen.hash.is_none() {
            wire.seen.hash = Some(Box::default());
        }
        let Wire { parser, seen } = wire;
        let mut look = BodyCheck { seen, looks_at_head: self.may_be_encoded };
        parsed(parser.parse(self.asked, bytes, &mut look), |response| {
            counts.ended += u64::from(!response.keep_alive && !job.last);
            let then = if response.keep_alive { Then::End } else { Then::Close };
            (self.outcome(pages, job, &mut wire.seen, response.into(), counts), then)
        })
    }

    /// The server has closed the connection, by which it may end an answer.
    pub(super) fn closed(
        &self,
        pages: &Checked,
        job: Job,
        wire: &mut Wire,
        counts: &mut WebCounts,
    ) -> Option<Result<(), Fault>> {
        Some(match wire.parser.closed()? {
            Ok(response) => {
                counts.ended += u64::from(!job.last);
                self.outcome(pages, job, &mut wire.seen, response.into(), counts)
            }
            Err(defect) => Err(Fault::new(CUT_OFF, defect.to_string())),
        })
    }

    /// The verdict on a complete answer.
    pub(super) fn outcome(
        &self,
        pages: &Checked,
        job: Job,
        seen: &mut Seen,
        response: Whole,
        counts: &mut WebCounts,
    ) -> Result<(), Fault> {
        let content = seen.hash.as_mut().map(|hash| {
            let digest = hash.digest();
            hash.reset();
            digest
        });
        let encoded = std::mem::take(&mut seen.encoded);
        counts.answered += 1;
        if !(200..300).contains(&response.status) {
            let to = seen.location.take();
            let to = to.map_or(String::new(), |to| format!(", a redirect to {to}: request that instead"));
            let says = format!("was answered with status {}{to}", response.status);
            return Err(fault(pages, job, kind(response.status), &says));
        }
        counts.successes += 1;
        if !self.verifies() || encoded {
            return Ok(());
        }
        let checked = self.check(pages, job, response, content);
        // For an unknown page nothing was compared.
        counts.verified += u64::from(checked.is_err() || pages.pages.length(job.page).is_some());
        counts.wrong += u64::from(checked.is_err());
        checked
    }

    /// Checks a body against its file.
    fn check(&self, pages: &Checked, job: Job, response: Whole, content: Option<u64>) -> Result<(), Fault> {
        let wrong_length = |expect: u64| {
            let says = format!("came with {} B and should have {expect} B", response.body);
            Err(fault(pages, job, "wrong length", &says))
        };
        let whole = pages.pages.length(job.page);
        if response.status == 206 && !self.may_be_part {
            let says = "came as a part in place of the whole";
            return Err(fault(pages, job, "unasked range", says));
        }
        if response.status == 206 {
            // The part that the answer says it is, of a whole of the right length.
            return match response.range.map(|range| (range.length(), range.complete())) {
                Some((Some(length), _)) if length != response.body => wrong_length(length),
                Some((_, Some(complete))) if whole.is_some_and(|whole| whole != complete) => {
                    let says =
                        format!("came from a file of {complete} B by its Content-Range, which is wrong");
                    Err(fault(pages, job, "wrong length", &says))
                }
                Some(_) => Ok(()),
                None => Err(fault(pages, job, "no range", "came as a part without a Content-Range")),
            };
        }
        match whole {
            Some(length) if length != response.body => wrong_length(length),
            _ => match (pages.checksums.get(job.page as usize), content) {
                (Some(expect), Some(content)) if *expect != content => {
                    let says = "has the right length and another content than the file set";
                    Err(fault(pages, job, "wrong content", says))
                }
                _ => Ok(()),
            },
        }
    }
}

/// The fault of an answer that `says` describes.
#[cold]
fn fault(pages: &Checked, job: Job, kind: &'static str, says: &str) -> Fault {
    Fault::new(kind, format!("{} {says}", path(pages, job)))
}

pub(super) fn path(pages: &Checked, job: Job) -> String {
    let mut path = Vec::new();
    pages.pages.append_path(job.page, &mut path);
    if path.is_empty() { "the URL".into() } else { String::from_utf8_lossy(&path).into_owned() }
}

#[cfg(test)]
mod tests;
