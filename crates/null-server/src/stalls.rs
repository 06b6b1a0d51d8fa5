use units::{Nanos, Time};

/// Spans of time in which the server does not work, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    spans: Vec<(Time, Time)>,
}

impl Stalls {
    /// One stall of `span` from `from` on.
    pub fn once(from: Time, span: Nanos) -> Stalls {
        Stalls { spans: vec![(from, from + span)] }
    }

    /// Stalls with these starts and lengths, ascending and disjoint.
    pub fn at(spans: Vec<(Time, Nanos)>) -> Stalls {
        Stalls { spans: spans.into_iter().map(|(from, span)| (from, from + span)).collect() }
    }

    /// A stall of `span` after each `every`, `count` times, counted from `start`.
    ///
    /// Bounds: `span` must be shorter than `every`.
    pub fn periodic(start: Time, every: Nanos, span: Nanos, count: u64) -> Stalls {
        assert!(span < every, "a stall of {span} every {every} never ends");
        let from = |i: u64| start + Nanos(every.0.saturating_mul(i));
        Stalls { spans: (1..=count).map(|i| (from(i), from(i) + span)).collect() }
    }

    /// When work of `service` that could begin at `start` is done.
    pub fn finish(&self, start: Time, service: Nanos) -> Time {
        let first = self.spans.partition_point(|(_, to)| *to <= start);
        let mut finish = start + service;
        for &(from, to) in &self.spans[first..] {
            if from >= finish && from > start {
                break;
            }
            finish += to.since(from.max(start));
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
    }
}
