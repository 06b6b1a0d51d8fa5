/// A mapping from values to positions on an axis, with its ticks.
///
/// Bounds: every position is finite and on the axis; a value that the axis cannot show, such as 0 on a logarithmic one,
/// gets its nearer end.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    kind: Kind,
    /// In axis units: the logarithm on a logarithmic axis.
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
    /// A logarithmic axis around 1, with evenly stepped ticks.
    Ratio,
    /// Percentiles by the number of nines: p50, p90 and p99.9 at −log₁₀(1 − p).
    Nines,
}

impl Scale {
    /// From 0 to a little beyond `to`.
    pub(crate) fn linear(to: f64) -> Scale {
        let to = if to.is_finite() && to > 0.0 { to } else { 1.0 };
        Scale { kind: Kind::Linear, from: 0.0, to, start: 0.0, end: 1.0 }
    }

    /// A logarithmic axis over `values`, widened to the next 1, 2 or 5 at both ends and to a factor of 10 at
    /// least. Values that are not over 0 are ignored; without any, it runs from 10 to 1000.
    pub(crate) fn log(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = ends(values, (f64::MAX, 0.0));
        let (low, high) = if high > 0.0 { (low, high) } else { (10.0, 1000.0) };
        let (mut from, mut to) = (step_down(low), step_up(high));
        while to / from < 9.99 {
            from = step_down(from * 0.99);
            to = step_up(to * 1.01);
        }
        Scale { kind: Kind::Log, from: from.log10(), to: to.log10(), start: 0.0, end: 1.0 }
    }

    /// A logarithmic axis over `values`, for ratios: it holds 0.8 to 1.25 at least.
    pub(crate) fn ratio(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = ends(values, (0.8, 1.25));
        let (from, to) = ((low / 1.06).log10(), (high * 1.06).log10());
        Scale { kind: Kind::Ratio, from, to, start: 0.0, end: 1.0 }
    }

    /// Percentiles from 0 to `to`, below 100.
    pub(crate) fn nines(to: f64) -> Scale {
        let to = nines(to).clamp(1.0, 9.0);
        Scale { kind: Kind::Nines, from: 0.0, to, start: 0.0, end: 1.0 }
    }

    /// The same scale between the positions `start` and `end`.
    pub(crate) fn between(mut self, start: f64, end: f64) -> Scale {
        (self.start, self.end) = (start, end);
        self
    }

    /// The position of `value`.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = ((self.own(value) - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        let share = if share.is_nan() { 0.0 } else { share };
        self.start + share * (self.end - self.start)
    }

    /// `value` in axis units.
    fn own(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => value,
            Kind::Log | Kind::Ratio => value.max(f64::MIN_POSITIVE).log10(),
            Kind::Nines => nines(value),
        }
    }

    /// Whether `value` is on the axis.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.from - 1e-9..=self.to + 1e-9).contains(&self.own(value))
    }

    /// The greatest value of a linear axis.
    pub(crate) fn top(&self) -> f64 {
        self.to
    }

    /// Round values to label, at least `room` pixels apart.
    pub(crate) fn ticks(&self, room: f64) -> Vec<f64> {
        let length = (self.end - self.start).abs();
        match self.kind {
            Kind::Linear => {
                // Even steps need less company than the uneven ones of a logarithmic axis to be read.
                let step = step_up((self.to - self.from) * 1.5 * room / length.max(1.0));
                let count = ((self.to - self.from) / step + 1e-9).floor().clamp(0.0, 50.0) as u32;
                (0..=count).map(|i| self.from + f64::from(i) * step).collect()
            }
            // A step that keeps ticks apart at the dense upper end; far from 1 decades do better.
            Kind::Ratio if self.to - self.from < 1.0 => {
                let top = 10f64.powf(self.to);
                let apart = |step: &f64| {
                    let gap = (top / (top - step)).log10() * length / (self.to - self.from);
                    step * 2.0 <= top && gap >= room
                };
                let step = [0.05, 0.1, 0.25, 0.5, 1.0, 2.0].into_iter().find(apart).unwrap_or(1.0);
                let ticks = (1..=(top / step) as u32).map(|i| f64::from(i) * step);
                let mut ticks: Vec<f64> = ticks.filter(|tick| self.holds(*tick)).collect();
                if step >= 1.0 {
                    ticks.extend([0.2, 0.5].into_iter().filter(|tick| self.holds(*tick)));
                }
                ticks
            }
            Kind::Log | Kind::Ratio => {
                let decade = length / (self.to - self.from);
                // 2 to 5 is the widest gap of 1-2-5, 1 to 2 the narrowest: 0.301 of a decade.
                let (mantissas, every): (&[f64], i32) = if decade * 0.301 >= room {
                    (&[1.0, 2.0, 5.0], 1)
                } else if decade >= room {
                    (&[1.0], 1)
                } else {
                    (&[1.0], (room / decade.max(1.0)).ceil() as i32)
                };
                let decades = self.from.floor() as i32..=self.to.ceil() as i32;
                let ticks = decades
                    .filter(|decade| decade % every == 0)
                    .flat_map(|decade| mantissas.iter().map(move |m| m * 10f64.powi(decade)));
                ticks.filter(|tick| self.holds(*tick)).collect()
            }
            Kind::Nines => {
                let all = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 99.99999];
                let mut ticks: Vec<f64> = Vec::new();
                for tick in all.into_iter().filter(|tick| nines(*tick) <= self.to + 1e-9) {
                    if ticks.last().is_none_or(|last| (self.at(tick) - self.at(*last)).abs() >= room) {
                        ticks.push(tick);
                    }
                }
                ticks
            }
        }
    }
}

/// `known` widened to the least and the greatest of those `values` that are over 0.
fn ends(values: impl Iterator<Item = f64>, known: (f64, f64)) -> (f64, f64) {
    let positive = values.filter(|value| value.is_finite() && *value > 0.0);
    positive.fold(known, |(low, high), value| (low.min(value), high.max(value)))
}

fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile.clamp(0.0, 99.999_999_9) / 100.0).log10()
}

/// The largest of 1, 2, 5 × 10ⁿ that is at most `value`.
fn step_down(value: f64) -> f64 {
    step(value, |mantissa| mantissa <= 1.000_001, [5.0, 2.0, 1.0])
}

/// The smallest of 1, 2, 5 × 10ⁿ that is at least `value`.
fn step_up(value: f64) -> f64 {
    step(value, |mantissa| mantissa >= 0.999_999, [1.0, 2.0, 5.0])
}

fn step(value: f64, fits: impl Fn(f64) -> bool, mantissas: [f64; 3]) -> f64 {
    let value = value.clamp(1e-12, 1e15);
    let decade = 10f64.powf(value.log10().floor());
    let found = mantissas.into_iter().find(|m| fits(m * decade / value));
    decade * found.unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_1_2_5() {
        let check = |value: f64, down: f64, up: f64| {
            assert!((step_down(value) / down - 1.0).abs() < 1e-9, "{value} down {}", step_down(value));
            assert!((step_up(value) / up - 1.0).abs() < 1e-9, "{value} up {}", step_up(value));
        };
        check(1.0, 1.0, 1.0);
        check(3.0, 2.0, 5.0);
        check(7.0, 5.0, 10.0);
        check(0.04, 0.02, 0.05);
        check(1000.0, 1000.0, 1000.0);
    }

    #[test]
    fn ticks_are_round_and_apart() {
        let check = |scale: Scale, room: f64, expect: &[f64]| {
            let ticks = scale.between(0.0, 300.0).ticks(room);
            assert_eq!(ticks.len(), expect.len(), "{ticks:?}");
            assert!(
                ticks.iter().zip(expect).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)),
                "{ticks:?}"
            );
        };
        check(Scale::linear(150.0), 55.0, &[0.0, 50.0, 100.0, 150.0]);
        check(Scale::log([30.0, 900.0].into_iter()), 20.0, &[20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        check(Scale::log([1.0, 1e6].into_iter()), 20.0, &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        check(Scale::ratio([0.9, 1.1].into_iter()), 30.0, &[0.8, 0.9, 1.0, 1.1, 1.2, 1.3]);
        check(Scale::ratio([0.5].into_iter()), 30.0, &[0.5, 0.75, 1.0, 1.25]);
        check(Scale::nines(99.95), 20.0, &[0.0, 50.0, 90.0, 99.0, 99.9]);
    }

    #[test]
    fn positions_are_finite_whatever_comes() {
        let empty = [0.0_f64, f64::NAN].into_iter();
        for scale in
            [Scale::linear(f64::NAN), Scale::log(empty.clone()), Scale::nines(f64::NAN), Scale::ratio(empty)]
        {
            let scale = scale.between(10.0, 110.0);
            for value in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
                let at = scale.at(value);
                assert!((10.0..=110.0).contains(&at), "{scale:?} {value} {at}");
            }
            assert!(scale.ticks(20.0).len() < 60);
        }
    }
}
