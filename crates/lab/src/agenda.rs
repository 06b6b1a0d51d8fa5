//! How much of a run is still to come.

use std::time::Duration;

use results::Purpose;

/// A trial takes about this long beside its warm-up and window until the first one has shown it: the start of
/// the generator, connecting, looking for the data set, the drain.
const OVERHEAD: Duration = Duration::from_millis(300);
/// How much one trial moves the estimate of that. The first, which stores the data set, must not stay for long.
const WEIGHT: f64 = 0.2;

/// The trials that are still to come, and how long they will take.
///
/// How many trials a search takes is not known beforehand, so all of this is an estimate.
#[derive(Clone, Debug)]
pub struct Agenda {
    parts: [(Purpose, usize, Duration); 4],
    done: usize,
    overhead: Duration,
}

impl Agenda {
    /// An agenda of trials that take `search` and `point`, warm-up and window together.
    pub fn new(search: Duration, point: Duration) -> Agenda {
        Agenda {
            parts: [
                (Purpose::Single, 0, point),
                (Purpose::MaxSearch, 0, search),
                (Purpose::LoadPoint, 0, point),
                (Purpose::PeakSearch, 0, point),
            ],
            done: 0,
            overhead: OVERHEAD,
        }
    }

    /// From now on, about `trials` of `purpose` are to come.
    pub fn expect(&mut self, purpose: Purpose, trials: usize) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.0 == purpose) {
            part.1 = trials;
        }
    }

    /// One trial of `purpose` is over, and took this long.
    pub fn finished(&mut self, purpose: Purpose, took: Duration) {
        self.done += 1;
        if let Some(part) = self.parts.iter_mut().find(|part| part.0 == purpose) {
            part.1 = part.1.saturating_sub(1);
            let beside = took.saturating_sub(part.2).as_secs_f64();
            let known = self.overhead.as_secs_f64();
            self.overhead = Duration::from_secs_f64(known + WEIGHT * (beside - known));
        }
    }

    /// About how long `trials` of `purpose` take.
    pub fn cost(&self, purpose: Purpose, trials: usize) -> Duration {
        let part = self.parts.iter().find(|part| part.0 == purpose);
        part.map_or(Duration::ZERO, |part| (part.2 + self.overhead).saturating_mul(trials as u32))
    }

    /// The number of the trial that runs now, from 1.
    pub fn number(&self) -> usize {
        self.done + 1
    }

    /// About how many there will have been in the end.
    pub fn about(&self) -> usize {
        (self.done + self.parts.iter().map(|part| part.1).sum::<usize>()).max(self.number())
    }

    /// About how long it will take from the start of the trial that runs now.
    pub fn left(&self) -> Duration {
        let trials = |&(_, trials, each): &(Purpose, usize, Duration)| {
            (each + self.overhead).saturating_mul(trials as u32)
        };
        self.parts.iter().map(trials).fold(Duration::ZERO, Duration::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn counts_down() {
        let mut agenda = Agenda::new(SECOND, 2 * SECOND);
        agenda.expect(Purpose::MaxSearch, 2);
        agenda.expect(Purpose::LoadPoint, 3);
        assert_eq!((agenda.number(), agenda.about(), agenda.left()), (1, 5, 8 * SECOND + 5 * OVERHEAD));
        agenda.finished(Purpose::MaxSearch, SECOND + OVERHEAD);
        assert_eq!((agenda.number(), agenda.about(), agenda.left()), (2, 5, 7 * SECOND + 4 * OVERHEAD));
        agenda.expect(Purpose::MaxSearch, 0);
        agenda.finished(Purpose::LoadPoint, 2 * SECOND + OVERHEAD);
        assert_eq!((agenda.number(), agenda.about(), agenda.left()), (3, 4, 4 * SECOND + 2 * OVERHEAD));
    }

    #[test]
    fn learns_what_a_trial_costs_beside_its_window() {
        let mut agenda = Agenda::new(SECOND, SECOND);
        for _ in 0..30 {
            agenda.finished(Purpose::LoadPoint, 2 * SECOND);
        }
        agenda.expect(Purpose::LoadPoint, 10);
        assert!((agenda.left().as_secs_f64() - 20.0).abs() < 0.1, "{:?}", agenda.left());
    }

    #[test]
    fn more_trials_than_expected_do_not_count_below_zero() {
        let mut agenda = Agenda::new(SECOND, SECOND);
        for _ in 0..3 {
            agenda.finished(Purpose::PeakSearch, Duration::ZERO);
        }
        assert_eq!((agenda.number(), agenda.about(), agenda.left()), (4, 4, Duration::ZERO));
    }
}
