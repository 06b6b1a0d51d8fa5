use serde::{Deserialize, Serialize};
use units::{Nanos, Time};

use crate::Recording;

/// Arrivals that were due while the generator's thread had no processor: they were not sent, and are in no other
/// count.
///
/// A generator that comes back would send all of them at once, a burst that the users it simulates would not send.
/// The server's behaviour towards them is unknown: had it been slow in exactly these times, all of them would have
/// waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// How many were due in the window.
    pub arrivals: u64,
    /// Absences in the window.
    pub absences: u64,
    /// Their time in the window, of all threads together.
    pub time: Nanos,
    /// The longest of them.
    pub longest: Nanos,
}

impl Withheld {
    /// Adds what another thread or machine withheld.
    pub(crate) fn merge(&mut self, other: Withheld) {
        self.arrivals += other.arrivals;
        self.absences += other.absences;
        self.time += other.time;
        self.longest = self.longest.max(other.longest);
    }
}

impl Recording {
    /// A thread was absent from `from` to `to`.
    pub(crate) fn absent(&mut self, from: Time, to: Time) {
        let within = to.min(self.window_start + self.window).since(from.max(self.window_start));
        if within > Nanos::ZERO {
            self.withheld.absences += 1;
            self.withheld.time += within;
            self.withheld.longest = self.withheld.longest.max(within);
        }
    }

    /// An arrival that was due then is withheld.
    pub(crate) fn withhold(&mut self, intended: Time) {
        self.withheld.arrivals += u64::from(self.in_window(intended));
    }

    /// The share of the arrivals that was withheld, 0 to 1.
    pub fn withheld_share(&self) -> f64 {
        let all = self.withheld.arrivals + self.tally.intended;
        if all == 0 { 0.0 } else { self.withheld.arrivals as f64 / all as f64 }
    }
}
