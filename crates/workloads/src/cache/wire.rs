use openloop::Fault;
use proto_memcache::client::ResponseParser;
use proto_memcache::client::udp::Reassembly;
use proto_resp::client::{Limits, ReplyParser};

use crate::cache::KEYS_PER_GET_MAX;
use crate::cache::redis::Series;

/// The state of an incomplete answer: on a stream the oldest, over UDP the datagrams' own.
#[derive(Clone, Debug)]
pub struct Wire {
    pub(super) parser: ResponseParser,
    /// For several answers to one request: how many are read, and where the next starts.
    pub(super) answers: u32,
    pub(super) offset: usize,
    /// How many of them stored their item.
    pub(super) stored: u32,
    /// The first that did not.
    pub(super) fault: Option<Fault>,
    /// Whether the login was answered.
    pub(super) greeted: bool,
    /// By RESP: the oldest reply, whether the answer to `ASKING` was read, and the answers to several requests at once.
    pub(super) replies: ReplyParser,
    pub(super) asked: bool,
    pub(super) series: Series,
    pub(super) reassembly: Reassembly,
    /// Over UDP, the received part of a reply in several messages, and the end of each.
    pub(super) messages: Vec<u8>,
    pub(super) ends: Vec<usize>,
}

impl Wire {
    /// Adds a message to the reply; false if the same message has arrived before.
    pub(super) fn add_message(messages: &mut Vec<u8>, ends: &mut Vec<usize>, message: &[u8]) -> bool {
        let mut start = 0;
        for &end in ends.iter() {
            if &messages[start..end] == message {
                return false;
            }
            start = end;
        }
        messages.extend_from_slice(message);
        ends.push(messages.len());
        true
    }
}

impl Default for Wire {
    fn default() -> Wire {
        Wire {
            parser: ResponseParser::with_max_value(dist::Size::MAX.0 as usize),
            answers: 0,
            offset: 0,
            stored: 0,
            fault: None,
            replies: ReplyParser::with_limits(Limits {
                value: dist::Size::MAX.0 as usize,
                elements: KEYS_PER_GET_MAX,
            }),
            greeted: false,
            asked: false,
            series: Series::default(),
            reassembly: Reassembly::default(),
            messages: Vec::new(),
            ends: Vec::new(),
        }
    }
}
