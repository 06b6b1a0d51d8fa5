use serde::{Deserialize, Serialize};

/// The time of requests in the server, divided into contiguous stages.
///
/// A request here is a message: the data that a client wrote in one go. Messages that share one read or one send each
/// include the whole of it: stages are waiting times of a request, not shares of the processor's work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stages {
    /// Time of observation.
    pub observed_s: f64,
    /// Messages that reached a socket of the server during the slots.
    pub messages: u64,
    /// Messages that were followed through every stage.
    pub correlated: u64,
    /// Messages under way when a slot began or ended: neither followed nor lost. With 100 or more messages at most
    /// a tenth; the excess is under `uncorrelated`.
    pub cut: u64,
    /// Correlated messages over all that were not cut, 0 to 1; `None` without messages.
    pub correlated_share: Option<f64>,
    /// Uncorrelated messages by reason.
    pub uncorrelated: Vec<Uncorrelated>,
    /// In the order in which a request passes them: `network`, `epoll`, `event_library`, `read`, `open`, `application`,
    /// `send`.
    pub stages: Vec<Stage>,
    /// From the arrival at the device to the response's last packet at the device.
    pub total: Span,
    /// The same time from an independent source.
    pub independent: Option<IndependentTime>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// One stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Its time, over all correlated messages.
    pub time: Span,
}

/// A distribution of times, from a histogram of eight steps an octave: a percentile is exact to 6 %, the mean exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Span {
    /// Number of times.
    pub count: u64,
    /// Mean time.
    pub mean_us: Option<f64>,
    /// The median.
    pub p50_us: Option<f64>,
    /// The 99th percentile; `None` for fewer than 1000 times.
    pub p99_us: Option<f64>,
}

/// Messages that were not correlated, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Uncorrelated {
    /// The reason, in words.
    pub reason: String,
    /// Number of messages.
    pub count: u64,
}

/// The time of some of the same requests, measured independently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IndependentTime {
    /// Method of measurement.
    pub method: String,
    /// Timed requests.
    pub requests: u64,
    /// Their mean time.
    pub mean_us: f64,
    /// The mean sum of the stages of requests on the same connections.
    pub stages_us: f64,
    /// `mean_us` − `stages_us`: the time that the stages do not explain.
    pub remainder_us: f64,
    /// The remainder over `mean_us`; negative if the stages sum up to more.
    pub remainder_share: f64,
}

impl Stages {
    /// The mean time of the stage `name`.
    pub fn mean_us(&self, name: &str) -> Option<f64> {
        self.stages.iter().find(|stage| stage.name == name).and_then(|stage| stage.time.mean_us)
    }
}
