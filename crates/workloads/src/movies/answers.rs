//! Writing a visit's requests, and judging the answers.

use std::io::Write;

use openloop::{Closed, Fault, Parsed, Then};
use proto_http::{Asked, Head, Response, ResponseParser, Sink, append_encoded};
use serde::Deserialize;
use spec::workload::MovieQuery;

use crate::json::Json;
use crate::movies::config::Known;
use crate::movies::counts::Answers;
use crate::movies::visit::{At, Visit};
use crate::movies::visitors::Job;
use crate::parsed::{cut_off, parsed};
use crate::status::kind;

/// The kinds of errors in addition to statuses.
const BROKEN: &str = "broken answer";
const WRONG: &str = "wrong answer";

/// Most bytes kept of the beginning of an answer, for parsing: the part of a page before its pictures, and all of other
/// answers. Source: ours; a film's record with a plot has some 2 kB, ten hits of a search 1 kB, a playlist of 10 min 4
/// kB.
const HEAD: usize = 64 << 10;
/// The same for a page, whose pictures make it longer.
const PAGE_HEAD: usize = 4 << 10;
/// Most bytes kept of its end, which lists the missing parts.
const TAIL: usize = 1 << 10;
/// Hits that a search asks for.
const HITS: u32 = 10;

/// The state of an incomplete answer.
#[derive(Default)]
pub struct Wire {
    parser: ResponseParser,
    seen: Seen,
}

/// The parts of an answer that are kept.
#[derive(Default)]
struct Seen {
    length: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    json: Json,
    keep: usize,
}

impl Sink for Seen {
    fn head(&mut self, _: &Head<'_>) {
        (self.length, self.json) = (0, Json::default());
        self.head.clear();
        self.tail.clear();
    }

    #[inline]
    fn body(&mut self, slice: &[u8]) {
        self.length += slice.len() as u64;
        let room = self.keep.saturating_sub(self.head.len());
        self.head.extend_from_slice(&slice[..slice.len().min(room)]);
        if self.keep == 0 {
            // The content of a segment is not looked at.
            return;
        }
        self.json.take(slice);
        let last = &slice[slice.len().saturating_sub(TAIL)..];
        let excess = (self.tail.len() + last.len()).saturating_sub(TAIL);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend_from_slice(last);
    }
}

/// Appends the current request of a visit, using `body` as scratch space.
pub(super) fn write(known: &Known, visit: &Visit, is_last: bool, body: &mut Vec<u8>, out: &mut Vec<u8>) {
    body.clear();
    let member = &known.members[visit.member as usize];
    let (mut posts, mut token) = (false, None);
    // Writing into a vector cannot fail.
    let _ = match visit.at {
        At::Query(MovieQuery::Browse) => {
            let (film, reviews) = (visit.film, known.config.options.reviews);
            write!(out, "GET /api/movie/{film}?start=0&reviews={reviews} HTTP/1.1\r\n")
        }
        At::Query(MovieQuery::Search) => {
            out.extend_from_slice(b"GET /api/search?q=");
            append_encoded(known.title(visit.film).as_bytes(), out);
            write!(out, "&start=0&n={HITS} HTTP/1.1\r\n")
        }
        At::Query(MovieQuery::Review) => {
            (posts, token) = (true, Some(&member.token));
            let stars = 1 + visit.lot % 10;
            let text = format!("Visit {} of run {} gave it {stars} of 10.", visit.seq, known.run);
            let review = serde_json::json!({"title": known.title(visit.film), "text": text, "stars": stars});
            let _ = serde_json::to_writer(&mut *body, &review);
            out.write_all(b"POST /api/review HTTP/1.1\r\n")
        }
        At::Query(MovieQuery::Rent) => {
            (posts, token) = (true, Some(&member.token));
            let key = format!("{}-{:x}", known.run, visit.seq);
            let _ = serde_json::to_writer(&mut *body, &serde_json::json!({"movie": visit.film, "key": key}));
            out.write_all(b"POST /api/rent HTTP/1.1\r\n")
        }
        At::Query(MovieQuery::Login) => {
            posts = true;
            let _ = serde_json::to_writer(&mut *body, &login_of(visit.user));
            out.write_all(b"POST /api/login HTTP/1.1\r\n")
        }
        At::Master | At::Variant => {
            out.extend_from_slice(b"GET ");
            out.extend_from_slice(&visit.path);
            out.write_all(b" HTTP/1.1\r\n")
        }
        At::Segment(number) => {
            out.extend_from_slice(b"GET ");
            out.extend_from_slice(folder_of(&visit.path));
            let name = visit.segments.get(number as usize);
            out.extend_from_slice(name.map_or(&b""[..], Vec::as_slice));
            out.write_all(b" HTTP/1.1\r\n")
        }
    };
    out.extend_from_slice(&known.host_line);
    if let Some(token) = token {
        let _ = write!(out, "Authorization: Bearer {token}\r\n");
    }
    if let (At::Query(_), Some((trace, span))) = (visit.at, visit.trace) {
        // Source: W3C, "Trace Context", level 1: version 0, sampled.
        let _ = write!(out, "traceparent: 00-{:032x}-{span:016x}-01\r\n", u128::from_be_bytes(trace));
    }
    if is_last {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    if posts {
        let _ = write!(out, "Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

/// Different passwords of the data set. Source: apps/movies/data/maker/accounts.py.
const PASSWORDS: u32 = 64;

/// The login data of a user, by the data set's rule for names and passwords.
pub(super) fn login_of(user: u32) -> serde_json::Value {
    serde_json::json!({"name": format!("user{user}"), "password": format!("password-{}", user % PASSWORDS)})
}

/// The part of a path up to its last `/`, without a query.
fn folder_of(path: &[u8]) -> &[u8] {
    let path = path.split(|byte| *byte == b'?').next().unwrap_or(path);
    let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |place| place + 1);
    &path[..end]
}

/// Reads on in the answer to a visit's request.
pub(super) fn read(
    known: &Known,
    visit: &mut Visit,
    wire: &mut Wire,
    bytes: &[u8],
    counts: &mut Answers,
) -> Parsed<Job> {
    wire.seen.keep = match visit.at {
        At::Query(MovieQuery::Browse) => PAGE_HEAD,
        At::Segment(_) => 0,
        _ => HEAD,
    };
    let parse = wire.parser.parse(Asked::Any, bytes, &mut wire.seen);
    parsed(parse, |response| whole(known, visit, &wire.seen, response, counts))
}

/// The server has closed the connection, by which it may end an answer.
pub(super) fn closed(
    known: &Known,
    visit: &mut Visit,
    wire: &mut Wire,
    counts: &mut Answers,
) -> Option<Closed<Job>> {
    match wire.parser.closed()? {
        Ok(response) => Some(whole(known, visit, &wire.seen, response, counts)),
        Err(defect) => Some((Err(cut_off(&about(visit), defect)), Then::Close)),
    }
}

/// Judges a complete answer. It is the last of its step.
fn whole(
    known: &Known,
    visit: &mut Visit,
    seen: &Seen,
    response: Response,
    counts: &mut Answers,
) -> Closed<Job> {
    counts.answered += 1;
    counts.ended += u64::from(!response.keep_alive);
    visit.bytes = seen.length;
    let outcome = judge(known, visit, seen, response, counts);
    (outcome, if response.keep_alive { Then::End } else { Then::Close })
}

/// Checks an answer.
fn judge(
    known: &Known,
    visit: &mut Visit,
    seen: &Seen,
    response: Response,
    counts: &mut Answers,
) -> Result<(), Fault> {
    if !response.is_success() {
        let refusal: serde_json::Value = from(seen).unwrap_or_default();
        let why = refusal["error"]["what"].as_str().map_or(String::new(), |what| format!(": {what}"));
        let detail = format!("{} was answered with status {}{why}", about(visit), response.status);
        return Err(Fault::new(kind(response.status), detail));
    }
    let At::Query(query) = visit.at else { return stream(visit, seen) };
    if !seen.json.is_whole() {
        return Err(Fault::new(BROKEN, format!("{}: its answer is not a whole JSON text", about(visit))));
    }
    counts.verified += 1;
    let right = match query {
        MovieQuery::Browse => page(known, visit, seen, counts),
        MovieQuery::Search => hits(known, visit, seen, counts),
        MovieQuery::Review => {
            from(seen).filter(|stored: &Stored| known.expected.is_new(stored.review)).map(drop)
        }
        MovieQuery::Rent => from(seen).and_then(|ticket: Ticket| rented(known, visit, ticket, counts)),
        MovieQuery::Login => from(seen)
            .filter(|member: &LoggedIn| member.user == visit.user && !member.token.is_empty())
            .map(drop),
    };
    right.ok_or_else(|| {
        counts.wrong += 1;
        let start = String::from_utf8_lossy(&seen.head[..seen.head.len().min(120)]).into_owned();
        Fault::new(WRONG, format!("{}: its answer is of something else: {start}", about(visit)))
    })
}

#[derive(Deserialize)]
struct Stored {
    review: i64,
}

#[derive(Deserialize)]
struct Ticket {
    url: String,
    cents: i64,
    repeated: bool,
}

/// Who has logged in.
#[derive(Deserialize)]
pub(super) struct LoggedIn {
    pub(super) user: u32,
    pub(super) token: String,
}

#[derive(Deserialize)]
struct Info {
    movie: u32,
    title: String,
}

#[derive(Deserialize)]
pub(super) struct Hits {
    pub(super) hits: Vec<Hit>,
}

#[derive(Deserialize)]
pub(super) struct Hit {
    pub(super) movie: u32,
    pub(super) title: String,
}

fn from<'a, T: Deserialize<'a>>(seen: &'a Seen) -> Option<T> {
    serde_json::from_slice(&seen.head).ok()
}

/// Checks that a page shows the requested film; counts the parts that it lacks.
///
/// The film's record comes first in it, and the names of missing parts last.
fn page(known: &Known, visit: &Visit, seen: &Seen, counts: &mut Answers) -> Option<()> {
    let info = seen.head.strip_prefix(b"{\"info\":")?;
    let info: Info = serde_json::Deserializer::from_slice(info).into_iter().next()?.ok()?;
    if info.movie != visit.film || info.title != known.title(visit.film) {
        return None;
    }
    let key = b"\"missing\":";
    let place = seen.tail.windows(key.len()).rposition(|window| window == key)?;
    let missing = &seen.tail[place + key.len()..];
    let missing: Vec<String> = serde_json::Deserializer::from_slice(missing).into_iter().next()?.ok()?;
    counts.pages += 1;
    counts.page_bytes += seen.length;
    counts.degraded += u64::from(!missing.is_empty());
    Some(())
}

/// A search has hits, each with the title of its film; whether the film is among them is counted.
fn hits(known: &Known, visit: &Visit, seen: &Seen, counts: &mut Answers) -> Option<()> {
    let Hits { hits } = from(seen)?;
    let films = known.config.options.films;
    let is_right = |hit: &Hit| {
        (1..=films).contains(&hit.movie) && hit.title == known.title(hit.movie) || hit.movie > films
    };
    if hits.is_empty() || !hits.iter().all(is_right) {
        return None;
    }
    counts.searches += 1;
    counts.found += u64::from(hits.iter().any(|hit| hit.movie == visit.film));
    Some(())
}

/// A ticket must name the renting user, and the clip and the price of the film. A repeated one is right, too: the user has
/// rented the film before, and pays for it once.
fn rented(known: &Known, visit: &mut Visit, ticket: Ticket, counts: &mut Answers) -> Option<()> {
    let (user, clip) = address(&ticket.url)?;
    let member = &known.members[visit.member as usize];
    if user != member.user || !known.expected.is_sold(visit.film, clip, ticket.cents) {
        return None;
    }
    counts.rented += 1;
    counts.repeated += u64::from(ticket.repeated);
    visit.path = ticket.url.into_bytes();
    Some(())
}

/// The user and the clip of a signed address, `/hls/SIGNATURE/UNTIL/USER/CLIP/FILE.m3u8`. Source: `nginx-hls` of the
/// site, which checks the signature when the playlist is requested.
fn address(url: &str) -> Option<(u32, &str)> {
    let parts: Vec<&str> = url.strip_prefix("/hls/")?.split('/').collect();
    let [signature, until, user, clip, file] = parts[..] else { return None };
    let is_plain = |text: &&str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let _: u64 = until.parse().ok()?;
    let is_right = [signature, until, user, clip, file.strip_suffix(".m3u8")?].iter().all(is_plain);
    Some((user.parse().ok()?, clip)).filter(|_| is_right)
}

/// A playlist lists something; a segment is not empty.
fn stream(visit: &mut Visit, seen: &Seen) -> Result<(), Fault> {
    if let At::Segment(_) = visit.at {
        return match seen.length {
            0 => Err(Fault::new(BROKEN, format!("{}: it is empty", about(visit)))),
            _ => Ok(()),
        };
    }
    let broken = |why: &str| Fault::new(BROKEN, format!("{}: {why}", about(visit)));
    if !seen.head.starts_with(b"#EXTM3U") || seen.length > HEAD as u64 {
        return Err(broken("it is not a playlist of at most 64 KiB"));
    }
    let lines = seen.head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let names: Vec<Vec<u8>> =
        lines.filter(|line| !line.is_empty() && line[0] != b'#').map(<[u8]>::to_vec).collect();
    // Below its own folder, so that no other host is ever asked.
    let is_below = |name: &Vec<u8>| {
        name.iter().all(u8::is_ascii_graphic)
            && !name.starts_with(b"/")
            && !name.windows(3).any(|part| part == b"://")
    };
    if names.is_empty() || !names.iter().all(is_below) {
        return Err(broken("it lists nothing, or something outside of its folder"));
    }
    match visit.at {
        At::Master => {
            let chosen = &names[(visit.lot % names.len() as u64) as usize];
            visit.path = [folder_of(&visit.path), chosen].concat();
        }
        _ => visit.segments = names,
    }
    Ok(())
}

/// Describes the request of a visit, for errors.
#[cold]
fn about(visit: &Visit) -> String {
    match visit.at {
        At::Query(MovieQuery::Login) => format!("login of user {}", visit.user),
        At::Query(query) => format!("{} of film {}", query.name(), visit.film),
        At::Master => format!("the playlist of film {}", visit.film),
        At::Variant => format!("the playlist of a quality of film {}", visit.film),
        At::Segment(number) => format!("segment {} of film {}", number + 1, visit.film),
    }
}
