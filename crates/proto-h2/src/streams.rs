use std::collections::VecDeque;
use std::sync::Arc;

use crate::frame::{self, END_STREAM, kind};

/// The status of an answer, and the length of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// From 200 to 999.
    pub status: u16,
    /// Bytes of the body, padding left out.
    pub body: u64,
}

/// A request whose answer is not whole.
#[derive(Debug)]
pub(crate) struct Stream<A> {
    pub(crate) id: u32,
    pub(crate) answer: A,
    /// Of its answer's head; 0 before that.
    pub(crate) status: u16,
    /// The length of the body that the head states.
    pub(crate) length: Option<u64>,
    pub(crate) body: u64,
    /// Whether the answer has no body, also if its head states a length.
    pub(crate) bodiless: bool,
    /// Received since its window was last moved.
    pub(crate) taken: u32,
    /// Bytes of the body that the server still takes.
    pub(crate) window: i64,
    /// The request's body, and how much of it is sent.
    pub(crate) unsent: Option<(Arc<[u8]>, usize)>,
}

impl<A> Stream<A> {
    /// Sends as much of its body as both windows allow. Returns whether that was the end of it.
    pub(crate) fn send(&mut self, connection: &mut i64, frame_max: usize, out: &mut Vec<u8>) -> bool {
        let Some((body, sent)) = &mut self.unsent else { return false };
        while *sent < body.len() {
            let room = self.window.min(*connection).clamp(0, frame_max as i64);
            let length = (body.len() - *sent).min(room as usize);
            if length == 0 {
                return false;
            }
            let is_last = *sent + length == body.len();
            frame::head(length, kind::DATA, if is_last { END_STREAM } else { 0 }, self.id, out);
            out.extend_from_slice(&body[*sent..*sent + length]);
            *sent += length;
            self.window -= length as i64;
            *connection -= length as i64;
        }
        self.unsent = None;
        true
    }
}

/// The place of a stream among those under way, which are in the order of their numbers; `None` if it has ended.
#[inline]
pub(crate) fn find<A>(streams: &VecDeque<Stream<A>>, id: u32) -> Option<usize> {
    match streams.front() {
        Some(oldest) if oldest.id == id => Some(0),
        _ => streams.binary_search_by_key(&id, |stream| stream.id).ok(),
    }
}
