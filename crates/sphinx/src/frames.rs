use std::collections::VecDeque;

use proto_memcache::client::udp::Header;

/// Datagrams of one peer that may wait for those before them.
///
/// The requests of one peer are answered one after the other, so that each reply is whole before it is numbered.
const WAITING_MAX: usize = 64;

/// What a peer has that sends datagrams: a header of 8 bytes stands before each, and one is one request, or several.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The number of the request that is being answered.
    answers: Option<u16>,
    /// Those that came meanwhile: number and text.
    waiting: VecDeque<(u16, Vec<u8>)>,
    /// Whether the reply grew too long to be sent.
    pub(crate) too_long: bool,
}

impl Frames {
    /// Takes a datagram; returns its text if it is to be served now.
    ///
    /// As in memcached, one that is a part of a larger message is dropped without an answer.
    /// Errors: too many wait, and it is dropped.
    pub(crate) fn take<'b>(&mut self, datagram: &'b [u8]) -> Result<Option<&'b [u8]>, ()> {
        let Some((header, text)) = Header::read(datagram).filter(|(header, _)| header.count == 1) else {
            return Ok(None);
        };
        if self.answers.is_none() {
            self.answers = Some(header.request);
            return Ok(Some(text));
        }
        if self.waiting.len() >= WAITING_MAX {
            return Err(());
        }
        self.waiting.push_back((header.request, text.to_vec()));
        Ok(None)
    }

    /// The request that is being answered is done with; returns its number, and the text of the next.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.too_long = false;
        let (request, text) = self.waiting.pop_front().unzip();
        self.answers = request;
        text
    }

    /// The number of the request that is being answered.
    pub(crate) fn answers(&self) -> Option<u16> {
        self.answers
    }
}

/// The datagrams of a reply: header and text of each.
///
/// Bounds: what is longer than 65 535 datagrams (91 MB) cannot be numbered and yields none; no reply gets there.
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
        assert_eq!(frames.take(b"short"), Ok(None));
        assert_eq!(frames.take(&datagram(1, 0, 2, "a part")), Ok(None));
        assert_eq!(frames.take(&datagram(1, 0, 0, "a part")), Ok(None));
        assert_eq!(frames.answers(), None);
        assert_eq!(frames.take(&datagram(7, 0, 1, "first")), Ok(Some(&b"first"[..])));
        for i in 0..WAITING_MAX as u16 {
            assert_eq!(frames.take(&datagram(8 + i, 0, 1, "later")), Ok(None));
        }
        assert_eq!(frames.take(&datagram(99, 0, 1, "too many")), Err(()));
        for i in 0..WAITING_MAX as u16 {
            assert_eq!(frames.answers(), Some(7 + i));
            assert_eq!(frames.next().as_deref(), Some(&b"later"[..]));
        }
        assert_eq!(frames.next(), None);
        assert_eq!(frames.answers(), None);
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
