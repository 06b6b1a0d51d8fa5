use crate::chunks::Chunks;
use crate::head::{self, Fields, Head, Version};
use crate::{ContentRange, Defect};

/// The properties of a request that decide its answer's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Anything whose answer may have a body.
    Any,
    /// `HEAD`: the answer's head states the length of the body, which is not sent.
    Head,
}

/// Receives the parts of an answer, while it arrives.
pub trait Sink {
    /// The head of the answer itself; those of interim answers (status 1xx) are not shown.
    fn head(&mut self, head: &Head<'_>) {
        let _ = head;
    }

    /// The next bytes of the body, which may be any number of them.
    fn body(&mut self, slice: &[u8]);
}

/// Takes nothing.
impl Sink for () {
    fn body(&mut self, _: &[u8]) {}
}

/// The head of an answer, and the length of the body received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The protocol that the server speaks.
    pub version: Version,
    /// From 100 to 999.
    pub status: u16,
    /// Bytes of the body, chunks' lines left out.
    pub body: u64,
    /// Whether the connection can take another request.
    pub keep_alive: bool,
    /// The part of a file in the answer, if stated.
    pub range: Option<ContentRange>,
}

impl Response {
    /// Whether the request succeeded: status 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// The result of [`ResponseParser::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum ResponseParse {
    /// The answer continues; `consumed` bytes were used up and must not be shown again.
    NeedMore { consumed: usize },
    /// The answer is complete; after `consumed` bytes the next one starts.
    Done { consumed: usize, response: Response },
    /// The bytes are not an answer; the connection cannot be used further.
    Malformed(Defect),
}

/// Reads the answers on one connection, one after the other.
///
/// Shape: a head is left with the caller until it is complete, a body is used up as it comes.
/// Cost: no allocation; each byte is read once.
#[derive(Clone, Debug, Default)]
pub struct ResponseParser {
    at: At,
    /// Bytes of a head already searched without finding its end.
    scanned: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    #[default]
    Head,
    Length {
        response: Response,
        left: u64,
    },
    Chunks {
        response: Response,
        chunks: Chunks,
    },
    UntilClose {
        response: Response,
    },
}

/// The start of the first line of every answer, without the following digit.
const BEGIN: &[u8; 7] = b"HTTP/1.";

impl ResponseParser {
    /// Continues parsing, with the unused bytes and the new ones.
    #[inline]
    pub fn parse(&mut self, asked: Asked, bytes: &[u8], sink: &mut impl Sink) -> ResponseParse {
        self.read(asked, bytes, sink).unwrap_or_else(ResponseParse::Malformed)
    }

    fn read(&mut self, asked: Asked, bytes: &[u8], sink: &mut impl Sink) -> Result<ResponseParse, Defect> {
        let mut used = 0;
        while let At::Head = self.at {
            let rest = &bytes[used..];
            begins_as_http(rest)?;
            let Some(length) = head::end(rest, self.scanned)? else {
                self.scanned = rest.len();
                return Ok(ResponseParse::NeedMore { consumed: used });
            };
            self.scanned = 0;
            let is_interim = |status: u16| status < 200 && status != 101;
            let (version, status, fields) = head::response(&rest[..length], |head| {
                if !is_interim(head.status) {
                    sink.head(head);
                }
            })?;
            used += length;
            if !is_interim(status) {
                self.at = follows(asked, version, status, fields);
            }
        }
        self.body(bytes, used, sink)
    }

    fn body(&mut self, bytes: &[u8], mut used: usize, sink: &mut impl Sink) -> Result<ResponseParse, Defect> {
        let rest = &bytes[used..];
        let done = match &mut self.at {
            At::Head => None,
            At::Length { response, left } => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                if length > 0 {
                    sink.body(&rest[..length]);
                }
                *left -= length as u64;
                response.body += length as u64;
                used += length;
                (*left == 0).then_some(*response)
            }
            At::Chunks { response, chunks } => {
                let mut counted = CountingSink { sink, length: 0 };
                let (length, done) = chunks.take(rest, &mut counted)?;
                response.body += counted.length;
                used += length;
                done.then_some(*response)
            }
            At::UntilClose { response } => {
                if !rest.is_empty() {
                    sink.body(rest);
                }
                response.body += rest.len() as u64;
                used = bytes.len();
                None
            }
        };
        Ok(match done {
            None => ResponseParse::NeedMore { consumed: used },
            Some(response) => {
                self.at = At::Head;
                ResponseParse::Done { consumed: used, response }
            }
        })
    }

    /// The peer has closed the connection cleanly: returns the answer that this ends, if any.
    ///
    /// Errors: an answer is cut off. `None`: none had begun.
    pub fn closed(&mut self) -> Option<Result<Response, Defect>> {
        match std::mem::take(self) {
            ResponseParser { at: At::Head, scanned: 0 } => None,
            ResponseParser { at: At::UntilClose { response }, .. } => Some(Ok(response)),
            _ => Some(Err(Defect::Truncated)),
        }
    }
}

/// Whether the bytes received can be the start of an answer: distinguishes garbage from a slow head at once.
fn begins_as_http(bytes: &[u8]) -> Result<(), Defect> {
    let length = bytes.len().min(BEGIN.len());
    let minor = bytes.get(BEGIN.len());
    if bytes[..length] != BEGIN[..length] || minor.is_some_and(|minor| !matches!(minor, b'0' | b'1')) {
        return Err(Defect::NotHttp);
    }
    Ok(())
}

/// The framing of the bytes after a head. Source: RFC 9112 §6.3 and §9.3.
fn follows(asked: Asked, version: Version, status: u16, fields: Fields) -> At {
    let stays = match version {
        Version::Http11 => !fields.close,
        // An HTTP/1.0 server does not know chunks; if it names them, the framing is unreliable.
        Version::Http10 => fields.keep_alive && !fields.close && !fields.encoded,
    };
    let response = Response { version, status, body: 0, keep_alive: stays, range: fields.range };
    match fields {
        _ if status == 101 => At::Length { response: Response { keep_alive: false, ..response }, left: 0 },
        _ if asked == Asked::Head || matches!(status, 204 | 304) => At::Length { response, left: 0 },
        Fields { chunked: true, .. } => At::Chunks { response, chunks: Chunks::default() },
        Fields { encoded: false, content_length: Some(left), .. } => At::Length { response, left },
        _ => At::UntilClose { response: Response { keep_alive: false, ..response } },
    }
}

/// Counts the bytes passed through.
struct CountingSink<'a, S> {
    sink: &'a mut S,
    length: u64,
}

impl<S: Sink> Sink for CountingSink<'_, S> {
    fn body(&mut self, slice: &[u8]) {
        self.length += slice.len() as u64;
        self.sink.body(slice);
    }
}
