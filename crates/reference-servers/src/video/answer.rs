use datasets::videos::{Body, Catalog, Entry};
use proto_http::server::Request;
use proto_http::{Defect, Version, Wanted};
use units::{Bytes, Nanos};

use crate::video::Fault;

/// An answer, and how it is sent.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Status line and fields, with the empty line.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Body,
    /// The fate of the connection.
    pub(crate) ending: Ending,
    /// The delay before it is sent.
    pub(crate) delay: Nanos,
    /// The bytes of the body in a second; `None`: unlimited.
    pub(crate) rate: Option<Bytes>,
    /// The byte of the body that is another one.
    pub(crate) garbled: Option<u64>,
}

/// The fate of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It stays.
    Stay,
    /// It is closed.
    Close,
    /// It is closed after this many bytes of the body.
    Cut(u64),
    /// It is reset after this many bytes of the body.
    Reset(u64),
}

/// The most of a request that is not whole. Source: nginx reads heads of up to 8 KiB (`large_client_header_buffers`).
/// Units: bytes.
pub(crate) const REQUEST_MAX: usize = 8 << 10;

/// The path of a request without its query; in absolute form it follows the host.
pub(crate) fn path<'a>(request: &Request<'a>) -> &'a str {
    let target = request.target;
    let target = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    target.split(['?', '#']).next().unwrap_or_default()
}

/// The file that a request gets a part of, if it belongs to a video.
pub(crate) fn media(catalog: &Catalog, request: &Request<'_>) -> Option<Entry> {
    let entry = catalog.entry_at(path(request)).filter(|entry| matches!(entry, Entry::Media { .. }))?;
    (request.method == "GET").then_some(entry)
}

/// The answer to a request; `counts` is the answer to a GET of `/.status`.
pub(crate) fn answer(
    catalog: &Catalog,
    request: &Request<'_>,
    fault: Option<Fault>,
    counts: impl FnOnce() -> String,
) -> Answer {
    let is_head = request.method == "HEAD";
    if !is_head && request.method != "GET" {
        return plain(
            request,
            "405 Method Not Allowed",
            "Allow: GET, HEAD\r\n",
            "text/plain",
            "GET and HEAD only\n".into(),
        );
    }
    let path = path(request);
    let entry = catalog.entry_at(path);
    match (entry, path, fault) {
        (_, _, Some(Fault::Unavailable)) => {
            plain(request, "503 Service Unavailable", "", "text/plain", String::new())
        }
        (Some(_), _, Some(Fault::Gone)) => not_found(request),
        (Some(entry), _, fault) => of_entry(catalog, request, entry, fault),
        (None, "/", _) => plain(request, "200 OK", "", "text/html; charset=utf-8", page(catalog)),
        (None, "/.status", _) => plain(request, "200 OK", "", "application/json", counts()),
        _ => not_found(request),
    }
}

/// The answer to an invalid request, after which the connection ends.
pub(crate) fn refused(defect: Defect) -> Answer {
    let status = match defect {
        Defect::HeadTooLong | Defect::TooManyHeaders => "431 Request Header Fields Too Large",
        _ => "400 Bad Request",
    };
    let head = format!("HTTP/1.1 {status}\r\n{SERVER}Content-Length: 0\r\nConnection: close\r\n\r\n");
    whole(head, Body::text(Vec::new()), Ending::Close)
}

const SERVER: &str = "Server: taillight\r\n";

fn whole(head: String, body: Body, ending: Ending) -> Answer {
    Answer { head: head.into_bytes(), body, ending, delay: Nanos::ZERO, rate: None, garbled: None }
}

/// The `Connection` field, if needed, and the line that ends the head.
fn end_of_head(request: &Request<'_>) -> (&'static str, Ending) {
    match (request.keep_alive, request.version) {
        (false, _) => ("Connection: close\r\n\r\n", Ending::Close),
        // HTTP/1.0 closes unless told keep-alive.
        (true, Version::Http10) => ("Connection: keep-alive\r\n\r\n", Ending::Stay),
        (true, Version::Http11) => ("\r\n", Ending::Stay),
    }
}

fn plain(request: &Request<'_>, status: &str, fields: &str, kind: &str, text: String) -> Answer {
    let (end, ending) = end_of_head(request);
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{SERVER}{fields}Content-Type: {kind}\r\nContent-Length: {length}\r\n{end}"
    );
    let text = if request.method == "HEAD" { String::new() } else { text };
    whole(head, Body::text(text.into_bytes()), ending)
}

fn not_found(request: &Request<'_>) -> Answer {
    plain(request, "404 Not Found", "", "text/plain", "there is no such file\n".into())
}

fn of_entry(catalog: &Catalog, request: &Request<'_>, entry: Entry, fault: Option<Fault>) -> Answer {
    let body = catalog.body(entry);
    let complete = body.left();
    // The same bytes have the same tag, on every machine.
    let tag = format!("\"{:x}-{:x}-{complete:x}\"", catalog.seed(), catalog.videos());
    let is_of_it = request.if_range.is_none_or(|asked| asked == tag);
    let wanted = match fault {
        Some(Fault::Whole) => Wanted::Whole,
        _ => Wanted::read(request.range.filter(|_| is_of_it), complete),
    };
    let (status, range, part) = match wanted {
        Wanted::Whole => ("200 OK", String::new(), 0..complete),
        Wanted::Part { first, last } => {
            // One byte further on, or back at the end of the file.
            let (first, last) = match fault {
                Some(Fault::WrongRange) if last + 1 < complete => (first + 1, last + 1),
                Some(Fault::WrongRange) => (first.saturating_sub(1), last.saturating_sub(1)),
                _ => (first, last),
            };
            let range = format!("Content-Range: bytes {first}-{last}/{complete}\r\n");
            ("206 Partial Content", range, first..last + 1)
        }
        Wanted::Unsatisfiable => {
            let range = format!("Content-Range: bytes */{complete}\r\n");
            return plain(request, "416 Range Not Satisfiable", &range, "text/plain", String::new());
        }
    };
    let (end, ending) = end_of_head(request);
    let body = body.range(part);
    let length = body.left();
    let head = format!(
        "HTTP/1.1 {status}\r\n{SERVER}Accept-Ranges: bytes\r\nETag: {tag}\r\nContent-Type: {}\r\n{range}\
         Content-Length: {length}\r\n{end}",
        entry.content_type()
    );
    if request.method == "HEAD" {
        return whole(head, Body::text(Vec::new()), ending);
    }
    let mut answer = whole(head, body, ending);
    match fault {
        Some(Fault::Delay(time)) => answer.delay = time,
        Some(Fault::Trickle(rate)) => answer.rate = Some(rate),
        Some(Fault::Reset) => answer.ending = Ending::Reset(length / 2),
        Some(Fault::Cut) => answer.ending = Ending::Cut(length / 2),
        Some(Fault::Garbled) => answer.garbled = Some(length / 2),
        _ => {}
    }
    answer
}

fn page(catalog: &Catalog) -> String {
    let last = catalog.folder(catalog.videos() - 1);
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Videos</title><h1>Videos</h1><p>{catalog} of seed {}: \
         <a href=\"/v000000/master.m3u8\">/v000000/master.m3u8</a> to {last}/master.m3u8, each with its rungs as files. \
         Their bytes are computed for load generators: no player shows them. To see a video, make a real set \
         (<code>taillight fileset make DIR --video 4x1/4 --real</code>) and serve it \
         (<code>taillight serve video --file-set DIR</code>).",
        catalog.seed()
    )
}

#[cfg(test)]
mod tests;
