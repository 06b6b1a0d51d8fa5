use units::{Nanos, Time};

use crate::{Recording, Stall};

/// A server has worked off the backlog of a stall when no more requests are outstanding than at this share of all
/// moments, or than before the stall. Source: one moment in four lies beyond by chance, and a stall that holds up a
/// quarter of a trial or more leaves no undisturbed figure in any case.
const USUAL: f64 = 0.75;

impl Recording {
    /// Marks the windows that a stall hit, or in which its backlog is worked off.
    pub(crate) fn mark_stalls(&mut self) {
        let usual = self.usually_outstanding();
        let spans: Vec<(Time, Time)> =
            self.stalls.iter().map(|stall| (stall.from, self.worked_off(stall, usual))).collect();
        for (from, end) in spans {
            if end > self.window_start && from < self.window_start + self.window {
                self.windows.mark(from.since(self.window_start), end.since(self.window_start));
            }
        }
    }

    /// When the backlog of a stall has been worked off: after as long again, and until no more requests are
    /// outstanding than usual.
    ///
    /// Requests due in the stall are sent at once after it, and all later ones wait behind them. A server that is
    /// half idle works them off in as much time again, a busier one in more.
    fn worked_off(&self, stall: &Stall, usual: u64) -> Time {
        let step = self.backlog_step();
        // The point before has the value after the stall if no turn came between the two.
        let before = self.outstanding_at(stall.from - step).unwrap_or(0);
        let level = usual.max(before);
        let least = stall.end() + stall.span;
        let from = least.since(self.window_start);
        let first = from.0.div_ceil(step.0) as usize;
        let beyond =
            self.backlog.iter().skip(first).take_while(|point| point.backlog + point.in_flight > level);
        match beyond.last() {
            // If it lies before the window, the rest of its backlog is there at the window's start.
            Some(last) => (self.window_start + last.offset + step).min(stall.worked_off_by()).max(least),
            None => least,
        }
    }

    /// The requests outstanding at the last point at or before a moment.
    fn outstanding_at(&self, moment: Time) -> Option<u64> {
        let offset = Nanos(moment.0.checked_sub(self.window_start.0)?);
        let after = self.backlog.partition_point(|point| point.offset <= offset);
        self.backlog[..after].last().map(|point| point.backlog + point.in_flight)
    }

    /// The requests outstanding at [`USUAL`] of all points, in order of their number.
    fn usually_outstanding(&self) -> u64 {
        let mut all: Vec<u64> = self.backlog.iter().map(|point| point.backlog + point.in_flight).collect();
        all.sort_unstable();
        all.get((USUAL * all.len() as f64) as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BacklogPoint, EndpointTimes};

    const START: Time = Time(5_000_000_000);
    const WINDOW: Nanos = Nanos::from_secs(2);

    /// The windows marked by a stall, in ms after the window's start, with `outstanding` requests at each moment, in
    /// ms.
    fn marked(from: i64, span: u64, outstanding: impl Fn(u64) -> u64) -> Vec<usize> {
        let mut recording = Recording::new(&["get".into()], 0, Vec::<EndpointTimes>::new(), WINDOW, None);
        recording.window_start = START;
        recording.backlog = (0..=200)
            .map(|i| 10 * i)
            .map(|ms| BacklogPoint {
                offset: Nanos::from_millis(ms),
                backlog: 0,
                in_flight: outstanding(ms),
                sessions: 0,
            })
            .collect();
        let from = Time(START.0.saturating_add_signed(from * 1_000_000));
        recording.stalls.push(Stall { from, span: Nanos::from_millis(span) });
        recording.mark_stalls();
        let windows = recording.windows.series();
        (0..windows.len()).filter(|i| windows[*i].marked).collect()
    }

    #[test]
    fn a_stall_lasts_until_what_it_held_up_is_worked_off() {
        let usual = |ms: u64| ms / 10 % 3;
        // As long again, for any number outstanding.
        assert_eq!(marked(500, 50, usual), [5]);
        assert_eq!(marked(500, 60, usual), [5, 6]);
        let slowly = |ms: u64| if (550..800).contains(&ms) { 800 - ms } else { usual(ms) };
        assert_eq!(marked(500, 50, slowly), [5, 6, 7]);
        // It begins before the window.
        let before = |ms: u64| if ms < 150 { 150 - ms } else { usual(ms) };
        assert_eq!(marked(-100, 40, before), [0, 1]);
        assert_eq!(marked(-100, 40, usual), Vec::<usize>::new());
    }

    #[test]
    fn what_is_not_the_stalls_is_not_charged_to_it() {
        // A server that was slow before, and is so afterwards.
        let slow = |ms: u64| if (450..900).contains(&ms) { 30 } else { ms / 10 % 3 };
        assert_eq!(marked(500, 20, slow), [5]);
        // The first turn after the stall records the requests outstanding at its begin.
        let filled = |ms: u64| if (500..800).contains(&ms) { 800 - ms } else { ms / 10 % 3 };
        assert_eq!(marked(500, 50, filled), [5, 6, 7]);
        // More is outstanding for longer than a server could take that keeps up.
        let ever = |ms: u64| if ms >= 1_610 { 100 } else { ms / 10 % 3 };
        assert_eq!(marked(1_600, 10, ever), [16]);
        assert_eq!(marked(1_600, 20, ever), [16, 17]);
    }
}
