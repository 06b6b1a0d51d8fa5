use units::{Nanos, Time};

/// Spans of time in which no byte leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stalls {
    /// None.
    #[default]
    None,
    /// One.
    Once {
        /// When it begins.
        from: Time,
        /// How long it takes.
        span: Nanos,
    },
    /// One after each span of time.
    Every {
        /// From when on spans are counted.
        start: Time,
        /// How long after the beginning of one the next begins. Bounds: over 0.
        every: Nanos,
        /// How long each takes.
        span: Nanos,
    },
}

impl Stalls {
    /// The end of the stall in progress at `now`; `None` without one.
    pub fn until(&self, now: Time) -> Option<Time> {
        match *self {
            Stalls::None => None,
            Stalls::Once { from, span } => (from <= now && now < from + span).then_some(from + span),
            Stalls::Every { start, every, span } => {
                let passed = now.since(start).0 / every.0.max(1);
                let from = start + Nanos(passed.saturating_mul(every.0));
                (passed > 0 && now < from + span).then_some(from + span)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_lasts_for_its_span() {
        let check = |stalls: Stalls, now: u64, expect: Option<u64>| {
            assert_eq!(stalls.until(Time(now)), expect.map(Time), "{stalls:?} at {now}");
        };
        check(Stalls::None, 5, None);
        let once = Stalls::Once { from: Time(100), span: Nanos(50) };
        check(once, 99, None);
        check(once, 100, Some(150));
        check(once, 149, Some(150));
        check(once, 150, None);
        let every = Stalls::Every { start: Time(1_000), every: Nanos(100), span: Nanos(10) };
        check(every, 5, None);
        check(every, 1_005, None);
        check(every, 1_099, None);
        check(every, 1_100, Some(1_110));
        check(every, 1_109, Some(1_110));
        check(every, 1_110, None);
        check(every, 1_204, Some(1_210));
    }
}
