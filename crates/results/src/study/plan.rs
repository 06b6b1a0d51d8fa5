use serde::{Deserialize, Serialize, Serializer};
use spec::Spec;

use super::X;

/// The plan of a study, with everything filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanRecord {
    /// Planned measurements of each point; of a run until settled the most that it may take.
    pub blocks: u32,
    /// Whether blocks are added until every claim is settled: claims are then judged at the error of a look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_settled: bool,
    /// Planned measurements of each reference point in each block.
    pub references_per_block: u32,
    /// The width of the interval of a maximum throughput, as a share of it.
    pub tolerance: f64,
    /// The maximum throughput that loads are shares of, if it is not searched.
    pub assumed_maximum_rps: Option<f64>,
    /// Every point of every series.
    pub points: Vec<PlannedPoint>,
    /// Pairs of concurrent services, for a study of co-location.
    pub pairs: Vec<[PlannedPoint; 2]>,
    /// Points that are measured again in each block.
    pub references: Vec<PlannedPoint>,
}

/// One point of one series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannedPoint {
    /// The series.
    pub series: String,
    /// Its position on the axis.
    pub x: X,
    /// The specification of the point.
    #[serde(rename = "experiment", serialize_with = "written")]
    pub spec: Spec,
}

/// As `--resolve` prints it: without absent fields.
fn written<S: Serializer>(spec: &Spec, serializer: S) -> Result<S::Ok, S::Error> {
    spec.to_json().serialize(serializer)
}
