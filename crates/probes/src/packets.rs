//! Times of requests by their packets: a packet socket sees them, the kernel stamps them, and their position in the stream
//! pairs requests with answers. Independent of the programs of the stages and of the generator.

#[cfg(feature = "bpf")]
pub(crate) mod capture;
mod filter;
mod log;

use std::collections::HashMap;

pub use log::PacketLog;

/// TCP data in one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// The client's address and port.
    pub client: (u128, u16),
    pub to_server: bool,
    /// Begin and end of its data in the stream.
    pub from: u32,
    pub to: u32,
}

/// Parses a packet that begins with IP's header; `None` unless it has data from or to one of `ports`.
pub(crate) fn parse(bytes: &[u8], ports: &[u16]) -> Option<Packet> {
    let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let (offset, length, addresses) = match bytes.first()? >> 4 {
        4 if *bytes.get(9)? == 6 => (usize::from(bytes[0] & 15) * 4, usize::from(word(2)?), (12, 16, 4)),
        6 if *bytes.get(6)? == 6 => (40, usize::from(word(4)?) + 40, (8, 24, 16)),
        _ => return None,
    };
    let (source, destination) = (word(offset)?, word(offset + 2)?);
    let to_server = ports.contains(&destination);
    if !to_server && !ports.contains(&source) {
        return None;
    }
    let (of_source, of_destination, size) = addresses;
    let at = if to_server { of_source } else { of_destination };
    let address = bytes.get(at..at + size)?.iter().fold(0, |sum: u128, byte| sum << 8 | u128::from(*byte));
    let header = usize::from(bytes.get(offset + 12)? >> 4) * 4;
    let data = length.checked_sub(offset + header).filter(|data| *data > 0)?;
    let from = u32::from(word(offset + 4)?) << 16 | u32::from(word(offset + 6)?);
    let client = (address, if to_server { source } else { destination });
    Some(Packet { client, to_server, from, to: from.wrapping_add(data as u32) })
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The client's port, and the end of the request in its stream.
    pub key: (u16, u32),
    /// The stamp of the request's last packet. Units: ns of the wall clock.
    pub asked_ns: u64,
    /// The stamp of the response's last packet. Units: ns of the wall clock.
    pub answered_ns: u64,
}

impl Answered {
    /// Time from the request to its response. Units: ns.
    pub fn took_ns(&self) -> u64 {
        self.answered_ns.saturating_sub(self.asked_ns)
    }
}

/// Times of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// The pairs of request and response.
    pub requests: Vec<Answered>,
    /// Requests that came before the previous one was answered: responses cannot be assigned to them.
    pub mixed: u64,
    /// Packets dropped for lack of room in the socket.
    pub dropped: u64,
}

/// A request and the part of its response seen so far.
struct Pair {
    end: u32,
    arrived_ns: u64,
    /// The last part of the response: its start, and when it was first seen.
    answer: Option<(u32, u64)>,
    is_mixed: bool,
}

/// Assigns packets to requests and responses.
#[derive(Default)]
pub(crate) struct Pairing {
    open: HashMap<(u128, u16), Pair>,
    timed: Timed,
}

impl Pairing {
    /// Adds a packet with its stamp `at_ns`.
    ///
    /// On loopback and behind a bridge, one packet is seen more than once: for a request the last sighting counts, when
    /// it reaches the server's side; for a response the first, when it leaves it.
    pub(crate) fn enter(&mut self, packet: Packet, at_ns: u64) {
        let newer = |a: u32, b: u32| (a.wrapping_sub(b) as i32) > 0;
        if !packet.to_server {
            let Some(pair) = self.open.get_mut(&packet.client) else { return };
            if pair.answer.is_none_or(|(from, _)| newer(packet.from, from)) {
                pair.answer = Some((packet.from, at_ns));
            }
            return;
        }
        let mut is_mixed = false;
        if let Some(pair) = self.open.get_mut(&packet.client) {
            if !newer(packet.to, pair.end) {
                if packet.to == pair.end && pair.answer.is_none() {
                    pair.arrived_ns = pair.arrived_ns.max(at_ns);
                }
                return;
            }
            if pair.answer.is_none() {
                is_mixed = true;
                self.timed.mixed += 1;
            }
        }
        let next = Pair { end: packet.to, arrived_ns: at_ns, answer: None, is_mixed };
        if let Some(done) = self.open.insert(packet.client, next) {
            self.timed.close(packet.client.1, &done);
        }
    }

    /// Stops. The last request of each connection counts if it was answered.
    pub(crate) fn finish(mut self, dropped: u64) -> Timed {
        for ((_, port), pair) in &self.open {
            self.timed.close(*port, pair);
        }
        self.timed.dropped = dropped;
        self.timed
    }
}

impl Timed {
    fn close(&mut self, port: u16, pair: &Pair) {
        if let (Some((_, at)), false) = (pair.answer, pair.is_mixed) {
            let key = (port, pair.end);
            self.requests.push(Answered { key, asked_ns: pair.arrived_ns, answered_ns: at });
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A packet of IP and TCP with `data` bytes from this place in the stream on.
    pub(crate) fn ipv4(source: u16, destination: u16, from: u32, data: u16) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        bytes.extend((20 + 20 + data).to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2]);
        bytes.extend(source.to_be_bytes());
        bytes.extend(destination.to_be_bytes());
        bytes.extend(from.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0x50, 0x18, 1, 1, 0, 0, 0, 0]);
        bytes
    }

    /// The same over IPv6.
    fn ipv6(source: u16, destination: u16, from: u32, data: u16) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((20 + data).to_be_bytes());
        bytes.extend([6, 64]);
        bytes.extend([(1_u128 << 64 | 2).to_be_bytes(), 3_u128.to_be_bytes()].concat());
        bytes.extend(&ipv4(source, destination, from, data)[20..]);
        bytes
    }

    #[test]
    fn reads_packets_with_data() {
        let packet = |client, to_server, from, to| Some(Packet { client, to_server, from, to });
        let check = |bytes: &[u8], expect: Option<Packet>| assert_eq!(parse(bytes, &[80]), expect);
        check(&ipv4(5000, 80, 7, 10), packet((0x7f00_0001, 5000), true, 7, 17));
        check(&ipv4(80, 5000, 7, 10), packet((0x7f00_0002, 5000), false, 7, 17));
        check(&ipv4(5000, 80, 7, 0), None);
        check(&ipv4(5000, 81, 7, 10), None);
        let whole = ipv6(5000, 80, 7, 10);
        check(&whole, packet((1 << 64 | 2, 5000), true, 7, 17));
        // The ports, the position and the length of the header are in the first 53 bytes, or 33 with IPv4.
        (0..53).for_each(|length| check(&whole[..length], None));
        (0..33).for_each(|length| check(&ipv4(5000, 80, 7, 10)[..length], None));
        // A header that is longer than the packet, and other protocols.
        for (at, byte) in [(32, 0xf0), (9, 17), (0, 0x55)] {
            let mut wrong = ipv4(5000, 80, 7, 10);
            wrong[at] = byte;
            check(&wrong, None);
        }
    }

    proptest::proptest! {
        #[test]
        fn survives_any_bytes(bytes: Vec<u8>) {
            parse(&bytes, &[80]);
        }
    }

    #[test]
    fn pairs_requests_with_answers() {
        let check = |packets: &[(bool, u32, u32, u64)], requests: &[(u32, u64)], mixed: u64| {
            let mut pairing = Pairing::default();
            for &(to_server, from, to, at) in packets {
                pairing.enter(Packet { client: (1, 1), to_server, from, to }, at);
            }
            let timed = pairing.finish(3);
            let times: Vec<_> = timed.requests.iter().map(|one| (one.key, one.took_ns())).collect();
            let expect: Vec<_> = requests.iter().map(|&(end, ns)| ((1, end), ns)).collect();
            assert_eq!((times, timed.mixed, timed.dropped), (expect, mixed, 3), "{packets:?}");
        };
        let (ask, answer) = (true, false);
        check(&[], &[], 0);
        check(&[(answer, 0, 5, 10)], &[], 0);
        // Seen twice each, as on loopback.
        check(&[(ask, 0, 5, 100), (ask, 0, 5, 110), (answer, 0, 9, 150), (answer, 0, 9, 160)], &[(5, 40)], 0);
        // A response of two parts ends with the second; the next request begins a new pair.
        check(
            &[
                (ask, 0, 5, 100),
                (answer, 0, 9, 150),
                (answer, 9, 20, 170),
                (ask, 5, 9, 200),
                (answer, 20, 21, 230),
            ],
            &[(5, 70), (9, 30)],
            0,
        );
        // The second request comes before the first is answered.
        check(
            &[
                (ask, 0, 5, 100),
                (ask, 5, 9, 120),
                (answer, 0, 9, 150),
                (ask, 9, 12, 200),
                (answer, 9, 10, 210),
            ],
            &[(12, 10)],
            1,
        );
        // Positions in a stream wrap after 2³².
        check(
            &[(ask, u32::MAX - 1, 3, 100), (answer, 0, 9, 150), (ask, 3, 9, 200), (answer, 9, 12, 220)],
            &[(3, 50), (9, 20)],
            0,
        );
    }
}
