use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the null workload asks for: it has no options.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Null {}
