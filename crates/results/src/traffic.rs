use serde::{Deserialize, Serialize};

/// Transport of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Transport {
    /// TCP.
    #[serde(rename = "tcp")]
    Tcp,
    /// Reads over UDP, everything else over TCP.
    #[serde(rename = "udp+tcp")]
    UdpTcp,
    /// A Unix socket.
    #[serde(rename = "unix")]
    Unix,
    /// TLS over TCP.
    #[serde(rename = "tls")]
    Tls,
}

impl Transport {
    /// The name in tables and on disk.
    pub fn words(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::UdpTcp => "udp+tcp",
            Transport::Unix => "unix",
            Transport::Tls => "tls",
        }
    }
}

/// Bytes through the generator's sockets within the window, without the kernel's headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Traffic {
    /// Sent to the servers.
    pub bytes_sent: u64,
    /// Received from them.
    pub bytes_received: u64,
    /// Sent each second.
    pub sent_bytes_per_s: f64,
    /// Received each second.
    pub received_bytes_per_s: f64,
}

impl Traffic {
    /// The bytes and their rates over a window; `None` for an empty window.
    pub fn over(bytes_sent: u64, bytes_received: u64, window_s: f64) -> Option<Traffic> {
        (window_s > 0.0).then(|| Traffic {
            bytes_sent,
            bytes_received,
            sent_bytes_per_s: bytes_sent as f64 / window_s,
            received_bytes_per_s: bytes_received as f64 / window_s,
        })
    }
}

/// Outcomes of the window's datagrams, if requests used UDP.
///
/// Counted, not repaired: a request whose datagrams are lost ends as a time-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Datagrams {
    /// Requests sent as a datagram.
    pub sent: u64,
    /// Requests whose response was never complete.
    pub lost: u64,
    /// Responses that came after their request had timed out.
    pub late: u64,
    /// Datagrams that came twice.
    pub duplicated: u64,
    /// Datagrams that came after a later one of the same response.
    pub reordered: u64,
    /// Responses of more than one datagram.
    pub multi: u64,
}
