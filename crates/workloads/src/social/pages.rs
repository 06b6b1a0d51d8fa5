//! Writing a session's requests, and judging the answers.

use std::io::Write;

use openloop::{Closed, Fault, Parsed, Then};
use proto_http::{
    Asked, HOPS_MAX, Head, LOCATION_MAX, NEEDLE_MAX, Needle, NeedleMatch, Response, ResponseParser, Sink,
    Stray, Take, follow,
};
use spec::workload::SocialOperation;

use crate::json::Json;
use crate::parsed::{cut_off, parsed};
use crate::social::config::Known;
use crate::social::counts::Answers;
use crate::social::people::values;
use crate::social::session::{At, Session, Shown};
use crate::social::site::{LOOKS_MAX, Location, Page, SiteRequest};
use crate::social::user::Job;
use crate::status::kind;

/// The kinds of errors in addition to statuses.
const LOST: &str = "session lost";
const TOKEN: &str = "token refused";
const LOOP: &str = "redirect loop";
const FOREIGN: &str = "foreign redirect";
const ASTRAY: &str = "wrong redirect";
const WRONG: &str = "wrong page";
const NOTHING: &str = "nothing to take";
const JSON: &str = "truncated json";

/// The state of an incomplete answer.
#[derive(Default)]
pub struct Wire {
    parser: ResponseParser,
    /// Whether an answer has begun, so that the needles are set.
    begun: bool,
    status: u16,
    redirect: Redirect,
    /// Which texts were found, each a bit.
    found: u16,
    /// How far each text is.
    seen: [NeedleMatch; LOOKS_MAX],
    takes: [Take; LOOKS_MAX],
    json: Json,
}

/// Where an answer leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Redirect {
    #[default]
    None,
    /// To the session's location.
    Here,
    Astray(Stray),
}

/// An answer while it comes.
struct Reading<'a> {
    wire: &'a mut Wire,
    session: &'a mut Session,
    known: &'a Known,
    page: Option<&'a Page>,
    counts: &'a mut Answers,
}

impl Sink for Reading<'_> {
    fn head(&mut self, head: &Head<'_>) {
        let Reading { wire, session, known, counts, .. } = self;
        wire.status = head.status;
        wire.redirect = Redirect::None;
        let asked = std::mem::take(&mut session.location);
        let date = head.header("date");
        let mut location = None;
        for (name, value) in head.headers() {
            // The length distinguishes most fields from the relevant ones.
            match name.len() {
                8 if name.eq_ignore_ascii_case("location") => location = location.or(Some(value)),
                10 if name.eq_ignore_ascii_case("set-cookie") => {
                    // The current path is the last redirect's, or the request's.
                    let mut jar = std::mem::take(&mut session.jar);
                    let set = jar.set(value, date, session.page(&asked, known));
                    session.jar = jar;
                    counts.crumbs += u64::from(set.is_err());
                }
                13 if name.eq_ignore_ascii_case("server-timing") => session.tiers.add(value),
                _ => {}
            }
        }
        session.location = asked;
        if (300..400).contains(&head.status)
            && let Some(value) = location
        {
            wire.redirect = match follow(value, &known.url, &mut session.location) {
                Ok(()) => Redirect::Here,
                Err(stray) => Redirect::Astray(stray),
            };
        }
    }

    #[inline]
    fn body(&mut self, slice: &[u8]) {
        let Reading { wire, session, page, .. } = self;
        let Some(page) = page else { return };
        if wire.status != page.status {
            return;
        }
        for (place, needle) in page.has.iter().enumerate() {
            if wire.found & 1 << place == 0 && needle.find(&mut wire.seen[place], slice).is_some() {
                wire.found |= 1 << place;
            }
        }
        for (place, (value, between)) in (page.has.len()..).zip(&page.takes) {
            let fresh = &mut session.fresh[usize::from(*value)];
            between.take(&mut wire.takes[place], &mut wire.seen[place], slice, fresh);
        }
        if let Some(shown) = session.shows.as_deref_mut().filter(|shown| !shown.found) {
            shown.found = shown.needle.find(&mut shown.seen, slice).is_some();
        }
        if page.json {
            wire.json.take(slice);
        }
    }
}

/// The next action after a good answer.
enum Ahead {
    /// Another request of the same operation.
    More,
    Done,
}

/// Appends the current request of a session, using `scratch`.
pub(super) fn write(
    known: &Known,
    session: &mut Session,
    is_last: bool,
    scratch: &mut [Vec<u8>; 2],
    out: &mut Vec<u8>,
) {
    let site = &known.config.site;
    let [value, form] = scratch;
    let request = match session.at {
        At::Request(place) => Some(&site.requests[usize::from(place)]),
        At::Redirect(_) | At::Asset(..) => None,
    };
    let posted = request.and_then(|request| request.form.as_ref());
    let mut path = std::mem::take(&mut session.location);
    match (session.at, request) {
        (_, Some(request)) => {
            path.clear();
            request.path.append_encoded(values(known, session), value, &mut path);
        }
        (At::Asset(place, _), None) => {
            path.clear();
            path.extend_from_slice(&site.assets[usize::from(place)]);
        }
        _ => {}
    }
    if let Some(request) = request {
        session.shows = request.shows.as_ref().and_then(|shows| {
            value.clear();
            shows.append(values(known, session), value);
            // A longer text is found by its beginning.
            value.truncate(NEEDLE_MAX);
            let needle = Needle::new(value)?;
            Some(Box::new(Shown { needle, seen: NeedleMatch::default(), found: false }))
        });
    }
    out.extend_from_slice(if posted.is_some() { b"POST " } else { b"GET " });
    out.extend_from_slice(&path);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    out.extend_from_slice(&known.host_line);
    if let Some(request) = request {
        request.headers.append(values(known, session), out);
    }
    session.jar.append(session.page(&path, known), out);
    session.location = path;
    if is_last {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    match posted {
        Some(template) => {
            form.clear();
            template.append_encoded(values(known, session), value, form);
            // Writing into a vector cannot fail.
            let _ = write!(
                out,
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
                form.len()
            );
            out.extend_from_slice(form);
        }
        None => out.extend_from_slice(b"\r\n"),
    }
}

/// Reads on in the answer to a session's request.
pub(super) fn read(
    known: &Known,
    session: &mut Session,
    wire: &mut Wire,
    bytes: &[u8],
    counts: &mut Answers,
) -> Parsed<Job> {
    if !std::mem::replace(&mut wire.begun, true) {
        session.fresh.iter_mut().for_each(Vec::clear);
    }
    let mut parser = std::mem::take(&mut wire.parser);
    // No page is expected at the end of an asset.
    let page = request_of(known, session).map(|request| &known.config.site.pages[usize::from(request.page)]);
    let parse = parser.parse(Asked::Any, bytes, &mut Reading { wire, session, known, page, counts });
    wire.parser = parser;
    parsed(parse, |response| whole(known, session, wire, response, counts))
}

/// The server has closed the connection, by which it may end an answer.
pub(super) fn closed(
    known: &Known,
    session: &mut Session,
    wire: &mut Wire,
    counts: &mut Answers,
) -> Option<Closed<Job>> {
    match wire.parser.closed()? {
        Ok(response) => Some(whole(known, session, wire, response, counts)),
        Err(defect) => Some((Err(cut_off(&about(session), defect)), Then::Close)),
    }
}

fn request_of<'a>(known: &'a Known, session: &Session) -> Option<&'a SiteRequest> {
    match session.at {
        At::Request(place) | At::Redirect(place) => Some(&known.config.site.requests[usize::from(place)]),
        At::Asset(..) => None,
    }
}

/// Judges a complete answer; returns the next action.
fn whole(
    known: &Known,
    session: &mut Session,
    wire: &mut Wire,
    response: Response,
    counts: &mut Answers,
) -> Closed<Job> {
    // The state is reset for the next answer on this connection.
    let seen = std::mem::take(wire);
    counts.answered += 1;
    counts.ended += u64::from(!response.keep_alive);
    let judged = judge(known, session, &seen, response.status, counts);
    let then = match (&judged, response.keep_alive) {
        (Ok(Ahead::More), true) => Then::Again { endpoint: 0 },
        (Ok(Ahead::More), false) => Then::Anew { endpoint: 0 },
        (_, true) => Then::End,
        (_, false) => Then::Close,
    };
    (judged.map(|_| ()), then)
}

/// Checks an answer; returns the next request.
fn judge(
    known: &Known,
    session: &mut Session,
    wire: &Wire,
    status: u16,
    counts: &mut Answers,
) -> Result<Ahead, Fault> {
    let site = &known.config.site;
    let Some(request) = request_of(known, session) else {
        return asset(known, session, status);
    };
    let page = &site.pages[usize::from(request.page)];
    let is_first = matches!(session.at, At::Request(_));
    match wire.redirect {
        Redirect::None => {}
        Redirect::Astray(Stray::Foreign) => {
            return Err(fault(session, FOREIGN, &format!(": status {status} leads to another server")));
        }
        Redirect::Astray(Stray::Broken) => {
            let says = format!(": status {status} leads nowhere: its Location cannot be requested");
            return Err(fault(session, ASTRAY, &says));
        }
        Redirect::Here => {
            counts.redirects += 1;
            return redirect(known, session, request, status, is_first, counts);
        }
    }
    if site.is_lost_by(status) {
        return Err(lost(session, counts, &format!("status {status}")));
    }
    if site.is_refused_by(status) && status != page.status {
        let says = format!(": status {status}: its token or the request itself is refused");
        return Err(fault(session, TOKEN, &says));
    }
    if status != page.status {
        let says = format!(" was answered with status {status} and not {}", page.status);
        return Err(fault(session, kind(status), &says));
    }
    if is_first && request.location.is_some() {
        let says = format!(" was answered with status {status} and no redirect");
        return Err(fault(session, ASTRAY, &says));
    }
    looks(session, wire, page)?;
    // Values are taken only from a page that is right.
    for (value, _) in &page.takes {
        let place = usize::from(*value);
        std::mem::swap(&mut session.taken[place], &mut session.fresh[place]);
    }
    let (At::Request(place) | At::Redirect(place)) = session.at else { return Ok(Ahead::Done) };
    Ok(after(known, session, place + 1))
}

/// The action that follows the request before `next`.
fn after(known: &Known, session: &mut Session, next: u16) -> Ahead {
    session.hops = 0;
    if !session.has_assets && session.by == crate::social::site::By::Page {
        session.at = At::Asset(0, next);
        session.has_assets = true;
        return Ahead::More;
    }
    session.at = At::Request(next);
    if next < known.config.site.way(session.operation, session.by).end { Ahead::More } else { Ahead::Done }
}

/// An asset has arrived.
fn asset(known: &Known, session: &mut Session, status: u16) -> Result<Ahead, Fault> {
    let At::Asset(place, next) = session.at else { return Ok(Ahead::Done) };
    if status != 200 {
        let says = format!(" was answered with status {status} and not 200");
        return Err(fault(session, kind(status), &says));
    }
    if usize::from(place) + 1 < known.config.site.assets.len() {
        session.at = At::Asset(place + 1, next);
        return Ok(Ahead::More);
    }
    Ok(after(known, session, next))
}

/// An answer leads to the session's location.
fn redirect(
    known: &Known,
    session: &mut Session,
    request: &SiteRequest,
    status: u16,
    is_first: bool,
    counts: &mut Answers,
) -> Result<Ahead, Fault> {
    let to = |session: &Session| String::from_utf8_lossy(&session.location).into_owned();
    if matches!(status, 307 | 308) && is_first && request.form.is_some() {
        let says = format!(": status {status} asks for the form again, at {}", to(session));
        return Err(fault(session, ASTRAY, &says));
    }
    let is_expected = match (&request.location, is_first) {
        (Some(Location::Any), true) => !known.config.site.is_lost_at(&session.location),
        (Some(Location::Path(path)), true) => {
            let mut expect = Vec::with_capacity(LOCATION_MAX.min(64));
            path.append(values(known, session), &mut expect);
            session.location.split(|byte| *byte == b'?').next() == Some(&expect[..])
        }
        _ => false,
    };
    if !is_expected && known.config.site.is_lost_at(&session.location) {
        return Err(lost(session, counts, &format!("sent to {}", to(session))));
    }
    if is_first && request.location.is_some() && !is_expected {
        return Err(fault(session, ASTRAY, &format!(" leads to {}", to(session))));
    }
    if usize::from(session.hops) >= HOPS_MAX {
        let says = format!(": more than {HOPS_MAX} redirects, the last to {}", to(session));
        return Err(fault(session, LOOP, &says));
    }
    session.hops += 1;
    if let At::Request(place) = session.at {
        session.at = At::Redirect(place);
    }
    Ok(Ahead::More)
}

/// Checks that a page has the required texts.
fn looks(session: &Session, wire: &Wire, page: &Page) -> Result<(), Fault> {
    if page.json && !wire.json.is_whole() {
        return Err(fault(session, JSON, ": its answer is not whole JSON"));
    }
    if let Some(place) = (0..page.has.len()).find(|place| wire.found & 1 << place == 0) {
        let text = String::from_utf8_lossy(page.has[place].text());
        let says = format!(": the page is not '{}': it lacks '{text}'", page.name);
        return Err(fault(session, WRONG, &says));
    }
    if let Some(shown) = session.shows.as_ref().filter(|shown| !shown.found) {
        let text = String::from_utf8_lossy(shown.needle.text());
        return Err(fault(session, WRONG, &format!(": the page {} does not show '{text}'", page.name)));
    }
    for (place, (value, between)) in (page.has.len()..).zip(&page.takes) {
        let is_plain = |value: &[u8]| value.iter().all(|byte| *byte == b' ' || byte.is_ascii_graphic());
        let is_good = wire.takes[place] == Take::Taken && is_plain(&session.fresh[usize::from(*value)]);
        if !is_good {
            let text = String::from_utf8_lossy(between.before());
            let says = format!(": the page {} lacks a value behind '{text}'", page.name);
            return Err(fault(session, NOTHING, &says));
        }
    }
    Ok(())
}

#[cold]
fn lost(session: &mut Session, counts: &mut Answers, how: &str) -> Fault {
    counts.lost += 1;
    session.is_logged_in = false;
    fault(session, LOST, &format!(": {how}, like a user who is not logged in"))
}

/// The fault of the answer to a request of a session, whose description `says` continues.
#[cold]
fn fault(session: &Session, kind: &'static str, says: &str) -> Fault {
    Fault::new(kind, about(session) + says)
}

/// Describes the request of a session, for errors.
#[cold]
fn about(session: &Session) -> String {
    let Session { operation, user, each, .. } = session;
    let name: &str = SocialOperation::name(*operation);
    each.map_or_else(
        || format!("{name} of user {}", user + 1),
        |each| format!("the data of user {}", each + 1),
    )
}
