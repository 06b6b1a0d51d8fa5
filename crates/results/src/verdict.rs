use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether a trial's figures are trustworthy, and if not, why.
///
/// A bad measurement is data, not an error: it is kept and shown hatched, and it fails a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// The figures describe the server.
    Valid,
    /// The server could not keep up: the backlog grew while the generator had time. A finding about the
    /// server; the response times depend on the length of the window.
    Overloaded {
        /// Achieved over offered throughput, 0 to 1; for sessions, steps that ended in the window over those due in it.
        achieved_share: f64,
        /// Growth of the backlog in requests per second; for sessions, steps due minus steps ended, per second.
        backlog_growth_rps: f64,
        /// For sessions, the share of the steps without a response within the generator's time-out, 0 to 1; 0 if the
        /// workload has its own deadline, and in results of earlier versions.
        #[serde(default)]
        timed_out_share: f64,
    },
    /// The figures do not describe the server alone.
    Invalid {
        /// Every reason, the most severe first.
        reasons: Vec<Invalid>,
    },
}

/// One reason against a trial, with its figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Invalid {
    /// The kind of reason.
    pub reason: Reason,
    /// The figure and the limit that it exceeded, in words with units.
    pub detail: String,
}

/// Reason for which a trial is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The generator sent too late.
    GeneratorLag,
    /// The generator received too late.
    ReceiveLag,
    /// The host disturbed server or generator beyond the limits of usable figures.
    HostDisturbed,
    /// The generator had no time left.
    GeneratorSaturated,
    /// The rate was missed although requests were due and no response was outstanding.
    RateMissed,
    /// Too many requests failed or timed out.
    ErrorRate,
    /// The data set was not in the server when the window opened, or did not stay there.
    FillFailed,
    /// The server returned a wrong value.
    VerifyFailed,
    /// A knob did not keep its setting during the trial.
    KnobDrift,
    /// The figures drifted within the window.
    NotSteady,
    /// An agent was lost during the trial.
    AgentLost,
    /// A probe lost events.
    ProbeLoss,
    /// A service of the target ended during the trial.
    ServiceEnded,
    /// Spans of traced requests are missing.
    SpansLost,
    /// The generator got events for unknown connections, a fault of its own.
    EventsLost,
}

impl Verdict {
    /// The JSON schema of verdicts and their reasons, whose descriptions `taillight explain` prints.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Verdict).to_value()
    }
}

impl Reason {
    /// The name in words, for reports and tables.
    pub fn words(self) -> &'static str {
        match self {
            Reason::GeneratorLag => "generator lag",
            Reason::ReceiveLag => "receive lag",
            Reason::HostDisturbed => "host disturbed",
            Reason::GeneratorSaturated => "generator saturated",
            Reason::RateMissed => "rate missed",
            Reason::ErrorRate => "error rate",
            Reason::FillFailed => "fill failed",
            Reason::VerifyFailed => "verify failed",
            Reason::KnobDrift => "knob drift",
            Reason::NotSteady => "not steady",
            Reason::AgentLost => "agent lost",
            Reason::ProbeLoss => "probe loss",
            Reason::ServiceEnded => "service ended",
            Reason::SpansLost => "spans lost",
            Reason::EventsLost => "events lost",
        }
    }

    /// Whether the trial's data are right although its timing was disturbed. Disturbances hit all targets that run in a
    /// random order equally, so a comparison keeps such trials.
    pub fn is_disturbance(self) -> bool {
        use Reason::{GeneratorLag, HostDisturbed, NotSteady, ReceiveLag};
        matches!(self, GeneratorLag | ReceiveLag | HostDisturbed | NotSteady)
    }

    /// Whether it concerns the timing of sends and reads, which may be better in a second trial.
    pub fn is_of_time(self) -> bool {
        self.is_disturbance() || matches!(self, Reason::GeneratorSaturated | Reason::RateMissed)
    }
}

impl Default for Verdict {
    /// A trial that was not judged is not valid.
    fn default() -> Verdict {
        Verdict::Invalid { reasons: Vec::new() }
    }
}

impl Verdict {
    /// Whether the trial's figures describe the server (an overload does).
    pub fn is_usable(&self) -> bool {
        !matches!(self, Verdict::Invalid { .. })
    }

    /// Whether the trial is invalid only because of disturbed timing.
    pub fn is_disturbed(&self) -> bool {
        self.is_invalid_only_by(Reason::is_disturbance)
    }

    /// Whether the trial's data are right, so that comparisons and claims count it: usable or only disturbed.
    pub fn is_sound(&self) -> bool {
        self.is_usable() || self.is_disturbed()
    }

    /// Whether a second trial is likely to be usable: the cause was outside of the server and temporary.
    pub fn may_pass(&self) -> bool {
        self.is_invalid_only_by(|reason| reason.is_of_time() || reason == Reason::ProbeLoss)
    }

    /// Whether it is invalid, and every reason satisfies `holds`.
    pub fn is_invalid_only_by(&self, holds: impl Fn(Reason) -> bool) -> bool {
        let Verdict::Invalid { reasons } = self else { return false };
        !reasons.is_empty() && reasons.iter().all(|invalid| holds(invalid.reason))
    }

    /// The same verdict with one more reason, the most severe.
    #[must_use]
    pub fn against(self, reason: Invalid) -> Verdict {
        let mut reasons = vec![reason];
        if let Verdict::Invalid { reasons: others } = self {
            reasons.extend(others);
        }
        Verdict::Invalid { reasons }
    }

    /// One or two words for a table: `valid`, `overloaded`, `generator lag`.
    pub fn label(&self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Overloaded { .. } => "overloaded",
            Verdict::Invalid { reasons } => reasons.first().map_or("invalid", |first| first.reason.words()),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Valid => write!(f, "valid"),
            Verdict::Overloaded { achieved_share, backlog_growth_rps, timed_out_share } => {
                let achieved = 100.0 * achieved_share;
                write!(f, "overloaded: achieved {achieved:.1} % of the offered load")?;
                if *timed_out_share > 0.0 {
                    write!(f, ", {:.1} % of it timed out", 100.0 * timed_out_share)?;
                }
                write!(f, ", the backlog grew by {backlog_growth_rps:.0} requests/s")
            }
            Verdict::Invalid { reasons } => {
                write!(f, "INVALID: ")?;
                for (i, invalid) in reasons.iter().enumerate() {
                    let separator = if i == 0 { "" } else { "; " };
                    write!(f, "{separator}{} ({})", invalid.reason.words(), invalid.detail)?;
                }
                Ok(())
            }
        }
    }
}
