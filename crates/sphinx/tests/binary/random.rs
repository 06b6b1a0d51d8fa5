//! The same random commands to both servers.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::SocketAddr;

use dist::{Purpose, Rng, Streams};
use proto_memcache::binary::testing::Packet;
use proto_memcache::binary::{NO_VIVIFY, Status, opcode};
use rand::RngExt;

use crate::binary::talk::{Answer, Pieces, Talk};
use crate::differential::Compared;
use crate::support::{Running, Words};

/// Batches of a sequence, and requests of a batch.
const BATCHES: usize = 8;
const REQUESTS: usize = 12;

/// The unique number that a request has.
#[derive(Clone, Copy, Debug)]
enum Cas {
    None,
    Wrong,
    /// The last that was seen before the batch.
    Last,
}

#[derive(Clone, Debug)]
struct Request {
    opcode: u8,
    key: &'static [u8],
    value: Vec<u8>,
    /// Two numbers of the extras, whichever there are.
    numbers: (u64, u64),
    exptime: u32,
    cas: Cas,
}

const KEYS: [&[u8]; 5] = [b"a", b"b", b"key.three", b"\x00\xff four\r\n", b"5"];
const VALUES: [&[u8]; 8] = [b"", b"0", b"7", b"18446744073709551615", b"text", b"12 ", b"\r\nEND\r\n", b"-3"];
/// Values without a `-`, which memcached 1.6.18 looks for behind a number from 2⁶³ on, in memory of earlier items.
const OLD_VALUES: usize = VALUES.len() - 1;
/// Never, spans that are longer than a test takes, a past date and a distant one.
const EXPTIMES: [u32; 5] = [0, 0, 1_000, 1_000_000_000, 4_000_000_000];

/// Whether a command counts a number up or down.
fn counts(opcode: u8) -> bool {
    matches!(opcode, opcode::INCREMENT..=opcode::DECREMENT | opcode::INCREMENTQ..=opcode::DECREMENTQ)
}

fn request(rng: &mut Rng, words: Words) -> Request {
    let pick = |rng: &mut Rng, from: &[u8]| from[rng.random_range(0..from.len())];
    let codes = [
        opcode::GET,
        opcode::GETQ,
        opcode::GETK,
        opcode::GETKQ,
        opcode::SET,
        opcode::SETQ,
        opcode::SET,
        opcode::ADD,
        opcode::ADDQ,
        opcode::REPLACE,
        opcode::REPLACEQ,
        opcode::APPEND,
        opcode::APPENDQ,
        opcode::PREPEND,
        opcode::PREPENDQ,
        opcode::DELETE,
        opcode::DELETEQ,
        opcode::INCREMENT,
        opcode::INCREMENTQ,
        opcode::DECREMENT,
        opcode::DECREMENTQ,
        opcode::TOUCH,
        opcode::GAT,
        opcode::GATQ,
        opcode::GATK,
        opcode::GATKQ,
        opcode::NOOP,
        opcode::FLUSHQ,
        0x40,
    ];
    let values = if words == Words::Old { OLD_VALUES } else { VALUES.len() };
    let mut value = VALUES[rng.random_range(0..values)].to_vec();
    if rng.random_range(0..12) == 0 {
        value = vec![pick(rng, b"xyz"); rng.random_range(0..30_000)];
    }
    let numbers = [0, 1, 2, 10, u64::from(u32::MAX), u64::MAX];
    let number = |rng: &mut Rng| numbers[rng.random_range(0..numbers.len())];
    let opcode = pick(rng, &codes);
    let exptime = match rng.random_range(0..3) {
        0 if counts(opcode) => NO_VIVIFY,
        _ => EXPTIMES[rng.random_range(0..EXPTIMES.len())],
    };
    let cas = match rng.random_range(0..6) {
        0 => Cas::Wrong,
        1 | 2 => Cas::Last,
        _ => Cas::None,
    };
    let key = KEYS[rng.random_range(0..KEYS.len())];
    Request { opcode, key, value, numbers: (number(rng), number(rng)), exptime, cas }
}

fn batch(rng: &mut Rng, words: Words) -> Vec<Request> {
    let requests: Vec<Request> = (0..rng.random_range(1..REQUESTS)).map(|_| request(rng, words)).collect();
    // While an answer with the item waits, memcached makes a new one instead of writing over it (`counted-while-sent`).
    let is_first =
        |(i, request): &(usize, &Request)| requests[..*i].iter().all(|other| other.key != request.key);
    let kept =
        requests.iter().enumerate().filter(|numbered| !counts(numbered.1.opcode) || is_first(numbered));
    kept.map(|(_, request)| request.clone()).collect()
}

impl Request {
    fn packet(&self, last: u64) -> Packet<'_> {
        let cas = match self.cas {
            Cas::None => 0,
            Cas::Wrong => u64::MAX - 5,
            Cas::Last => last,
        };
        let (first, second) = self.numbers;
        let packet = Packet::new(self.opcode).cas(cas);
        match self.opcode {
            opcode::NOOP | opcode::FLUSHQ | 0x40 => packet,
            opcode::SET | opcode::SETQ | opcode::ADD | opcode::ADDQ | opcode::REPLACE | opcode::REPLACEQ => {
                packet.key(self.key).store(first as u32, self.exptime).value(&self.value)
            }
            opcode::APPEND | opcode::APPENDQ | opcode::PREPEND | opcode::PREPENDQ => {
                packet.key(self.key).value(&self.value)
            }
            opcode::INCREMENT | opcode::INCREMENTQ | opcode::DECREMENT | opcode::DECREMENTQ => {
                packet.key(self.key).count(first, second, self.exptime)
            }
            opcode::TOUCH | opcode::GAT | opcode::GATQ | opcode::GATK | opcode::GATKQ => {
                packet.key(self.key).touch(self.exptime)
            }
            _ => packet.key(self.key),
        }
    }
}

type Sequence = Vec<Vec<Request>>;

/// The answers of each batch as text, with unique numbers by the order in which they were seen.
fn hold(sequence: &Sequence, address: SocketAddr, pieces: Pieces) -> Vec<String> {
    let mut talk = Talk::connect(address, pieces);
    talk.flush();
    let (mut last, mut seen, mut lines) = (u64::MAX - 7, HashMap::new(), Vec::new());
    for batch in sequence {
        let packets: Vec<Packet> = batch.iter().map(|request| request.packet(last)).collect();
        let first = talk.ask(Packet::new(opcode::NOOP)).remove(0).header.opaque;
        let (answers, closed) = talk.ask_all(&packets);
        lines.push(format!("batch{}", if closed { ", closed" } else { "" }));
        for answer in answers {
            let Answer { header, extras, key, value } = &answer;
            let next = seen.len();
            let cas = match header.cas {
                0 => 0,
                cas => {
                    last = cas;
                    *seen.entry(cas).or_insert(next) + 1
                }
            };
            let padded = if header.opcode == opcode::STAT { &value[..] } else { without_padding(value) };
            lines.push(format!(
                "request {}: {:#04x} {:?} {:?} {} {} cas {cas}",
                header.opaque - first,
                header.opcode,
                Status::of(header.status),
                extras,
                key.escape_ascii(),
                padded.escape_ascii(),
            ));
        }
    }
    lines
}

/// A number without trailing blanks. Listed: memcached does not always pad numbers that got shorter.
fn without_padding(value: &[u8]) -> &[u8] {
    let number = value.trim_ascii_end();
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    if is_number { number } else { value }
}

/// Compares the sequence of this seed.
pub(crate) fn compare(seed: u64, memcached: &Running, sphinx: &Running) -> Compared {
    let (words, memcached, sphinx) = (memcached.words, memcached.address, sphinx.address);
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x6269_6e64), 0);
    let mut sequence: Sequence = (0..rng.random_range(1..BATCHES)).map(|_| batch(&mut rng, words)).collect();
    let pieces = match rng.random_range(0..4) {
        0 => Pieces::Bytes,
        1 => Pieces::Whole,
        _ => Pieces::Random(seed),
    };
    let commands = sequence.iter().map(Vec::len).sum();
    let difference = |sequence: &Sequence| {
        let both = (hold(sequence, memcached, pieces), hold(sequence, sphinx, pieces));
        (both.0 != both.1).then_some(both)
    };
    let Some(both) = difference(&sequence) else { return Compared { commands, difference: None } };
    let (expect, got) = shrink(&mut sequence, both, difference);
    let mut text = String::new();
    for request in sequence.iter().flatten() {
        let length = request.value.len();
        let value = request.value[..length.min(40)].escape_ascii();
        let key = request.key.escape_ascii();
        let Request { opcode, numbers, exptime, cas, .. } = request;
        writeln!(text, "{opcode:#04x} '{key}' {numbers:?} {exptime} {cas:?} '{value}' ({length} B)").unwrap();
    }
    write!(text, "memcached answered\n{expect:#?}\nsphinx answered\n{got:#?}").unwrap();
    Compared { commands, difference: Some(text) }
}

/// Removes all parts that the difference does not need; returns the difference of the rest.
fn shrink<D>(sequence: &mut Sequence, mut last: D, difference: impl Fn(&Sequence) -> Option<D>) -> D {
    let mut at = (0, 0);
    while at.0 < sequence.len() {
        let mut shorter = sequence.clone();
        if at.1 < shorter[at.0].len() {
            shorter[at.0].remove(at.1);
            if let Some(found) = difference(&shorter) {
                (*sequence, last) = (shorter, found);
            } else {
                at.1 += 1;
            }
        } else {
            at = (at.0 + 1, 0);
        }
    }
    last
}
