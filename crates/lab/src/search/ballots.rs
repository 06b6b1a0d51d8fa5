//! All votes of a search, and the threshold that they imply.

use super::{Bracket, REPEATS, Vote};

units::limits! {
    /// This many agreeing votes decide a rate if they are the majority: two of three.
    const AGREEING: u32 = 2, Count,
        "ours, because one trial may be an accident, and two of three take one trial more at most";
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ballot {
    pub(super) rate: f64,
    passes: u32,
    fails: u32,
    unknown: u32,
    /// Trials that the generator limited.
    limited: u32,
    /// Trials that said nothing and no longer count.
    forgotten: u32,
    /// The vote expected from an earlier search.
    expected: Option<Vote>,
}

impl Ballot {
    /// Votes for, an uncontradicted expectation counted as one.
    fn passes(&self) -> u32 {
        self.passes + u32::from(self.expected == Some(Vote::Pass) && self.counted_fails() == 0)
    }

    /// Votes against, likewise.
    fn fails(&self) -> u32 {
        self.counted_fails() + u32::from(self.expected == Some(Vote::Fail) && self.passes == 0)
    }

    /// Trials that say nothing are repeated, and count against a rate that never held from then on.
    fn counted_fails(&self) -> u32 {
        let against = if self.passes == 0 { self.unknown.saturating_sub(REPEATS - 1) } else { 0 };
        self.fails + self.limited + against
    }

    /// Trials without a usable figure of the server.
    fn says_nothing(&self) -> u32 {
        self.unknown + self.limited + self.forgotten
    }

    fn is_empty(&self) -> bool {
        self.passes() + self.fails() == 0
    }

    fn is_decided(&self) -> bool {
        // After several inconclusive trials in a row, more would not help.
        let enough = self.passes().max(self.fails()) >= AGREEING || self.unknown > REPEATS;
        enough && self.passes() != self.fails()
    }
}

/// The trials of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// All of them, including those known beforehand.
    pub(super) all: u32,
    /// The inconclusive ones.
    pub(super) unknown: u32,
}

impl Tally {
    pub(super) fn plus(self, other: Tally) -> Tally {
        Tally { all: self.all + other.all, unknown: self.unknown + other.unknown }
    }
}

/// The votes of a search, by rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Ballots {
    rising: Vec<Ballot>,
}

impl Ballots {
    pub(super) fn count(&mut self, rate: f64, vote: Vote) {
        let ballot = self.entry(rate);
        *match vote {
            Vote::Pass => &mut ballot.passes,
            Vote::Fail => &mut ballot.fails,
            Vote::Unknown => &mut ballot.unknown,
            Vote::Limited => &mut ballot.limited,
        } += 1;
    }

    /// Takes it that `rate` will vote as it did in an earlier search, until a trial says otherwise.
    ///
    /// One trial that agrees is then enough. One that does not means that the machine may have changed, and the
    /// expectation is forgotten.
    pub(super) fn expect(&mut self, rate: f64, vote: Vote) {
        self.entry(rate).expected = Some(vote);
    }

    /// Where the votes put the threshold: the place that the fewest votes contradict, the lower of equals.
    ///
    /// A majority at each rate alone would let one unlucky rate far below hide all above it; this lets the
    /// rates speak together, as only one threshold can be true. Both ends, where there are any, have the
    /// majority of their own votes on their side or are still undecided.
    pub(super) fn bracket(&self) -> Bracket {
        let voted: Vec<&Ballot> = self.rising.iter().filter(|ballot| !ballot.is_empty()).collect();
        let mut against: u32 = voted.iter().map(|ballot| ballot.passes()).sum();
        let (mut least, mut place) = (against, 0);
        for (i, ballot) in voted.iter().enumerate() {
            against = against + ballot.fails() - ballot.passes();
            if against < least {
                (least, place) = (against, i + 1);
            }
        }
        let below = place.checked_sub(1).map(|i| voted[i].rate);
        Bracket { low: below, high: voted.get(place).map(|ballot| ballot.rate) }
    }

    /// Whether the votes at `rate` need no further one.
    pub(super) fn is_decided(&self, rate: f64) -> bool {
        self.at(rate).is_some_and(Ballot::is_decided)
    }

    /// Whether `rate` was tried and no trial of it counts.
    pub(super) fn is_unanswered(&self, rate: f64) -> bool {
        self.at(rate).is_some_and(Ballot::is_empty)
    }

    /// The lowest rate above `low` at which a trial failed.
    ///
    /// The upper end of the bracket may stand on trials that say nothing.
    pub(super) fn lowest_failure(&self, low: Option<f64>) -> Option<f64> {
        let above = self.rising.iter().filter(|ballot| low.is_none_or(|low| ballot.rate > low));
        above.filter(|ballot| ballot.fails > 0).map(|ballot| ballot.rate).next()
    }

    /// Whether every rate that was tried has a trial that passed or failed.
    pub(super) fn all_answered(&self) -> bool {
        let is_answered = |ballot: &Ballot| ballot.passes + ballot.fails > 0;
        self.rising.iter().all(|ballot| is_answered(ballot) || ballot.says_nothing() == 0)
    }

    /// Forgets inconclusive trials at rates without other votes, so that these can be tried again.
    pub(super) fn forget_unknown(&mut self) {
        let is_open = |ballot: &&mut Ballot| ballot.passes + ballot.fails + ballot.limited == 0;
        for ballot in self.rising.iter_mut().filter(is_open) {
            ballot.forgotten += std::mem::take(&mut ballot.unknown);
        }
    }

    /// Votes that the bracket contradicts.
    pub(super) fn contradictions(&self) -> u32 {
        let high = self.bracket().high.unwrap_or(f64::INFINITY);
        let against = |ballot: &Ballot| if ballot.rate < high { ballot.fails() } else { ballot.passes() };
        self.rising.iter().map(against).sum()
    }

    pub(super) fn tally(&self) -> Tally {
        let sum = |read: fn(&Ballot) -> u32| self.rising.iter().map(read).sum::<u32>();
        let unknown = sum(Ballot::says_nothing);
        Tally { all: sum(|ballot| ballot.passes + ballot.fails) + unknown, unknown }
    }

    fn entry(&mut self, rate: f64) -> &mut Ballot {
        let place = self.rising.partition_point(|ballot| ballot.rate < rate);
        if self.rising.get(place).is_none_or(|ballot| ballot.rate != rate) {
            self.rising.insert(place, Ballot { rate, ..Ballot::default() });
        }
        &mut self.rising[place]
    }

    fn at(&self, rate: f64) -> Option<&Ballot> {
        self.rising.iter().find(|ballot| ballot.rate == rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballots(votes: &[(f64, &str)]) -> Ballots {
        let mut ballots = Ballots::default();
        for (rate, marks) in votes {
            for mark in marks.chars() {
                let vote = match mark {
                    '+' => Vote::Pass,
                    '-' => Vote::Fail,
                    '>' => Vote::Limited,
                    _ => Vote::Unknown,
                };
                ballots.count(*rate, vote);
            }
        }
        ballots
    }

    #[test]
    fn the_threshold_contradicts_the_fewest_votes() {
        let check = |votes: &[(f64, &str)], low: Option<f64>, high: Option<f64>| {
            assert_eq!(ballots(votes).bracket(), Bracket { low, high }, "{votes:?}");
        };
        check(&[], None, None);
        check(&[(5.0, "+")], Some(5.0), None);
        check(&[(5.0, "-")], None, Some(5.0));
        check(&[(9.0, "--"), (5.0, "++")], Some(5.0), Some(9.0));
        // One unlucky rate below does not hide those above, one lucky rate above does not lift the rest.
        check(&[(1.0, "--"), (2.0, "+++"), (3.0, "+++"), (4.0, "---")], Some(3.0), Some(4.0));
        check(&[(1.0, "+++"), (2.0, "---"), (3.0, "---"), (4.0, "++-")], Some(1.0), Some(2.0));
        check(&[(1.0, "+++"), (2.0, "+-+"), (3.0, "-+-"), (4.0, "---")], Some(2.0), Some(3.0));
        // Of equals the lower, so that a tie is not a pass.
        check(&[(1.0, "++"), (2.0, "+-")], Some(1.0), Some(2.0));
    }

    #[test]
    fn trials_that_say_nothing_are_repeated_before_they_count_against() {
        let check = |marks: &str, empty: bool, decided: bool, high: Option<f64>| {
            let ballots = ballots(&[(5.0, marks)]);
            assert_eq!(ballots.is_unanswered(5.0), empty, "{marks}");
            assert_eq!(ballots.is_decided(5.0), decided, "{marks}");
            assert_eq!(ballots.bracket().high, high, "{marks}");
        };
        check("?", true, false, None);
        check("??", true, false, None);
        check("???", false, false, Some(5.0));
        check("????", false, true, Some(5.0));
        check("?++", false, true, None);
        check("+???", false, false, None);
        check("+????", false, true, None);
        check("?-??", false, true, Some(5.0));
        // The generator's own limit is decided as fast as a failure.
        check(">", false, false, Some(5.0));
        check(">>", false, true, Some(5.0));
        check("+>>", false, true, Some(5.0));
    }

    #[test]
    fn only_trials_that_failed_are_evidence_of_a_failure() {
        let check = |votes: &[(f64, &str)], expect: Option<f64>| {
            let ballots = ballots(votes);
            assert_eq!(ballots.lowest_failure(ballots.bracket().low), expect, "{votes:?}");
        };
        check(&[(1.0, "++"), (2.0, "--")], Some(2.0));
        check(&[(1.0, "++"), (2.0, "???"), (3.0, "--")], Some(3.0));
        check(&[(1.0, "++-"), (2.0, "???")], None);
        check(&[(2.0, "???"), (3.0, "-?")], Some(3.0));
        check(&[(1.0, "++"), (2.0, ">>"), (3.0, "--")], Some(3.0));
    }

    #[test]
    fn rates_of_which_nothing_is_known_can_be_tried_anew() {
        let mut ballots = ballots(&[(1.0, "++"), (2.0, "???"), (3.0, "-??-")]);
        assert_eq!(ballots.bracket(), Bracket { low: Some(1.0), high: Some(2.0) });
        ballots.forget_unknown();
        assert_eq!(ballots.bracket(), Bracket { low: Some(1.0), high: Some(3.0) });
        let expect = Tally { all: 9, unknown: 5 };
        assert_eq!(ballots.tally(), expect, "they still count as trials");
    }

    #[test]
    fn two_of_three_decide() {
        let check = |marks: &str, expect: bool| {
            assert_eq!(ballots(&[(5.0, marks)]).is_decided(5.0), expect, "{marks}");
        };
        check("+", false);
        check("++", true);
        check("+-", false);
        check("+-+", true);
        check("-+-", true);
        check("++--", false);
        check("++--+", true);
    }

    #[test]
    fn an_expectation_spares_one_trial_until_it_is_contradicted() {
        let check = |marks: &str, decided: bool, low: Option<f64>| {
            let mut ballots = ballots(&[(5.0, marks)]);
            ballots.expect(5.0, Vote::Pass);
            assert_eq!((ballots.is_decided(5.0), ballots.bracket().low), (decided, low), "{marks}");
        };
        check("", false, Some(5.0));
        check("+", true, Some(5.0));
        check("-", false, None);
        check("-+", false, None);
        check("--", true, None);
        check("??", false, Some(5.0));
        check("???", false, None);
    }

    #[test]
    fn counts_what_contradicts_the_answer() {
        let ballots = ballots(&[(1.0, "--+"), (2.0, "+++"), (3.0, "++-"), (4.0, "-?+-")]);
        assert_eq!(ballots.bracket(), Bracket { low: Some(3.0), high: Some(4.0) });
        let expect = Tally { all: 13, unknown: 1 };
        assert_eq!((ballots.contradictions(), ballots.tally()), (4, expect));
    }
}
