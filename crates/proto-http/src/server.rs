//! Requests, as a server with canned answers reads them.

use crate::Defect;
use crate::head::{self, Version};
use crate::limits::HEADERS_MAX;

/// A request as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// `GET`, say.
    pub method: &'a str,
    /// The path, with its query.
    pub target: &'a str,
    /// The client's protocol version.
    pub version: Version,
    /// Whether the client would send another request on the connection.
    pub keep_alive: bool,
    /// The part that it asks for: the value of `Range`, which [`Wanted`](crate::Wanted) reads.
    pub range: Option<&'a str>,
    /// The condition on that range: the value of `If-Range`.
    pub if_range: Option<&'a str>,
    /// The body of the request.
    pub body: &'a [u8],
}

/// The result of [`request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum RequestParse<'a> {
    /// The request is incomplete.
    NeedMore,
    /// It is complete; after `consumed` bytes the next one starts.
    Done { consumed: usize, request: Request<'a> },
    /// The bytes are not a request that could be read.
    Malformed(Defect),
}

/// Reads the first request in `bytes`, shown again as a whole until it is complete.
///
/// Bounds: a body must say its length. Cost: the head is scanned again at each call.
pub fn request(bytes: &[u8]) -> RequestParse<'_> {
    read(bytes).map_or_else(RequestParse::Malformed, |found| found.unwrap_or(RequestParse::NeedMore))
}

fn read(bytes: &[u8]) -> Result<Option<RequestParse<'_>>, Defect> {
    let Some(length) = head::end(bytes, 0)? else { return Ok(None) };
    let mut room = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut room);
    head::whole(request.parse(&bytes[..length]), &bytes[..length])?;
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, head::version(request.version))
    else {
        return Err(Defect::Head("its first line is none of HTTP/1"));
    };
    let fields = head::fields(request.headers)?;
    if fields.encoded {
        return Err(Defect::Head("a request in chunks is not read here"));
    }
    let body = usize::try_from(fields.content_length.unwrap_or(0)).unwrap_or(usize::MAX);
    let consumed = length.saturating_add(body);
    let Some(body) = bytes.get(length..consumed) else { return Ok(None) };
    let keep_alive = match version {
        Version::Http11 => !fields.close,
        Version::Http10 => fields.keep_alive && !fields.close,
    };
    let value = |name: &str| {
        let field = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(field.value).ok()
    };
    let (range, if_range) = (value("range"), value("if-range"));
    let request = Request { method, target, version, keep_alive, range, if_range, body };
    Ok(Some(RequestParse::Done { consumed, request }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, Template};

    #[test]
    fn reads_what_a_client_writes() {
        let check = |method: &str, body: Option<&[u8]>, last: bool| {
            let template = Template::new(&method.parse::<Method>().unwrap(), "h", "/x", &[], body);
            let path = |out: &mut Vec<u8>| out.extend_from_slice(b"/a?b");
            let mut bytes = Vec::new();
            if last {
                template.write_last(path, &mut bytes)
            } else {
                template.write(path, &mut bytes)
            }
            for cut in 0..bytes.len() {
                assert_eq!(request(&bytes[..cut]), RequestParse::NeedMore, "cut at {cut}");
            }
            let expect = Request {
                method,
                target: "/x/a?b",
                version: Version::Http11,
                keep_alive: !last,
                range: None,
                if_range: None,
                body: body.unwrap_or(b""),
            };
            let consumed = bytes.len();
            let two = [&bytes[..], b"GET"].concat();
            assert_eq!(request(&two), RequestParse::Done { consumed, request: expect });
        };
        check("GET", None, false);
        check("HEAD", None, true);
        check("POST", Some(b"12345"), false);
        check("POST", Some(b""), true);
    }

    #[test]
    fn the_part_that_is_asked_for_is_read() {
        let check = |lines: &str, expect: (Option<&str>, Option<&str>)| {
            let text = format!("GET / HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
            let RequestParse::Done { request, .. } = request(text.as_bytes()) else { panic!("{text}") };
            assert_eq!((request.range, request.if_range), expect, "{lines}");
        };
        check("", (None, None));
        check("RANGE: bytes=0-9\r\n", (Some("bytes=0-9"), None));
        check("If-Range: \"a\"\r\nRange: bytes=5-\r\n", (Some("bytes=5-"), Some("\"a\"")));
    }

    #[test]
    fn refuses_what_it_cannot_read() {
        let check = |bytes: &[u8]| assert!(matches!(request(bytes), RequestParse::Malformed(_)), "{bytes:?}");
        check(b"get\r\n\r\n");
        check(b"GET / HTTP/2.0\r\n\r\n");
        check(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
        check(b"POST / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n");
    }
}
