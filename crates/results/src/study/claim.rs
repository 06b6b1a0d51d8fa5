use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// Its name within the study.
    pub id: String,
    /// The claim, in words.
    pub text: String,
    /// Who claims it, and where.
    pub source: String,
    /// Whether it holds here.
    pub verdict: ClaimVerdict,
    /// The measured result, in words with figures.
    pub measured: String,
    /// Reason for the verdict; for a claim that could not be judged, the missing data.
    pub reason: String,
    /// The two-sided p-value of the verdict after Holm's correction for the claims of the study; `None` if there were too
    /// few blocks for a test.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// Whether it is not judged and the host disturbed some of its trials: on a quieter host fewer blocks would do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_disturbed: bool,
}

/// Whether a claim holds on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It holds: the interval over the blocks lies within the claimed range.
    Reproduced,
    /// It does not: the interval lies outside.
    Differs,
    /// The interval reaches across a bound of the claim, or there are too few blocks for one: more blocks would tell.
    Open,
    /// Hardware or a program is missing. In results of earlier versions also: too few blocks, or a disturbed host.
    NotMeasurable,
}

impl ClaimVerdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [ClaimVerdict; 4] =
        [ClaimVerdict::Reproduced, ClaimVerdict::Differs, ClaimVerdict::Open, ClaimVerdict::NotMeasurable];

    /// As pages and tables print it.
    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::Reproduced => "reproduced",
            ClaimVerdict::Differs => "differs",
            ClaimVerdict::Open => "open",
            ClaimVerdict::NotMeasurable => "not measurable here",
        }
    }
}
