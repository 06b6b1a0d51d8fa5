use std::ops::Range;

use results::Group;

use super::Traced;

/// The fewest requests of a group. Source: [`hist::MIN_BEYOND`]; a mean of fewer is one request's luck.
const LEAST: usize = hist::MIN_BEYOND as usize;

/// Groups of an operation's requests: ranges of indices, sorted by the generator's time.
pub(crate) struct Groups {
    all: usize,
    /// From p40 to p60.
    pub(crate) middle: Range<usize>,
    /// The slowest hundredth.
    pub(crate) tail: Range<usize>,
}

impl Groups {
    /// The groups of `all` requests. Each has at least ten requests, or all if there are fewer.
    pub(crate) fn of(all: usize) -> Groups {
        let least = LEAST.min(all);
        let fifth = (all / 5).max(least);
        let from = (all - fifth) / 2;
        let tail = all.div_ceil(100).max(least);
        Groups { all, middle: from..from + fifth, tail: all - tail..all }
    }

    /// The request in the middle of all.
    pub(crate) fn median(&self) -> Option<usize> {
        (self.all > 0).then(|| (self.all - 1) / 2)
    }

    /// The request in the middle of the tail.
    pub(crate) fn middle_of_tail(&self) -> Option<usize> {
        (self.all > 0).then(|| (self.tail.start + self.tail.end - 1) / 2)
    }

    /// Sums over the requests in `places`.
    pub(crate) fn sums(&self, traced: &[Traced<'_>], places: Range<usize>) -> Group {
        let mut group = Group::default();
        for one in &traced[places] {
            group.requests += 1;
            group.root_ns += one.root.response_time.0;
            group.tracer_ns += one.request.root.span.length().0;
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_ten_at_least() {
        let check = |all: usize, middle: Range<usize>, tail: Range<usize>, places: Option<(usize, usize)>| {
            let groups = Groups::of(all);
            assert_eq!((groups.middle.clone(), groups.tail.clone()), (middle, tail), "{all}");
            assert_eq!(groups.median().zip(groups.middle_of_tail()), places, "{all}");
        };
        check(0, 0..0, 0..0, None);
        check(1, 0..1, 0..1, Some((0, 0)));
        check(9, 0..9, 0..9, Some((4, 4)));
        check(20, 5..15, 10..20, Some((9, 14)));
        check(1_000, 400..600, 990..1_000, Some((499, 994)));
        check(2_001, 800..1_200, 1_980..2_001, Some((1_000, 1_990)));
    }
}
