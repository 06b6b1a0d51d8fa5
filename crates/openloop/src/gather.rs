use units::Time;

use crate::{Completion, Outcome};

/// The jobs of several parts that are under way: one place each, used again.
///
/// Its memory is bounded by the requests under way, since every job here has one that is.
#[derive(Default)]
pub(crate) struct Gathers {
    places: Vec<Gather>,
    free: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Gather {
    left: u32,
    outcome: Outcome,
    /// The part that was answered last of those that were sent.
    slowest: Option<Completion>,
}

impl Gathers {
    /// A place for a job of `parts` parts.
    pub(crate) fn open(&mut self, parts: usize) -> u32 {
        let gather = Gather { left: parts as u32, outcome: Outcome::Completed, slowest: None };
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = gather;
                place
            }
            None => {
                self.places.push(gather);
                (self.places.len() - 1) as u32
            }
        }
    }

    /// Whether all have ended.
    pub(crate) fn are_over(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// A part has ended at `at`, with a completion if it was ever sent.
    ///
    /// Returns the whole job's end with its last part: as bad as its worst part, as late as its slowest.
    pub(crate) fn ended(
        &mut self,
        place: u32,
        outcome: Outcome,
        completion: Option<Completion>,
        at: Time,
    ) -> Option<(Outcome, Option<Completion>)> {
        let gather = &mut self.places[place as usize];
        gather.left -= 1;
        if badness(outcome) > badness(gather.outcome) {
            gather.outcome = outcome;
        }
        if let Some(part) = completion
            && gather.slowest.is_none_or(|slowest| part.done >= slowest.done)
        {
            gather.slowest = Some(part);
        }
        if gather.left > 0 {
            return None;
        }
        let (outcome, slowest) = (gather.outcome, gather.slowest);
        self.free.push(place);
        // Parts end in the order of time; one that was never sent ends without a completion, but late all the same.
        Some((outcome, slowest.map(|slowest| Completion { outcome, done: at, ..slowest })))
    }
}

fn badness(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Completed => 0,
        Outcome::Unfinished => 1,
        Outcome::Timeout => 2,
        Outcome::Error => 3,
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    fn part(done: u64, outcome: Outcome) -> Completion {
        let t = Time(1);
        Completion {
            operation: 0,
            intended: t,
            eligible: t,
            sent: t,
            first_byte: t,
            done: Time(done),
            outcome,
            late: Nanos(done),
        }
    }

    #[test]
    fn a_job_is_as_late_as_its_slowest_part_and_as_bad_as_its_worst() {
        let mut gathers = Gathers::default();
        let place = gathers.open(3);
        let mut sent =
            |done: u64, outcome| gathers.ended(place, outcome, Some(part(done, outcome)), Time(done));
        assert_eq!(sent(5, Outcome::Completed), None);
        assert_eq!(sent(7, Outcome::Timeout), None);
        assert_eq!(sent(9, Outcome::Completed), Some((Outcome::Timeout, Some(part(9, Outcome::Timeout)))));
        assert_eq!(gathers.open(1), place, "the place is used again");
        assert_eq!(gathers.ended(place, Outcome::Error, None, Time(9)), Some((Outcome::Error, None)));
    }

    #[test]
    fn a_part_that_was_never_sent_is_the_slowest() {
        let mut gathers = Gathers::default();
        let place = gathers.open(2);
        gathers.ended(place, Outcome::Completed, Some(part(5, Outcome::Completed)), Time(5));
        let whole = gathers.ended(place, Outcome::Unfinished, None, Time(70));
        // The generator's delay comes from the part that was sent.
        let late = Completion { late: Nanos(5), ..part(70, Outcome::Unfinished) };
        assert_eq!(whole, Some((Outcome::Unfinished, Some(late))));
    }
}
