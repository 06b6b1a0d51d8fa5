use serde::{Deserialize, Serialize};

/// Result of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClaimResult {
    /// Its name within the study.
    pub id: String,
    /// The claim, in words.
    pub text: String,
    /// The author of the claim, with the place in the publication.
    pub source: String,
    /// Whether it holds here.
    pub verdict: ClaimVerdict,
    /// The measured result, in words with figures.
    pub measured: String,
    /// Reason for the verdict; for a claim that could not be judged, the missing data.
    pub reason: String,
    /// The two-sided p-value of the verdict after Holm's correction for the claims of the study; `None` if there were
    /// too few blocks for a test.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// Whether it is undecided and the host disturbed some of its trials: on a quieter host fewer blocks would suffice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_disturbed: bool,
    /// For an open claim, an estimate of the further blocks that would settle it; `None` if no number of them would, or if
    /// there is no estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_blocks: Option<u32>,
}

/// Whether a claim holds on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It holds: the interval over the blocks lies within the claimed range.
    Reproduced,
    /// It does not hold: the interval lies outside.
    Differs,
    /// The interval contains a bound of the claim, or there are too few blocks for an interval: more blocks may decide.
    Open,
    /// Hardware or a program is missing. In results of earlier versions also: too few blocks, or a disturbed host.
    NotMeasurable,
}

impl ClaimVerdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [ClaimVerdict; 4] =
        [ClaimVerdict::Reproduced, ClaimVerdict::Differs, ClaimVerdict::Open, ClaimVerdict::NotMeasurable];

    /// Name in pages and tables.
    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::Reproduced => "reproduced",
            ClaimVerdict::Differs => "differs",
            ClaimVerdict::Open => "open",
            ClaimVerdict::NotMeasurable => "not measurable here",
        }
    }
}
