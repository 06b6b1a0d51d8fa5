//! How long a search looks on while the host disturbs it.

use super::Vote;

/// So many disturbed trials in a row, and the host is not quiet.
///
/// Source: where a stall of its own makes one trial in five invalid, three in a row come about once in a hundred trials,
/// and a search takes some ten.
const MOST: u32 = 3;

/// Counts the trials that the host disturbed one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    in_a_row: u32,
}

impl Patience {
    /// A trial ended so.
    pub(super) fn enter(&mut self, vote: Vote) {
        self.in_a_row = if vote == Vote::Disturbed { self.in_a_row + 1 } else { 0 };
    }

    /// Whether there were too many.
    pub(super) fn is_lost(self) -> bool {
        self.in_a_row >= MOST
    }

    /// Begins anew.
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
}
