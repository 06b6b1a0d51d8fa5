use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use openloop::{Belongs, Fault, Parsed, Parts, Workload};
use proto_h2::{Code, Connection, Failure, Response, Step, Template};
use proto_http::{ContentRange, Url};
use xxhash_rust::xxh3::Xxh3;

use crate::exchange::{ExchangeError, HttpAnswer, failed, stranger};
use crate::status::is_redirect;
use crate::web::answers::{Seen, Whole, path};
use crate::web::requests::{body, prefix};
use crate::web::{Body, Job, Web, WebConfig};

/// One generator thread's requests to web servers by HTTP/2, each on a stream of its own.
///
/// Shape: [`Web`] draws them and judges the answers.
/// Cost: no allocation for a request that succeeds.
pub struct WebStreams {
    web: Web,
    /// One for each server.
    templates: Vec<Template>,
    body: Option<Arc<[u8]>>,
    bodiless: bool,
    /// Streams at once on a connection, by the plan.
    depth: u32,
    /// Connections whose servers take fewer, of all that were established since the start.
    shallow: u64,
    established: u64,
}

/// The state of one connection.
#[derive(Default)]
pub struct StreamWire {
    connection: Connection<Incoming>,
    /// The meaning of the last bytes, for the request that they belong to.
    step: Option<(usize, Option<Ended>)>,
    /// Hashes that are not in use.
    #[allow(clippy::vec_box, reason = "an answer takes the box, and a hash has 576 B")]
    hashes: Vec<Box<Xxh3>>,
    settled: bool,
    /// We have said that no requests follow.
    finished: bool,
}

type Ended = (Result<Response, Failure>, Incoming);

/// An answer while it arrives.
struct Incoming {
    seen: Seen,
    range: Option<ContentRange>,
    looks_at_head: bool,
}

impl proto_h2::Answer for Incoming {
    #[inline]
    fn field(&mut self, status: u16, name: &[u8], value: &[u8]) {
        match name {
            b"location" if is_redirect(status) => {
                self.seen.location = Some(String::from_utf8_lossy(value).into());
            }
            b"content-range" => self.range = ContentRange::read(value),
            b"content-encoding" => self.seen.encoded = self.looks_at_head,
            _ => {}
        }
    }

    #[inline]
    fn body(&mut self, slice: &[u8]) {
        self.seen.body(slice);
    }
}

impl WebStreams {
    /// The requests of `web` by HTTP/2, up to `depth` at once on a connection.
    pub fn new(config: &WebConfig, web: Web, depth: u32) -> WebStreams {
        WebStreams {
            web,
            templates: config.urls.iter().map(|url| template(config, url)).collect(),
            body: config.body.as_ref().map(Body::shared),
            bodiless: config.options.method.is_head(),
            depth,
            shallow: 0,
            established: 0,
        }
    }
}

/// The fields of requests to a server.
fn template(config: &WebConfig, url: &Url) -> Template {
    let host = (&*url.host_field(), url.https);
    let length = body(config).map(<[u8]>::len);
    let options = &config.options;
    Template::new(&options.method, host, prefix(config, url), &options.header, length)
}

impl Workload for WebStreams {
    type Job = Job;
    type Wire = StreamWire;
    const MULTIPLEXED: bool = true;

    fn operations(&self) -> Vec<String> {
        self.web.operations()
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Job>) -> usize {
        self.web.draw(seq, parts)
    }

    fn request(&mut self, _: &mut Job, _: u16, _: &mut Vec<u8>) {
        unreachable!("requests are opened by their numbers");
    }

    fn open(&mut self, job: &mut Job, wire: &mut StreamWire, (number, last): (u32, bool), out: &mut Vec<u8>) {
        job.last = last;
        let hashes = self.web.judge.hashes();
        let hash = hashes.then(|| wire.hashes.pop().unwrap_or_default());
        let seen = Seen { hash, ..Seen::default() };
        let incoming = Incoming { seen, range: None, looks_at_head: self.web.judge.may_be_encoded };
        let fields = |out: &mut Vec<u8>| {
            self.templates[usize::from(job.server)].write(self.web.path(job.page), out);
        };
        wire.connection.request((number, self.bodiless), fields, self.body.as_ref(), incoming, out);
        if last {
            wire.finished = true;
            wire.connection.finish();
            wire.connection.speak(out);
        }
    }

    fn belongs(&mut self, wire: &mut StreamWire, bytes: &[u8]) -> Belongs {
        match wire.connection.next(bytes) {
            Ok(Step::Part { used, number }) => {
                wire.step = Some((used, None));
                Belongs::Request(number)
            }
            Ok(Step::Ended { used, number, outcome, answer }) => {
                wire.step = Some((used, Some((outcome, answer))));
                Belongs::Request(number)
            }
            Ok(Step::More) => Belongs::Unknown,
            Ok(Step::Used(used)) => Belongs::Connection(used),
            Ok(Step::Settings { used, streams }) => {
                if !std::mem::replace(&mut wire.settled, true) {
                    self.established += 1;
                    self.shallow += u64::from(streams < self.depth);
                }
                Belongs::Places { used, places: streams as usize }
            }
            Ok(Step::Leaving { used, last, code, words }) => {
                let is_own = std::mem::replace(&mut wire.finished, true);
                self.web.counts.ended += u64::from(!is_own);
                let fault = (code != Code::NONE).then(|| left(code, &words));
                Belongs::Leaving { used, last, fault }
            }
            Err(defect) => Belongs::Garbage(defect.to_string()),
        }
    }

    fn response(&mut self, job: &mut Job, wire: &mut StreamWire, _: &[u8]) -> Parsed<Job> {
        let Some((used, ended)) = wire.step.take() else { return Parsed::Partial };
        let Some((outcome, mut incoming)) = ended else { return Parsed::Used(used) };
        let Web { judge, pages, counts, .. } = &mut self.web;
        let outcome = match outcome {
            Ok(Response { status, body }) => {
                let whole = Whole { status, body, range: incoming.range };
                judge.outcome(pages, *job, &mut incoming.seen, whole, counts)
            }
            Err(failure) => Err(broken(&failure, &path(pages, *job))),
        };
        if let Some(mut hash) = incoming.seen.hash.take() {
            hash.reset();
            wire.hashes.push(hash);
        }
        Parsed::done(used, outcome)
    }

    fn speak(&mut self, wire: &mut StreamWire, out: &mut Vec<u8>) {
        wire.connection.speak(out);
    }

    fn cancel(&mut self, wire: &mut StreamWire, number: u32) {
        wire.connection.cancel(number);
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        let mut all = self.web.counters();
        all.push(("connections_with_fewer_streams".into(), self.shallow, self.established));
        all
    }

    fn window_opens(&mut self) {
        self.web.window_opens();
    }
}

/// The server ends the connection and says why.
#[cold]
fn left(code: Code, words: &str) -> Fault {
    let words = if words.is_empty() { String::new() } else { format!(", '{words}'") };
    Fault::new("connection ended by the server", format!("the server sent GOAWAY: {code}{words}"))
}

/// One answer did not come, or is none.
#[cold]
fn broken(failure: &Failure, path: &str) -> Fault {
    let kind = match failure {
        Failure::Reset(Code::REFUSED) => "stream refused",
        Failure::Reset(_) => "stream reset",
        Failure::Malformed(_) => "malformed answer",
    };
    Fault::new(kind, format!("{path}: {failure}"))
}

/// The head of an answer to one request.
#[derive(Default)]
struct Looked(Rc<RefCell<HttpAnswer>>);

impl proto_h2::Answer for Looked {
    fn field(&mut self, status: u16, name: &[u8], value: &[u8]) {
        let mut answer = self.0.borrow_mut();
        let text = || Some(String::from_utf8_lossy(value).into_owned());
        answer.status = status;
        match name {
            b"server" => answer.server = text(),
            b"location" => answer.location = text(),
            _ => {}
        }
    }

    fn body(&mut self, _: &[u8]) {}
}

/// Asks `server` of the configuration's servers for its first page, by HTTP/2; the head of the answer is enough.
///
/// Errors: no answer, or not HTTP/2.
pub(super) fn exchange(
    config: &WebConfig,
    server: usize,
    stream: &mut (impl Read + Write),
) -> Result<HttpAnswer, ExchangeError> {
    let url = &config.urls[server];
    let authority = url.authority();
    let name = (authority.as_str(), url.https);
    let frames = |problem: String| ExchangeError::Frames { server: authority.clone(), problem };
    let template = template(config, url);
    let (mut connection, looked) = (Connection::default(), Rc::default());
    let (mut out, mut received, mut piece) = (Vec::new(), Vec::new(), [0; 16 * 1024]);
    let fields = |out: &mut Vec<u8>| template.write(|out| config.pages.append_path(0, out), out);
    let body = config.body.as_ref().map(Body::shared);
    let request = (1, config.options.method.is_head());
    connection.request(request, fields, body.as_ref(), Looked(Rc::clone(&looked)), &mut out);
    loop {
        connection.speak(&mut out);
        let written = stream.write_all(&out).and_then(|()| stream.flush());
        let written = match written.map_err(|error| (error.kind(), error)) {
            // A server may refuse a request before it has all of it: its answer counts and not the failed write.
            Err((io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset, error)) => Err(error),
            Err((_, error)) => return Err(failed(name, error)),
            Ok(()) => Ok(()),
        };
        out.clear();
        match stream.read(&mut piece) {
            Ok(0) => {
                let closed = || failed(name, io::ErrorKind::UnexpectedEof.into());
                return Err(stranger(&authority, received, &mut io::empty()).unwrap_or_else(closed));
            }
            Ok(length) => received.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(name, written.err().unwrap_or(error))),
        }
        while !received.is_empty() {
            let used = match connection.next(&received) {
                Ok(Step::More) => break,
                Ok(Step::Used(used) | Step::Settings { used, .. }) => used,
                Ok(Step::Part { .. }) if looked.borrow().status > 0 => return Ok(looked.take()),
                Ok(Step::Part { used, .. }) => used,
                Ok(Step::Ended { outcome: Ok(response), .. }) => {
                    return Ok(HttpAnswer { status: response.status, ..looked.take() });
                }
                Ok(Step::Ended { outcome: Err(failure), .. }) => return Err(frames(failure.to_string())),
                Ok(Step::Leaving { last: 0, code, words, .. }) => {
                    return Err(frames(left(code, &words).detail));
                }
                Ok(Step::Leaving { used, .. }) => used,
                Err(defect) => {
                    let garbage = || frames(defect.to_string());
                    return Err(stranger(&authority, received, stream).unwrap_or_else(garbage));
                }
            };
            received.drain(..used);
        }
    }
}
