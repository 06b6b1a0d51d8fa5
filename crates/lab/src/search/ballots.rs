//! All votes of a search, and where they put the threshold.

use super::{Bracket, Vote};

/// So many agreeing votes, and more than there are against, decide a rate: two of three.
const AGREEING: u32 = 2;

/// The votes at one rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ballot {
    pub(super) rate: f64,
    passes: u32,
    fails: u32,
    unusable: u32,
    /// Invalid trials that no longer count.
    forgotten: u32,
    /// Trials that the host disturbed, which never count.
    disturbed: u32,
    /// What was known before the search.
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

    /// An invalid trial is repeated once; if the next is invalid as well, that counts.
    fn counted_fails(&self) -> u32 {
        self.fails + self.unusable.saturating_sub(1)
    }

    fn is_empty(&self) -> bool {
        self.passes() + self.fails() == 0
    }

    fn is_decided(&self) -> bool {
        self.passes().max(self.fails()) >= AGREEING && self.passes() != self.fails()
    }
}

/// The trials of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// All of them, those known beforehand too.
    pub(super) all: u32,
    /// Those that were invalid for another reason than the host.
    pub(super) unusable: u32,
    /// Those that the host disturbed.
    pub(super) disturbed: u32,
}

impl Tally {
    /// Both together.
    pub(super) fn plus(self, other: Tally) -> Tally {
        Tally {
            all: self.all + other.all,
            unusable: self.unusable + other.unusable,
            disturbed: self.disturbed + other.disturbed,
        }
    }

    /// What to say of the disturbed ones; `None` where there were none.
    pub(super) fn disturbed_words(self) -> Option<String> {
        let Tally { all, disturbed, .. } = self;
        (disturbed > 0)
            .then(|| format!("{disturbed} of {all} trials were disturbed by the host and do not count"))
    }
}

/// The votes of a search, by rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Ballots {
    rising: Vec<Ballot>,
}

impl Ballots {
    /// Counts one vote at `rate`.
    pub(super) fn count(&mut self, rate: f64, vote: Vote) {
        let ballot = self.entry(rate);
        *match vote {
            Vote::Pass => &mut ballot.passes,
            Vote::Fail => &mut ballot.fails,
            Vote::Unusable => &mut ballot.unusable,
            Vote::Disturbed => &mut ballot.disturbed,
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

    /// The lowest rate above `low` at which a valid trial failed.
    ///
    /// The upper end of the bracket may stand on invalid trials alone, which are not evidence of anything.
    pub(super) fn lowest_failure(&self, low: Option<f64>) -> Option<f64> {
        let above = self.rising.iter().filter(|ballot| low.is_none_or(|low| ballot.rate > low));
        above.filter(|ballot| ballot.fails > 0).map(|ballot| ballot.rate).next()
    }

    /// Forgets the invalid trials of rates that have no others, so that they may be tried anew.
    pub(super) fn forget_invalid(&mut self) {
        for ballot in self.rising.iter_mut().filter(|ballot| ballot.passes + ballot.fails == 0) {
            ballot.forgotten += std::mem::take(&mut ballot.unusable);
        }
    }

    /// Votes that the bracket contradicts.
    pub(super) fn contradictions(&self) -> u32 {
        let high = self.bracket().high.unwrap_or(f64::INFINITY);
        let against = |ballot: &Ballot| if ballot.rate < high { ballot.fails() } else { ballot.passes() };
        self.rising.iter().map(against).sum()
    }

    /// How many trials there were.
    pub(super) fn tally(&self) -> Tally {
        let sum = |read: fn(&Ballot) -> u32| self.rising.iter().map(read).sum::<u32>();
        let unusable = sum(|ballot| ballot.unusable + ballot.forgotten);
        let disturbed = sum(|ballot| ballot.disturbed);
        Tally { all: sum(|ballot| ballot.passes + ballot.fails) + unusable + disturbed, unusable, disturbed }
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
                    '~' => Vote::Disturbed,
                    _ => Vote::Unusable,
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
    fn an_invalid_trial_is_repeated_once_and_then_counts_against() {
        let check = |marks: &str, empty: bool, decided: bool, high: Option<f64>| {
            let ballots = ballots(&[(5.0, marks)]);
            assert_eq!(ballots.is_unanswered(5.0), empty, "{marks}");
            assert_eq!(ballots.is_decided(5.0), decided, "{marks}");
            assert_eq!(ballots.bracket().high, high, "{marks}");
        };
        check("?", true, false, None);
        check("??", false, false, Some(5.0));
        check("???", false, true, Some(5.0));
        check("?++", false, true, None);
        check("?+?", false, false, Some(5.0));
        check("+?", false, false, None);
    }

    #[test]
    fn a_trial_that_the_host_disturbed_never_counts() {
        let check = |marks: &str, empty: bool, decided: bool, high: Option<f64>| {
            let ballots = ballots(&[(5.0, marks)]);
            assert_eq!(ballots.is_unanswered(5.0), empty, "{marks}");
            assert_eq!(ballots.is_decided(5.0), decided, "{marks}");
            assert_eq!(ballots.bracket().high, high, "{marks}");
            assert_eq!(ballots.lowest_failure(None), high, "{marks}");
        };
        check("~", true, false, None);
        check("~~~~~~", true, false, None);
        check("~~+~+", false, true, None);
        check("-~~~", false, false, Some(5.0));
        check("~-~-", false, true, Some(5.0));
        let tally = ballots(&[(1.0, "+~~"), (2.0, "~?-")]).tally();
        assert_eq!(tally, Tally { all: 6, unusable: 1, disturbed: 3 });
    }

    #[test]
    fn only_valid_trials_are_evidence_of_a_failure() {
        let check = |votes: &[(f64, &str)], expect: Option<f64>| {
            let ballots = ballots(votes);
            assert_eq!(ballots.lowest_failure(ballots.bracket().low), expect, "{votes:?}");
        };
        check(&[(1.0, "++"), (2.0, "--")], Some(2.0));
        check(&[(1.0, "++"), (2.0, "???"), (3.0, "--")], Some(3.0));
        check(&[(1.0, "++-"), (2.0, "???")], None);
        check(&[(2.0, "???"), (3.0, "-?")], Some(3.0));
    }

    #[test]
    fn rates_with_invalid_trials_alone_can_be_tried_anew() {
        let mut ballots = ballots(&[(1.0, "++"), (2.0, "???"), (3.0, "-??-")]);
        assert_eq!(ballots.bracket(), Bracket { low: Some(1.0), high: Some(2.0) });
        ballots.forget_invalid();
        assert_eq!(ballots.bracket(), Bracket { low: Some(1.0), high: Some(3.0) });
        let expect = Tally { all: 9, unusable: 5, disturbed: 0 };
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
        check("?", false, Some(5.0));
        check("??", false, None);
    }

    #[test]
    fn counts_what_contradicts_the_answer() {
        let ballots = ballots(&[(1.0, "--+"), (2.0, "+++"), (3.0, "++-"), (4.0, "-?+-")]);
        assert_eq!(ballots.bracket(), Bracket { low: Some(3.0), high: Some(4.0) });
        let expect = Tally { all: 13, unusable: 1, disturbed: 0 };
        assert_eq!((ballots.contradictions(), ballots.tally()), (4, expect));
    }
}
