use results::{LatencySummary, Trial};

/// The figures of one trial, named and labelled as monitoring systems want them.
///
/// Units: base units, seconds, bytes and ratios, as OpenMetrics and OpenTelemetry ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Families, each of one name.
    pub families: Vec<Metric>,
}

/// All points of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Without the suffix of its kind.
    pub name: String,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// The unit that its name ends in; empty for none.
    pub unit: &'static str,
    /// What kind of number it is.
    pub kind: Kind,
    /// Its values, each with labels of its own.
    pub points: Vec<Point>,
}

/// What kind of number a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises while a trial runs.
    Counter,
    /// It rises and falls.
    Gauge,
    /// A distribution by its quantiles.
    Summary,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Names and values, in order.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: Value,
}

/// A number or a distribution.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A distribution; quantiles from 0 to 1 that too few samples support are left out.
    Summary {
        /// Samples.
        count: u64,
        /// Their sum, from the mean.
        sum: f64,
        /// Quantile and value.
        quantiles: Vec<(f64, f64)>,
    },
}

/// Microseconds in a second.
const MICROS: f64 = 1e6;

impl Metrics {
    /// The figures of a trial that is over, with its verdict and gates; `result` is the name of its result.
    pub fn of_trial(result: &str, trial: &Trial) -> Metrics {
        let mut metrics = Metrics::of_live(result, trial);
        let labels = common(result, trial);
        metrics.gauge(
            "taillight_usable",
            "Whether the figures describe the server: 0 or 1.",
            "",
            &labels,
            &[(
                vec![("verdict", trial.verdict.label().to_owned())],
                f64::from(u8::from(trial.verdict.is_usable())),
            )],
        );
        let gates = trial
            .gates
            .iter()
            .map(|gate| (vec![("gate", gate.gate.clone())], f64::from(u8::from(gate.passed))));
        metrics.gauge(
            "taillight_gate_passed",
            "Whether a gate was met: 0 or 1.",
            "",
            &labels,
            &gates.collect::<Vec<_>>(),
        );
        metrics
    }

    /// The figures of a trial that still runs: `trial` holds what is known so far, without a verdict.
    pub fn of_live(result: &str, trial: &Trial) -> Metrics {
        let mut metrics = Metrics::default();
        let labels = common(result, trial);
        let one = |value: Option<f64>| value.map(|value| (Vec::new(), value)).into_iter().collect::<Vec<_>>();
        let rates = [
            ("taillight_offered_requests_per_second", "The load that was asked for.", trial.offered_rps),
            (
                "taillight_achieved_requests_per_second",
                "Requests answered within the window.",
                trial.achieved_rps,
            ),
        ];
        for (name, help, rps) in rates {
            metrics.gauge(name, help, "", &labels, &one(Some(rps)));
        }
        let a = &trial.arrivals;
        let outcomes = [
            ("completed", a.completed),
            ("error", a.errors),
            ("timeout", a.timeouts),
            ("unfinished", a.unfinished),
        ];
        let outcomes = outcomes.map(|(name, n)| (vec![("outcome", name.to_owned())], n as f64));
        metrics.counter(
            "taillight_requests",
            "Requests that were due, by what became of them.",
            "",
            &labels,
            &outcomes,
        );
        let errors =
            trial.errors.iter().map(|error| (vec![("kind", error.kind.clone())], error.count as f64));
        metrics.counter(
            "taillight_failed_requests",
            "Requests that failed, by kind.",
            "",
            &labels,
            &errors.collect::<Vec<_>>(),
        );
        metrics.times(trial, &labels);
        let windowed = one(trial.windowed_p99_us.map(|us| us / MICROS));
        metrics.gauge(
            "taillight_windowed_p99_response_time_seconds",
            "The median over windows of 100 ms of each one's p99.",
            "seconds",
            &labels,
            &windowed,
        );
        let within = trial.within.iter();
        let within = within.map(|w| (vec![("target_seconds", (w.target_us / MICROS).to_string())], w.share));
        metrics.gauge(
            "taillight_within_target_ratio",
            "Requests answered within a target.",
            "ratio",
            &labels,
            &within.collect::<Vec<_>>(),
        );
        let outstanding = trial.windows.iter().rev().find_map(|window| window.outstanding());
        metrics.gauge(
            "taillight_outstanding_requests",
            "Requests due and not answered.",
            "",
            &labels,
            &one(outstanding.map(|n| n as f64)),
        );
        metrics.gauge(
            "taillight_generator_busy_ratio",
            "Share of its time that the generator worked.",
            "ratio",
            &labels,
            &one(Some(trial.generator.busy_share)),
        );
        let traffic = trial.traffic;
        let (sent, received) =
            (traffic.map(|t| t.bytes_sent as f64), traffic.map(|t| t.bytes_received as f64));
        metrics.counter("taillight_sent_bytes", "Bytes sent to the servers.", "bytes", &labels, &one(sent));
        metrics.counter(
            "taillight_received_bytes",
            "Bytes received from them.",
            "bytes",
            &labels,
            &one(received),
        );
        let servers = trial.servers.iter().map(|s| (vec![("server", s.address.clone())], s.requests as f64));
        metrics.counter(
            "taillight_server_requests",
            "Requests that went to a server.",
            "",
            &labels,
            &servers.collect::<Vec<_>>(),
        );
        let figures = trial.counters.iter().map(|(name, value)| (vec![("figure", name.clone())], *value));
        metrics.gauge(
            "taillight_workload",
            "Figures that the workload counts.",
            "",
            &labels,
            &figures.collect::<Vec<_>>(),
        );
        let offsets = trial.agents.iter();
        let offsets = offsets
            .filter_map(|agent| Some((vec![("agent", agent.name.clone())], agent.clock_offset_us? / MICROS)));
        metrics.gauge(
            "taillight_agent_clock_offset_seconds",
            "An agent's clock less the coordinator's.",
            "seconds",
            &labels,
            &offsets.collect::<Vec<_>>(),
        );
        metrics
    }

    fn times(&mut self, trial: &Trial, labels: &[(String, String)]) {
        type Read = fn(&results::Operation) -> &LatencySummary;
        let kinds: [(&str, &'static str, Read); 4] = [
            ("response_time", "done − intended.", |operation| &operation.response_time),
            ("service_time", "done − sent.", |operation| &operation.service_time),
            ("connection_wait", "eligible − intended.", |operation| &operation.connection_wait),
            ("generator_lag", "sent − eligible.", |operation| &operation.generator_lag),
        ];
        let point = |label: &str, value: &str, times: &LatencySummary| {
            let mut labels = labels.to_vec();
            labels.push((label.into(), value.into()));
            Point { labels, value: summary(times) }
        };
        let mut add = |name: &str, help, points: Vec<Point>| {
            if !points.is_empty() {
                let (name, unit) = (format!("taillight_{name}_seconds"), "seconds");
                self.families.push(Metric { name, help, unit, kind: Kind::Summary, points });
            }
        };
        for (name, help, read) in kinds {
            let each = std::iter::once(&trial.all).chain(&trial.operations);
            let named = |operation: &results::Operation| {
                if operation.name.is_empty() { "all".into() } else { operation.name.clone() }
            };
            add(
                name,
                help,
                each.map(|operation| point("operation", &named(operation), read(operation))).collect(),
            );
        }
        let servers =
            trial.servers.iter().map(|server| point("server", &server.address, &server.response_time));
        add("server_response_time", "done − intended, of one server.", servers.collect());
        if let Some(corrected) = trial.closed_loop.as_ref().and_then(|closed| closed.corrected.as_ref()) {
            let points = vec![point("operation", "all", corrected)];
            add(
                "closed_loop_corrected_time",
                "A closed loop's times, corrected for coordinated omission.",
                points,
            );
        }
    }

    fn gauge(
        &mut self,
        name: &str,
        help: &'static str,
        unit: &'static str,
        common: &[(String, String)],
        points: &[Labelled],
    ) {
        self.add(Kind::Gauge, name, help, unit, common, points);
    }

    fn counter(
        &mut self,
        name: &str,
        help: &'static str,
        unit: &'static str,
        common: &[(String, String)],
        points: &[Labelled],
    ) {
        self.add(Kind::Counter, name, help, unit, common, points);
    }

    /// Adds what is finite; a family without points says nothing and is left out.
    fn add(
        &mut self,
        kind: Kind,
        name: &str,
        help: &'static str,
        unit: &'static str,
        common: &[(String, String)],
        points: &[Labelled],
    ) {
        let points = points.iter().filter(|(_, value)| value.is_finite()).map(|(own, value)| {
            let own = own.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
            Point { labels: common.iter().cloned().chain(own).collect(), value: Value::Number(*value) }
        });
        let points: Vec<Point> = points.collect();
        if !points.is_empty() {
            self.families.push(Metric { name: name.into(), help, unit, kind, points });
        }
    }
}

/// A value with the labels that it has besides the common ones.
type Labelled = (Vec<(&'static str, String)>, f64);

fn common(result: &str, trial: &Trial) -> Vec<(String, String)> {
    let labels = [
        ("result", result),
        ("target", &trial.target),
        ("trial", &trial.id),
        ("loop", crate::trials::loop_words(trial)),
    ];
    labels.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

fn summary(times: &LatencySummary) -> Value {
    let quantiles = [
        (0.5, times.p50_us),
        (0.9, times.p90_us),
        (0.95, times.p95_us),
        (0.99, times.p99_us),
        (0.999, times.p99_9_us),
        (0.9999, times.p99_99_us),
        (1.0, times.max_us),
    ];
    let quantiles =
        quantiles.into_iter().filter_map(|(q, us)| Some((q, us.filter(|us| us.is_finite())? / MICROS)));
    let mean = times.mean_us.filter(|us| us.is_finite()).unwrap_or(0.0);
    Value::Summary {
        count: times.count,
        sum: mean * times.count as f64 / MICROS,
        quantiles: quantiles.collect(),
    }
}
