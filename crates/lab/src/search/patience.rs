//! How long a search looks on while its trials say nothing.

use super::Vote;

/// So many disturbed trials in a row, and the host is not quiet.
///
/// Source: where a stall of its own makes one trial in five invalid, three in a row come about once in a hundred trials,
/// and a search takes some ten.
const MOST: u32 = 3;
/// So many trials in a row without a valid one, and the search is futile.
///
/// Source: three at each of five rates, whose strides of 4, 8, 16 and 32 % lead down to 40 % of what came out of an overload.
/// A generator that is late there is so at any rate: on, the search would sink to one at which nothing is measured.
const FUTILE: u32 = 15;

/// Counts the trials that said nothing one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// Disturbed by the host.
    in_a_row: u32,
    /// Invalid for whatever reason.
    invalid: u32,
}

impl Patience {
    /// A trial ended so.
    pub(super) fn enter(&mut self, vote: Vote) {
        self.in_a_row = if vote == Vote::Disturbed { self.in_a_row + 1 } else { 0 };
        let says_nothing = matches!(vote, Vote::Disturbed | Vote::Unusable);
        self.invalid = if says_nothing { self.invalid + 1 } else { 0 };
    }

    /// Whether the host disturbed too many.
    pub(super) fn is_lost(self) -> bool {
        self.in_a_row >= MOST
    }

    /// Whether too many were invalid for whatever reason.
    pub(super) fn is_futile(self) -> bool {
        self.invalid >= FUTILE
    }

    /// What to say of that; `None` where it is not so.
    pub(super) fn futile_words(self) -> Option<String> {
        self.is_futile().then(|| format!("the search ended as {} trials in a row were invalid", self.invalid))
    }

    /// Waits for a quiet host once more.
    pub(super) fn renew(&mut self) {
        self.in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_lost_by_disturbed_trials_in_a_row() {
        let check = |votes: &[Vote], expect: bool| {
            let mut patience = Patience::default();
            votes.iter().for_each(|vote| patience.enter(*vote));
            assert_eq!(patience.is_lost(), expect, "{votes:?}");
            patience.renew();
            assert!(!patience.is_lost());
        };
        check(&[], false);
        check(&[Vote::Disturbed; 2], false);
        check(&[Vote::Disturbed; 3], true);
        check(&[Vote::Disturbed, Vote::Disturbed, Vote::Pass, Vote::Disturbed], false);
        check(&[Vote::Unusable; 5], false);
    }

    #[test]
    fn a_search_is_futile_after_invalid_trials_in_a_row() {
        let check = |votes: &[Vote], expect: bool| {
            let mut patience = Patience::default();
            for vote in votes {
                patience.enter(*vote);
                // A quiet host does not make them valid.
                patience.renew();
            }
            assert_eq!(patience.is_futile(), expect, "{votes:?}");
            assert_eq!(patience.futile_words().is_some(), expect);
        };
        check(&[Vote::Unusable; 14], false);
        check(&[Vote::Unusable; 15], true);
        check(&[[Vote::Unusable; 14], [Vote::Disturbed; 14]].concat(), true);
        check(&[&[Vote::Unusable; 14], &[Vote::Fail][..], &[Vote::Unusable; 14]].concat(), false);
    }
}
