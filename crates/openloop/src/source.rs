use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use units::{Nanos, Time};

use crate::{Arrival, Schedule};

/// A client of a closed loop whose request failed asks again after this long, so that a dead server is not
/// asked in a tight loop.
const AFTER_ERROR: Nanos = Nanos::from_millis(100);

/// The source of one thread's arrivals.
pub(crate) enum Source {
    /// A schedule that nothing holds up.
    Open(Schedule),
    /// Clients that wait for their answers: coordinated omission by construction, wanted for comparison only.
    Closed(Clients),
}

impl Source {
    /// When the next arrival is due; [`Time::NEVER`] while all clients wait for answers.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        match self {
            Source::Open(schedule) => schedule.peek().intended,
            Source::Closed(clients) => clients.due(),
        }
    }

    /// Takes the next arrival, and its client, where arrivals come from clients.
    #[inline]
    pub(crate) fn take(&mut self) -> (Arrival, Option<u32>) {
        match self {
            Source::Open(schedule) => (schedule.take(), None),
            Source::Closed(clients) => {
                let (arrival, client) = clients.take();
                (arrival, Some(client))
            }
        }
    }

    /// About how many arrivals are due by `now` and not taken.
    pub(crate) fn overdue(&self, now: Time) -> u64 {
        match self {
            Source::Open(schedule) => schedule.overdue(now),
            Source::Closed(clients) => clients.overdue(now),
        }
    }

    /// The request of `client` has ended, or their session.
    #[inline]
    pub(crate) fn ended(&mut self, client: u32, at: Time, failed: bool) {
        if let Source::Closed(clients) = self {
            clients.ended(client, at, failed);
        }
    }
}

/// The clients of a closed loop, each with at most one request, or session, under way.
pub(crate) struct Clients {
    think: Nanos,
    /// The clients that have no request under way, by the moment at which they ask again.
    ready: BinaryHeap<Reverse<(Time, u32)>>,
    next_seq: u64,
    shares: u64,
}

impl Clients {
    /// The clients of thread `share` of `shares` that ask at `start`; others are busy until then.
    pub(crate) fn new(ready: Range<u32>, think: Nanos, start: Time, share: u32, shares: u32) -> Clients {
        let ready = ready.map(|client| Reverse((start, client))).collect();
        Clients { think, ready, next_seq: u64::from(share), shares: u64::from(shares) }
    }

    fn due(&self) -> Time {
        self.ready.peek().map_or(Time::NEVER, |&Reverse((due, _))| due)
    }

    fn take(&mut self) -> (Arrival, u32) {
        let Reverse((intended, client)) = self.ready.pop().expect("one is due");
        let seq = self.next_seq;
        self.next_seq += self.shares;
        (Arrival { seq, intended }, client)
    }

    fn overdue(&self, now: Time) -> u64 {
        self.ready.iter().filter(|Reverse((due, _))| *due <= now).count() as u64
    }

    fn ended(&mut self, client: u32, at: Time, failed: bool) {
        let pause = if failed { self.think.max(AFTER_ERROR) } else { self.think };
        self.ready.push(Reverse((at + pause, client)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_asks_again_after_its_answer_and_its_thought() {
        let mut clients = Clients::new(0..2, Nanos(10), Time(100), 1, 3);
        let (first, a) = clients.take();
        assert_eq!((first, a), (Arrival { seq: 1, intended: Time(100) }, 0));
        let (second, b) = clients.take();
        assert_eq!((second.seq, b, clients.due()), (4, 1, Time::NEVER));
        clients.ended(b, Time(150), false);
        clients.ended(a, Time(120), true);
        assert_eq!(clients.due(), Time(160));
        assert_eq!(clients.overdue(Time(160)), 1);
        assert_eq!(clients.take().0.intended, Time(160));
        assert_eq!(clients.due(), Time(120) + AFTER_ERROR);
    }
}
