use serde::{Deserialize, Serialize};

/// TCP's figures of the server's connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sockets {
    /// Time of observation.
    pub observed_s: f64,
    /// Connections that lasted throughout a slot, on average.
    pub connections: u64,
    /// Mean time from the arrival of a request's bytes at the socket to the read that takes them: the unread bytes over
    /// the bytes that arrived per second (Little's law). `None` if no bytes arrived, or if the result exceeds the mean
    /// service time, which contains it.
    pub read_wait_us_mean: Option<f64>,
    /// Sampled moments, each of one connection's queue.
    pub moments: u64,
    /// The mean of TCP's own smoothed round trips: from a response to its acknowledgement.
    pub round_trip_us_mean: f64,
    /// Bytes that arrived per second.
    pub received_bytes_per_s: f64,
    /// Bytes sent per second, including retransmissions.
    pub sent_bytes_per_s: f64,
    /// Retransmitted segments per second.
    pub resent_per_s: f64,
    /// Share of a connection's time with unacknowledged response data, 0 to 1.
    pub busy_share: f64,
    /// Share of this time limited by the client's window, 0 to 1.
    pub held_by_window_share: f64,
    /// Share of this time limited by the server's own send buffer, 0 to 1.
    pub held_by_buffer_share: f64,
}
