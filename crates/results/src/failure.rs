use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many requests failed in one way.
///
/// Named by `kind` rather than by an enumeration, since protocols to come bring kinds of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// In words with underscores, such as `timeout`, `connection_lost`, `connection_refused`, `server_error`,
    /// `client_error`, `protocol`, `wrong_value`, `datagram_lost`.
    pub kind: String,
    /// Requests of the window that failed so.
    pub count: u64,
    /// Detail of the first of these failures.
    pub first_detail: Option<String>,
}
