use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A quantity that a study derives from the machine, such as the server's threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Parameter {
    /// Its name in the study's files; a path such as `target.memory` is set in every specification.
    pub name: String,
    /// Description, in words.
    pub about: String,
    /// Its value in this run.
    pub value: Value,
    /// Its value in the publication, if stated there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Value>,
    /// Whether it was set by hand instead of derived.
    #[serde(default)]
    pub set: bool,
}
