//! Compares two clocks over a network, as NTP does.
//!
//! Source: RFC 5905, section 8: from an exchange's four times, the offset is ((t₂ − t₁) + (t₃ − t₄)) / 2. Its error is
//! at most half of the time in transit, (t₄ − t₁) − (t₃ − t₂), however that divides between the two directions. The
//! fastest of many exchanges is therefore the most accurate.
//!
//! Try it: `cargo test -p agent comparison`.

use std::time::{Duration, Instant};

use crate::clock::monotonic_ns;
use crate::message::Pong;

/// Pings in one comparison: enough for at least one to meet no other packet on its way.
const PINGS: u64 = 64;
/// A slow network gets fewer pings, limited by this time...
const PING_TIME: Duration = Duration::from_millis(500);
/// ...but at least this number.
const FEWEST_PINGS: u64 = 8;

/// The pings of one comparison, sent one after the other, and their replies.
pub(crate) struct Pings {
    begun: Instant,
    /// When the last ping was sent.
    asked: u64,
    exchanges: Vec<Exchange>,
}

impl Pings {
    pub(crate) fn new() -> Pings {
        Pings { begun: Instant::now(), asked: 0, exchanges: Vec::new() }
    }

    /// The number of the next ping, to be sent now; `None` once there are enough replies.
    pub(crate) fn ask(&mut self) -> Option<u64> {
        let number = self.exchanges.len() as u64;
        let enough = number >= PINGS || (number >= FEWEST_PINGS && self.begun.elapsed() > PING_TIME);
        self.asked = monotonic_ns();
        (!enough).then_some(number)
    }

    /// Records a reply that arrived at `returned` of this clock. Ignores a reply to another ping, and returns `false`.
    pub(crate) fn answered(&mut self, pong: &Pong, returned: u64) -> bool {
        let is_it = pong.number == self.exchanges.len() as u64;
        if is_it {
            let (received, replied) = (pong.received_ns, pong.replied_ns);
            self.exchanges.push(Exchange { asked: self.asked, received, replied, returned });
        }
        is_it
    }

    /// The comparison from all replies; `None` without replies.
    pub(crate) fn compared(&self) -> Option<Comparison> {
        Comparison::of(&self.exchanges)
    }
}

/// One ping and its reply. Units: ns, each by the clock of the side that read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exchange {
    /// When the ping was sent.
    asked: u64,
    /// When the other side received it.
    received: u64,
    /// When the other side replied.
    replied: u64,
    /// When the reply arrived.
    returned: u64,
}

impl Exchange {
    /// The time in transit, both ways.
    fn delay(&self) -> u64 {
        self.returned.saturating_sub(self.asked).saturating_sub(self.replied.saturating_sub(self.received))
    }

    fn offset(&self) -> i64 {
        let there = i128::from(self.received) - i128::from(self.asked);
        let back = i128::from(self.replied) - i128::from(self.returned);
        ((there + back) / 2) as i64
    }
}

/// The offset of another clock from this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Time of the comparison, by this clock. Units: ns.
    pub at_ns: u64,
    /// The other clock minus this one. Units: ns.
    pub offset_ns: i64,
    /// The true offset differs by at most this: half of the fastest exchange. Units: ns.
    pub error_ns: u64,
}

impl Comparison {
    /// The comparison by the fastest of `exchanges`; `None` without any.
    fn of(exchanges: &[Exchange]) -> Option<Comparison> {
        let best = exchanges.iter().min_by_key(|exchange| exchange.delay())?;
        Some(Comparison {
            at_ns: best.asked + best.returned.saturating_sub(best.asked) / 2,
            offset_ns: best.offset(),
            // Rounded up, plus one for the offset's own division.
            error_ns: best.delay().div_ceil(2) + 1,
        })
    }

    /// The other clock's time when this one reads `ns`, without drift in between. Bounds: not below 0.
    pub fn there(&self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.offset_ns)
    }
}

/// How much faster another clock runs than this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The drift. Units: µs each second.
    pub ppm: f64,
    /// The true drift differs by at most this, if it was constant. Units: µs each second.
    pub error_ppm: f64,
}

impl Drift {
    /// The drift from one comparison to a later one; `None` if no time lies between.
    pub fn between(before: &Comparison, after: &Comparison) -> Option<Drift> {
        let span = after.at_ns.checked_sub(before.at_ns).filter(|&span| span > 0)? as f64;
        let gained = (after.offset_ns - before.offset_ns) as f64;
        let error = (before.error_ns + after.error_ns) as f64;
        Some(Drift { ppm: gained / span * 1e6, error_ppm: error / span * 1e6 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An exchange over a network with these delays, with a clock that is `offset` ahead.
    fn exchange(asked: u64, there: u64, thinking: u64, back: u64, offset: i64) -> Exchange {
        let received = (asked + there).saturating_add_signed(offset);
        Exchange { asked, received, replied: received + thinking, returned: asked + there + thinking + back }
    }

    #[test]
    fn the_fastest_exchange_is_believed() {
        let check = |exchanges: &[Exchange], expect: Option<(u64, i64, u64)>| {
            let found = Comparison::of(exchanges).map(|c| (c.at_ns, c.offset_ns, c.error_ns));
            assert_eq!(found, expect);
        };
        check(&[], None);
        // Symmetric delays are exact.
        check(&[exchange(1_000, 50, 7, 50, 3_700)], Some((1_053, 3_700, 51)));
        // Asymmetric delays cause an error of half of the difference, within the stated bound.
        check(&[exchange(1_000, 90, 0, 10, 3_700)], Some((1_050, 3_740, 51)));
        let slow_and_fast = [exchange(1_000, 900, 0, 100, -800), exchange(9_000, 20, 0, 20, -800)];
        check(&slow_and_fast, Some((9_020, -800, 21)));
    }

    #[test]
    fn drift_is_what_was_gained_over_the_time() {
        let at = |at_ns, offset_ns| Comparison { at_ns, offset_ns, error_ns: 1_000 };
        let check = |before, after, expect: Option<(f64, f64)>| {
            let found = Drift::between(&before, &after);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            match (found, expect) {
                (Some(found), Some((ppm, error))) => {
                    assert!(near(found.ppm, ppm) && near(found.error_ppm, error), "{found:?}");
                }
                (found, expect) => assert_eq!(found.is_some(), expect.is_some()),
            }
        };
        // 50 µs in 1 s are 50 ppm, known to 2 µs in 1 s.
        check(at(0, 5), at(1_000_000_000, 50_005), Some((50.0, 2.0)));
        check(at(7, 0), at(10_000_000_007, -100_000), Some((-10.0, 0.2)));
        check(at(7, 0), at(7, 5), None);
        check(at(7, 0), at(6, 5), None);
    }

    proptest! {
        /// The true offset lies within the stated error on any network.
        #[test]
        fn the_error_is_a_bound(
            offset in -10_000_000_000i64..10_000_000_000,
            ways in prop::collection::vec((1u64..5_000_000, 0u64..1_000_000, 1u64..5_000_000), 1..40),
        ) {
            let asked = 100_000_000_000;
            let exchanges: Vec<Exchange> =
                ways.iter().map(|&(there, thinking, back)| exchange(asked, there, thinking, back, offset)).collect();
            let comparison = Comparison::of(&exchanges).unwrap();
            prop_assert!(comparison.offset_ns.abs_diff(offset) <= comparison.error_ns);
            let fastest = ways.iter().map(|(there, _, back)| there + back).min().unwrap();
            prop_assert!(comparison.error_ns <= fastest / 2 + 2);
            prop_assert_eq!(comparison.there(asked).cast_signed() - comparison.offset_ns, asked.cast_signed());
        }

        /// A constant drift is measured to within the stated error.
        #[test]
        fn the_drift_is_found(
            ppm in -200.0..200.0f64,
            ways in prop::collection::vec((1u64..500_000, 1u64..500_000), 20),
            span_s in 1u64..600,
        ) {
            let ahead = |t: u64| 3_700_000_000 + (t as f64 * ppm * 1e-6) as i64;
            let at = |from: u64| {
                let exchanges: Vec<Exchange> = ways
                    .iter()
                    .enumerate()
                    .map(|(i, &(there, back))| {
                        let asked = from + i as u64 * 1_000_000;
                        exchange(asked, there, 0, back, ahead(asked))
                    })
                    .collect();
                Comparison::of(&exchanges).unwrap()
            };
            let drift = Drift::between(&at(10_000_000_000), &at((10 + span_s) * 1_000_000_000)).unwrap();
            // Plus the clock's drift within an exchange of at most 1 ms.
            prop_assert!((drift.ppm - ppm).abs() <= drift.error_ppm + 1.0, "{ppm}: {drift:?}");
        }
    }
}
