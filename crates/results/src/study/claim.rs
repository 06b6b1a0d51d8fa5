use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// Its name within the study.
    pub id: String,
    /// What is claimed, in words.
    pub text: String,
    /// Who claims it, and where.
    pub source: String,
    /// Whether it holds here.
    pub verdict: ClaimVerdict,
    /// What was measured, in words with figures.
    pub measured: String,
    /// Why that is the verdict; what is missing where it could not be judged.
    pub reason: String,
    /// The chance of a difference as large as that by accident, after correction for the number of comparisons in
    /// the study; `None` where the claim compares nothing or there were too few pairs.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// Whether it could not be judged because the host disturbed what was measured: another run may judge it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_disturbed: bool,
}

/// Whether a claim holds on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It holds.
    Reproduced,
    /// It does not.
    Differs,
    /// This machine, or this run of the study, cannot tell.
    NotMeasurable,
}

impl ClaimVerdict {
    /// As pages and tables print it.
    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::Reproduced => "reproduced",
            ClaimVerdict::Differs => "differs",
            ClaimVerdict::NotMeasurable => "not measurable here",
        }
    }
}
