//! Chooses the next rate in the search for a threshold.

use super::ballots::{Ballots, Tally};
use super::{Bracket, Outcome, Search, Vote};

units::limits! {
    /// How many trials a search may take before it gives up with the interval that it has.
    const MOST_TRIALS: u32 = 45, Count,
        "ours, because a search that takes longer watches a machine that changes faster than it can be measured";
}

/// When an interval is narrow enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Its width.
    Absolute(f64),
    /// Its width over its upper end.
    Relative(f64),
}

/// A search for a threshold by votes.
///
/// A rate is tried until two trials of it agree. From a first guess the search strides, doubling its stride,
/// until it has the threshold between two rates; then it halves.
#[derive(Clone, Debug)]
pub struct Bisection {
    ballots: Ballots,
    /// Nothing at or below is tried.
    floor: f64,
    /// Nothing above is tried.
    ceiling: f64,
    tolerance: Tolerance,
    /// Rates to try first, if they lie inside the bracket.
    hints: Vec<f64>,
    /// The next stride away from the end that moved last; 0: halve at once.
    stride: f64,
    asked: Option<f64>,
    trials: u32,
}

impl Bisection {
    /// A search between `floor` and `ceiling`, both over or at 0.
    pub fn new(floor: f64, ceiling: f64, tolerance: Tolerance) -> Bisection {
        Bisection {
            ballots: Ballots::default(),
            floor,
            ceiling,
            tolerance,
            hints: Vec::new(),
            stride: 0.0,
            asked: None,
            trials: 0,
        }
    }

    /// Tries `hints` first, in this order, and from there in strides that start with `stride`.
    pub fn starting_at(mut self, hints: &[f64], stride: f64) -> Bisection {
        self.hints = hints.iter().rev().copied().collect();
        self.stride = stride;
        self
    }

    /// Counts a vote that is known already.
    pub fn with_vote(mut self, rate: f64, vote: Vote) -> Bisection {
        self.ballots.count(rate, vote);
        self
    }

    /// Takes it that `rate` votes as it did in an earlier search: one trial that agrees is then enough.
    pub fn expecting(mut self, rate: f64, vote: Vote) -> Bisection {
        self.ballots.expect(rate, vote);
        self
    }

    /// Retries rates without a known vote.
    pub fn retry_unknown(&mut self) {
        self.ballots.forget_unknown();
        self.asked = None;
    }

    /// Allows higher rates.
    pub fn raise_ceiling(&mut self, ceiling: f64) {
        self.ceiling = self.ceiling.max(ceiling);
    }

    /// The answer so far.
    pub fn bracket(&self) -> Bracket {
        self.ballots.bracket()
    }

    /// The answer so far by trials that passed or failed: its upper end is higher where others said nothing.
    pub fn known_bracket(&self) -> Bracket {
        let low = self.bracket().low;
        Bracket { low, high: self.ballots.lowest_failure(low) }
    }

    /// Whether every rate that was tried has a trial that passed or failed.
    pub fn all_answered(&self) -> bool {
        self.ballots.all_answered()
    }

    /// Votes that the answer contradicts.
    pub fn contradictions(&self) -> u32 {
        self.ballots.contradictions()
    }

    /// Trials behind the answer, including those known beforehand.
    pub(super) fn tally(&self) -> Tally {
        self.ballots.tally()
    }

    /// Whether it gave up before the interval was narrow enough.
    pub fn gave_up(&self) -> bool {
        self.trials >= MOST_TRIALS
    }

    fn choose(&mut self) -> Option<f64> {
        if self.gave_up() {
            return None;
        }
        if let Some(rate) = self.asked.filter(|&rate| self.ballots.is_unanswered(rate)) {
            return Some(rate);
        }
        let Bracket { low, high } = self.bracket();
        // Both ends must have earned their place before anything is concluded from them.
        let undecided = [low, high].into_iter().flatten().find(|&rate| !self.ballots.is_decided(rate));
        if undecided.is_some() {
            return undecided;
        }
        let bottom = low.unwrap_or(self.floor);
        let top = high.unwrap_or(self.ceiling);
        while let Some(hint) = self.hints.pop() {
            if hint > bottom && hint < top {
                return Some(hint);
            }
        }
        if self.is_narrow(bottom, top) {
            // The ceiling itself is only known once it was tried.
            return (high.is_none() && bottom < self.ceiling).then_some(self.ceiling);
        }
        Some(self.between(bottom, top, low, high))
    }

    /// A rate strictly between `bottom` and `top`.
    fn between(&mut self, bottom: f64, top: f64, low: Option<f64>, high: Option<f64>) -> f64 {
        let stride = self.stride;
        if stride > 0.0 && top - bottom > 2.0 * stride {
            self.stride = 2.0 * stride;
            // Away from the end that moved last; the other is far.
            match (low == self.asked, high == self.asked) {
                (true, false) => return bottom + stride,
                (false, true) => return top - stride,
                _ => {}
            }
        }
        self.stride = 0.0;
        bottom.midpoint(top)
    }

    fn is_narrow(&self, bottom: f64, top: f64) -> bool {
        let width = match self.tolerance {
            Tolerance::Absolute(width) => width,
            Tolerance::Relative(share) => share * top,
        };
        // A little over, so that 0.85 − 0.8 is a twentieth.
        top - bottom <= width * (1.0 + 1e-9) || top <= self.floor
    }
}

impl Search for Bisection {
    fn next(&mut self) -> Option<f64> {
        self.asked = self.choose().or_else(|| {
            self.hints.clear();
            None
        });
        self.asked
    }

    fn enter(&mut self, outcome: Outcome) {
        if let Some(rate) = self.asked {
            self.ballots.count(rate, outcome.vote);
            self.trials += 1;
        }
    }

    fn trials_left(&self) -> usize {
        let Bracket { low, high } = self.bracket();
        let mut bottom = low.unwrap_or(self.floor);
        let mut top = high.unwrap_or(self.ceiling);
        // While it strides, rates beyond the next two strides are most likely never tried.
        if self.stride > 0.0 {
            let near = 3.0 * self.stride;
            match low {
                Some(low) => top = top.min(low + near),
                None => bottom = bottom.max(top - near),
            }
        }
        let mut halvings = 0;
        while !self.is_narrow(bottom, top) && halvings < 10 {
            (top, halvings) = (bottom.midpoint(top), halvings + 1);
        }
        let undecided = |end: &f64| !self.ballots.is_decided(*end);
        2 * halvings + [low, high].iter().flatten().filter(|end| undecided(end)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::Drive;

    /// The rates that are tried on the way to a threshold without any noise, and the answer.
    fn path(mut search: Bisection, threshold: f64) -> (Vec<f64>, Bracket) {
        let mut rates = Vec::new();
        let measure = |rate: f64| {
            rates.push(rate);
            let vote = if rate <= threshold { Vote::Pass } else { Vote::Fail };
            Ok::<_, ()>(Outcome { vote, achieved_rps: rate.min(threshold) })
        };
        search.drive(measure).unwrap();
        rates.dedup();
        (rates, search.bracket())
    }

    #[test]
    fn halves_until_it_is_narrow() {
        let check = |threshold: f64, expect: &[f64], low: Option<f64>, high: Option<f64>| {
            let search = Bisection::new(0.0, 1.0, Tolerance::Absolute(0.125));
            assert_eq!(path(search, threshold), (expect.to_vec(), Bracket { low, high }), "{threshold}");
        };
        check(0.7, &[0.5, 0.75, 0.625], Some(0.625), Some(0.75));
        check(0.0, &[0.5, 0.25, 0.125], None, Some(0.125));
        check(0.9, &[0.5, 0.75, 0.875, 1.0], Some(0.875), Some(1.0));
        check(2.0, &[0.5, 0.75, 0.875, 1.0], Some(1.0), None);
    }

    #[test]
    fn strides_from_a_guess_and_doubles_the_stride() {
        let check = |threshold: f64, expect: &[f64]| {
            let search = Bisection::new(1.0, 1000.0, Tolerance::Relative(0.05));
            let (rates, bracket) = path(search.starting_at(&[96.0, 100.0], 4.0), threshold);
            assert_eq!(rates, expect, "{threshold}");
            let (low, high) = (bracket.low.unwrap(), bracket.high.unwrap());
            assert!(low <= threshold && threshold < high && high - low <= 0.05 * high);
        };
        check(98.0, &[96.0, 100.0]);
        check(103.0, &[96.0, 100.0, 104.0]);
        check(115.0, &[96.0, 100.0, 104.0, 112.0, 128.0, 120.0, 116.0]);
        check(90.0, &[96.0, 92.0, 84.0, 88.0]);
    }

    #[test]
    fn gives_up_at_the_floor() {
        let search = Bisection::new(1.0, 1000.0, Tolerance::Relative(0.05)).starting_at(&[96.0, 100.0], 4.0);
        let (rates, bracket) = path(search, 0.0);
        assert_eq!(bracket.low, None);
        assert!(bracket.high.unwrap() <= 2.0 && rates.len() < 20, "{rates:?}");
    }

    #[test]
    fn an_earlier_answer_is_confirmed_with_one_trial_at_each_end() {
        let search = || {
            let search = Bisection::new(1.0, 1000.0, Tolerance::Relative(0.05)).starting_at(&[], 4.0);
            search.expecting(96.0, Vote::Pass).expecting(100.0, Vote::Fail)
        };
        let mut count = 0;
        let measure = |rate: f64| {
            count += 1;
            let vote = if rate < 98.0 { Vote::Pass } else { Vote::Fail };
            Ok::<_, ()>(Outcome { vote, achieved_rps: rate })
        };
        search().drive(measure).unwrap();
        assert_eq!(count, 2);
        // The machine got slower or faster since.
        assert_eq!(path(search(), 90.0).0, [96.0, 92.0, 84.0, 88.0]);
        let (rates, bracket) = path(search(), 110.0);
        assert_eq!(
            (rates, bracket.low, bracket.high),
            (vec![96.0, 100.0, 104.0, 112.0, 108.0], Some(108.0), Some(112.0))
        );
    }

    #[test]
    fn a_machine_that_answers_at_random_ends_the_search_too() {
        for seed in 0..200u64 {
            let mut search = Bisection::new(1.0, 1e8, Tolerance::Relative(1e-12));
            let mut state = seed;
            let mut trials = 0;
            let measure = |rate: f64| {
                trials += 1;
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let votes = [Vote::Pass, Vote::Fail, Vote::Unknown];
                let vote = votes[(state >> 33) as usize % 3];
                Ok::<_, ()>(Outcome { vote, achieved_rps: rate })
            };
            search.drive(measure).unwrap();
            assert!(trials <= MOST_TRIALS, "seed {seed}: {trials}");
            assert_eq!(search.gave_up(), trials == MOST_TRIALS);
        }
    }
}
