use std::collections::VecDeque;

use reactor::queue::{Consumer, Producer, bounded};
use reactor::{Doorbell, Waker};

use crate::message::{Answer, Ask};

/// One thread's way to another, and back.
///
/// ```text
///   this thread ──asks──▶ peer          at most `capacity` asks are under way or unanswered,
///   this thread ◀─answers── peer        so neither queue is ever full when something is pushed
///   this thread ◀──asks── peer          the same the other way round
///   this thread ──answers──▶ peer
/// ```
///
/// That is the whole of the back-pressure: a thread with `capacity` asks outstanding reads no more requests that need
/// the peer, and continues to answer the peer's, for which there is always room. So no two threads can wait for each
/// other, and nothing is dropped. The same holds for the bytes of large asks, so that values in transit take little
/// memory: an ask with a value is a copy of it.
pub(crate) struct Link<W: Waker> {
    asks_out: Producer<Ask>,
    answers_in: Consumer<Answer>,
    asks_in: Consumer<Ask>,
    answers_out: Producer<Answer>,
    doorbell: Doorbell<W>,
    capacity: usize,
    /// Asks that were sent, and those of them that were answered, in the same order.
    asked: u64,
    answered: u64,
    /// The number and the length of each large ask that was not answered.
    large: VecDeque<(u64, usize)>,
    /// Their total size. Units: bytes.
    large_bytes: usize,
    /// Whether messages were pushed since the peer was last notified.
    pushed: bool,
}

/// Least size of a large ask, which counts against the budget of connections' memory. Units: bytes. Smaller ones, 1024
/// at most by default, add 4 MiB.
pub(crate) const LARGE: usize = 4 << 10;
/// Bytes of outstanding large asks above which no more are sent. Units: bytes. Source: a MiB is copied in some 0.1 ms,
/// so the peer has work for longer than it takes to wake it.
const LARGE_MAX: usize = 4 << 20;

impl<W: Waker> Link<W> {
    /// The two ends of a link; each gets the doorbell of the other.
    pub(crate) fn pair(capacity: usize, first: Doorbell<W>, second: Doorbell<W>) -> (Link<W>, Link<W>) {
        let (asks_to_second, asks_of_first) = bounded(capacity);
        let (asks_to_first, asks_of_second) = bounded(capacity);
        let (answers_to_second, answers_for_second) = bounded(capacity);
        let (answers_to_first, answers_for_first) = bounded(capacity);
        let link = |asks_out, answers_in, asks_in, answers_out, doorbell| Link {
            asks_out,
            answers_in,
            asks_in,
            answers_out,
            doorbell,
            capacity,
            asked: 0,
            answered: 0,
            large: VecDeque::new(),
            large_bytes: 0,
            pushed: false,
        };
        (
            link(asks_to_second, answers_for_first, asks_of_second, answers_to_second, second),
            link(asks_to_first, answers_for_second, asks_of_first, answers_to_first, first),
        )
    }

    /// Asks that were sent and not answered.
    #[inline]
    pub(crate) fn unanswered(&self) -> usize {
        (self.asked - self.answered) as usize
    }

    /// Bytes of the unanswered large asks. Units: bytes.
    #[inline]
    pub(crate) fn large_bytes(&self) -> usize {
        self.large_bytes
    }

    /// Whether the peer can be asked for something more.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.unanswered() < self.capacity && self.large_bytes < LARGE_MAX
    }

    /// Asks the peer; the caller has made sure of [`Link::has_room`].
    #[inline]
    pub(crate) fn ask(&mut self, ask: Ask) {
        let length = ask.buffer.len();
        if length >= LARGE {
            self.large.push_back((self.asked, length));
            self.large_bytes += length;
        }
        self.asked += 1;
        self.pushed = true;
        let pushed = self.asks_out.push(ask);
        assert!(pushed.is_ok(), "the queue holds as many asks as may be unanswered");
    }

    #[inline]
    pub(crate) fn next_ask(&mut self) -> Option<Ask> {
        self.asks_in.pop()
    }

    #[inline]
    pub(crate) fn answer(&mut self, answer: Answer) {
        self.pushed = true;
        let pushed = self.answers_out.push(answer);
        assert!(pushed.is_ok(), "the queue holds as many answers as there may be asks");
    }

    #[inline]
    pub(crate) fn next_answer(&mut self) -> Option<Answer> {
        let answer = self.answers_in.pop()?;
        if let Some((_, length)) = self.large.pop_front_if(|(number, _)| *number == self.answered) {
            self.large_bytes -= length;
        }
        self.answered += 1;
        Some(answer)
    }

    /// Has `wake` wake the peer if something was pushed and it sleeps; returns whether it did.
    #[inline]
    pub(crate) fn ring(&mut self, wake: impl FnOnce(&W)) -> bool {
        std::mem::take(&mut self.pushed) && self.doorbell.ring_by(wake)
    }

    /// Whether the peer has sent no messages.
    #[inline]
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.asks_in.is_empty() && self.answers_in.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use reactor::Conn;

    use super::*;
    use crate::message::{Extra, Task, Ticket, Work};

    #[derive(Clone)]
    struct Count(Arc<AtomicUsize>);

    impl Waker for Count {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ask(n: u64) -> Ask {
        let ticket = Ticket { conn: Conn { slot: 0, generation: 0 }, reply: Some(n) };
        Ask { ticket, work: Work::Everywhere(Task::Report), buffer: Vec::new() }
    }

    fn answer(link: &mut Link<Count>, expect: u64) {
        let Ask { ticket, buffer, .. } = link.next_ask().unwrap();
        assert_eq!(ticket.reply, Some(expect));
        link.answer(Answer { ticket, buffer, extra: Extra::None });
    }

    #[test]
    fn asks_are_bounded_until_they_are_answered() {
        let bell = || Doorbell::new(Count(Arc::default()));
        let (mut a, mut b) = Link::pair(2, bell(), bell());
        for round in 0..10 {
            for n in 0..2 {
                assert!(a.has_room() && b.has_room());
                a.ask(ask(round * 2 + n));
                b.ask(ask(100 + round * 2 + n));
            }
            // Both are out of room, and still both can answer.
            assert!(!a.has_room() && !b.has_room());
            for n in 0..2 {
                answer(&mut b, round * 2 + n);
                answer(&mut a, 100 + round * 2 + n);
            }
            for link in [&mut a, &mut b] {
                assert!(!link.is_quiet());
                assert!(link.next_answer().is_some() && link.has_room());
                assert!(link.next_answer().is_some() && link.next_answer().is_none());
                assert!(link.is_quiet());
            }
        }
    }

    #[test]
    fn the_bytes_of_asks_are_bounded_until_they_are_answered() {
        let bell = || Doorbell::new(Count(Arc::default()));
        let (mut a, mut b) = Link::pair(1024, bell(), bell());
        let large = LARGE_MAX / 4;
        for round in 0..3 {
            for n in 0..8 {
                assert!(a.has_room(), "{round} {n}");
                // Small ones between them are counted by their number alone.
                let length = if n % 2 == 0 { LARGE - 1 } else { large };
                a.ask(Ask { buffer: vec![0; length], ..ask(n) });
            }
            assert!(!a.has_room());
            for n in 0..8 {
                answer(&mut b, n);
                assert!(a.next_answer().is_some());
                assert_eq!(a.has_room(), n > 0, "{round} {n}");
            }
            assert_eq!((a.unanswered(), a.large_bytes, a.large.len()), (0, 0, 0));
        }
    }

    #[test]
    fn only_a_sleeping_peer_is_woken_and_only_once() {
        let woken = Count(Arc::default());
        let bell = Doorbell::new(woken.clone());
        let (mut a, _b) = Link::pair(8, Doorbell::new(Count(Arc::default())), bell.clone());
        a.ask(ask(0));
        assert!(!a.ring(Waker::wake));
        bell.going_to_sleep();
        assert!(!a.ring(Waker::wake), "nothing was pushed since");
        a.ask(ask(1));
        a.ask(ask(2));
        assert!(a.ring(Waker::wake));
        a.ask(ask(3));
        assert!(!a.ring(Waker::wake));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    }
}
