use units::{Nanos, Time};

/// A look with this many events may have left some unread: each backend takes 64 at once.
const FULL_LOOK: usize = 64;

/// When the kernel was last asked for received data: the upper bound of how long an answer read now has lain unread.
///
/// It reads no clock of its own: the loop already has the times.
#[derive(Debug)]
pub(crate) struct Looks {
    /// Data received before this time has been read; data read now came later.
    complete: Time,
    /// Lower bound of the begin of the present look.
    asked: Time,
    /// The reactor's wait before the present look, as reported.
    waited: Nanos,
    /// How many looks have read all received data.
    number: u64,
}

/// The look in which an answer is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// How many looks before it have read all that had come in.
    pub(crate) number: u64,
    /// How long the answer may have lain there.
    pub(crate) gap: Nanos,
    /// How long the reactor has waited in it.
    pub(crate) waited: Nanos,
}

impl Looks {
    /// No data has been received before `now`.
    pub(crate) fn new(now: Time) -> Looks {
        Looks { complete: now, asked: now, waited: Nanos::ZERO, number: 0 }
    }

    /// A look begins, not before `now`; the reactor's last wait was `waited`.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time, waited: Nanos) {
        (self.asked, self.waited) = (now, waited);
    }

    /// A look ends with `events` events; the reactor reports that it waited for `waited`.
    #[inline]
    pub(crate) fn end(&mut self, events: usize, waited: Nanos) {
        if events >= FULL_LOOK {
            // Unread data may be as old as the data just read.
            return;
        }
        // All that came in until the reactor woke was read then.
        self.complete = self.asked + self.within(waited);
        self.number += 1;
    }

    /// How long the reactor has waited within the present look, given that it reports `waited`.
    ///
    /// A reactor on a real clock waits within the look. A simulated one has waited before it, and reports the same
    /// value as before.
    #[inline]
    fn within(&self, waited: Nanos) -> Nanos {
        if waited == self.waited { Nanos::ZERO } else { waited }
    }

    /// How long an answer read at `at` may have lain unread, in a look in which the reactor waited for `waited`:
    /// while it waited, no data had arrived.
    #[inline]
    pub(crate) fn gap(&self, at: Time, waited: Nanos) -> Nanos {
        at.since(self.complete) - waited
    }

    /// The present look, for an answer read at `at`.
    #[inline]
    pub(crate) fn at(&self, at: Time, waited: Nanos) -> Look {
        Look { number: self.number, gap: self.gap(at, waited), waited: self.within(waited) }
    }

    /// Whether at `now` nothing has come for `timeout` after `sent`; the reactor reports that it waited for `waited`. Answers
    /// that came while the thread was absent lie unread until the next look. A thread whose looks never read all that came
    /// decides after twice the time.
    pub(crate) fn is_silent(&self, sent: Time, timeout: Nanos, now: Time, waited: Nanos) -> bool {
        // A simulated reactor has waited since the last look, a real one within it.
        let since = if waited <= now.since(self.complete) { waited } else { Nanos::ZERO };
        (self.complete + since).since(sent) >= timeout || self.asked.since(sent) >= timeout + timeout
    }

    /// How many looks have read all received data.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_unanswered_once_a_look_after_its_deadline_found_nothing() {
        let timeout = Nanos(100);
        let mut looks = Looks::new(Time(0));
        let look = |looks: &mut Looks, at: u64, events| {
            looks.begin(Time(at), Nanos::ZERO);
            looks.end(events, Nanos::ZERO);
            looks.is_silent(Time(0), timeout, Time(at), Nanos::ZERO)
        };
        assert!(!look(&mut looks, 90, 0));
        // Absent until 500: the previous look does not cover the time since.
        assert!(!looks.is_silent(Time(0), timeout, Time(500), Nanos::ZERO));
        assert!(looks.is_silent(Time(0), timeout, Time(100), Nanos(10)), "a simulated wait");
        assert!(!look(&mut looks, 110, FULL_LOOK), "more may lie there");
        assert!(look(&mut looks, 120, 1));
        let mut busy = Looks::new(Time(0));
        assert!(!look(&mut busy, 199, FULL_LOOK));
        assert!(look(&mut busy, 200, FULL_LOOK));
    }

    #[test]
    fn an_answer_came_after_the_look_before() {
        let mut looks = Looks::new(Time(0));
        // Spinning: looks at 1000 and 2000, and something is read at 2300 that came after the first.
        looks.begin(Time(1_000), Nanos::ZERO);
        looks.end(0, Nanos::ZERO);
        looks.begin(Time(2_000), Nanos::ZERO);
        assert_eq!(looks.gap(Time(2_300), Nanos::ZERO), Nanos(1_300));
        looks.end(1, Nanos::ZERO);
        // Sleeping within the look: nothing was there at 3000, and 400 after waking an answer is read.
        looks.begin(Time(3_000), Nanos::ZERO);
        assert_eq!(looks.gap(Time(53_400), Nanos(50_000)), Nanos(1_400), "and the time between the looks");
        looks.end(1, Nanos(50_000));
        looks.begin(Time(54_000), Nanos(50_000));
        assert_eq!(looks.gap(Time(54_100), Nanos::ZERO), Nanos(1_100), "it woke at 53 000");
        // Simulated: it waited before the look, and says so from then on.
        let mut looks = Looks::new(Time(0));
        looks.begin(Time(1_000), Nanos(1_000));
        looks.end(1, Nanos(1_000));
        looks.begin(Time(9_000), Nanos(3_000));
        assert_eq!(looks.gap(Time(9_000), Nanos(3_000)), Nanos(5_000), "stalled for 5 of 8");
    }

    #[test]
    fn only_a_wait_within_the_look_is_one_of_the_look() {
        let check = |before: u64, reported: u64, expect: u64| {
            let mut looks = Looks::new(Time(0));
            looks.begin(Time(1_000), Nanos(before));
            let look = looks.at(Time(60_000), Nanos(reported));
            assert_eq!(look.waited, Nanos(expect), "{before}, {reported}");
            assert_eq!(look.gap, looks.gap(Time(60_000), Nanos(reported)), "{before}, {reported}");
        };
        // Spinning, and sleeping within the look.
        check(0, 0, 0);
        check(7_000, 0, 0);
        check(0, 50_000, 50_000);
        check(7_000, 50_000, 50_000);
        // Simulated: it has waited before.
        check(50_000, 50_000, 0);
    }

    #[test]
    fn a_full_look_leaves_something_behind() {
        let mut looks = Looks::new(Time(0));
        looks.begin(Time(1_000), Nanos::ZERO);
        looks.end(FULL_LOOK, Nanos::ZERO);
        looks.begin(Time(2_000), Nanos::ZERO);
        assert_eq!(looks.gap(Time(2_000), Nanos::ZERO), Nanos(2_000));
        looks.end(FULL_LOOK - 1, Nanos::ZERO);
        assert_eq!(looks.gap(Time(2_000), Nanos::ZERO), Nanos::ZERO);
    }
}
