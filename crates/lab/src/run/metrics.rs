//! The figures of a cell, from the trial behind it.

mod advice;
mod traces;

use std::collections::BTreeMap;

use results::probes::{CodeShare, CodeSplit};
use results::{Operation, Probes, Sessions, Trial};

pub(super) use advice::{advised, of_maximum};

/// Before the name of what may saturate: the share of it that is used.
pub(crate) const ADVICE_USED: &str = "advice_used.";
/// A service with fewer samples has no split: with 50, a share of one half is known to ± 14 %, with 95 %.
const FEWEST_SAMPLES: u64 = 50;

/// Figures of a trial, named with their units; unmeasured figures are absent.
pub(super) fn of_trial(trial: &Trial) -> BTreeMap<String, f64> {
    let times = trial.claimed();
    let service = &trial.all.service_time;
    let figures = [
        ("offered_rps", (!trial.is_closed_loop() && trial.sessions.is_none()).then_some(trial.offered_rps)),
        ("achieved_rps", Some(trial.achieved_rps)),
        ("latency_us_mean", times.mean_us),
        ("latency_us_p50", times.p50_us),
        ("latency_us_p90", times.p90_us),
        ("latency_us_p95", times.p95_us),
        ("latency_us_p99", times.p99_us),
        ("latency_us_p99_9", times.p99_9_us),
        ("latency_us_max", times.max_us),
        ("service_us_mean", service.mean_us),
        ("service_us_p99", service.p99_us),
        ("windowed_us_p99", trial.windowed_p99_us),
        ("within_1ms_share", trial.within_share(1000.0)),
        ("load_share", trial.load_share),
        ("generator_busy_share", Some(trial.generator.busy_share)),
        ("steal_share", trial.noise.steal_share),
        ("error_share", errors(trial)),
    ];
    let mut metrics: BTreeMap<String, f64> = known(figures).into_iter().collect();
    metrics.extend(trial.probes.iter().flat_map(observed));
    metrics.extend(trial.probes.iter().flat_map(|probes| counted(probes, trial.achieved_rps)));
    metrics.extend(trial.probes.iter().flat_map(code_of_services));
    metrics.extend(trial.counters.iter().map(|(name, value)| (name.clone(), *value)));
    metrics.extend(trial.sessions.iter().flat_map(|found| sessions(trial, found)));
    metrics.extend(by_operation(trial));
    metrics.extend(by_service(trial));
    metrics.extend(moved(trial));
    metrics.extend(traces::of(trial));
    metrics.retain(|_, value| value.is_finite());
    metrics
}

fn known<const N: usize>(figures: [(&str, Option<f64>); N]) -> Vec<(String, f64)> {
    figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn sessions(trial: &Trial, found: &Sessions) -> Vec<(String, f64)> {
    let figures = [
        ("offered_sessions_per_s", trial.offers_sessions().then_some(trial.offered_rps)),
        ("sessions_live_mean", Some(found.live_mean)),
        ("sessions_live_max", Some(found.live_max as f64)),
        ("misses", trial.ratio("misses")),
        ("outside_limits", trial.counters.get("within").map(|within| 1.0 - within)),
    ];
    let mut seen = known(figures);
    for (name, of) in &found.distributions {
        let figures = [
            ("mean", of.mean_us),
            ("p5", of.p5_us),
            ("p50", of.p50_us),
            ("p95", of.p95_us),
            ("p99", of.p99_us),
        ];
        seen.extend(figures.into_iter().filter_map(|(at, us)| Some((format!("{name}_us_{at}"), us?))));
    }
    seen
}

/// For each operation, if there are several: its share of the arrivals, and its response times.
fn by_operation(trial: &Trial) -> Vec<(String, f64)> {
    let arrivals: Vec<&Operation> =
        trial.operations.iter().filter(|operation| !operation.follow_up).collect();
    if arrivals.len() < 2 {
        return Vec::new();
    }
    let due = |operation: &Operation| operation.outcomes.as_ref().map(|outcomes| outcomes.intended as f64);
    let all: f64 = arrivals.iter().filter_map(|operation| due(operation)).sum();
    let mut seen = Vec::new();
    for operation in arrivals {
        let (name, times) = (&operation.name, &operation.response_time);
        let figures = [("p50", times.p50_us), ("p95", times.p95_us), ("p99", times.p99_us)];
        seen.extend(
            figures.into_iter().filter_map(|(at, us)| Some((format!("latency_us_{at}_{name}"), us?))),
        );
        seen.extend(due(operation).map(|due| (format!("operation_share_{name}"), due / all)));
    }
    seen
}

/// For each service, if there are several: its share of all services' processor time in the window; empty if one
/// service's time is unknown.
fn by_service(trial: &Trial) -> Vec<(String, f64)> {
    let times: Option<Vec<(&str, f64)>> =
        trial.services.iter().map(|service| Some((service.name.as_str(), service.window_cpu_s?))).collect();
    let times = times.filter(|times| times.len() > 1).unwrap_or_default();
    let all: f64 = times.iter().map(|(_, cpu_s)| cpu_s).sum();
    times.into_iter().map(|(name, cpu_s)| (format!("cpu_share_{name}"), cpu_s / all)).collect()
}

/// The bytes received, and the bytes read from disk for them, if the server is on this machine.
fn moved(trial: &Trial) -> Vec<(String, f64)> {
    let received = trial.traffic.map(|traffic| traffic.received_bytes_per_s);
    let io = trial.probes.as_ref().and_then(|probes| probes.io.as_ref());
    let disk = io.and_then(|io| io.disk_read_bytes_per_s);
    let figures = [
        ("received_bytes_per_s", received),
        ("io_wait_share", io.map(|io| io.wait_share)),
        ("disk_read_bytes_per_s", disk),
        ("disk_bytes_over_received", disk.zip(received).map(|(disk, received)| disk / received)),
        ("page_cache_hit_ratio", io.and_then(|io| io.page_cache_hit_ratio)),
        ("major_faults_per_s", io.map(|io| io.major_faults_per_s)),
    ];
    known(figures)
}

fn observed(probes: &Probes) -> Vec<(String, f64)> {
    let mut seen = Vec::new();
    if let Some(stages) = &probes.stages {
        for stage in &stages.stages {
            seen.extend(stage.time.mean_us.map(|us| (format!("stage_us_{}", stage.name), us)));
            seen.extend(stage.time.p99_us.map(|us| (format!("stage_p99_us_{}", stage.name), us)));
        }
        seen.extend(stages.total.mean_us.map(|us| ("stage_us_total".into(), us)));
        // Stages that wait for the thread: the paper's Epoll and Libevent.
        let queueing = stages.mean_us("epoll").zip(stages.mean_us("event_library"));
        seen.extend(queueing.map(|(epoll, library)| ("stage_us_queueing".into(), epoll + library)));
        seen.extend(stages.correlated_share.map(|share| ("stages_correlated_share".into(), share)));
        seen.extend(
            stages.independent.iter().map(|other| ("stages_remainder_share".into(), other.remainder_share)),
        );
    }
    if let Some(processor) = &probes.processor {
        seen.extend(split("cpu", &processor.shares));
        seen.extend(split("instruction", &processor.instruction_shares));
    }
    if let Some(sockets) = &probes.sockets {
        seen.extend(sockets.read_wait_us_mean.map(|us| ("socket_read_wait_us_mean".into(), us)));
        seen.push(("socket_round_trip_us_mean".into(), sockets.round_trip_us_mean));
        seen.push(("socket_resent_per_s".into(), sockets.resent_per_s));
    }
    if let Some(server) = &probes.server {
        seen.extend(server.figures.iter().map(|figure| (format!("own_{}", figure.name), figure.value)));
        seen.push(("own_answer_us_mean".into(), server.answer_us_mean));
        seen.extend(server.service.iter().map(|time| ("own_service_us_mean".into(), time.mean_us)));
    }
    if let Some(client) = &probes.client {
        let parts =
            [("to_device", &client.to_device), ("away", &client.away), ("to_reader", &client.to_reader)];
        for (part, times) in parts {
            seen.extend(times.mean_us.map(|us| (format!("client_{part}_us_mean"), us)));
            seen.extend(times.p99_us.map(|us| (format!("client_{part}_us_p99"), us)));
        }
    }
    for cost in &probes.overhead {
        for (what, ratio) in [
            ("cpu", cost.cpu_per_request_ratio),
            ("p99", cost.p99_ratio),
            ("throughput", cost.throughput_ratio),
        ] {
            let share = ratio.map(|ratio| ratio - 1.0);
            seen.extend(share.map(|share| (format!("probe_cost_{what}_share_{}", cost.probe), share)));
        }
    }
    let waits = probes.scheduling.iter().flat_map(|scheduling| &scheduling.threads);
    // Of the thread that runs most: the others wait for what hardly ever comes.
    let busiest = waits.max_by(|a, b| a.running_share.total_cmp(&b.running_share));
    seen.extend(busiest.and_then(|thread| Some(("run_queue_us_mean".into(), thread.run_queue_us_mean?))));
    seen
}

/// The shares of kernel, libraries and the program itself; empty without samples.
fn split(of: &str, shares: &[CodeShare]) -> Vec<(String, f64)> {
    let Some(CodeSplit { kernel, library, own }) = CodeSplit::of(shares) else { return Vec::new() };
    let parts = [("kernel", kernel), ("library", library), ("user", own)];
    parts.map(|(part, share)| (format!("{of}_{part}_share"), share)).to_vec()
}

fn code_of_services(probes: &Probes) -> Vec<(String, f64)> {
    let mut seen = Vec::new();
    for service in &probes.services {
        let mut of: Vec<(String, f64)> =
            service.counters.iter().map(|counter| (counter.name.clone(), counter.value)).collect();
        if service.samples >= FEWEST_SAMPLES {
            of.extend(split("cpu", &service.shares));
        }
        if service.instruction_samples >= FEWEST_SAMPLES {
            of.extend(split("instruction", &service.instruction_shares));
        }
        seen.extend(of.into_iter().map(|(name, value)| (format!("{name}.{}", service.name), value)));
    }
    seen
}

/// The counters of processor and kernel, absolute and per request.
fn counted(probes: &Probes, achieved_rps: f64) -> Vec<(String, f64)> {
    let of = |name: &str| probes.counters.iter().find(|counter| counter.name == name).map(|one| one.value);
    let mut seen: Vec<(String, f64)> =
        probes.counters.iter().map(|counter| (counter.name.clone(), counter.value)).collect();
    if achieved_rps <= 0.0 {
        return seen;
    }
    let instructions = of("instructions_per_s").map(|per_s| per_s / achieved_rps);
    for counter in &probes.counters {
        if let Some(what) = counter.name.strip_suffix("_per_s") {
            seen.push((format!("{what}_per_request"), counter.value / achieved_rps));
        } else if let (Some(what), Some(instructions)) =
            (counter.name.strip_suffix("_per_kilo_instruction"), instructions)
        {
            seen.push((format!("{what}_per_request"), counter.value * instructions / 1e3));
        }
    }
    seen
}

/// Failed requests and time-outs over all that were due.
fn errors(trial: &Trial) -> Option<f64> {
    let all = trial.arrivals.intended;
    (all > 0).then(|| (trial.arrivals.errors + trial.arrivals.timeouts) as f64 / all as f64)
}

/// The median of each metric over several measurements of the same.
pub(super) fn medians(of: &[BTreeMap<String, f64>]) -> BTreeMap<String, f64> {
    let Some(first) = of.first() else { return BTreeMap::new() };
    let median = |name: &String| {
        let values: Vec<f64> = of.iter().filter_map(|metrics| metrics.get(name).copied()).collect();
        Some((name.clone(), stats::median(&values)?))
    };
    first.keys().filter_map(median).collect()
}

#[cfg(test)]
mod tests {
    use results::probes::{InputOutput, Processor, ServiceCode};
    use results::{Arrivals, DistributionSummary, LatencySummary, ServiceUsage, Traffic};

    use super::*;
    use crate::testing;

    #[test]
    fn figures_have_their_units_and_absent_ones_stay_absent() {
        let mut trial = testing::trial("sphinx", 10_000.0);
        trial.counters.insert("hit_ratio".into(), 0.9);
        let metrics = of_trial(&trial);
        let check =
            |name: &str, expect: Option<f64>| assert_eq!(metrics.get(name).copied(), expect, "{name}");
        check("achieved_rps", Some(10_000.0));
        check("latency_us_p99", Some(120.0));
        check("windowed_us_p99", Some(110.0));
        check("hit_ratio", Some(0.9));
        check("error_share", Some(0.0));
        check("within_1ms_share", None);
        check("load_share", None);
    }

    #[test]
    fn sessions_have_figures_of_their_own() {
        let mut trial = testing::trial("nginx", 4.0);
        let startup = DistributionSummary {
            count: 100,
            p50_us: Some(3e5),
            p95_us: Some(9e5),
            ..DistributionSummary::default()
        };
        let distributions = [("startup".to_owned(), startup)].into();
        trial.sessions =
            Some(Sessions { live_mean: 600.5, live_max: 640, distributions, ..Sessions::default() });
        trial.arrivals = Arrivals { intended: 1_000, completed: 980, ..Arrivals::default() };
        trial.counters.insert("rebuffer_ratio".into(), 0.01);
        let metrics = of_trial(&trial);
        let check =
            |name: &str, expect: Option<f64>| assert_eq!(metrics.get(name).copied(), expect, "{name}");
        check("offered_rps", None);
        check("offered_sessions_per_s", Some(4.0));
        check("sessions_live_mean", Some(600.5));
        check("startup_us_p50", Some(3e5));
        check("startup_us_p95", Some(9e5));
        check("startup_us_p99", None);
        check("misses", Some(0.02));
        check("rebuffer_ratio", Some(0.01));
        trial.loop_kind = results::LoopKind::Closed;
        assert!(!of_trial(&trial).contains_key("offered_sessions_per_s"), "a closed loop offers nothing");
    }

    #[test]
    fn operations_are_told_apart_where_there_are_several() {
        let operation = |name: &str, intended: u64, follow_up: bool| Operation {
            name: name.into(),
            outcomes: Some(Arrivals { intended, ..Arrivals::default() }),
            response_time: LatencySummary { p50_us: Some(intended as f64), ..LatencySummary::default() },
            follow_up,
            ..Operation::default()
        };
        let mut trial = testing::trial("nginx", 4.0);
        let check = |trial: &Trial, name: &str, expect: Option<f64>| {
            assert_eq!(of_trial(trial).get(name).copied(), expect, "{name}");
        };
        trial.operations = vec![operation("240p", 10, false)];
        check(&trial, "operation_share_240p", None);
        check(&trial, "latency_us_p50_240p", None);
        trial.operations.extend([operation("720p", 30, false), operation("retry", 60, true)]);
        check(&trial, "operation_share_240p", Some(0.25));
        check(&trial, "operation_share_720p", Some(0.75));
        check(&trial, "operation_share_retry", None);
        check(&trial, "latency_us_p50_720p", Some(30.0));
        check(&trial, "latency_us_p99_720p", None);
    }

    #[test]
    fn services_have_shares_of_the_processor_time_of_all() {
        // All of them used as much before the load.
        let usage = |name: &str, window_cpu_s: Option<f64>| ServiceUsage {
            name: name.into(),
            cpu_s: window_cpu_s.map(|cpu_s| cpu_s + 5.0),
            window_cpu_s,
            ..ServiceUsage::default()
        };
        let check = |services: Vec<ServiceUsage>, expect: Option<f64>| {
            let trial = Trial { services, ..testing::trial("nginx", 4.0) };
            assert_eq!(of_trial(&trial).get("cpu_share_php").copied(), expect);
        };
        check(vec![usage("php", Some(3.0)), usage("mariadb", Some(1.0))], Some(0.75));
        check(vec![usage("php", Some(0.0)), usage("mariadb", Some(1.0))], Some(0.0));
        check(vec![usage("php", Some(3.0)), usage("mariadb", None)], None);
        check(vec![usage("php", Some(3.0))], None);
        check(vec![usage("php", Some(0.0)), usage("mariadb", Some(0.0))], None);
    }

    #[test]
    fn what_disks_gave_is_set_against_what_came() {
        let mut trial = testing::trial("nginx", 4.0);
        let io = InputOutput {
            wait_share: 0.25,
            disk_read_bytes_per_s: Some(300.0),
            page_cache_hit_ratio: Some(0.7),
            major_faults_per_s: 2.0,
            ..InputOutput::default()
        };
        let check = |trial: &Trial, name: &str, expect: Option<f64>| {
            assert_eq!(of_trial(trial).get(name).copied(), expect, "{name}");
        };
        trial.traffic = Traffic::over(0, 12_000, 10.0);
        check(&trial, "received_bytes_per_s", Some(1_200.0));
        check(&trial, "io_wait_share", None);
        trial.probes = Some(Probes { io: Some(io.clone()), ..Probes::default() });
        check(&trial, "io_wait_share", Some(0.25));
        check(&trial, "disk_read_bytes_per_s", Some(300.0));
        check(&trial, "disk_bytes_over_received", Some(0.25));
        check(&trial, "page_cache_hit_ratio", Some(0.7));
        check(&trial, "major_faults_per_s", Some(2.0));
        // A server whose counters may not be read.
        let unknown = InputOutput { disk_read_bytes_per_s: None, ..io };
        trial.probes = Some(Probes { io: Some(unknown), ..Probes::default() });
        check(&trial, "disk_bytes_over_received", None);
        // Without traffic, ratios to it are absent.
        trial.traffic = Traffic::over(0, 0, 10.0);
        trial.probes.as_mut().unwrap().io.as_mut().unwrap().disk_read_bytes_per_s = Some(300.0);
        check(&trial, "disk_bytes_over_received", None);
    }

    #[test]
    fn counters_are_figures_by_themselves_and_per_request() {
        let mut trial = testing::trial("sphinx", 10_000.0);
        let counter = |name: &str, value| results::probes::Counter { name: name.into(), value };
        let counters = vec![
            counter("ipc", 0.8),
            counter("instructions_per_s", 2e8),
            counter("llc_misses_per_kilo_instruction", 1.5),
            counter("page_faults_per_s", 50.0),
        ];
        trial.probes = Some(Probes { counters, ..Probes::default() });
        let metrics = of_trial(&trial);
        let check =
            |name: &str, expect: f64| assert!((metrics[name] - expect).abs() < 1e-9, "{name}: {metrics:?}");
        check("ipc", 0.8);
        check("instructions_per_request", 20_000.0);
        check("llc_misses_per_kilo_instruction", 1.5);
        check("llc_misses_per_request", 30.0);
        check("page_faults_per_request", 0.005);
    }

    #[test]
    fn code_is_split_by_time_and_by_instructions() {
        let code = |code: &str, share| CodeShare { code: code.into(), share };
        let shares = vec![code("kernel", 0.5), code("libc.so.6", 0.125), code("libevent-2.1.so.7", 0.25)];
        let own = vec![code("memcached", 0.125)];
        let processor = Processor {
            shares: [shares, own].concat(),
            instruction_shares: vec![code("kernel", 1.0)],
            ..Processor::default()
        };
        let seen: BTreeMap<String, f64> =
            observed(&Probes { processor: Some(processor), ..Probes::default() }).into_iter().collect();
        let check = |name: &str, expect: f64| assert_eq!(seen.get(name), Some(&expect), "{name}: {seen:?}");
        check("cpu_kernel_share", 0.5);
        check("cpu_library_share", 0.375);
        check("cpu_user_share", 0.125);
        check("instruction_kernel_share", 1.0);
        check("instruction_library_share", 0.0);
        assert!(split("cpu", &[]).is_empty());
    }

    #[test]
    fn services_have_code_and_counters_of_their_own() {
        let code = |code: &str, share| CodeShare { code: code.into(), share };
        let counter = |name: &str, value| results::probes::Counter { name: name.into(), value };
        let service = |name: &str, samples| ServiceCode {
            name: name.into(),
            samples,
            shares: vec![code("kernel", 0.75), code("libc.so.6", 0.25)],
            instruction_samples: 0,
            instruction_shares: Vec::new(),
            counters: vec![counter("ipc", 0.5)],
        };
        let services = vec![service("php", FEWEST_SAMPLES), service("plot", FEWEST_SAMPLES - 1)];
        let mut trial = testing::trial("movies", 4.0);
        trial.probes = Some(Probes { services, ..Probes::default() });
        let metrics = of_trial(&trial);
        let check =
            |name: &str, expect: Option<f64>| assert_eq!(metrics.get(name).copied(), expect, "{name}");
        check("cpu_kernel_share.php", Some(0.75));
        check("cpu_library_share.php", Some(0.25));
        check("cpu_user_share.php", Some(0.0));
        check("instruction_kernel_share.php", None);
        check("ipc.php", Some(0.5));
        check("cpu_kernel_share.plot", None);
        check("ipc.plot", Some(0.5));
    }

    #[test]
    fn medians_are_taken_metric_by_metric() {
        let map = |pairs: &[(&str, f64)]| pairs.iter().map(|(name, v)| ((*name).to_owned(), *v)).collect();
        let of: [BTreeMap<String, f64>; 3] =
            [map(&[("a", 1.0), ("b", 5.0)]), map(&[("a", 9.0)]), map(&[("a", 2.0), ("b", 7.0)])];
        assert_eq!(medians(&of), map(&[("a", 2.0), ("b", 6.0)]));
        assert!(medians(&[]).is_empty());
    }
}
