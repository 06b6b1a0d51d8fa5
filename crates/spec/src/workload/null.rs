use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Facts;

/// The options of the null workload: none.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Null {}

impl Facts for Null {}
