//! Record of a study: a published figure measured again, with its claims judged.
//!
//! A study's folder holds `study.json`, this record, next to the folders of its experiments. The record holds
//! everything that a page shows: the report draws and computes nothing, so that a study can be read years later.

mod cell;
mod claim;
mod figure;
mod folder;
mod parameter;
mod plan;
mod table;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spec::Agents;

pub use cell::{Cell, X};
pub use claim::{ClaimResult, ClaimVerdict};
pub use figure::{Axis, Figure, FigureKind, Point, Scale, Series};
pub use folder::StudyFolder;
pub use parameter::Parameter;
pub use plan::{PlanRecord, PlannedPoint};
pub use table::{Entry, Row, Table};

/// The version of the schema of `study.json` that this program writes; it also reads the earlier one.
///
/// 2 has the configuration in fields: the plan, the claims that are not measurable, the remote host, the agents.
pub const STUDY_SCHEMA: u32 = 2;

/// A grid of experiments, the claims that it judges, and the published values for comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Study {
    /// The [`STUDY_SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// The study's name, `latency-vs-load`; the folder's name also has the time.
    pub name: String,
    /// Title on a page.
    pub title: String,
    /// The question, as a sentence.
    pub question: String,
    /// The reproduced publication, such as `IISWC'17 Fig. 1`.
    pub source: String,
    /// The method, a paragraph.
    pub method: String,
    /// Deviations of method or machine from the publication.
    #[serde(default)]
    pub deviations: Vec<String>,
    /// Effort of the run.
    #[serde(rename = "form")]
    pub effort: Effort,
    /// Start time: RFC 3339, UTC.
    pub created: String,
    /// Duration in total, without interruptions.
    pub elapsed_s: f64,
    /// Whether it ran to its end. A partial result is kept and marked.
    pub complete: bool,
    /// Why it ended early.
    pub interrupted: Option<String>,
    /// The command line that produced it.
    pub command: Vec<String>,
    /// The version of the program.
    pub version: String,
    /// The seed of every random stream and of the order of the trials.
    pub seed: u64,
    /// The number of complete blocks: each has every point once, and the reference points.
    #[serde(default)]
    pub blocks: u32,
    /// Parameters that the study derived from the machine, or that were set by hand.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The plan, each point with its whole specification; `None` for a study of schema 1.
    #[serde(default)]
    pub plan: Option<PlanRecord>,
    /// The claims that this host cannot measure, with the reason.
    #[serde(default)]
    pub claims_not_measurable: BTreeMap<String, String>,
    /// Remarks about the machine that the servers ran on, if it was a remote one.
    #[serde(default)]
    pub remote_host: Option<String>,
    /// Machines that generated the load.
    #[serde(default)]
    pub agents: Agents,
    /// Facts about the machine that the servers ran on, as `taillight host --json` prints them.
    pub host: Value,
    /// The applied knobs, in command-line form: `cpu.set=0`.
    pub knobs: Vec<String>,
    /// Remarks for the reader, such as cores shared by server and generator.
    pub notes: Vec<String>,
    /// Limits of this machine: effects that it cannot show, or shows differently from the published machine.
    pub limits: Vec<String>,
    /// In the order of the page.
    pub figures: Vec<Figure>,
    /// In the order of the page.
    pub tables: Vec<Table>,
    /// Every claim with its verdict.
    pub claims: Vec<ClaimResult>,
    /// Skipped measurements, with the reason.
    pub skipped: Vec<Skipped>,
    /// Every measurement, in the order of running, including invalid ones.
    pub cells: Vec<Cell>,
}

/// Effort of a study's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Seconds: only checks that it runs. Its figures are meaningless.
    Smoke,
    /// Minutes: few repeats and points.
    #[default]
    Quick,
    /// As long as necessary: 7 repeats or more.
    Full,
}

impl Effort {
    /// Name in options and tables.
    pub fn words(self) -> &'static str {
        match self {
            Effort::Smoke => "smoke",
            Effort::Quick => "quick",
            Effort::Full => "full",
        }
    }
}

/// A skipped part of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Skipped {
    /// The skipped item: a series, a point, a claim's figure, or the whole study.
    pub what: String,
    /// The reason, with a hint.
    pub reason: String,
}

impl Study {
    /// Whether `other` has the same points with the same specifications.
    pub fn has_plan_of(&self, other: &Study) -> bool {
        self.plan == other.plan
            && self.parameters == other.parameters
            && self.claims_not_measurable == other.claims_not_measurable
            && (&self.remote_host, &self.agents) == (&other.remote_host, &other.agents)
    }

    /// The plan as names and values, to be printed as a whole.
    pub fn configuration(&self) -> Value {
        let Some(plan) = &self.plan else { return Value::Null };
        let mut whole = serde_json::to_value(plan).unwrap_or_default();
        if self.agents != Agents::default() {
            whole["agents"] = serde_json::to_value(&self.agents).unwrap_or_default();
        }
        whole
    }

    /// The cells of `series` at `x`, one per block.
    pub fn cells_at<'a>(&'a self, series: &'a str, x: &'a X) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().filter(move |cell| cell.series == series && cell.x == *x)
    }
}
