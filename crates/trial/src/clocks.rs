use reactor::WallClock;
use units::Time;

/// Offset of the wall clock before and after a run.
pub struct Clocks {
    /// The offset before.
    pub before: WallClock,
    /// The offset after.
    pub after: WallClock,
}

impl Clocks {
    /// Converts a wall-clock time to the engine's clock, by the offset between the two samples.
    pub fn monotonic(&self, wall: Time) -> Time {
        let span = self.after.at.since(self.before.at).0.max(1);
        let into = self.before.monotonic(wall).since(self.before.at).0.min(span);
        let drift = self.after.ahead_ns - self.before.ahead_ns;
        let ahead_ns = self.before.ahead_ns + (drift as f64 * into as f64 / span as f64) as i64;
        WallClock { ahead_ns, ..self.before }.monotonic(wall)
    }

    /// Error bound of a converted time.
    pub fn error_us(&self) -> f64 {
        self.before.error.max(self.after.error).as_micros_f64()
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    #[test]
    fn the_lead_of_the_wall_clock_is_taken_between_its_two_samples() {
        let sample = |at: u64, ahead_ns: i64| WallClock { at: Time(at), ahead_ns, error: Nanos(3) };
        let clocks = Clocks { before: sample(1_000_000, 500), after: sample(2_000_000, 600) };
        let check = |wall: u64, expect: u64| assert_eq!(clocks.monotonic(Time(wall)), Time(expect));
        check(1_000_500, 1_000_000);
        check(1_500_550, 1_500_000);
        check(2_000_600, 2_000_000);
    }
}
