/// An index entry's record of its item's use, in 15 bits: whether it was read since it was stored, and when it was used
/// last.
///
/// ```text
///  14         13                      0
///  +---------+------------------------+
///  | fetched | second of a cycle + 1, |
///  |         | or 0: long ago         |
///  +---------+------------------------+
/// ```
///
/// Units: seconds. Bounds: the cycle has 16 383 of them. An item unused for half of it, 2¼ hours, has to be marked as
/// such before the other half is over ([`Usage::aged`]), or it would look more recently used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage(u16);

const CYCLE: u32 = (1 << (Usage::BITS - 1)) - 1;
/// Threads update their clocks every ms, so that one may see an entry that another made in the next second.
const AHEAD: u32 = 1;
const FETCHED: u16 = 1 << (Usage::BITS - 1);

impl Usage {
    pub(crate) const BITS: u32 = 15;

    /// The longest time that can be represented. Units: seconds.
    pub(crate) const IDLE_MAX: u32 = CYCLE / 2;

    #[inline]
    pub(crate) fn stored(now: u32) -> Usage {
        Usage(1 + (now % CYCLE) as u16)
    }

    #[inline]
    pub(crate) fn fetched(now: u32) -> Usage {
        Usage(Usage::stored(now).0 | FETCHED)
    }

    /// Usage of an item that is changed now in a way that clients do not see.
    pub(crate) fn changed(self, now: u32) -> Usage {
        Usage(Usage::stored(now).0 | self.0 & FETCHED)
    }

    #[inline]
    pub(crate) fn is_fetched(self) -> bool {
        self.0 & FETCHED != 0
    }

    /// Seconds since the last use; 0 also if that is in the second after `now`. Bounds: [`Usage::IDLE_MAX`].
    #[inline]
    pub(crate) fn idle(self, now: u32) -> u32 {
        match u32::from(self.0 & !FETCHED) {
            0 => Usage::IDLE_MAX,
            second => {
                let passed = (now % CYCLE + CYCLE - (second - 1)) % CYCLE;
                if passed >= CYCLE - AHEAD { 0 } else { passed.min(Usage::IDLE_MAX) }
            }
        }
    }

    /// The same, marked if it is long ago.
    pub(crate) fn aged(self, now: u32) -> Usage {
        self.aged_by(now, 0)
    }

    /// The same `passed` seconds after `then`, marked if it is long unused by that time.
    pub(crate) fn aged_by(self, then: u32, passed: u32) -> Usage {
        let idle = self.idle(then).saturating_add(passed);
        if idle < Usage::IDLE_MAX { self } else { Usage(self.0 & FETCHED) }
    }

    #[inline]
    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.0)
    }

    #[inline]
    pub(super) fn from_bits(bits: u64) -> Usage {
        Usage((bits & ((1 << Usage::BITS) - 1)) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_how_long_ago_and_whether_it_was_read() {
        let check = |at: u32, now: u32, expect: u32| {
            for usage in [Usage::stored(at), Usage::fetched(at)] {
                assert_eq!(usage.idle(now), expect, "{at} {now}");
                assert_eq!(Usage::from_bits(usage.to_bits()), usage);
            }
            assert!(Usage::fetched(at).is_fetched() && !Usage::stored(at).is_fetched());
        };
        for at in [0, 1, CYCLE - 1, CYCLE, 1_700_000_000, u32::MAX - CYCLE] {
            check(at, at, 0);
            check(at, at + 1, 1);
            check(at, at + 8190, 8190);
            check(at, at + 8191, 8191);
            check(at, at + 16_381, 8191);
        }
        // By the clock of a thread that lags a little.
        for (at, now) in [(101, 100), (CYCLE, CYCLE - 1), (1_700_000_001, 1_700_000_000)] {
            check(at, now, 0);
            assert_eq!(Usage::fetched(at).aged(now), Usage::fetched(at));
        }
        assert_eq!(Usage::default().idle(7), Usage::IDLE_MAX);
    }

    #[test]
    fn a_change_tells_the_time_and_keeps_the_rest() {
        assert_eq!(Usage::fetched(3).changed(9), Usage::fetched(9));
        assert_eq!(Usage::stored(3).changed(9), Usage::stored(9));
    }

    #[test]
    fn what_is_marked_in_time_stays_old() {
        let usage = Usage::fetched(100);
        assert_eq!(usage.aged(100 + 8190), usage);
        for late in [8191, 16_381] {
            let old = usage.aged(100 + late);
            assert!(old.is_fetched() && old.idle(100 + 2 * CYCLE) == Usage::IDLE_MAX);
        }
        assert_eq!(usage.aged_by(200, 8000), usage);
        assert_eq!(usage.aged_by(200, 8191), usage.aged(100 + 8191));
        // It has not been marked: a whole cycle later it looks new.
        assert_eq!(usage.idle(100 + CYCLE), 0);
    }
}
