//! The search for the peak throughput under QoS.

use super::ballots::Tally;
use super::patience::Patience;
use super::{Bisection, Bracket, Outcome, Search, Tolerance, Vote};

/// A search for the highest load that meets the target.
///
/// Loads are shares of the maximum throughput, so that the points of a sweep, measured in several blocks of a
/// machine that drifts, can vote together with the trials of the search.
/// A load beyond the maximum is only tried once the maximum itself meets the target: then the maximum was measured
/// while the machine was slower, or the target asks for no more than that the load is sustained.
#[derive(Clone, Debug)]
pub struct PeakSearch {
    bisection: Bisection,
    ceiling: f64,
    /// The next step beyond the ceiling.
    step: f64,
    limit: f64,
    /// Whether loads without a known vote were retried.
    retried: bool,
    patience: Patience,
}

units::limits! {
    /// No load over this multiple of the first ceiling is tried.
    const LIMIT: f64 = 2.0, Factor,
        "ours, because a machine that is twice as fast as at its first maximum is another machine";
}

impl PeakSearch {
    /// A search up to the load `ceiling`, or beyond if that meets the target, for an interval no wider than `tolerance`, both shares of the maximum.
    ///
    /// `votes` are the trials that were run before, of a sweep for instance.
    pub fn new(ceiling: f64, tolerance: f64, votes: impl IntoIterator<Item = (f64, Vote)>) -> PeakSearch {
        let start = Bisection::new(0.0, ceiling, Tolerance::Absolute(tolerance));
        let bisection = votes.into_iter().fold(start, |search, (share, vote)| search.with_vote(share, vote));
        let (step, limit) = (tolerance, LIMIT * ceiling);
        PeakSearch { bisection, ceiling, step, limit, retried: false, patience: Patience::default() }
    }

    /// The answer so far, in shares. Both ends stand on trials that met the target or missed it.
    pub fn bracket(&self) -> Bracket {
        self.bisection.known_bracket()
    }

    /// Whether there is an answer: a load that met the target, or none among trials that all missed it.
    pub fn is_known(&self) -> bool {
        self.bracket().low.is_some() || self.bisection.all_answered()
    }

    /// Trials behind the answer.
    pub fn trials(&self) -> u32 {
        self.bisection.tally().all
    }

    /// Note on the answer for the reader.
    pub fn note(&self) -> Option<String> {
        let Tally { all: trials, unknown } = self.bisection.tally();
        let mut notes = Vec::new();
        if unknown == trials && trials > 0 {
            notes.push(format!("all {trials} trials said nothing of the peak"));
        } else if unknown > 0 {
            notes.push(format!("{unknown} of {trials} trials said nothing; none of them counts as met"));
        }
        if self.bracket() != self.bisection.bracket() && unknown < trials {
            notes.push("just above it all trials said nothing, so it may be higher".into());
        }
        let contradictions = self.bisection.contradictions();
        // Of three votes at each end one may be expected to differ.
        if contradictions > 2 && unknown < trials {
            notes.push(format!("{contradictions} of {trials} trials contradict it: the tail is as much the machine’s luck as the load’s"));
        }
        if let Some(words) = self.patience.futile_words() {
            notes.push(words);
        } else if self.bisection.gave_up() {
            notes.push("the search ended without a narrow interval".into());
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

impl Search for PeakSearch {
    fn next(&mut self) -> Option<f64> {
        if self.patience.is_futile() {
            return None;
        }
        loop {
            let rate = self.bisection.next();
            if rate.is_some() || self.bisection.gave_up() {
                return rate;
            }
            let Bracket { low, high } = self.bisection.bracket();
            if high.is_some() && high != self.bracket().high && !self.retried {
                // It ended at a load without a known vote. The disturbance of its trials may be over.
                self.retried = true;
                self.bisection.retry_unknown();
            } else if low.is_some() && high.is_none() && self.ceiling < self.limit {
                self.ceiling = (self.ceiling + self.step).min(self.limit);
                self.step *= 2.0;
                self.bisection.raise_ceiling(self.ceiling);
            } else {
                return None;
            }
        }
    }

    fn enter(&mut self, outcome: Outcome) {
        self.patience.enter(outcome.vote);
        self.bisection.enter(outcome);
    }

    fn trials_left(&self) -> usize {
        self.bisection.trials_left()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::{Drive, Luck, Machine, Server};

    fn find(machine: &mut Machine, mut search: PeakSearch) -> (PeakSearch, usize) {
        let mut trials = 0;
        let measure = |share| {
            trials += 1;
            Ok::<_, ()>(Outcome { vote: machine.vote(share), achieved_rps: share })
        };
        search.drive(measure).unwrap();
        (search, trials)
    }

    /// A sweep over 10 … 100 % with `repeats` blocks.
    fn sweep(machine: &mut Machine, repeats: usize) -> Vec<(f64, Vote)> {
        let shares = (0..repeats).flat_map(|_| (1..=10).map(|i| f64::from(i) / 10.0));
        shares.map(|share| (share, machine.vote(share))).collect()
    }

    fn holds(search: &PeakSearch, peak: f64, slack: f64) -> bool {
        let Bracket { low, high } = search.bracket();
        let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
        low <= peak + slack && high >= peak - slack && (high.is_infinite() || high - low <= 0.05 + 1e-9)
    }

    const UNLUCKY: Luck = Luck { bad: 0.05, good: 0.03, unknown: 0.02 };

    #[test]
    fn finds_the_peak_in_95_of_100_seeds() {
        for peak in [0.03, 0.14, 0.47, 0.83, 0.98] {
            for repeats in [0, 1, 3, 6] {
                for luck in [Luck::NONE, Luck { bad: 0.05, good: 0.02, unknown: 0.03 }] {
                    let server = Server { capacity: peak, jitter: 0.01, luck, ..Server::TYPICAL };
                    let mut trials = 0;
                    let good = (0..400).filter(|&seed| {
                        let mut machine = server.run(seed);
                        let votes = sweep(&mut machine, repeats);
                        let (search, n) = find(&mut machine, PeakSearch::new(1.0, 0.05, votes));
                        trials += n;
                        holds(&search, peak, 0.025)
                    });
                    let good = good.count();
                    assert!(good >= 380, "{peak} after {repeats} repeats, {luck:?}: {good} of 400");
                    let mean = trials as f64 / 400.0;
                    assert!(
                        mean < if repeats == 3 { 5.0 } else { 14.0 },
                        "{peak} {repeats} {luck:?}: {mean} trials"
                    );
                }
            }
        }
    }

    #[test]
    fn a_server_that_never_meets_the_target_has_no_lower_end() {
        let server = Server { capacity: 0.0, luck: UNLUCKY, ..Server::TYPICAL };
        let good = (0..200).filter(|&seed| {
            let mut machine = server.run(seed);
            let votes = sweep(&mut machine, 3);
            let (search, _) = find(&mut machine, PeakSearch::new(1.0, 0.05, votes));
            search.bracket().low.is_none() && search.bracket().high.is_some_and(|high| high <= 0.05)
        });
        assert!(good.count() >= 190);
    }

    #[test]
    fn a_server_that_always_meets_it_has_no_upper_end() {
        let server = Server { capacity: 10.0, luck: Luck { good: 0.0, ..UNLUCKY }, ..Server::TYPICAL };
        for repeats in [0, 3] {
            let good = (0..200).filter(|&seed| {
                let mut machine = server.run(seed);
                let votes = sweep(&mut machine, repeats);
                let (search, _) = find(&mut machine, PeakSearch::new(1.0, 0.05, votes));
                search.bracket() == Bracket { low: Some(2.0), high: None }
            });
            let good = good.count();
            // Each load on the way may be unlucky twice.
            assert!(good >= 170, "{good} after {repeats}");
        }
    }

    #[test]
    fn a_peak_beyond_the_maximum_is_found() {
        let server = Server { capacity: 1.22, jitter: 0.0, ..Server::TYPICAL };
        for repeats in [0, 3] {
            let mut machine = server.run(1);
            let votes = sweep(&mut machine, repeats);
            let (search, trials) = find(&mut machine, PeakSearch::new(1.0, 0.05, votes));
            assert!(holds(&search, 1.22, 0.0), "{:?}", search.bracket());
            assert!(trials <= 22, "{trials}");
        }
    }

    #[test]
    fn luck_far_from_the_peak_does_not_move_it_and_is_noted() {
        let server = Server { capacity: 0.72, jitter: 0.0, ..Server::TYPICAL };
        let mut machine = server.run(1);
        let mut votes = sweep(&mut machine, 3);
        for vote in &mut votes {
            match vote.0 {
                0.2 => vote.1 = Vote::Fail,
                0.9 => vote.1 = Vote::Pass,
                _ => {}
            }
        }
        let (search, _) = find(&mut machine, PeakSearch::new(1.0, 0.05, votes));
        assert_eq!(search.bracket(), Bracket { low: Some(0.7), high: Some(0.75) });
        assert!(search.note().unwrap().contains("6 of 32 trials contradict"), "{:?}", search.note());
    }

    #[test]
    fn trials_that_say_nothing_never_pass() {
        let mut search = PeakSearch::new(1.0, 0.05, []);
        search.drive(|share| Ok::<_, ()>(Outcome { vote: Vote::Unknown, achieved_rps: share })).unwrap();
        assert_eq!((search.bracket(), search.is_known()), (Bracket::default(), false));
        let note = search.note().unwrap();
        assert!(note.starts_with("all 20 trials said nothing") && search.patience.is_futile(), "{note}");
    }

    #[test]
    fn trials_that_say_nothing_leave_what_a_sweep_has_shown() {
        let nothing = |share| Ok::<_, ()>(Outcome { vote: Vote::Unknown, achieved_rps: share });
        let votes = [(0.5, Vote::Pass), (0.5, Vote::Pass), (0.9, Vote::Unknown)];
        let mut search = PeakSearch::new(1.0, 0.05, votes);
        search.drive(nothing).unwrap();
        assert_eq!((search.bracket(), search.is_known()), (Bracket { low: Some(0.5), high: None }, true));
        assert!(search.note().unwrap().contains("said nothing"), "{:?}", search.note());
        // The limit is missed at every load that was tried, by the trials that count; a third of the trials are
        // inconclusive.
        let mut search = PeakSearch::new(1.0, 0.5, []);
        let mut trials = 0;
        let mixed = |share| {
            trials += 1;
            let vote = if trials % 3 == 2 { Vote::Unknown } else { Vote::Fail };
            Ok::<_, ()>(Outcome { vote, achieved_rps: share })
        };
        search.drive(mixed).unwrap();
        assert!(search.is_known() && search.bracket().low.is_none(), "{:?}", search.bracket());
        // Missed at one load, while lower ones are unknown: not missed at every load.
        let mut search = PeakSearch::new(1.0, 0.05, [(0.5, Vote::Fail), (0.5, Vote::Fail)]);
        search.drive(nothing).unwrap();
        assert!(!search.is_known());
    }

    #[test]
    fn a_disturbance_in_the_middle_does_not_move_the_peak() {
        let server = Server { capacity: 0.72, jitter: 0.0, ..Server::TYPICAL };
        let mut machine = server.run(1);
        let mut search = PeakSearch::new(1.0, 0.05, []);
        let mut trials = 0;
        let measure = |share: f64| {
            trials += 1;
            let vote = if (2..=6).contains(&trials) { Vote::Unknown } else { machine.vote(share) };
            Ok::<_, ()>(Outcome { vote, achieved_rps: share })
        };
        search.drive(measure).unwrap();
        assert!(holds(&search, 0.72, 0.0), "{:?}", search.bracket());
        assert!(search.note().unwrap().contains("5 of "), "{:?}", search.note());
    }

    #[test]
    fn loads_that_were_disturbed_are_tried_anew() {
        let mut search = PeakSearch::new(1.0, 0.05, []);
        let mut trials = 0;
        // The first eight trials fall into a disturbance of the machine.
        let measure = |share: f64| {
            trials += 1;
            let vote = match share {
                _ if trials <= 8 => Vote::Unknown,
                share if share <= 0.7 => Vote::Pass,
                _ => Vote::Fail,
            };
            Ok::<_, ()>(Outcome { vote, achieved_rps: share })
        };
        search.drive(measure).unwrap();
        let Bracket { low, high } = search.bracket();
        assert!(
            low.unwrap() > 0.65 && low.unwrap() <= 0.7 && high.unwrap() > 0.7 && high.unwrap() < 0.75,
            "{low:?} {high:?}"
        );
        assert!(search.note().unwrap().starts_with("8 of "), "{:?}", search.note());
    }

    #[test]
    fn what_was_never_validly_measured_is_left_open() {
        // Valid only up to 40 % and from 80 % on: the peak lies somewhere between.
        let mut search = PeakSearch::new(1.0, 0.05, []);
        let measure = |share: f64| {
            let vote = match share {
                share if share <= 0.4 => Vote::Pass,
                share if share >= 0.8 => Vote::Fail,
                _ => Vote::Unknown,
            };
            Ok::<_, ()>(Outcome { vote, achieved_rps: share })
        };
        let votes = [(0.2, Vote::Pass), (0.2, Vote::Pass), (0.8, Vote::Fail), (0.8, Vote::Fail)];
        votes
            .iter()
            .for_each(|(share, vote)| search.bisection = search.bisection.clone().with_vote(*share, *vote));
        search.drive(measure).unwrap();
        let Bracket { low, high } = search.bracket();
        assert!(low.unwrap() > 0.34 && low.unwrap() <= 0.4 && high == Some(0.8), "{low:?} {high:?}");
        assert!(
            search.is_known() && search.note().unwrap().contains("it may be higher"),
            "{:?}",
            search.note()
        );
    }

    #[test]
    fn a_finished_sweep_with_a_narrow_step_needs_no_more_trials() {
        let votes = [(0.5, Vote::Pass), (0.5, Vote::Pass), (0.55, Vote::Fail), (0.55, Vote::Fail)];
        let mut search = PeakSearch::new(1.0, 0.05, votes);
        assert_eq!(search.next(), None);
        assert_eq!((search.bracket(), search.note()), (Bracket { low: Some(0.5), high: Some(0.55) }, None));
    }
}
