use std::collections::BTreeMap;

use serde::Serialize;

use crate::faults::fault::{Fault, Figures, Judged, World};
use crate::faults::right::Assessment;

/// Wrongly judged doses listed individually, at most this many for each fault.
const KEPT: usize = 10;

/// All doses of one fault.
#[derive(Serialize)]
pub(crate) struct FaultRow {
    #[serde(flatten)]
    pub(crate) fault: &'static Fault,
    pub(crate) place: World,
    pub(crate) doses: usize,
    /// Number of doses with each verdict.
    pub(crate) verdicts: BTreeMap<&'static str, usize>,
    /// Doses whose figures are not only bounds.
    pub(crate) usable: usize,
    pub(crate) false_valid: usize,
    pub(crate) false_invalid: usize,
    /// Verdicts with a wrong reason, or an overload of a server that kept up.
    pub(crate) other: usize,
    /// Measured over true minus 1, without its sign, over all doses.
    pub(crate) p50_error: Option<FigureError>,
    pub(crate) p99_error: Option<FigureError>,
    /// The largest error of p99 with a usable verdict.
    pub(crate) worst_usable_p99_error: Option<f64>,
    /// The first wrongly judged doses.
    pub(crate) misses: Vec<Miss>,
    /// Why the fault is impossible on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
    #[serde(skip)]
    errors: Errors,
}

/// Errors of a figure, as shares of the true one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct FigureError {
    pub(crate) median: f64,
    pub(crate) worst: f64,
}

/// A wrongly judged dose.
#[derive(Serialize)]
pub(crate) struct Miss {
    /// Its number, which together with seed and name reproduces it.
    pub(crate) number: u64,
    pub(crate) dose: String,
    pub(crate) found: &'static str,
    pub(crate) verdict: String,
    pub(crate) truth: Option<Figures>,
    pub(crate) measured: Option<Figures>,
}

#[derive(Default)]
struct Errors {
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl FaultRow {
    pub(crate) fn new(place: World, fault: &'static Fault) -> FaultRow {
        FaultRow {
            fault,
            place,
            doses: 0,
            verdicts: BTreeMap::new(),
            usable: 0,
            false_valid: 0,
            false_invalid: 0,
            other: 0,
            p50_error: None,
            p99_error: None,
            worst_usable_p99_error: None,
            misses: Vec::new(),
            skipped: None,
            errors: Errors::default(),
        }
    }

    pub(crate) fn enter(&mut self, number: u64, judged: Judged) {
        self.doses += 1;
        *self.verdicts.entry(judged.given.label()).or_default() += 1;
        self.usable += usize::from(judged.given.is_usable());
        if let Some((p50, p99)) = judged.errors() {
            self.errors.p50.push(p50.abs());
            self.errors.p99.push(p99.abs());
            if judged.given.is_usable() {
                let worst = self.worst_usable_p99_error.unwrap_or(0.0);
                self.worst_usable_p99_error = Some(worst.max(p99.abs()));
            }
        }
        let found = match judged.found() {
            Assessment::Right => return,
            Assessment::FalseValid => {
                self.false_valid += 1;
                "false valid"
            }
            Assessment::FalseInvalid => {
                self.false_invalid += 1;
                "false invalid"
            }
            Assessment::Other => {
                self.other += 1;
                "another verdict"
            }
        };
        if self.misses.len() < KEPT {
            let Judged { dose, given, truth, measured, .. } = judged;
            self.misses.push(Miss { number, dose, found, verdict: given.words(), truth, measured });
        }
    }

    /// Sums up after the last dose.
    pub(crate) fn closed(mut self) -> FaultRow {
        let Errors { p50, p99 } = std::mem::take(&mut self.errors);
        (self.p50_error, self.p99_error) = (FigureError::of(&p50), FigureError::of(&p99));
        self
    }

    /// The number of doses that count as failures: a wrong figure that passes for the server's, and a true one rejected
    /// without any unplanned disturbance. On this machine the host may disturb too.
    pub(crate) fn failures(&self) -> usize {
        let false_invalid = if self.place == World::Simulated { self.false_invalid } else { 0 };
        self.false_valid + false_invalid
    }
}

impl FigureError {
    fn of(errors: &[f64]) -> Option<FigureError> {
        let median = stats::median(errors)?;
        Some(FigureError { median, worst: errors.iter().copied().fold(0.0, f64::max) })
    }
}

#[cfg(test)]
mod tests {
    use results::{Reason, Verdict};

    use super::*;
    use crate::faults::fault::Outcome;
    use crate::faults::right::{DoseResult, Right};

    fn row(place: World) -> FaultRow {
        const FAULT: &Fault = &Fault {
            name: "f",
            planted: "",
            doses: "",
            right: "",
            truth: "",
            plant: |_| Ok(Outcome::Skipped("not here".into())),
        };
        FaultRow::new(place, FAULT)
    }

    fn judged(right: Right, verdict: Verdict, p99_us: f64) -> Judged {
        let figures = |p99_us| Some(Figures { p50_us: 100.0, p99_us });
        Judged {
            dose: "a dose".into(),
            right,
            given: DoseResult::Verdict(verdict),
            truth: figures(1_000.0),
            measured: figures(p99_us),
        }
    }

    #[test]
    fn doses_are_counted_and_errors_summed_up() {
        let mut row = row(World::Simulated);
        let right = Right::TrueOrInvalid(&[Reason::ReceiveLag]);
        let invalid = Verdict::Invalid { reasons: Vec::new() };
        row.enter(0, judged(right, Verdict::Valid, 1_050.0));
        row.enter(1, judged(right, Verdict::Valid, 1_500.0));
        row.enter(2, judged(right, invalid.clone(), 3_000.0));
        row.enter(3, judged(Right::Valid, invalid, 1_000.0));
        let row = row.closed();
        assert_eq!((row.doses, row.false_valid, row.false_invalid, row.other), (4, 1, 1, 1));
        assert_eq!(row.usable, 2);
        assert_eq!(row.verdicts, BTreeMap::from([("valid", 2), ("invalid", 2)]));
        let p99 = row.p99_error.unwrap();
        assert!((p99.median - 0.275).abs() < 1e-9 && (p99.worst - 2.0).abs() < 1e-9, "{p99:?}");
        assert!((row.worst_usable_p99_error.unwrap() - 0.5).abs() < 1e-9);
        let misses: Vec<(u64, &str)> = row.misses.iter().map(|miss| (miss.number, miss.found)).collect();
        assert_eq!(misses, [(1, "false valid"), (2, "another verdict"), (3, "false invalid")]);
        assert_eq!(row.failures(), 2);
    }

    #[test]
    fn on_this_machine_only_a_false_valid_counts() {
        let mut row = row(World::Here);
        row.enter(0, judged(Right::Valid, Verdict::Invalid { reasons: Vec::new() }, 1_000.0));
        assert_eq!((row.false_invalid, row.failures()), (1, 0));
        row.enter(1, judged(Right::Valid, Verdict::Valid, 2_000.0));
        assert_eq!(row.failures(), 1);
    }
}
