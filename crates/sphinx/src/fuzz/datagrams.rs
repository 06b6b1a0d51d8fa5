use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use crate::frames::Frames;

/// In place of a datagram's length: the service of the present datagram ends.
const DONE: u8 = 255;
/// Datagrams that may wait.
const WAITING_MAX: usize = 64;

/// Most bytes of the datagrams of one request. Units: bytes.
const REQUEST_MAX: usize = 300;

/// Takes a peer's datagrams and has them served, and compares with a plain queue. Each follows one byte with its
/// length, and a 255 ends the service of the present one.
pub fn udp_requests(bytes: &[u8]) {
    let mut rest = bytes;
    let mut frames = Frames::default();
    // The request being served comes first.
    let mut line: VecDeque<(u16, Vec<u8>)> = VecDeque::new();
    let mut parts = Parts::default();
    while let Some((&length, after)) = rest.split_first() {
        rest = after;
        if length == DONE {
            line.pop_front();
            assert_eq!(frames.next().as_ref(), line.front().map(|(_, text)| text));
        } else {
            let (datagram, after) = rest.split_at(rest.len().min(usize::from(length)));
            rest = after;
            let expect = parts.whole(datagram).and_then(|whole| match whole {
                Some(_) if line.len() > WAITING_MAX => Err(()),
                Some(request) => {
                    line.push_back(request);
                    Ok((line.len() == 1).then(|| line[0].1.clone()))
                }
                None => Ok(None),
            });
            let taken = frames.take(datagram, REQUEST_MAX, 1);
            assert_eq!(taken.map(|text| text.map(Cow::into_owned)), expect);
        }
        assert_eq!(frames.answers(), line.front().map(|(request, _)| *request));
        let waiting: usize = line.iter().skip(1).map(|(_, text)| text.len()).sum();
        assert!(frames.held() >= waiting && frames.held() <= waiting + parts.memory_max());
    }
}

/// The datagrams of a request, by their numbers.
#[derive(Default)]
struct Parts {
    request: u16,
    count: u16,
    texts: BTreeMap<u16, Vec<u8>>,
}

impl Parts {
    fn length(&self) -> usize {
        self.texts.values().map(Vec::len).sum()
    }

    /// Most memory of their lists, which grow by doubling, from 4 places and 8 bytes on. Units: bytes.
    fn memory_max(&self) -> usize {
        (2 * self.texts.len()).max(4) * 12 + (2 * self.length()).max(8)
    }

    /// The request that is whole by this datagram.
    fn whole(&mut self, datagram: &[u8]) -> Result<Option<(u16, Vec<u8>)>, ()> {
        let Some((header, text)) = datagram.split_first_chunk::<8>() else { return Ok(None) };
        let number = |i: usize| u16::from_be_bytes([header[i], header[i + 1]]);
        let (request, sequence, count) = (number(0), number(2), number(4));
        if count < 2 {
            return Ok((count == 1).then(|| (request, text.to_vec())));
        }
        if self.request != request {
            self.texts.clear();
        }
        self.request = request;
        let fits = self.texts.is_empty() || self.count == count;
        if sequence >= count
            || !fits
            || usize::from(count) > REQUEST_MAX
            || self.length() + text.len() > REQUEST_MAX
        {
            self.texts.clear();
            return Err(());
        }
        self.count = count;
        self.texts.entry(sequence).or_insert_with(|| text.to_vec());
        if self.texts.len() < usize::from(count) {
            return Ok(None);
        }
        Ok(Some((request, std::mem::take(&mut self.texts).into_values().flatten().collect())))
    }
}
