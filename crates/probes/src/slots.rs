use std::time::Duration;

use spec::Probe;
use units::Time;

use crate::instrument::Reading;

/// Divides time so that every probe is compared with its own absence.
///
/// Probe number `j` is active in slot `i` if bit `j` of `i` is 0: over 2ᵏ slots each of k probes is active in half of
/// the slots, and each other probe is active in half of these, so that the costs of different probes are separated. In
/// a window of fewer slots the last probes share a rhythm, so that each still runs and pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub length: Duration,
    /// Probes from this number on share a rhythm.
    last: u32,
}

/// A span of time with the same active probes throughout.
pub(crate) struct Slot {
    pub from: Time,
    pub to: Time,
    /// From before the first reading until after the last one. On a busy machine the readings take long, and the growth
    /// of the counters during them may not belong to the window.
    pub readings_span: (Time, Time),
    /// The active probes.
    pub looked: Vec<Probe>,
    pub readings: Vec<(Probe, Box<dyn Reading>)>,
    /// Processor time of the server in the slot. Units: ns.
    pub server_ns: Option<u64>,
}

units::limits! {
    /// A slot contains at least one whole window of 100 ms, wherever it begins.
    const SHORTEST: Duration = Duration::from_millis(200), Span,
        "ours, because a slot must hold one window of 100 ms, wherever it begins";

    /// Changes of the machine within seconds must affect slots of both kinds.
    const LONGEST: Duration = Duration::from_millis(500), Span,
        "ours, because changes of the machine within seconds must fall on both kinds of slots";
}

impl Slot {
    /// Whether all of it, with its readings, lies within a window.
    pub(crate) fn is_within(&self, opened: Time, closed: Time) -> bool {
        let (begun, ended) = self.readings_span;
        begun >= opened && ended <= closed
    }
}

impl Slots {
    /// The slots for `probes` in a window of this length.
    pub(crate) fn new(probes: usize, window: Duration) -> Slots {
        // Two whole periods of the slowest rhythm.
        let wanted = 2_u32 << probes.min(16);
        let length = (window / wanted).clamp(SHORTEST, LONGEST);
        let count = (window.as_nanos() / length.as_nanos()).max(2);
        Slots { length, last: count.ilog2() - 1 }
    }

    /// One slot that is longer than any trial, in which all probes are active.
    pub(crate) fn one() -> Slots {
        Slots { length: Duration::from_secs(86_400), last: 0 }
    }

    /// Whether probe number `j` is active in slot `i`.
    pub(crate) fn looks(self, j: usize, i: usize) -> bool {
        let bit = u32::try_from(j).unwrap_or(u32::MAX).min(self.last);
        (i >> bit) & 1 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_fit_the_window() {
        let check = |probes, window_ms: u64, expect_ms: u64| {
            let slots = Slots::new(probes, Duration::from_millis(window_ms));
            assert_eq!(slots.length, Duration::from_millis(expect_ms), "{probes} in {window_ms} ms");
        };
        check(1, 10_000, 500);
        check(1, 1_600, 400);
        check(3, 6_400, 400);
        check(5, 2_000, 200);
        check(1, 0, 200);
    }

    #[test]
    fn a_slot_whose_first_reading_was_before_the_window_is_outside() {
        let [opened, closed] = [10, 20].map(Time);
        let check = |begun: u64, ended: u64, expect: bool| {
            let (from, to) = (Time(11), Time(12));
            let readings_span = (Time(begun), Time(ended));
            let slot =
                Slot { from, to, readings_span, looked: Vec::new(), readings: Vec::new(), server_ns: None };
            assert_eq!(slot.is_within(opened, closed), expect, "{begun} {ended}");
        };
        check(10, 20, true);
        check(9, 20, false);
        check(10, 21, false);
    }

    #[test]
    fn in_the_one_slot_all_look() {
        assert!((0..8).all(|j| Slots::one().looks(j, 0)));
    }

    #[test]
    fn every_probe_looks_and_pauses_and_meets_the_others() {
        let slots = Slots::new(3, Duration::from_secs(8));
        for a in 0..3 {
            for b in 0..3 {
                let together = (0..8).filter(|&i| slots.looks(a, i) && slots.looks(b, i)).count();
                assert_eq!(together, if a == b { 4 } else { 2 }, "{a} {b}");
            }
        }
        // Five probes in five slots.
        let slots = Slots::new(5, Duration::from_secs(1));
        for j in 0..5 {
            assert!((0..5).any(|i| slots.looks(j, i)) && (0..5).any(|i| !slots.looks(j, i)), "{j}");
        }
    }
}
