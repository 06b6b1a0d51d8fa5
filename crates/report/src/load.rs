//! The unit of the offered load: requests, or arriving sessions.

use results::{LoadPoint, Trial};

use crate::number::{self, Units};
use crate::subject::Subject;

/// What arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadUnit {
    /// Requests, offered and achieved.
    Requests,
    /// Sessions; achieved throughput is still in requests, of which each session sends many.
    Sessions,
}

impl LoadUnit {
    /// The unit of a trial.
    pub(crate) fn of(trial: &Trial) -> LoadUnit {
        LoadUnit::of_all(std::iter::once(trial))
    }

    /// The unit of a load's trials.
    pub(crate) fn of_point(point: &LoadPoint) -> LoadUnit {
        LoadUnit::of_all(point.trials.iter().copied())
    }

    /// The unit of a whole page.
    pub(crate) fn of_subjects(subjects: &[Subject]) -> LoadUnit {
        LoadUnit::of_all(subjects.iter().flat_map(|subject| &subject.trials).map(|(_, trial)| *trial))
    }

    /// The unit of all trials of a target.
    pub(crate) fn of_subject(subject: &Subject) -> LoadUnit {
        LoadUnit::of_all(subject.trials.iter().map(|(_, trial)| *trial))
    }

    /// One trial with sessions decides: a trial that failed before its first session has none.
    fn of_all<'a>(mut trials: impl Iterator<Item = &'a Trial>) -> LoadUnit {
        if trials.any(Trial::offers_sessions) { LoadUnit::Sessions } else { LoadUnit::Requests }
    }

    fn units(self) -> &'static Units {
        match self {
            LoadUnit::Requests => &number::RATES,
            LoadUnit::Sessions => &number::SESSIONS,
        }
    }

    /// An offered load: `14.2 krps`, `2.50 sessions/s`.
    pub(crate) fn rate(self, per_s: Option<f64>) -> String {
        number::in_units(per_s, self.units())
    }

    /// Two of them in one unit: `112–118 krps`.
    pub(crate) fn range(self, low: f64, high: f64) -> String {
        number::range(low, high, self.units())
    }

    /// The unit of an axis up to `max`: its factor and its name.
    pub(crate) fn axis(self, max: f64) -> (f64, &'static str) {
        number::unit_of(max, self.units())
    }
}
