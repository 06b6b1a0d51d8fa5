use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of requests that failed in one way.
///
/// `kind` is a string and not an enumeration, since future protocols bring their own kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// Words with underscores, such as `timeout`, `connection_lost`, `connection_refused`, `server_error`,
    /// `client_error`, `protocol`, `wrong_value`, `datagram_lost`.
    pub kind: String,
    /// Requests of the window with this failure.
    pub count: u64,
    /// Detail of the first of these failures.
    pub first_detail: Option<String>,
}
