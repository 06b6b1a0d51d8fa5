use serde::{Deserialize, Serialize};
use units::{Nanos, Time};

/// A turn of the pacing loop may take this long without being a stall...
pub const STALL_THRESHOLD: Nanos = Nanos::from_micros(100);
/// ...and this much longer for each send or receive in it, twice the cost of one on a slow virtual machine...
const PER_ACTION: Nanos = Nanos::from_micros(12);
/// ...for each connection that it opens: over loopback the server's side is established within the call, in 60 to 150 µs...
const PER_CONNECT: Nanos = Nanos::from_micros(200);
/// ...and for each byte received, which is copied and checked: checking a page for its required content takes 2 to 3
/// ns a byte.
const PER_BYTE: Nanos = Nanos(5);
/// The backlog of a stall is worked off within this multiple of its length. Source: a server that is busy for a share
/// ρ of its time works off the requests of a span in ρ / (1 − ρ) of it, nine times as long if ρ is 90 %.
const WORKED_OFF: u64 = 9;
/// Stalls kept one by one; beyond, they are only counted.
const KEPT: usize = 4_096;

/// The generator's work in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Sends, receives, and other events of connections.
    pub(crate) actions: usize,
    /// Connections that were opened.
    pub(crate) connects: usize,
    /// Bytes that were received.
    pub(crate) bytes: usize,
}

impl Work {
    /// The longest time that it takes without a stall.
    fn at_most(self) -> Nanos {
        let times = |each: Nanos, count: usize| Nanos(each.0 * count as u64);
        times(PER_ACTION, self.actions) + times(PER_CONNECT, self.connects) + times(PER_BYTE, self.bytes)
    }
}

/// A time in which the generator's thread did not run although it wanted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// Its begin.
    pub from: Time,
    /// Its length.
    pub span: Nanos,
}

impl Stall {
    /// When the thread ran again.
    pub(crate) fn end(&self) -> Time {
        self.from + self.span
    }

    /// The latest end of working off its backlog.
    pub(crate) fn worked_off_by(&self) -> Time {
        self.end() + Nanos(self.span.0.saturating_mul(WORKED_OFF))
    }
}

/// Watches the generator's own loop: how busy it is, and whether the machine lets it run.
///
/// The loop spins, so it is itself the canary: a turn that takes far longer than its work is time that the
/// hypervisor, an interrupt or another process took.
#[derive(Debug)]
pub(crate) struct Pacing {
    last: Time,
    /// Whether no turn has ended yet.
    first: bool,
    busy: Nanos,
    idle: Nanos,
    starved: Nanos,
    pub(crate) stalls: Vec<Stall>,
    pub(crate) stall_count: u64,
}

/// How a span of time was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeSpent {
    pub(crate) busy: Nanos,
    pub(crate) idle: Nanos,
    /// Requests were due, the server had none outstanding, and yet nothing was sent.
    pub(crate) starved: Nanos,
}

impl Pacing {
    pub(crate) fn new(now: Time) -> Pacing {
        Pacing {
            last: now,
            first: true,
            busy: Nanos::ZERO,
            idle: Nanos::ZERO,
            starved: Nanos::ZERO,
            stalls: Vec::with_capacity(64),
            stall_count: 0,
        }
    }

    /// When the last turn ended.
    pub(crate) fn last(&self) -> Time {
        self.last
    }

    /// A turn ends at `now`: it waited for `waited`, did `work`, and, if `starving`, left the server without work
    /// that was available. The time in which it was `absent`, whose arrivals are withheld, is neither work nor a
    /// stall.
    pub(crate) fn turn(&mut self, now: Time, waited: Nanos, absent: Nanos, work: Work, starving: bool) {
        // Waiting before the start does not count for the first turn.
        let waited = if std::mem::take(&mut self.first) { Nanos::ZERO } else { waited };
        self.idle += absent;
        let took = now.since(self.last) - waited - absent;
        self.idle += waited;
        if work != Work::default() {
            self.busy += took
        } else {
            self.idle += took
        }
        if starving {
            self.starved += took;
        }
        if took > STALL_THRESHOLD + work.at_most() {
            self.stall_count += 1;
            if self.stalls.len() < KEPT {
                self.stalls.push(Stall { from: now - took, span: took });
            }
        }
        self.last = now;
    }

    /// Forgets the stalls whose backlog is worked off at `opens`: the requests that they hit are not recorded.
    pub(crate) fn forget_stalls_before(&mut self, opens: Time) {
        self.stalls.retain(|stall| stall.worked_off_by() > opens);
        self.stall_count = self.stalls.len() as u64;
    }

    /// Takes the time spent since the last call.
    pub(crate) fn take(&mut self) -> TimeSpent {
        let spent = TimeSpent { busy: self.busy, idle: self.idle, starved: self.starved };
        (self.busy, self.idle, self.starved) = Default::default();
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Work = Work { actions: 0, connects: 0, bytes: 0 };

    fn actions(actions: usize) -> Work {
        Work { actions, ..NONE }
    }

    #[test]
    fn tells_work_from_waiting_from_stalls() {
        let mut pacing = Pacing::new(Time(0));
        pacing.turn(Time(1_000), Nanos::ZERO, Nanos::ZERO, NONE, false);
        pacing.turn(Time(11_000), Nanos::ZERO, Nanos::ZERO, actions(2), false);
        pacing.turn(Time(511_000), Nanos(500_000), Nanos::ZERO, NONE, false);
        assert_eq!(
            pacing.take(),
            TimeSpent { busy: Nanos(10_000), idle: Nanos(501_000), starved: Nanos::ZERO }
        );
        assert_eq!(pacing.stall_count, 0);
        pacing.turn(Time(911_000), Nanos::ZERO, Nanos::ZERO, NONE, true);
        assert_eq!(pacing.stalls, [Stall { from: Time(511_000), span: Nanos(400_000) }]);
        assert_eq!(pacing.take().starved, Nanos(400_000));
    }

    #[test]
    fn a_turn_full_of_work_is_no_stall() {
        let stalls = |work: Work, us: u64| {
            let mut pacing = Pacing::new(Time(0));
            pacing.turn(Time(us * 1_000), Nanos::ZERO, Nanos::ZERO, work, false);
            pacing.stall_count
        };
        for (work, us) in [
            (NONE, 100),
            (actions(64), 868),
            (Work { connects: 2, ..actions(4) }, 548),
            (Work { bytes: 200_000, ..actions(3) }, 1_136),
        ] {
            assert_eq!((stalls(work, us), stalls(work, us + 1)), (0, 1), "{work:?}");
        }
    }
}
