//! Judging answers to requests for a part of a video.

use datasets::videos::Body;
use openloop::{Fault, Parsed, Then};
use proto_http::{Asked, ContentRange, Head, Response, ResponseParser, Sink};
use spec::workload::Verify;
use xxhash_rust::xxh3::Xxh3;

use crate::parsed::{cut_off, parsed};
use crate::status::kind;
use crate::video::beginning::{Beginning, declares_text};
use crate::video::counts::Answers;
use crate::video::library::{Ask, Library, Part, Watched};
use crate::video::playlist::ByteRange;
use crate::video::requests::Job;

/// The state of an incomplete answer.
#[derive(Default)]
pub struct Wire {
    parser: ResponseParser,
    /// Whether an answer has begun, so that the expected content is known.
    begun: bool,
    seen: Seen,
}

/// The part of an answer that has arrived.
#[derive(Default)]
struct Seen {
    /// `None` while the head is incomplete.
    head: Option<Begun>,
    /// Bytes of the body so far.
    received: u64,
    content: Content,
}

/// The fields of a head that decide about its answer.
#[derive(Clone, Copy)]
struct Begun {
    status: u16,
    range: Option<ContentRange>,
    length: Option<u64>,
    is_text: bool,
}

/// The treatment of the body.
#[derive(Default)]
enum Content {
    /// Only its length counts.
    #[default]
    Counted,
    /// It is compared, and has been the same so far.
    Compared(Body, bool),
    /// Its checksum is computed.
    Hashed(Box<Xxh3>),
    /// It is of another server, and must be media.
    Media(Beginning),
}

/// A request: its viewer, object and video.
pub(super) struct FileRequest<'a> {
    pub(super) library: &'a Library,
    pub(super) of: Watched,
    pub(super) ask: Ask,
    pub(super) verify: Verify,
}

impl Sink for Seen {
    fn head(&mut self, head: &Head<'_>) {
        let range = head.header("content-range").and_then(ContentRange::read);
        let is_text = head.header("content-type").is_some_and(declares_text);
        self.head = Some(Begun { status: head.status, range, length: head.content_length(), is_text });
    }

    #[inline]
    fn body(&mut self, slice: &[u8]) {
        self.received += slice.len() as u64;
        match &mut self.content {
            Content::Counted => {}
            Content::Compared(body, same) => *same &= body.matches(slice),
            Content::Hashed(hash) => hash.update(slice),
            Content::Media(beginning) => beginning.take(slice),
        }
    }
}

impl FileRequest<'_> {
    /// Reads on in the answer.
    pub(super) fn read(&self, wire: &mut Wire, bytes: &[u8], counts: &mut Answers) -> Parsed<Job> {
        if !std::mem::replace(&mut wire.begun, true) {
            wire.seen.content = self.content();
        }
        let parse = wire.parser.parse(Asked::Any, bytes, &mut wire.seen);
        if let Some(head) = wire.seen.head
            && let Err(fault) = self.begins(head, wire.seen.received)
        {
            counts.answered += 1;
            return Parsed::Refused(fault);
        }
        parsed(parse, |response| {
            counts.ended += u64::from(!response.keep_alive);
            let then = if response.keep_alive { Then::End } else { Then::Close };
            (self.outcome(wire, response, counts), then)
        })
    }

    /// The server has closed the connection, by which it may end an answer.
    pub(super) fn closed(&self, wire: &mut Wire, counts: &mut Answers) -> Option<Result<(), Fault>> {
        Some(match wire.parser.closed()? {
            Ok(response) => {
                counts.ended += 1;
                self.outcome(wire, response, counts)
            }
            Err(defect) => Err(cut_off(&self.path(), defect)),
        })
    }

    /// The content to compare the body with.
    fn content(&self) -> Content {
        let FileRequest { library, of, ask, verify, .. } = *self;
        match verify {
            Verify::Length if library.known(of, ask).is_some() => Content::Hashed(Box::default()),
            Verify::Length if library.is_media(of, ask) => Content::Media(Beginning::default()),
            Verify::Length if matches!(ask, Ask::Chunk(_)) => Content::Counted,
            // Playlists of a set are short.
            Verify::Length | Verify::Checksum => {
                library.body(of, ask).map_or(Content::Counted, |body| Content::Compared(body, true))
            }
            Verify::None => Content::Counted,
        }
    }

    /// Checks that the head describes the requested part, or has another status, whose body is read to its end.
    ///
    /// Errors: any other head, as the body would be useless at any length.
    fn begins(&self, head: Begun, received: u64) -> Result<(), Fault> {
        let Part { range: asked, complete } = self.library.part(self.of, self.ask);
        match (asked, head.status, head.range) {
            // A server without ranges, whose file is the requested part. Without a length the body decides.
            (Some(asked), 200, _)
                if head.length.map_or(received <= asked.length(), |all| all == asked.length()) =>
            {
                Ok(())
            }
            (Some(ByteRange { first, last }), 200, _) => {
                let says = format!("came whole (status 200) in place of the bytes from {first} to {last}");
                Err(self.fault("whole file", &says))
            }
            (Some(asked), 206, Some(ContentRange::Part { first, last, complete: of })) => {
                if (first, last) != (asked.first, asked.last) {
                    let says = format!(
                        "came with the bytes from {first} to {last} in place of the bytes from {} to {}",
                        asked.first, asked.last
                    );
                    return Err(self.fault("wrong range", &says));
                }
                match (of, complete) {
                    (Some(of), Some(complete)) if of != complete && self.verify != Verify::None => {
                        let says = format!(
                            "came from a file of {of} B by its Content-Range, which should be {complete} B"
                        );
                        Err(self.fault("wrong length", &says))
                    }
                    _ => Ok(()),
                }
            }
            (Some(_), 206, _) => Err(self.fault("no range", "came as a part without a Content-Range")),
            // All of it, as a part.
            (None, 206, Some(ContentRange::Part { first: 0, last, complete: Some(of) }))
                if last + 1 == of =>
            {
                Ok(())
            }
            (None, 206, _) => Err(self.fault("unasked range", "came as a part in place of the whole")),
            _ => Ok(()),
        }
    }

    /// The verdict on a complete answer.
    fn outcome(&self, wire: &mut Wire, response: Response, counts: &mut Answers) -> Result<(), Fault> {
        wire.begun = false;
        let Seen { head, content, .. } = std::mem::take(&mut wire.seen);
        counts.answered += 1;
        counts.partial += u64::from(response.status == 206);
        if !response.is_success() {
            let says = format!("was answered with status {}", response.status);
            return Err(self.fault(kind(response.status), &says));
        }
        if self.verify == Verify::None {
            return Ok(());
        }
        let checked = self.check(response, &content, head.is_some_and(|head| head.is_text));
        counts.verified += 1;
        counts.wrong += u64::from(checked.is_err());
        checked
    }

    /// Checks a body.
    fn check(&self, response: Response, content: &Content, is_text: bool) -> Result<(), Fault> {
        let FileRequest { library, of, ask, .. } = *self;
        let known = library.known(of, ask);
        let part = library.part(of, ask);
        let expect = part.range.map(|range| range.length()).or(known.map(|(length, _)| length));
        let expect = expect.or(part.complete);
        if let Some(expect) = expect.filter(|expect| *expect != response.body) {
            let says = format!("came with {} B and should have {expect} B", response.body);
            return Err(self.fault("wrong length", &says));
        }
        if response.body == 0 {
            let says = format!("came with 0 B (status {})", response.status);
            return Err(self.fault("empty answer", &says));
        }
        if let Content::Media(beginning) = content
            && let Some(page) = beginning.page(is_text)
        {
            let says = format!("came as text and not as media, beginning with '{page}'");
            return Err(self.fault("no media", &says));
        }
        let same = match content {
            Content::Counted | Content::Media(_) => true,
            Content::Compared(body, same) => *same && body.left() == 0,
            Content::Hashed(hash) => known.is_none_or(|(_, xxh3)| hash.digest() == xxh3),
        };
        if same {
            return Ok(());
        }
        Err(self.fault(
            "wrong content",
            match ask {
                Ask::Chunk(_) => "has the right length and another content than the set",
                Ask::Index(_) => "is another playlist than before the load",
            },
        ))
    }

    /// The fault of an answer that `says` describes.
    #[cold]
    fn fault(&self, kind: &'static str, says: &str) -> Fault {
        Fault::new(kind, format!("{} {says}", self.path()))
    }

    #[cold]
    fn path(&self) -> String {
        let mut path = Vec::new();
        self.library.append_path(self.of, self.ask, &mut path);
        String::from_utf8_lossy(&path).into_owned()
    }
}

#[cfg(test)]
mod tests;
