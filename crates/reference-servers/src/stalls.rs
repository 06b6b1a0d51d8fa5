use units::{Nanos, Time};

/// Spans of time in which a server does not work, ascending and disjoint; the default is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalls(Spans);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Spans {
    List(Vec<(Time, Time)>),
    Periodic { start: Time, every: Nanos, span: Nanos, count: u64 },
}

impl Default for Stalls {
    fn default() -> Stalls {
        Stalls(Spans::List(Vec::new()))
    }
}

impl Stalls {
    /// One stall of `span` from `from` on.
    pub fn once(from: Time, span: Nanos) -> Stalls {
        Stalls::at(vec![(from, span)])
    }

    /// Stalls with these starts and lengths, ascending and disjoint.
    pub fn at(spans: Vec<(Time, Nanos)>) -> Stalls {
        Stalls(Spans::List(spans.into_iter().map(|(from, span)| (from, from + span)).collect()))
    }

    /// A stall of `span` after each `every`, `count` times, counted from `start`.
    ///
    /// Bounds: `span` must be shorter than `every`.
    pub fn periodic(start: Time, every: Nanos, span: Nanos, count: u64) -> Stalls {
        assert!(span < every, "a stall of {span} every {every} never ends");
        Stalls(Spans::Periodic { start, every, span, count })
    }

    /// Start and end of the first stall that ends after `at`.
    fn ending_after(&self, at: Time) -> Option<(Time, Time)> {
        match &self.0 {
            Spans::List(spans) => spans.get(spans.partition_point(|(_, to)| *to <= at)).copied(),
            Spans::Periodic { start, every, span, count } => {
                let number = at.0.checked_sub(start.0 + span.0).map_or(0, |passed| passed / every.0) + 1;
                let from = *start + Nanos(every.0.saturating_mul(number));
                (number <= *count).then(|| (from, from + *span))
            }
        }
    }

    /// The end of the stall in progress at `now`; `None` without one.
    pub fn until(&self, now: Time) -> Option<Time> {
        self.ending_after(now).filter(|(from, _)| *from <= now).map(|(_, to)| to)
    }

    /// When work of `service` that could begin at `start` is done.
    pub fn finish(&self, start: Time, service: Nanos) -> Time {
        let (mut at, mut finish) = (start, start + service);
        while let Some((from, to)) = self.ending_after(at) {
            if from >= finish && from > start {
                break;
            }
            finish += to.since(from.max(start));
            at = to;
        }
        finish
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stands_still_during_a_stall() {
        let check = |stalls: &Stalls, start: u64, service: u64, expect: u64| {
            assert_eq!(stalls.finish(Time(start), Nanos(service)), Time(expect), "{start} + {service}");
        };
        check(&Stalls::default(), 5, 10, 15);
        let one = Stalls::once(Time(100), Nanos(50));
        check(&one, 0, 100, 100);
        check(&one, 0, 101, 151);
        check(&one, 99, 10, 159);
        check(&one, 100, 0, 150);
        check(&one, 120, 10, 160);
        check(&one, 150, 10, 160);
        let many = Stalls::periodic(Time(0), Nanos(100), Nanos(10), 3);
        check(&many, 50, 200, 270);
        check(&many, 311, 500, 811);
        let endless = Stalls::periodic(Time(0), Nanos(100), Nanos(10), u64::MAX);
        check(&endless, 311, 500, 861);
    }

    #[test]
    fn a_stall_lasts_for_its_span() {
        let check = |stalls: &Stalls, now: u64, expect: Option<u64>| {
            assert_eq!(stalls.until(Time(now)), expect.map(Time), "{stalls:?} at {now}");
        };
        check(&Stalls::default(), 5, None);
        let once = Stalls::once(Time(100), Nanos(50));
        check(&once, 99, None);
        check(&once, 100, Some(150));
        check(&once, 149, Some(150));
        check(&once, 150, None);
        let every = Stalls::periodic(Time(1_000), Nanos(100), Nanos(10), u64::MAX);
        check(&every, 5, None);
        check(&every, 1_005, None);
        check(&every, 1_099, None);
        check(&every, 1_100, Some(1_110));
        check(&every, 1_109, Some(1_110));
        check(&every, 1_110, None);
        check(&every, 1_204, Some(1_210));
    }

    #[test]
    fn periodic_stalls_are_those_of_a_list() {
        let listed = Stalls::at((1..=40).map(|n| (Time(7 + 100 * n), Nanos(33))).collect());
        let periodic = Stalls::periodic(Time(7), Nanos(100), Nanos(33), 40);
        for at in 0..4_200 {
            assert_eq!(periodic.ending_after(Time(at)), listed.ending_after(Time(at)), "{at}");
        }
    }
}
