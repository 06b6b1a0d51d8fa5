use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// Time of requests by the kernel's stamps in the client (`SO_TIMESTAMPING`), on some of the connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClientTimes {
    /// One connection in `one_in` was stamped.
    pub one_in: u32,
    /// Requests sent in the window with all four moments known: those sent after the response to the previous
    /// one.
    pub requests: u64,
    /// From just before the write to the network device.
    pub to_device: LatencySummary,
    /// From the device until the response's last packet arrived there: the network and the server.
    pub away: LatencySummary,
    /// From there to the return of the receive: the client's own read.
    pub to_reader: LatencySummary,
    /// All three: the service time of these requests.
    pub service_time: LatencySummary,
    /// Uncertainty of the border between the first two moments, and between the last two: the error of the offset
    /// between the stamps' clock and the client's. Units: µs.
    pub clocks_us: f64,
}
