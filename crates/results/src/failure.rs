use serde::{Deserialize, Serialize};

/// Number of failures of one kind.
///
/// `kind` is a string and not an enumeration, since future protocols bring their own kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ErrorCount {
    /// Words with underscores, such as `timeout`, `connection_lost`, `connection_refused`, `server_error`,
    /// `client_error`, `protocol`, `wrong_value`, `datagram_lost`.
    pub kind: String,
    /// Failures of the window: requests that were due in it, attempts to connect, bytes without a request.
    pub count: u64,
    /// Requests among them; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Detail of the first failure of this kind, which may be of the warm-up.
    pub first_detail: Option<String>,
}
