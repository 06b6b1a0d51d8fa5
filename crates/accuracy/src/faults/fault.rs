use anyhow::Result;
use hist::Latency;
use serde::Serialize;
use units::Nanos;

use crate::faults::chance::Chance;
use crate::faults::right::{Assessment, DoseResult, Right, compare};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum World {
    /// In a simulated world without other disturbances.
    Simulated,
    /// On this machine, by real processes, which the host may also disturb.
    Here,
}

#[derive(Serialize)]
pub(crate) struct Fault {
    /// Name for `--only`.
    #[serde(rename = "fault")]
    pub(crate) name: &'static str,
    /// The fault and its place.
    pub(crate) planted: &'static str,
    /// The parameters drawn for each dose.
    #[serde(rename = "range")]
    pub(crate) doses: &'static str,
    pub(crate) right: &'static str,
    /// Source of the true figures.
    pub(crate) truth: &'static str,
    /// Plants one dose and measures.
    #[serde(skip)]
    pub(crate) plant: fn(&mut Chance) -> Result<Outcome>,
}

/// Result of planting one dose.
pub(crate) enum Outcome {
    Judged(Box<Judged>),
    /// Why the fault is impossible on this machine.
    Skipped(String),
}

pub(crate) struct Judged {
    /// The planted dose, in words with units.
    pub(crate) dose: String,
    pub(crate) right: Right,
    pub(crate) given: DoseResult,
    /// The true figures, if they exist.
    pub(crate) truth: Option<Figures>,
    pub(crate) measured: Option<Figures>,
}

/// The compared percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Figures {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

impl Figures {
    /// The figures of a distribution; `None` if it is empty.
    pub(crate) fn of(times: &Latency) -> Option<Figures> {
        let at = |percentile| times.value_at(percentile).map(Nanos::as_micros_f64);
        Some(Figures { p50_us: at(50.0)?, p99_us: at(99.0)? })
    }
}

impl Judged {
    /// Measured over true less 1, of p50 and of p99; `None` if one side has no figures.
    pub(crate) fn errors(&self) -> Option<(f64, f64)> {
        let (truth, measured) = self.truth.zip(self.measured)?;
        let error = |measured: f64, truth: f64| measured / truth - 1.0;
        (truth.p50_us > 0.0)
            .then(|| (error(measured.p50_us, truth.p50_us), error(measured.p99_us, truth.p99_us)))
    }

    /// Comparison of the verdict with the right one.
    pub(crate) fn found(&self) -> Assessment {
        compare(self.right, &self.given, self.errors().map(|(_, p99)| p99))
    }
}

impl From<Judged> for Outcome {
    fn from(judged: Judged) -> Outcome {
        Outcome::Judged(Box::new(judged))
    }
}
