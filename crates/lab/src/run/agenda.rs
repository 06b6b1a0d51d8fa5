//! How much of a run is still to come.

use std::collections::VecDeque;
use std::time::Duration;

/// Duration of a trial in addition to its warm-up and window: the start of the generator, connecting, checking for the
/// data set, the drain.
pub(crate) const OVERHEAD: Duration = Duration::from_millis(450);
/// How much one trial moves the estimate of how much longer than planned they take. The first, which stores the data
/// set, must not stay for long.
const WEIGHT: f64 = 0.2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) trials: usize,
    /// How long each takes by plan.
    pub(crate) each: Duration,
    /// Duration of the step in addition to its trials.
    pub(crate) beside: Duration,
}

/// The steps that are still to come, and how long they will take.
///
/// How many trials a search takes is not known beforehand, so all of this is an estimate.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    ahead: VecDeque<Part>,
    done: usize,
    /// How much longer trials take than planned. Units: s.
    longer_s: f64,
}

impl Agenda {
    pub(crate) fn new(steps: Vec<Part>) -> Agenda {
        Agenda { ahead: steps.into(), done: 0, longer_s: 0.0 }
    }

    /// From now on, about `trials` of the present step are to come.
    pub(crate) fn expect(&mut self, trials: usize) {
        if let Some(part) = self.ahead.front_mut() {
            part.trials = trials;
        }
    }

    /// One trial of the present step is over, and took this long.
    pub(crate) fn finished(&mut self, took: Duration) {
        self.done += 1;
        if let Some(part) = self.ahead.front_mut() {
            part.trials = part.trials.saturating_sub(1);
            self.longer_s += WEIGHT * (took.as_secs_f64() - part.each.as_secs_f64() - self.longer_s);
        }
    }

    pub(crate) fn next(&mut self) {
        self.ahead.pop_front();
    }

    /// The number of the trial that runs now, from 1.
    pub(crate) fn number(&self) -> usize {
        self.done + 1
    }

    /// About how many there will have been in the end.
    pub(crate) fn about(&self) -> usize {
        (self.done + self.ahead.iter().map(|part| part.trials).sum::<usize>()).max(self.number())
    }

    /// About how long it will take from the start of the trial that runs now.
    pub(crate) fn left(&self) -> Duration {
        self.time(self.ahead.iter())
    }

    /// Estimated duration of the next `steps` and the `last` final ones.
    pub(crate) fn cost(&self, steps: usize, last: usize) -> Duration {
        let after = steps.max(self.ahead.len().saturating_sub(last));
        self.time(self.ahead.iter().take(steps).chain(self.ahead.iter().skip(after)))
    }

    fn time<'p>(&self, parts: impl Iterator<Item = &'p Part>) -> Duration {
        let (mut time, mut trials) = (Duration::ZERO, 0);
        for part in parts {
            time =
                time.saturating_add(part.each.saturating_mul(part.trials as u32)).saturating_add(part.beside);
            trials += part.trials;
        }
        let longer = self.longer_s * trials as f64;
        Duration::try_from_secs_f64((time.as_secs_f64() + longer).max(0.0)).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn part(trials: usize, seconds: u32) -> Part {
        Part { trials, each: seconds * SECOND, beside: Duration::ZERO }
    }

    #[test]
    fn counts_down() {
        let mut agenda = Agenda::new(vec![part(2, 1), part(3, 2)]);
        let shown = |agenda: &Agenda| (agenda.number(), agenda.about(), agenda.left());
        assert_eq!(shown(&agenda), (1, 5, 8 * SECOND));
        agenda.finished(SECOND);
        assert_eq!(shown(&agenda), (2, 5, 7 * SECOND));
        // The search ended early.
        agenda.next();
        assert_eq!(shown(&agenda), (2, 4, 6 * SECOND));
        agenda.finished(2 * SECOND);
        assert_eq!(shown(&agenda), (3, 4, 4 * SECOND));
        agenda.expect(5);
        assert_eq!(shown(&agenda), (3, 7, 10 * SECOND));
    }

    #[test]
    fn learns_what_a_trial_costs_beside_its_window() {
        let mut agenda = Agenda::new(vec![part(30, 1), part(10, 1)]);
        for _ in 0..30 {
            agenda.finished(2 * SECOND);
        }
        agenda.next();
        assert!((agenda.left().as_secs_f64() - 20.0).abs() < 0.1, "{:?}", agenda.left());
    }

    #[test]
    fn more_trials_than_expected_do_not_count_below_zero() {
        let mut agenda = Agenda::new(vec![part(1, 1)]);
        for _ in 0..3 {
            agenda.finished(SECOND);
        }
        assert_eq!((agenda.number(), agenda.about(), agenda.left()), (4, 4, Duration::ZERO));
    }

    #[test]
    fn a_block_and_what_comes_last_have_their_cost() {
        let agenda = Agenda::new(vec![part(1, 1), part(2, 1), part(4, 1), part(8, 1)]);
        assert_eq!(agenda.cost(2, 1), 11 * SECOND);
        assert_eq!(agenda.cost(4, 1), 15 * SECOND);
        assert_eq!(agenda.cost(1, 0), SECOND);
        // A step without trials takes its own time only.
        assert_eq!(Agenda::new(vec![Part { beside: SECOND, ..part(0, 3) }]).left(), SECOND);
    }
}
