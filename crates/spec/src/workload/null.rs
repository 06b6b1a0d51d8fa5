use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Facts;

/// The null workload: requests to the null server, whose response times are known. It has no options of its own.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Null {}

impl Facts for Null {}
