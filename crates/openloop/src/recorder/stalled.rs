use units::{Nanos, Time};

use crate::{Recording, Stall};

/// A server has worked off the backlog of a stall when no more requests are outstanding than at this share of the moments
/// outside stalls, or than before the stall. Source: one moment in four lies beyond by chance. With one in two, the windows
/// after a stall would begin with short queues, and the p99 of a busy server would be given as 11 % less.
const USUAL: f64 = 0.75;

impl Recording {
    /// Marks the windows that a stall hit, or in which its backlog is worked off.
    pub(crate) fn mark_stalls(&mut self) {
        let stalls = std::mem::take(&mut self.stalls);
        self.mark(&stalls);
        self.stalls = stalls;
    }

    /// Marks the windows whose requests may have been held up while a thread of the server was absent. An absence lasts from
    /// its begin until as long again after its end; times count from the opening of the window.
    pub fn mark_absences(&mut self, absences: impl IntoIterator<Item = (Nanos, Nanos)>) {
        let opened = self.window_start;
        let stall =
            |(from, to): (Nanos, Nanos)| Stall { from: opened + from, span: Nanos((to - from).0 / 2) };
        let stalls: Vec<Stall> = absences.into_iter().map(stall).collect();
        self.mark(&stalls);
    }

    fn mark(&mut self, stalls: &[Stall]) {
        let (usual, in_flight) = (self.usually_outstanding(stalls), self.usually_in_flight());
        let (opens, closes) = (self.window_start, self.window_start + self.window);
        let (mut paused, mut held_up) = (Nanos::ZERO, Nanos::ZERO);
        for stall in stalls {
            let end = self.worked_off(stall, usual);
            if end > opens && stall.from < closes {
                (paused, held_up) = (paused + stall.span, held_up + end.since(stall.from));
                let from = stall.from.since(opens).0.saturating_sub(in_flight.0);
                self.windows.mark(Nanos(from), end.since(opens));
            }
        }
        if paused > Nanos::ZERO {
            self.catch_up = self.catch_up.max(held_up.0 as f64 / paused.0 as f64);
        }
    }

    /// How long before a stall requests were due that it holds up: nine of ten responses are shorter. 0 if that is less than a
    /// tenth of a window.
    fn usually_in_flight(&self) -> Nanos {
        let most = self.all().response_time.value_at(90.0).unwrap_or(Nanos::ZERO);
        if 10 * most.0 < self.windows.length().0 { Nanos::ZERO } else { most }
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

    /// The requests outstanding at [`USUAL`] of the points outside these and the generator's stalls and the equal time after
    /// them, in order of their number.
    fn usually_outstanding(&self, stalls: &[Stall]) -> u64 {
        let step = self.backlog_step().0.max(1);
        let index = |at: Time| at.since(self.window_start).0.div_ceil(step) as usize;
        let mut all: Vec<Option<u64>> =
            self.backlog.iter().map(|point| Some(point.backlog + point.in_flight)).collect();
        for stall in stalls.iter().chain(&self.stalls) {
            let end = (index(stall.end() + stall.span) + 1).min(all.len());
            all[index(stall.from).min(end)..end].fill(None);
        }
        let mut outside: Vec<u64> = all.into_iter().flatten().collect();
        outside.sort_unstable();
        outside.get((USUAL * outside.len() as f64) as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use hist::Windows;

    use super::*;
    use crate::{BacklogPoint, EndpointTimes};

    const START: Time = Time(5_000_000_000);
    const WINDOW: Nanos = Nanos::from_secs(2);

    /// The windows marked by a stall, in ms after the window's start, with `outstanding` requests at each moment, in
    /// ms.
    fn marked(from: i64, span: u64, outstanding: impl Fn(u64) -> u64) -> Vec<usize> {
        let mut recording =
            Recording::new(&["get".into()], 0, Vec::<EndpointTimes>::new(), WINDOW, Windows::new(WINDOW));
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
        let slowly = |ms: u64| if (550..780).contains(&ms) { 780 - ms } else { usual(ms) };
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
        let filled = |ms: u64| if (500..780).contains(&ms) { 780 - ms } else { ms / 10 % 3 };
        assert_eq!(marked(500, 50, filled), [5, 6, 7]);
        // More is outstanding for longer than a server could take that keeps up.
        let ever = |ms: u64| if ms >= 1_610 { 100 } else { ms / 10 % 3 };
        assert_eq!(marked(1_600, 10, ever), [16]);
        assert_eq!(marked(1_600, 20, ever), [16, 17]);
    }
}
