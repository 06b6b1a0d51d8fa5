use std::collections::VecDeque;
use std::sync::Arc;

use crate::frame::{self, ACK, END_HEADERS, END_STREAM, FrameHead, HEAD, PADDED, PRIORITIZED, kind};
use crate::hpack::{self, Decoder};
use crate::limits::{CONNECTION_WINDOW, FIRST_WINDOW, FLOOD_MAX, FRAME_MAX, STREAM_WINDOW, WINDOW_MAX};
use crate::settings::{self, Settings};
use crate::streams::{Stream, find};
use crate::template::OF_CONNECTIONS;
use crate::{Answer, Code, Defect, Failure, HEAD_MAX, Response, Step};

/// One connection to a server, whose requests are numbered from 1 on.
///
/// Shape: frames that decide something are left with the caller until they are whole, bodies are used up as they come.
/// Cost: no allocation for an answer whose fields the server has sent before.
#[derive(Debug)]
pub struct Connection<A> {
    at: At,
    begun: bool,
    /// The server's first settings have come.
    settled: bool,
    settings: Settings,
    streams: VecDeque<Stream<A>>,
    /// The stream of the last request.
    last: u32,
    decoder: Decoder,
    /// A head that came in several frames so far, and whose it is.
    block: Vec<u8>,
    gathering: Option<(u32, bool)>,
    /// What we may still send of bodies, and how many requests have some left.
    window: i64,
    unsent: usize,
    /// Received of bodies since the connection's window was last moved.
    taken: u32,
    /// Frames in a row that belong to no answer.
    idle: u32,
    /// Frames to send with the next [`Connection::speak`].
    replies: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum At {
    Frame,
    Data(Data),
    /// In a frame that means nothing to us.
    Skip(usize),
}

/// The unread rest of a DATA frame.
#[derive(Clone, Copy, Debug)]
struct Data {
    stream: u32,
    body: usize,
    padding: usize,
    end: bool,
}

impl<A> Default for Connection<A> {
    fn default() -> Connection<A> {
        Connection {
            at: At::Frame,
            begun: false,
            settled: false,
            settings: Settings::default(),
            streams: VecDeque::new(),
            last: 0,
            decoder: Decoder::default(),
            block: Vec::new(),
            gathering: None,
            window: FIRST_WINDOW.into(),
            unsent: 0,
            taken: 0,
            idle: 0,
            replies: Vec::new(),
        }
    }
}

fn number(stream: u32) -> u32 {
    stream.div_ceil(2)
}

fn stream(number: u32) -> u32 {
    (2 * number).saturating_sub(1)
}

/// The answer to a request will not come.
fn ended<A>((stream, failure): (Stream<A>, Failure), used: usize) -> Step<A> {
    Step::Ended { used, number: number(stream.id), outcome: Err(failure), answer: stream.answer }
}

// Our side.
impl<A: Answer> Connection<A> {
    /// Appends the frames that belong to no request: at first the preface and our settings, later acknowledgements, windows,
    /// resets and bodies that had to wait.
    pub fn speak(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            settings::write_beginning(out);
        }
        if !self.replies.is_empty() {
            out.append(&mut self.replies);
        }
    }

    /// Appends request `number`, which is higher than the previous request's, and the part of its body that the windows
    /// allow; [`Connection::speak`] sends the rest. `bodiless`: its answer has no body, as to `HEAD`.
    ///
    /// Bounds: up to [`NUMBERS_MAX`](crate::NUMBERS_MAX).
    pub fn request(
        &mut self,
        (number, bodiless): (u32, bool),
        fields: impl FnOnce(&mut Vec<u8>),
        body: Option<&Arc<[u8]>>,
        answer: A,
        out: &mut Vec<u8>,
    ) {
        self.speak(out);
        let id = stream(number);
        let body = body.filter(|body| !body.is_empty());
        let end = if body.is_none() { END_STREAM } else { 0 };
        let start = out.len();
        frame::head(0, kind::HEADERS, END_HEADERS | end, id, out);
        if self.last == 0 {
            hpack::write_no_table(out);
        }
        fields(out);
        let length = out.len() - start - HEAD;
        if length <= self.settings.frame {
            out[start..start + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
        } else {
            let block = out.split_off(start + HEAD);
            out.truncate(start);
            self.write_in_pieces(&block, id, end, out);
        }
        self.last = id;
        let mut stream = Stream {
            id,
            answer,
            status: 0,
            length: None,
            body: 0,
            bodiless,
            taken: 0,
            window: self.settings.window.into(),
            unsent: body.map(|body| (Arc::clone(body), 0)),
        };
        if body.is_some() && !stream.send(&mut self.window, self.settings.frame, out) {
            self.unsent += 1;
        }
        self.streams.push_back(stream);
    }

    /// A head that is longer than a frame.
    #[cold]
    fn write_in_pieces(&self, block: &[u8], id: u32, end: u8, out: &mut Vec<u8>) {
        let pieces = block.chunks(self.settings.frame);
        let last = pieces.len() - 1;
        for (place, piece) in pieces.enumerate() {
            let (kind, end) = if place == 0 { (kind::HEADERS, end) } else { (kind::CONTINUATION, 0) };
            frame::whole(kind, end | if place == last { END_HEADERS } else { 0 }, id, piece, out);
        }
    }

    /// Waits no longer for the answer to a request, and tells the server.
    pub fn cancel(&mut self, number: u32) {
        if let Some(place) = find(&self.streams, stream(number)) {
            self.remove(place);
            self.reset(stream(number), Code::CANCEL);
        }
    }

    /// Tells the server that no more requests follow.
    pub fn finish(&mut self) {
        self.leave(Code::NONE);
    }

    fn leave(&mut self, code: Code) {
        // We take no streams of the server's, so the last of them is 0.
        let [a, b, c, d] = code.0.to_be_bytes();
        frame::whole(kind::GOAWAY, 0, 0, &[0, 0, 0, 0, a, b, c, d], &mut self.replies);
    }

    fn reset(&mut self, stream: u32, code: Code) {
        frame::number(kind::RST_STREAM, stream, code.0, &mut self.replies);
    }

    /// Sends on the bodies whose windows have opened.
    fn send_bodies(&mut self) {
        for stream in self.streams.iter_mut().filter(|stream| stream.unsent.is_some()) {
            if self.window <= 0 {
                break;
            }
            let whole = stream.send(&mut self.window, self.settings.frame, &mut self.replies);
            self.unsent -= usize::from(whole);
        }
    }

    fn remove(&mut self, place: usize) -> Stream<A> {
        let stream = self.streams.remove(place).expect("it was found there");
        self.unsent -= usize::from(stream.unsent.is_some());
        stream
    }
}

// The server's side.
impl<A: Answer> Connection<A> {
    /// Reads on, with the unused bytes and the new ones: at most one frame.
    ///
    /// Errors: the connection cannot be used further; [`Connection::speak`] has the reason for the server.
    #[inline]
    pub fn next(&mut self, bytes: &[u8]) -> Result<Step<A>, Defect> {
        let step = match self.at {
            At::Frame => self.frame(bytes),
            At::Data(data) => Ok(self.data(data, 0, bytes)),
            At::Skip(left) => Ok(self.skip(left, 0, bytes)),
        };
        if let Err(defect) = &step {
            self.leave(defect.code());
        }
        step
    }

    fn frame(&mut self, bytes: &[u8]) -> Result<Step<A>, Defect> {
        let Some(head) = FrameHead::read(bytes) else { return Ok(Step::More) };
        if !self.settled && (head.kind != kind::SETTINGS || head.has(ACK)) {
            return Err(Defect::NotHttp2);
        }
        if head.length > FRAME_MAX {
            return Err(Defect::FrameTooLong(head.length));
        }
        let expects = self.gathering.map(|(stream, _)| (kind::CONTINUATION, stream));
        if expects.is_some_and(|expected| expected != (head.kind, head.stream)) {
            return Err(Defect::HeadInterrupted);
        }
        if head.kind == kind::DATA {
            return self.begin_data(head, bytes);
        }
        if head.kind > kind::CONTINUATION || head.kind == kind::PRIORITY {
            self.idles()?;
            return Ok(self.skip(head.length, HEAD, bytes));
        }
        let used = HEAD + head.length;
        let Some(payload) = bytes.get(HEAD..used) else { return Ok(Step::More) };
        match head.kind {
            kind::HEADERS => self.headers(head, payload, used),
            kind::CONTINUATION => self.continuation(head, payload, used),
            kind::RST_STREAM => self.was_reset(head, payload, used),
            kind::SETTINGS => self.set(head, payload, used),
            kind::PING => self.ping(head, payload, used),
            kind::GOAWAY => self.server_leaves(head, payload, used),
            kind::WINDOW_UPDATE => self.window_moves(head, payload, used),
            // Of the ten kinds only PUSH_PROMISE is left.
            _ => Err(Defect::Push),
        }
    }

    /// A frame that belongs to no answer.
    fn idles(&mut self) -> Result<(), Defect> {
        self.idle += 1;
        if self.idle > FLOOD_MAX { Err(Defect::Flood) } else { Ok(()) }
    }

    /// Checks that a frame is on a stream that we have opened.
    fn check_stream(&self, name: &'static str, head: FrameHead) -> Result<(), Defect> {
        if head.stream.is_multiple_of(2) || head.stream > self.last {
            return Err(Defect::Misplaced(name, head.stream));
        }
        Ok(())
    }

    fn skip(&mut self, left: usize, used: usize, bytes: &[u8]) -> Step<A> {
        let here = left.min(bytes.len() - used);
        self.at = if here == left { At::Frame } else { At::Skip(left - here) };
        Step::Used(used + here)
    }

    fn begin_data(&mut self, head: FrameHead, bytes: &[u8]) -> Result<Step<A>, Defect> {
        self.check_stream("DATA", head)?;
        let (mut used, mut body, mut padding) = (HEAD, head.length, 0);
        if head.has(PADDED) {
            if head.length == 0 {
                return Err(Defect::Padding);
            }
            let Some(length) = bytes.get(HEAD) else { return Ok(Step::More) };
            used += 1;
            padding = usize::from(*length);
            body = (body - 1).checked_sub(padding).ok_or(Defect::Padding)?;
        }
        let length = head.length as u32;
        self.taken += length;
        if self.taken > CONNECTION_WINDOW {
            return Err(Defect::WindowExceeded);
        }
        if self.taken >= CONNECTION_WINDOW / 2 {
            frame::number(kind::WINDOW_UPDATE, 0, self.taken, &mut self.replies);
            self.taken = 0;
        }
        let end = head.has(END_STREAM);
        let left = Data { stream: head.stream, body, padding, end };
        if let Some(place) = find(&self.streams, head.stream) {
            self.idle = 0;
            let stream = &mut self.streams[place];
            stream.taken += length;
            if stream.taken > STREAM_WINDOW {
                return Err(Defect::WindowExceeded);
            }
            if stream.taken >= STREAM_WINDOW / 2 && !end {
                frame::number(kind::WINDOW_UPDATE, head.stream, stream.taken, &mut self.replies);
                stream.taken = 0;
            }
            let is_longer = |length: u64| stream.body + body as u64 > length;
            let fault = match stream.length {
                _ if stream.status == 0 => Some("its body comes before its head"),
                Some(length) if is_longer(length) => Some("its body is longer than its content-length"),
                _ => None,
            };
            if let Some(fault) = fault {
                // The received part of the frame is skipped.
                let failed = self.fail(place, fault);
                let Step::Used(used) = self.data(left, used, bytes) else {
                    unreachable!("the stream is gone")
                };
                return Ok(ended(failed, used));
            }
        }
        Ok(self.data(left, used, bytes))
    }

    /// Reads on in a DATA frame.
    fn data(&mut self, mut left: Data, used: usize, bytes: &[u8]) -> Step<A> {
        let rest = &bytes[used..];
        let body = left.body.min(rest.len());
        let padding = left.padding.min(rest.len() - body);
        (left.body, left.padding) = (left.body - body, left.padding - padding);
        let used = used + body + padding;
        let done = left.body + left.padding == 0;
        self.at = if done { At::Frame } else { At::Data(left) };
        let Some(place) = find(&self.streams, left.stream) else { return Step::Used(used) };
        let stream = &mut self.streams[place];
        stream.body += body as u64;
        if body > 0 {
            stream.answer.body(&rest[..body]);
        }
        if done && left.end {
            self.end(place, used)
        } else {
            Step::Part { used, number: number(left.stream) }
        }
    }

    /// An answer is whole.
    fn end(&mut self, place: usize, used: usize) -> Step<A> {
        let stream = self.remove(place);
        if stream.unsent.is_some() {
            // Answered early; the rest of the request's body is of no use.
            self.reset(stream.id, Code::CANCEL);
        }
        let outcome = match stream.length {
            Some(length) if length != stream.body => {
                Err(Failure::Malformed("its body is shorter than its content-length"))
            }
            _ => Ok(Response { status: stream.status, body: stream.body }),
        };
        Step::Ended { used, number: number(stream.id), outcome, answer: stream.answer }
    }

    /// An answer is malformed.
    #[cold]
    fn fail(&mut self, place: usize, why: &'static str) -> (Stream<A>, Failure) {
        let stream = self.remove(place);
        self.reset(stream.id, Code::PROTOCOL);
        (stream, Failure::Malformed(why))
    }

    fn headers(&mut self, head: FrameHead, payload: &[u8], used: usize) -> Result<Step<A>, Defect> {
        self.check_stream("HEADERS", head)?;
        let mut block = payload;
        if head.has(PADDED) {
            let (padding, rest) = payload.split_first().ok_or(Defect::Padding)?;
            let length = rest.len().checked_sub((*padding).into()).ok_or(Defect::Padding)?;
            block = &rest[..length];
        }
        if head.has(PRIORITIZED) {
            block = block.get(5..).ok_or(Defect::FrameLength("HEADERS"))?;
        }
        let end = head.has(END_STREAM);
        if head.has(END_HEADERS) {
            return self.fields((head.stream, end), block, used);
        }
        self.block.clear();
        self.block.extend_from_slice(block);
        self.gathering = Some((head.stream, end));
        Ok(Step::Used(used))
    }

    fn continuation(&mut self, head: FrameHead, payload: &[u8], used: usize) -> Result<Step<A>, Defect> {
        let Some(whose) = self.gathering else {
            return Err(Defect::Misplaced("CONTINUATION", head.stream));
        };
        if self.block.len() + payload.len() > HEAD_MAX {
            return Err(Defect::HeadTooLong);
        }
        self.block.extend_from_slice(payload);
        if !head.has(END_HEADERS) {
            self.idles()?;
            return Ok(Step::Used(used));
        }
        self.gathering = None;
        let block = std::mem::take(&mut self.block);
        self.fields(whose, &block, used)
    }

    /// A head, or trailers, are whole.
    fn fields(&mut self, (id, end): (u32, bool), block: &[u8], used: usize) -> Result<Step<A>, Defect> {
        let Some(place) = find(&self.streams, id) else {
            // The table has to be kept all the same.
            self.decoder.decode(block, |_, _| {})?;
            return Ok(Step::Used(used));
        };
        self.idle = 0;
        let stream = &mut self.streams[place];
        let are_trailers = stream.status > 0;
        let (mut status, mut regular, mut fault) = (0, false, None);
        self.decoder.decode(block, |name, value| {
            if name.starts_with(b":") {
                if name != b":status" || are_trailers || regular || status > 0 {
                    fault = Some("a field such as :status where it cannot be");
                }
                status = three_digits(value);
                return;
            }
            regular = true;
            if !is_field_name(name) {
                fault = Some("a field whose name HTTP/2 does not allow");
            }
            if are_trailers || status < 200 {
                return;
            }
            if name == b"content-length" {
                let length = digits(value);
                if length.is_none() || stream.length.is_some_and(|known| Some(known) != length) {
                    fault = Some("its content-length is not a number, or there are several");
                }
                stream.length = length;
            }
            stream.answer.field(status, name, value);
        })?;
        fault = fault.or(match (are_trailers, status, end) {
            (true, _, false) => Some("fields after its body that do not end it"),
            (false, 0..100 | 101, _) => Some("its status is not a number from 100 to 999, or is 101"),
            (false, 100..200, true) => Some("it ends with an interim status"),
            _ => None,
        });
        if let Some(fault) = fault {
            return Ok(ended(self.fail(place, fault), used));
        }
        if !are_trailers && status >= 200 {
            stream.status = status;
            if stream.bodiless || matches!(status, 204 | 304) {
                stream.length = Some(0);
            }
        }
        Ok(if end { self.end(place, used) } else { Step::Part { used, number: number(id) } })
    }

    fn was_reset(&mut self, head: FrameHead, payload: &[u8], used: usize) -> Result<Step<A>, Defect> {
        self.check_stream("RST_STREAM", head)?;
        if payload.len() != 4 {
            return Err(Defect::FrameLength("RST_STREAM"));
        }
        let Some(place) = find(&self.streams, head.stream) else { return Ok(Step::Used(used)) };
        let failure = Failure::Reset(Code(frame::first_number(payload)));
        Ok(ended((self.remove(place), failure), used))
    }

    fn set(&mut self, head: FrameHead, payload: &[u8], used: usize) -> Result<Step<A>, Defect> {
        self.of_connection("SETTINGS", head)?;
        self.idles()?;
        if head.has(ACK) {
            return if payload.is_empty() {
                Ok(Step::Used(used))
            } else {
                Err(Defect::FrameLength("SETTINGS"))
            };
        }
        let before = self.settings.window;
        self.settings.take(payload)?;
        self.settled = true;
        let more = i64::from(self.settings.window) - i64::from(before);
        for stream in &mut self.streams {
            stream.window += more;
            if stream.window > WINDOW_MAX {
                return Err(Defect::Window);
            }
        }
        frame::whole(kind::SETTINGS, ACK, 0, &[], &mut self.replies);
        self.send_bodies();
        Ok(Step::Settings { used, streams: self.settings.streams })
    }

    fn ping(&mut self, head: FrameHead, payload: &[u8], used: usize) -> Result<Step<A>, Defect> {
        self.of_connection("PING", head)?;
        self.idles()?;
        if payload.len() != 8 {
            return Err(Defect::FrameLength("PING"));
        }
        if !head.has(ACK) {
            frame::whole(kind::PING, ACK, 0, payload, &mut self.replies);
        }
        Ok(Step::Used(used))
    }

    fn of_connection(&self, name: &'static str, head: FrameHead) -> Result<(), Defect> {
        if head.stream == 0 { Ok(()) } else { Err(Defect::Misplaced(name, head.stream)) }
    }

    fn server_leaves(&mut self, head: FrameHead, payload: &[u8], used: usize) -> Result<Step<A>, Defect> {
        /// Of the server's words. Source: two thirds of a terminal's line of 120 characters.
        const WORDS: usize = 80;
        self.of_connection("GOAWAY", head)?;
        self.idles()?;
        let Some((numbers, words)) = payload.split_at_checked(8) else {
            return Err(Defect::FrameLength("GOAWAY"));
        };
        let last = (frame::first_number(numbers) & 0x7fff_ffff).min(self.last);
        while self.streams.back().is_some_and(|stream| stream.id > last) {
            self.remove(self.streams.len() - 1);
        }
        let code = Code(frame::first_number(&numbers[4..]));
        let words = words[..words.len().min(WORDS)].escape_ascii().to_string();
        Ok(Step::Leaving { used, last: number(last), code, words })
    }

    fn window_moves(&mut self, head: FrameHead, payload: &[u8], used: usize) -> Result<Step<A>, Defect> {
        if payload.len() != 4 {
            return Err(Defect::FrameLength("WINDOW_UPDATE"));
        }
        let more = i64::from(frame::first_number(payload) & 0x7fff_ffff);
        if head.stream == 0 {
            self.window += more;
            if more == 0 || self.window > WINDOW_MAX {
                return Err(Defect::Window);
            }
        } else {
            self.check_stream("WINDOW_UPDATE", head)?;
            let Some(place) = find(&self.streams, head.stream) else { return Ok(Step::Used(used)) };
            let stream = &mut self.streams[place];
            stream.window += more;
            if more == 0 || stream.window > WINDOW_MAX {
                let why = "its window is more than 2147483647 B, or is moved by 0 B";
                return Ok(ended(self.fail(place, why), used));
            }
        }
        if self.unsent > 0 {
            self.send_bodies();
        }
        Ok(Step::Used(used))
    }
}

/// Whether a field may have this name. Source: RFC 9113 §8.2.
fn is_field_name(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| !byte.is_ascii_uppercase() && (b'!'..0x7f).contains(byte) && *byte != b':';
    let of_connections = || OF_CONNECTIONS.iter().any(|forbidden| forbidden.as_bytes() == name);
    !name.is_empty() && name.iter().all(is_allowed) && !of_connections()
}

/// The status of these digits; 0 for anything else.
fn three_digits(value: &[u8]) -> u16 {
    match value {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            let digit = |byte: &u8| u16::from(byte - b'0');
            100 * digit(a) + 10 * digit(b) + digit(c)
        }
        _ => 0,
    }
}

fn digits(value: &[u8]) -> Option<u64> {
    let are_digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| are_digits)?.parse().ok()
}
