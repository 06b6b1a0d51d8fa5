//! Limits the number of inconclusive trials in a search.

use super::{REPEATS, Vote};

/// This many inconclusive trials in a row end a search.
///
/// Source: the trials of five rates, whose strides of 4, 8, 16 and 32 % lead down to 40 % of the throughput under
/// overload. A generator that is still late there would be late at any rate.
const MOST: u32 = 5 * (REPEATS + 1);

/// Counts the trials that said nothing one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    in_a_row: u32,
}

impl Patience {
    pub(super) fn enter(&mut self, vote: Vote) {
        self.in_a_row = if vote.says_nothing() { self.in_a_row + 1 } else { 0 };
    }

    pub(super) fn is_futile(self) -> bool {
        self.in_a_row >= MOST
    }

    /// Message for an ended search; `None` if it may continue.
    pub(super) fn futile_words(self) -> Option<String> {
        self.is_futile()
            .then(|| format!("the search ended as {} trials in a row said nothing", self.in_a_row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_futile_after_unknown_trials_in_a_row() {
        let check = |votes: &[Vote], expect: bool| {
            let mut patience = Patience::default();
            votes.iter().for_each(|vote| patience.enter(*vote));
            assert_eq!(patience.is_futile(), expect, "{votes:?}");
            assert_eq!(patience.futile_words().is_some(), expect);
        };
        check(&[Vote::Unknown; 19], false);
        check(&[Vote::Unknown; 20], true);
        check(&[&[Vote::Unknown; 19], &[Vote::Fail][..], &[Vote::Unknown; 19]].concat(), false);
    }
}
