use std::collections::BTreeSet;

use results::{AgentRecord, DistributionSummary, LatencySummary, Trial};

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
    /// Without the suffix of its type.
    pub name: String,
    /// Description, in a sentence.
    pub help: &'static str,
    /// The unit that its name ends in; empty for none.
    pub unit: &'static str,
    /// Its metric type.
    pub kind: Kind,
    /// Its values, each with its own labels.
    pub points: Vec<Point>,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises while a trial runs.
    Counter,
    /// It rises and falls.
    Gauge,
    /// A distribution by its quantiles.
    Summary,
    /// A distribution by cumulative buckets.
    Histogram,
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
    /// A distribution; quantiles from 0 to 1, without those that have too few samples.
    Summary {
        /// Samples.
        count: u64,
        /// Their sum, from the mean.
        sum: f64,
        /// Quantile and value.
        quantiles: Vec<(f64, f64)>,
    },
    /// A distribution by buckets.
    Histogram {
        /// Upper bound of each bucket but the last, which has none, rising; and the samples of each.
        buckets: Vec<(f64, u64)>,
        /// Samples above the last bound.
        above: u64,
        /// Sum of all samples.
        sum: f64,
    },
}

/// Microseconds in a second.
const MICROS: f64 = 1e6;

impl Metrics {
    /// The figures of a finished trial, with its verdict and gates; `result` is the name of its result.
    pub fn of_trial(result: &str, trial: &Trial) -> Metrics {
        let mut figures = Figures::of(result, trial);
        let usable = (trial.verdict.label(), f64::from(trial.verdict.is_usable()));
        figures.gauge("usable", "Whether the figures describe the server: 0 or 1.", "verdict", [usable]);
        // A series must not be there twice: one gate may be given twice, and agents may have one name.
        let mut told = BTreeSet::new();
        let gates = trial.gates.iter().filter(|gate| told.insert(&gate.gate));
        let gates = gates.map(|gate| (&gate.gate, f64::from(gate.passed)));
        figures.gauge("gate_passed", "Whether a gate was met: 0 or 1.", "gate", gates);
        figures.metrics
    }
}

/// Metrics under construction.
#[derive(Default)]
pub(crate) struct Figures {
    /// The labels of every point.
    pub(crate) common: Vec<(String, String)>,
    pub(crate) metrics: Metrics,
}

/// The only point of a metric, without its own label.
pub(crate) fn alone(value: f64) -> (&'static str, f64) {
    ("", value)
}

impl Figures {
    fn of(result: &str, trial: &Trial) -> Figures {
        let words = crate::trials::loop_words(trial);
        let common = [("result", result), ("target", &trial.target), ("trial", &trial.id), ("loop", words)];
        let common = common.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let mut figures = Figures { common, metrics: Metrics::default() };
        let rate = [alone(trial.offered_rps)];
        if trial.offers_sessions() {
            figures.gauge("offered_sessions_per_second", "Sessions that were asked for.", "", rate);
        } else {
            figures.gauge("offered_requests_per_second", "The load that was asked for.", "", rate);
        }
        let rate = [alone(trial.achieved_rps)];
        figures.gauge("achieved_requests_per_second", "Requests answered within the window.", "", rate);
        let a = &trial.arrivals;
        let outcomes = [
            ("completed", a.completed as f64),
            ("error", a.errors as f64),
            ("timeout", a.timeouts as f64),
            ("unfinished", a.unfinished as f64),
        ];
        let help = "Requests that were due, by what became of them.";
        figures.counter("requests", help, "outcome", outcomes);
        let errors = trial.errors.iter().map(|error| (&error.kind, error.count as f64));
        figures.counter("failed_requests", "Requests that failed, by kind.", "kind", errors);
        figures.times(trial);
        figures.sessions(trial);
        let windowed = trial.windowed_p99_us.map(|us| alone(us / MICROS));
        let help = "The median over windows of 10 ms or more of each one's p99.";
        figures.gauge("windowed_p99_response_time_seconds", help, "", windowed);
        let within = trial.within.iter().map(|w| ((w.target_us / MICROS).to_string(), w.share));
        let help = "Requests answered within a target.";
        figures.gauge("within_target_ratio", help, "target_seconds", within);
        let outstanding = trial.windows.iter().rev().find_map(|window| window.outstanding());
        let outstanding = outstanding.map(|n| alone(n as f64));
        figures.gauge("outstanding_requests", "Requests due and not answered.", "", outstanding);
        figures.disturbance(trial);
        let busy = [alone(trial.generator.busy_share)];
        figures.gauge("generator_busy_ratio", "Share of its time that the generator worked.", "", busy);
        let sent = trial.traffic.map(|traffic| alone(traffic.bytes_sent as f64));
        figures.counter("sent_bytes", "Bytes sent to the servers.", "", sent);
        let received = trial.traffic.map(|traffic| alone(traffic.bytes_received as f64));
        figures.counter("received_bytes", "Bytes received from them.", "", received);
        let servers = trial.servers.iter().map(|server| (&server.address, server.requests as f64));
        figures.counter("server_requests", "Requests that went to a server.", "server", servers);
        let counted = trial.counters.iter().map(|(name, value)| (name, *value));
        figures.gauge("workload", "Figures that the workload counts.", "figure", counted);
        let is_alone = |name: &str| trial.agents.iter().filter(|agent| agent.name == name).count() == 1;
        let label = |agent: &AgentRecord| {
            if is_alone(&agent.name) {
                agent.name.clone()
            } else {
                format!("{} ({})", agent.name, agent.address)
            }
        };
        let offsets =
            trial.agents.iter().filter_map(|agent| Some((label(agent), agent.clock_offset_us? / MICROS)));
        let help = "An agent's clock less the coordinator's.";
        figures.gauge("agent_clock_offset_seconds", help, "agent", offsets);
        figures
    }

    /// Disturbance of response times by generator and host; no metrics for results of earlier versions.
    fn disturbance(&mut self, trial: &Trial) {
        if let Some(late) = &trial.lateness {
            let help = "Requests that the generator may have sent or read late.";
            self.counter("late_requests", help, "", [alone(late.requests as f64)]);
            let help = "done − intended, had the generator never been late.";
            let times = [("", summary(&late.response_time))];
            self.add(Kind::Summary, "in_time_response_time_seconds", help, "", times);
        }
        if let Some(host) = &trial.disturbance {
            let windows = [("all", host.windows as f64), ("undisturbed", host.undisturbed_windows as f64)];
            let late = trial.lateness.as_ref().map(|late| ("late", late.windows as f64));
            self.gauge("windows", "Windows of the trial.", "kind", windows.into_iter().chain(late));
            let help = "Share of the requests that the host may have held up.";
            self.gauge("touched_ratio", help, "", [alone(host.touched_share)]);
            let taken = [("server", host.server_taken_share), ("generator", host.generator_taken_share)];
            let taken = taken.into_iter().filter_map(|(side, share)| Some((side, share?)));
            let help = "Share of its time in which a working thread waited for a processor that others had.";
            self.gauge("taken_ratio", help, "side", taken);
            let help = "done − intended, of requests due in undisturbed windows.";
            let times = host.undisturbed.as_ref().map(|times| ("", summary(times)));
            self.add(Kind::Summary, "undisturbed_response_time_seconds", help, "", times);
        }
    }

    /// Counts of sessions and their quality of service; no metrics if arrivals are not sessions. Ratios are among the
    /// workload's figures.
    fn sessions(&mut self, trial: &Trial) {
        let Some(sessions) = &trial.sessions else { return };
        let counts = [
            ("begun", sessions.begun as f64),
            ("underway", sessions.underway as f64),
            ("ended", sessions.ended as f64),
            ("cut", sessions.cut as f64),
            ("refused", sessions.refused as f64),
        ];
        self.counter("sessions", "Sessions, by what became of them.", "outcome", counts);
        let live = [("mean", sessions.live_mean), ("max", sessions.live_max as f64)];
        self.gauge("live_sessions", "Sessions under way at once.", "of", live);
        let each = sessions.distributions.iter().map(|(name, of)| (name, distribution(of)));
        let help = "What the workload measured of its sessions.";
        self.add(Kind::Summary, "session_seconds", help, "of", each);
    }

    fn times(&mut self, trial: &Trial) {
        type Read = fn(&results::Operation) -> &LatencySummary;
        let kinds: [(&str, &'static str, Read); 4] = [
            ("response_time_seconds", "done − intended.", |operation| &operation.response_time),
            ("service_time_seconds", "done − sent.", |operation| &operation.service_time),
            ("connection_wait_seconds", "eligible − intended.", |operation| &operation.connection_wait),
            ("generator_lag_seconds", "sent − eligible.", |operation| &operation.generator_lag),
        ];
        for (name, help, read) in kinds {
            let each = std::iter::once(&trial.all).chain(&trial.operations).map(|operation| {
                let name = if operation.name.is_empty() { "all" } else { &operation.name };
                (name, summary(read(operation)))
            });
            self.add(Kind::Summary, name, help, "operation", each);
        }
        let servers = trial.servers.iter().map(|server| (&server.address, summary(&server.response_time)));
        let help = "done − intended, of one server.";
        self.add(Kind::Summary, "server_response_time_seconds", help, "server", servers);
        let corrected = trial.closed_loop.as_ref().and_then(|closed| closed.corrected.as_ref());
        let corrected = corrected.map(|times| ("all", summary(times)));
        let help = "A closed loop's times, corrected for coordinated omission.";
        self.add(Kind::Summary, "closed_loop_corrected_time_seconds", help, "operation", corrected);
    }

    pub(crate) fn gauge<L: Into<String>>(
        &mut self,
        name: &str,
        help: &'static str,
        label: &str,
        points: impl IntoIterator<Item = (L, f64)>,
    ) {
        self.add(Kind::Gauge, name, help, label, finite(points));
    }

    pub(crate) fn counter<L: Into<String>>(
        &mut self,
        name: &str,
        help: &'static str,
        label: &str,
        points: impl IntoIterator<Item = (L, f64)>,
    ) {
        self.add(Kind::Counter, name, help, label, finite(points));
    }

    /// Adds points with a value of `label` each, or with the common labels only if it is empty, to the last family if it
    /// has this name. A family without points is left out.
    pub(crate) fn add<L: Into<String>>(
        &mut self,
        kind: Kind,
        name: &str,
        help: &'static str,
        label: &str,
        points: impl IntoIterator<Item = (L, Value)>,
    ) {
        let points = points.into_iter().map(|(own, value)| {
            let own = (!label.is_empty()).then(|| (label.to_owned(), own.into()));
            Point { labels: self.common.iter().cloned().chain(own).collect(), value }
        });
        let points: Vec<Point> = points.collect();
        if !points.is_empty() {
            let unit = ["seconds", "bytes", "ratio"].into_iter().find(|unit| name.ends_with(unit));
            let (name, unit) = (format!("taillight_{name}"), unit.unwrap_or_default());
            match self.metrics.families.last_mut() {
                Some(last) if last.name == name => last.points.extend(points),
                _ => self.metrics.families.push(Metric { name, help, unit, kind, points }),
            }
        }
    }
}

fn finite<L>(points: impl IntoIterator<Item = (L, f64)>) -> impl Iterator<Item = (L, Value)> {
    let points = points.into_iter().filter(|(_, value)| value.is_finite());
    points.map(|(own, value)| (own, Value::Number(value)))
}

fn distribution(of: &DistributionSummary) -> Value {
    let quantiles = [
        (0.01, of.p1_us),
        (0.05, of.p5_us),
        (0.5, of.p50_us),
        (0.9, of.p90_us),
        (0.95, of.p95_us),
        (0.99, of.p99_us),
        (1.0, of.max_us),
    ];
    value(of.count, of.mean_us, &quantiles)
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
    value(times.count, times.mean_us, &quantiles)
}

/// A distribution of `count` samples with this mean, from quantiles in µs.
fn value(count: u64, mean_us: Option<f64>, quantiles: &[(f64, Option<f64>)]) -> Value {
    let finite = |us: Option<f64>| us.filter(|us| us.is_finite());
    let quantiles = quantiles.iter().filter_map(|(q, us)| Some((*q, finite(*us)? / MICROS)));
    let sum = finite(mean_us).unwrap_or(0.0) * count as f64 / MICROS;
    Value::Summary { count, sum, quantiles: quantiles.collect() }
}
