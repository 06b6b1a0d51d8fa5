use std::collections::VecDeque;

use hist::LivePoint;
use serde::Deserialize;

/// Points that are kept: a column each of the widest picture.
const KEPT: usize = 200;
/// Points of the last second, at 100 ms each.
const SECOND: usize = 10;
/// Cells of [`hist::heat_cell`].
const CELLS: u32 = 256;
/// A bound above any count of 100 ms, so that sums of damaged lines do not overflow.
const TOO_MANY: u64 = 1 << 40;

/// How a trial goes: the last intervals, and all of them together.
///
/// Bounds: the same memory after a day as after 20 s.
#[derive(Debug, Default)]
pub struct TimeSeries {
    recent: VecDeque<LivePoint>,
    so_far: LivePoint,
}

/// A line that the generator prints.
#[derive(Deserialize)]
struct Line {
    live: LivePoint,
}

impl TimeSeries {
    /// Reads a line of the generator, and returns its point; `None` for other lines and for points that make no sense.
    pub fn read(&mut self, line: &str) -> Option<LivePoint> {
        let Line { live } = serde_json::from_str(line).ok()?;
        is_sound(&live).then(|| {
            self.add(live.clone());
            live
        })
    }

    fn add(&mut self, point: LivePoint) {
        self.so_far.merge(&point);
        let first = self.recent.front().map_or(point.interval, |first| first.interval);
        let Some(place) = point.interval.checked_sub(first) else {
            // It has no column any more.
            return;
        };
        if let Some(known) = usize::try_from(place).ok().and_then(|place| self.recent.get_mut(place)) {
            // A thread's share that came after the others had been shown.
            known.merge(&point);
            return;
        }
        // Intervals that were not shown stay empty, so that a column is 100 ms everywhere.
        let next = self.recent.back().map_or(point.interval, |last| last.interval + 1);
        let from = next.max(point.interval.saturating_sub(KEPT as u64));
        if from > next {
            self.recent.clear();
        }
        let gap = from..point.interval;
        self.recent.extend(gap.map(|interval| LivePoint { interval, ..LivePoint::default() }));
        self.recent.push_back(point);
        while self.recent.len() > KEPT {
            self.recent.pop_front();
        }
    }

    /// The last intervals, `columns` at most, from the oldest.
    pub fn recent(&self, columns: usize) -> impl ExactSizeIterator<Item = &LivePoint> {
        let from = self.recent.len().saturating_sub(columns);
        self.recent.range(from..)
    }

    /// The last interval.
    pub fn last(&self) -> Option<&LivePoint> {
        self.recent.back()
    }

    /// The last second in one, and the seconds that it really has.
    pub fn last_second(&self) -> (LivePoint, f64) {
        let mut sum = LivePoint::default();
        let points = self.recent(SECOND);
        let seconds = points.len() as f64 / SECOND as f64;
        points.for_each(|point| sum.merge(point));
        (sum, seconds)
    }

    /// The window so far in one.
    pub fn so_far(&self) -> &LivePoint {
        &self.so_far
    }
}

fn is_sound(point: &LivePoint) -> bool {
    let counts = [point.offered, point.answered, point.failed, point.in_flight, point.backlog];
    counts.iter().all(|&count| count < TOO_MANY)
        && point.interval < TOO_MANY
        // The last cell has no end that fits, and no response time of over 500 years.
        && point.times.iter().all(|&(cell, count)| cell + 1 < CELLS && count < TOO_MANY)
        && point.times.is_sorted_by_key(|&(cell, _)| cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(interval: u64, offered: u64) -> String {
        format!(
            r#"{{"live":{{"interval":{interval},"offered":{offered},"answered":{offered},"failed":1,"in_flight":2,"backlog":3,"times":[[80,{offered}]]}}}}"#
        )
    }

    fn series(intervals: impl IntoIterator<Item = u64>) -> TimeSeries {
        let mut series = TimeSeries::default();
        intervals.into_iter().for_each(|interval| drop(series.read(&line(interval, 10))));
        series
    }

    #[test]
    fn a_column_is_100_ms_whatever_came() {
        let check = |intervals: &[u64], expect: &[(u64, u64)]| {
            let series = series(intervals.iter().copied());
            let columns: Vec<(u64, u64)> = series.recent(3).map(|p| (p.interval, p.offered)).collect();
            assert_eq!(columns, expect, "{intervals:?}");
        };
        check(&[], &[]);
        check(&[0, 1], &[(0, 10), (1, 10)]);
        check(&[0, 1, 2, 3], &[(1, 10), (2, 10), (3, 10)]);
        // One is missing, or comes in two parts.
        check(&[0, 2], &[(0, 10), (1, 0), (2, 10)]);
        check(&[0, 1, 0], &[(0, 20), (1, 10)]);
        // The first ones were not seen, or a long time was not.
        check(&[7, 8, 2], &[(7, 10), (8, 10)]);
        check(&[0, 1_000_000], &[(999_998, 0), (999_999, 0), (1_000_000, 10)]);
    }

    #[test]
    fn sums_are_of_the_last_second_and_of_all() {
        let series = series(0..1_000);
        let (second, seconds) = series.last_second();
        assert_eq!((second.offered, second.failed, second.times[0], seconds), (100, 10, (80, 100), 1.0));
        assert_eq!((series.so_far().offered, series.so_far().failed), (10_000, 1_000));
        assert_eq!((series.recent.len(), series.last().map(|p| p.backlog)), (KEPT, Some(3)));
        assert_eq!(self::series([4, 5]).last_second().1, 0.2);
    }

    #[test]
    fn what_is_not_a_point_is_skipped() {
        for text in ["", "ready", "{}", r#"{"live":{}}"#, &line(0, 10).replace("[80,", "[255,")] {
            let mut series = TimeSeries::default();
            series.read(text);
            assert!(series.last().is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_bad(lines in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u32>()), 0..20)) {
            let mut series = TimeSeries::default();
            for (interval, count, cell) in lines {
                let cell = cell >> (count % 32);
                series.read(&line(interval >> (count % 64), count).replace("[80,", &format!("[{cell},")));
                let (second, _) = series.last_second();
                let _ = (second.quantile(1.0), series.so_far().quantile(0.5));
            }
        }
    }
}
