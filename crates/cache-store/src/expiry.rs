use proto_memcache::limits::RELATIVE_EXPTIME_MAX;

/// When an item ends.
///
/// Units: seconds on the clock of `now`, which must be Unix time for clients' absolute times to be right. Shape: 0 is
/// never, 1 is long past; as in memcached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry(u32);

impl Expiry {
    /// The item never expires.
    pub const NEVER: Expiry = Expiry(0);
    /// The item has ended already.
    pub const PAST: Expiry = Expiry(1);

    /// Interprets a client's `exptime` at `now`: 0 never, below 0 past, up to 30 days a span, above a date.
    pub fn from_exptime(exptime: i32, now: u32) -> Expiry {
        match i64::from(exptime) {
            0 => Expiry::NEVER,
            ..0 => Expiry::PAST,
            span if span <= RELATIVE_EXPTIME_MAX => Expiry(now.saturating_add(span as u32)),
            date if date <= i64::from(now) => Expiry::PAST,
            date => Expiry(date as u32),
        }
    }

    /// The same for an `exptime` of the binary protocol, which is unsigned.
    pub fn from_unsigned(exptime: u32, now: u32) -> Expiry {
        i32::try_from(exptime).map_or(Expiry(exptime), |exptime| Expiry::from_exptime(exptime, now))
    }

    /// Whether it is over at `now`.
    #[inline]
    pub fn is_over(self, now: u32) -> bool {
        self.0 != 0 && self.0 <= now
    }

    /// The seconds left at `now`; `None` for no expiry, 0 if expired.
    pub fn left(self, now: u32) -> Option<u32> {
        (self.0 != 0).then(|| self.0.saturating_sub(now))
    }

    /// Whether it expires before `other`; false if it never expires.
    pub fn is_before(self, other: Expiry) -> bool {
        self.0 != 0 && self.0 < other.0
    }

    /// The first second at which the item is expired; `u32::MAX` if it never expires.
    pub(crate) fn moment(self) -> u32 {
        if self.0 == 0 { u32::MAX } else { self.0 }
    }

    pub(crate) fn to_u32(self) -> u32 {
        self.0
    }

    pub(crate) fn from_u32(expiry: u32) -> Expiry {
        Expiry(expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exptimes_mean_what_memcached_says() {
        const NOW: u32 = 1_700_000_000;
        // The seconds from now at which it is first over, if ever.
        let check = |exptime: i32, first: Option<i64>| {
            let expiry = Expiry::from_exptime(exptime, NOW);
            let over = |after: i64| expiry.is_over((i64::from(NOW) + after) as u32);
            match first {
                None => assert!(!over(0) && !expiry.is_over(u32::MAX), "{exptime}"),
                Some(first) => assert!(over(first) && (first == 0 || !over(first - 1)), "{exptime}"),
            }
        };
        check(0, None);
        check(-1, Some(0));
        check(i32::MIN, Some(0));
        check(1, Some(1));
        check(2_592_000, Some(2_592_000));
        check(2_592_001, Some(0));
        check(NOW as i32, Some(0));
        check(NOW as i32 + 5, Some(5));
        for exptime in [0, 1, NOW, NOW + 5] {
            assert_eq!(Expiry::from_unsigned(exptime, NOW), Expiry::from_exptime(exptime as i32, NOW));
        }
        assert_eq!(Expiry::from_unsigned(u32::MAX, NOW).left(NOW), Some(u32::MAX - NOW));
    }

    #[test]
    fn what_is_left_counts_down_to_0() {
        let check = |expiry: Expiry, now: u32, expect: Option<u32>| assert_eq!(expiry.left(now), expect);
        check(Expiry::NEVER, 100, None);
        check(Expiry(105), 100, Some(5));
        check(Expiry(105), 105, Some(0));
        check(Expiry::PAST, 105, Some(0));
    }

    #[test]
    fn never_is_before_nothing() {
        let check = |a: Expiry, b: Expiry, expect: bool| assert_eq!(a.is_before(b), expect, "{a:?} {b:?}");
        check(Expiry(5), Expiry(6), true);
        check(Expiry(5), Expiry(5), false);
        check(Expiry(5), Expiry::NEVER, false);
        check(Expiry::NEVER, Expiry(5), false);
        check(Expiry::PAST, Expiry(5), true);
    }
}
