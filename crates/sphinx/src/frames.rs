use std::borrow::Cow;
use std::collections::VecDeque;

use proto_memcache::client::udp::{Arrived, Header, Reassembly};

/// Datagrams of one peer that may wait for those before them.
///
/// The requests of one peer are answered one after the other, so that each reply is complete before it is numbered.
const WAITING_MAX: usize = 64;

/// State of a peer that sends datagrams: each starts with a header of 8 bytes, and contains one request or several.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The number of the request that is being answered.
    answers: Option<u16>,
    /// Requests received in the meantime: number and text.
    waiting: VecDeque<(u16, Vec<u8>)>,
    /// The request of which some datagrams are here.
    partial: Option<Box<Partial>>,
    /// Total size of both. Units: bytes.
    held: usize,
    /// Whether the reply grew too long to be sent.
    pub(crate) too_long: bool,
}

/// Datagrams of a request that is not whole.
#[derive(Debug)]
struct Partial {
    request: u16,
    parts: Reassembly,
    /// The second in which the last of them arrived.
    heard: u32,
}

impl Frames {
    /// Takes a datagram in the second `now`; returns the text of its request if it is complete, and to be served now.
    ///
    /// With a `limit` of 0 only requests that can be served now are kept. Of larger requests only the one with the
    /// latest number is kept, up to `limit` bytes: if a peer begins another one, the first will not be completed.
    /// Errors: too many wait, or it can belong to no request that is taken; it is dropped.
    pub(crate) fn take<'b>(
        &mut self,
        datagram: &'b [u8],
        limit: usize,
        now: u32,
    ) -> Result<Option<Cow<'b, [u8]>>, ()> {
        let Some((header, text)) = Header::read(datagram) else { return Ok(None) };
        let text = match header.count {
            0 => return Ok(None),
            1 => Cow::Borrowed(text),
            _ => match self.join(header.request, datagram, limit, now)? {
                Some(text) => Cow::Owned(text),
                None => return Ok(None),
            },
        };
        if self.answers.is_none() {
            self.answers = Some(header.request);
            return Ok(Some(text));
        }
        // Waiting requests take memory, as parts do.
        if self.waiting.len() >= WAITING_MAX || limit == 0 {
            return Err(());
        }
        self.held += text.len();
        self.waiting.push_back((header.request, text.into_owned()));
        Ok(None)
    }

    /// Adds a datagram to the others of its request; returns the request if it is complete.
    #[cold]
    fn join(&mut self, request: u16, datagram: &[u8], limit: usize, now: u32) -> Result<Option<Vec<u8>>, ()> {
        if self.partial.as_ref().is_some_and(|partial| partial.request != request) {
            self.forget_partial();
        }
        let partial = self
            .partial
            .get_or_insert_with(|| Box::new(Partial { request, parts: Reassembly::default(), heard: now }));
        let before = partial.parts.memory();
        let joined = match partial.parts.push(datagram, limit) {
            Arrived::Partial { .. } => {
                partial.heard = now;
                self.held += partial.parts.memory() - before;
                return Ok(None);
            }
            Arrived::Duplicate => return Ok(None),
            Arrived::Whole { reply, .. } => Ok(Some(reply.to_vec())),
            Arrived::Broken(_) => Err(()),
        };
        self.forget_partial();
        joined
    }

    /// The second in which the last datagram of an incomplete request arrived, if there is one.
    pub(crate) fn partial_heard(&self) -> Option<u32> {
        self.partial.as_ref().map(|partial| partial.heard)
    }

    pub(crate) fn forget_partial(&mut self) {
        self.partial = None;
        self.held = self.waiting.iter().map(|(_, text)| text.len()).sum();
    }

    /// Bytes kept until they can be served. Units: bytes.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// The request that is being answered is done with; returns its number, and the text of the next.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.too_long = false;
        let (request, text) = self.waiting.pop_front().unzip();
        self.held -= text.as_ref().map_or(0, Vec::len);
        self.answers = request;
        text
    }

    pub(crate) fn answers(&self) -> Option<u16> {
        self.answers
    }
}

/// The datagrams of a reply: header and text of each.
///
/// Bounds: a reply longer than 65 535 datagrams (91 MB) cannot be numbered and yields none; no reply is that long.
pub(crate) fn datagrams(request: u16, text: &[u8]) -> impl Iterator<Item = (Header, &[u8])> {
    let chunks = text.chunks(Header::DATAGRAM_MAX - Header::SIZE);
    let count = u16::try_from(chunks.len()).unwrap_or(0);
    chunks
        .take(usize::from(count))
        .zip(0..)
        .map(move |(chunk, sequence)| (Header { request, sequence, count }, chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(request: u16, sequence: u16, count: u16, text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        Header { request, sequence, count }.append(&mut bytes);
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    #[test]
    fn datagrams_are_served_one_after_the_other() {
        let mut frames = Frames::default();
        let mut take = |datagram: &[u8]| frames.take(datagram, 100, 1).map(|text| text.map(Cow::into_owned));
        assert_eq!(take(b"short"), Ok(None));
        assert_eq!(take(&datagram(1, 0, 0, "a part")), Ok(None));
        assert_eq!(take(&datagram(7, 0, 1, "first")), Ok(Some(b"first".to_vec())));
        assert_eq!(frames.take(&datagram(8, 0, 1, "later"), 0, 1), Err(()), "nothing is kept without memory");
        assert_eq!((frames.next(), frames.held()), (None, 0));
        let mut take = |datagram: &[u8]| frames.take(datagram, 100, 1).map(|text| text.map(Cow::into_owned));
        assert_eq!(take(&datagram(7, 0, 1, "first")), Ok(Some(b"first".to_vec())));
        for i in 0..WAITING_MAX as u16 {
            assert_eq!(take(&datagram(8 + i, 0, 1, "later")), Ok(None));
        }
        assert_eq!(take(&datagram(99, 0, 1, "too many")), Err(()));
        assert_eq!(frames.held(), WAITING_MAX * 5);
        for i in 0..WAITING_MAX as u16 {
            assert_eq!(frames.answers(), Some(7 + i));
            assert_eq!(frames.next().as_deref(), Some(&b"later"[..]));
        }
        assert_eq!(frames.next(), None);
        assert_eq!((frames.answers(), frames.held()), (None, 0));
    }

    #[test]
    fn a_request_of_several_datagrams_is_put_together() {
        let mut frames = Frames::default();
        let mut take = |datagram: &[u8]| frames.take(datagram, 20, 1).map(|text| text.map(Cow::into_owned));
        assert_eq!(take(&datagram(1, 1, 2, "never whole")), Ok(None));
        assert_eq!(take(&datagram(2, 2, 3, "c")), Ok(None));
        assert_eq!(take(&datagram(2, 0, 3, "a")), Ok(None));
        assert_eq!(take(&datagram(2, 0, 3, "twice")), Ok(None));
        assert_eq!(take(&datagram(2, 1, 3, "b")), Ok(Some(b"abc".to_vec())));
        // Datagrams that arrive while it is answered wait, complete or not.
        assert_eq!(take(&datagram(3, 0, 2, "d")), Ok(None));
        assert_eq!(take(&datagram(3, 1, 2, "e")), Ok(None));
        assert_eq!(take(&datagram(4, 0, 2, "more than there is room for")), Err(()));
        assert_eq!(take(&datagram(4, 2, 2, "no such number")), Err(()));
        assert_eq!(frames.held(), 2);
        assert_eq!(frames.next().as_deref(), Some(&b"de"[..]));
        assert_eq!((frames.answers(), frames.held()), (Some(3), 0));
    }

    #[test]
    fn parts_count_with_the_memory_that_they_take() {
        let mut frames = Frames::default();
        let most = datagram(1, 0, u16::MAX, "");
        assert_eq!(frames.take(&most, 0, 5), Err(()), "without memory nothing is begun");
        assert_eq!((frames.held(), frames.partial_heard()), (0, None));
        assert_eq!(frames.take(&most, 1 << 20, 5), Ok(None));
        assert!((1..=100).contains(&frames.held()), "{} B for 8", frames.held());
        assert_eq!(frames.take(&datagram(1, 7, u16::MAX, &"x".repeat(1000)), 1 << 20, 9), Ok(None));
        assert!((1000..3000).contains(&frames.held()), "{} B for 1000", frames.held());
        assert_eq!(frames.take(&datagram(1, 7, u16::MAX, "twice"), 1 << 20, 11), Ok(None));
        assert_eq!(frames.partial_heard(), Some(9), "what is here already is nothing new");
        frames.forget_partial();
        assert_eq!((frames.held(), frames.partial_heard()), (0, None));
    }

    #[test]
    fn long_replies_are_cut_up() {
        let check = |length: usize, expect: &[usize]| {
            let text: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let parts: Vec<_> = datagrams(5, &text).collect();
            assert_eq!(parts.iter().map(|(_, part)| part.len()).collect::<Vec<_>>(), expect);
            for (i, (header, _)) in parts.iter().enumerate() {
                let expect = Header { request: 5, sequence: i as u16, count: expect.len() as u16 };
                assert_eq!(*header, expect);
            }
            assert_eq!(parts.iter().map(|(_, part)| *part).collect::<Vec<_>>().concat(), text);
        };
        check(0, &[]);
        check(1392, &[1392]);
        check(1393, &[1392, 1]);
        check(3000, &[1392, 1392, 216]);
    }
}
