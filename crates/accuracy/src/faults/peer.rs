//! The protocol between a simulated generator and a simulated server.

use std::collections::BTreeMap;

use openloop::{Parsed, Parts, Workload};
use reactor::sim::Program;
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::faults::chance::Chance;
use crate::faults::service::{Queue, Service};

/// Sends the number of each arrival, and expects `ok`: `0 17` and `0 ok`, where 0 is the datagram's tag.
pub(crate) struct Numbers;

impl Workload for Numbers {
    type Job = u64;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["number".into()]
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<u64>) -> usize {
        parts.push(0, seq);
        0
    }

    fn request(&mut self, job: &mut u64, tag: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{tag} {job}\n").as_bytes());
    }

    fn response(&mut self, _: &mut u64, (): &mut (), bytes: &[u8]) -> Parsed<u64> {
        let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return Parsed::Partial };
        let answer = &bytes[..end];
        if answer.ends_with(b" ok") {
            return Parsed::done(end + 1, Ok(()));
        }
        let said = String::from_utf8_lossy(answer).into_owned();
        if answer.ends_with(b" no") {
            return Parsed::done(end + 1, Err(openloop::Fault::new("wrong answer", said)));
        }
        Parsed::Garbage(said)
    }

    fn tag(&self, datagram: &[u8]) -> Option<u16> {
        std::str::from_utf8(datagram).ok()?.split(' ').next()?.parse().ok()
    }

    fn datagram(&mut self, job: &mut u64, wire: &mut (), datagram: &[u8]) -> Parsed<u64> {
        self.response(job, wire, datagram)
    }
}

/// Wrong handling of some requests by a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misdeed {
    /// Closes the connection.
    Closes,
    /// Answers, and also answers the next request before it arrives.
    AnswersEarly,
    /// Sends a wrong response.
    AnswersWrong,
}

/// A misdeed, and the share of affected requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Odd {
    pub(crate) misdeed: Misdeed,
    pub(crate) share: f64,
    pub(crate) seed: u64,
}

impl Odd {
    /// Whether request `seq` is affected.
    pub(crate) fn hits(&self, seq: u64) -> bool {
        Chance::of(self.seed, "odd", seq).unit() < self.share
    }
}

/// A response that waits for its departure time.
struct Answer {
    conn: Conn,
    tag: String,
    misdeed: Option<Misdeed>,
}

/// A server with known times: one queue, or any number of requests at once if they are datagrams. On a stream,
/// overtaking responses would be matched to the wrong requests.
pub(crate) struct Peer {
    queue: Queue,
    odd: Option<Odd>,
    /// Period at whose multiples responses leave; each closes its connection.
    ends_each: Option<Nanos>,
    /// By departure time, then by arrival order.
    due: BTreeMap<(Time, u64), Answer>,
    entered: u64,
}

impl Peer {
    pub(crate) fn new(service: Service, odd: Option<Odd>, ends_each: Option<Nanos>) -> Peer {
        Peer { queue: Queue::new(service), odd, ends_each, due: BTreeMap::new(), entered: 0 }
    }

    fn take(&mut self, conn: Conn, at: Time, request: &str) {
        let Some((tag, seq)) = request.split_once(' ') else { return };
        let Ok(seq) = seq.parse() else { return };
        let done = self.queue.enter(at, seq);
        let done = self.ends_each.map_or(done, |each| Time(done.0.next_multiple_of(each.0)));
        let misdeed = self.odd.filter(|odd| odd.hits(seq)).map(|odd| odd.misdeed);
        self.entered += 1;
        self.due.insert((done, self.entered), Answer { conn, tag: tag.into(), misdeed });
    }
}

impl Answer {
    fn send<R: Reactor>(&self, reactor: &mut R) {
        let Answer { conn, tag, misdeed } = self;
        let words = match misdeed {
            Some(Misdeed::Closes) => return reactor.close(*conn),
            Some(Misdeed::AnswersEarly) => format!("{tag} ok\n{tag} ok\n"),
            Some(Misdeed::AnswersWrong) => format!("{tag} no\n"),
            None => format!("{tag} ok\n"),
        };
        reactor.output(*conn).extend_from_slice(words.as_bytes());
        reactor.flush(*conn);
    }
}

impl<R: Reactor> Handler<R> for Peer {
    fn event(&mut self, _: &mut R, event: Event<'_>) {
        if let Event::Data { conn, at, bytes, .. } = event {
            String::from_utf8_lossy(bytes).lines().for_each(|request| self.take(conn, at, request));
        }
    }
}

impl<R: Reactor> Program<R> for Peer {
    fn step(&mut self, reactor: &mut R) -> bool {
        while let Some(first) = self.due.first_entry().filter(|first| first.key().0 <= reactor.now()) {
            let answer = first.remove();
            answer.send(reactor);
            if self.ends_each.is_some() {
                reactor.close(answer.conn);
            }
        }
        let next = self.due.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        reactor.poll(Wait::Sleep(next), self).expect("a simulated poll cannot fail");
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_good_wrong_or_none_at_all() {
        let answer = |bytes: &[u8]| Numbers.response(&mut 0, &mut (), bytes);
        assert_eq!(answer(b"0 o"), Parsed::Partial);
        assert_eq!(answer(b"0 ok\n0 ok\n"), Parsed::done(5, Ok(())));
        assert!(matches!(answer(b"0 no\n"), Parsed::Done { outcome: Err(_), used: 5, .. }));
        assert!(matches!(answer(b"HTTP/1.1\n"), Parsed::Garbage(_)));
        assert_eq!(Numbers.tag(b"77 ok\n"), Some(77));
        assert_eq!(Numbers.tag(b"\xff"), None);
    }

    #[test]
    fn a_share_of_the_requests_is_hit() {
        let odd = |share| Odd { misdeed: Misdeed::Closes, share, seed: 3 };
        let hits = |share: f64| (0..10_000).filter(|seq| odd(share).hits(*seq)).count();
        assert_eq!((hits(0.0), hits(1.0)), (0, 10_000));
        // Five standard deviations of a binomial count are 150.
        assert!((850..1_150).contains(&hits(0.1)), "{}", hits(0.1));
    }
}
