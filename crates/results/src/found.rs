use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts found during a trial, in addition to its specification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Found {
    /// The version that the server reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// Addresses of the servers, in the order in which keys are placed on them.
    pub servers: Vec<String>,
    /// Distinct pages requested from a web server; `None` for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// The body of every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Why the generator chose its event loop.
    pub io_reason: String,
    /// Sources of the values that a preset chose: the option, and the source.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
    /// Operations of the mix that the site lacks, and that were therefore left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Facts that the servers did not tell, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// The body of requests, to verify that two results sent the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Body {
    /// Its length. Units: bytes.
    pub length: u64,
    /// Its xxh3, in hexadecimal digits.
    pub xxh3: String,
}
