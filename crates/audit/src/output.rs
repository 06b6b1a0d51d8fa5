use serde::Serialize;

/// The figures of an output; `None` for a missing one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Output {
    /// The program.
    pub tool: &'static str,
    /// The kind of the server.
    pub service: Service,
    /// The server, as a URL or `HOST:PORT`.
    pub server: Option<String>,
    /// Whether requests waited for responses.
    pub load: Loop,
    /// Requested rate.
    pub offered_rps: Option<f64>,
    /// Rate of the responses.
    pub achieved_rps: Option<f64>,
    /// Connections in all, or virtual users.
    pub connections: Option<f64>,
    /// Length of the run.
    pub duration_s: Option<f64>,
    /// Whether the program leaves out the beginning of the run.
    pub leaves_out_warmup: bool,
    /// Responses that the percentiles are of.
    pub samples: Option<u64>,
    /// Requests without a good response, time-outs included.
    pub errors: u64,
    /// Requests without a response, or without one in time.
    pub timeouts: u64,
    /// Arrivals that the generator never sent.
    pub dropped: u64,
    /// Whether the percentiles contain the failed requests.
    pub failures: Failures,
    /// Mean response time.
    pub mean_us: Option<f64>,
    /// Longest response time.
    pub max_us: Option<f64>,
    /// Rising.
    pub percentiles: Vec<Percentile>,
    /// Whether latency counts from the intended send time.
    pub from_intended: bool,
    /// Whether the program adds computed requests to those that it measured, as wrk does.
    pub adds_requests: bool,
    /// Whether the percentiles are estimates of a sketch, whose error the output does not state.
    pub is_sketch: bool,
    /// Runs over which the printed percentiles are means; 0 or 1 if they are not means.
    pub averaged_runs: u64,
    /// Processor time of the generator over the length of the run, in processors.
    pub busy_processors: Option<f64>,
    /// Threads of the generator.
    pub threads: Option<f64>,
}

/// The kind of the measured server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// A web server.
    #[default]
    Web,
    /// A cache or key-value store.
    Cache,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loop {
    /// At times that do not depend on responses.
    Open,
    /// After the response to the request before.
    Closed,
    /// The output does not say.
    #[default]
    Unknown,
}

/// The failed requests that the percentiles contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failures {
    /// Error responses are in them; time-outs and lost connections are not.
    ResponsesOnly,
    /// All, each with the time until it failed.
    #[default]
    Included,
}

/// A printed percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// 0 to 100.
    pub percentile: f64,
    /// The value.
    pub us: f64,
    /// The last printed digit, in µs; 0 if it is not a limit.
    pub step_us: f64,
}

/// Facts that a user adds to an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The requested rate.
    pub offered_rps: Option<f64>,
    /// Connections in all.
    pub connections: Option<f64>,
    /// Whether requests were sent at fixed times; `None` leaves it to the output.
    pub open: Option<bool>,
}

impl Output {
    pub(crate) fn with(mut self, given: &Given) -> Output {
        self.offered_rps = given.offered_rps.or(self.offered_rps);
        self.connections = given.connections.or(self.connections);
        self.load = match given.open {
            Some(true) => Loop::Open,
            Some(false) => Loop::Closed,
            None => self.load,
        };
        self
    }

    /// Adds a percentile, if it is a time.
    pub(crate) fn at(&mut self, percentile: f64, us: f64, step_us: f64) {
        if (0.0..=100.0).contains(&percentile) && us.is_finite() && us >= 0.0 {
            self.percentiles.push(Percentile { percentile, us, step_us });
        }
    }

    /// Requests that ended, well or not.
    pub fn ended(&self) -> u64 {
        let missing = match self.failures {
            Failures::Included => 0,
            Failures::ResponsesOnly => self.timeouts,
        };
        self.samples.unwrap_or(0).saturating_add(missing)
    }

    /// Failed requests among the samples.
    pub fn failed_samples(&self) -> u64 {
        match self.failures {
            Failures::Included => self.errors,
            Failures::ResponsesOnly => self.errors.saturating_sub(self.timeouts),
        }
    }

    /// The highest printed percentile below 100.
    pub fn tail(&self) -> Option<Percentile> {
        self.percentiles.iter().copied().rfind(|printed| printed.percentile < 100.0)
    }
}
