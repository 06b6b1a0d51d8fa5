use std::collections::BTreeMap;

use host::threads::Thread;
use results::Probes;
use results::probes::{Counter, ServerCounters};

use super::answer::Numbers;
use super::metrics::ServiceTimes;
use super::questioned::ServerReading;
use crate::instrument::Summed;

/// Responses of all servers, and the kernel's figures of their threads.
pub(super) struct Moment {
    pub said: Vec<ServerReading>,
    /// `None` without permission to read it.
    pub used: Option<Thread>,
}

/// Counts between two moments, or summed over several such pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServerCounts {
    program: String,
    servers: usize,
    /// Moments at which all servers were read.
    moments: u64,
    answers: u64,
    answers_ns: u64,
    /// Time between the moments, on average over the servers.
    elapsed_ns: u64,
    /// Increase of counters, over all servers.
    grown: Numbers,
    /// Values of gauges, summed over servers and moments.
    stood: Numbers,
    used: Option<Thread>,
    service: ServiceTimes,
}

/// Counters that make up the requests of a cache, as memcached's threads count them.
const COMMANDS: [&str; 9] = [
    "cmd_get",
    "cmd_set",
    "cmd_touch",
    "delete_hits",
    "delete_misses",
    "incr_hits",
    "incr_misses",
    "decr_hits",
    "decr_misses",
];

/// Denominator of a figure.
enum Per {
    Second,
    Request,
    KiloRequest,
    /// A gauge: its mean over the moments.
    Moment,
}

/// Counter, name of its figure, and denominator.
const FIGURES: [(&str, &str, Per); 21] = [
    ("bytes_read", "received_bytes_per_request", Per::Request),
    ("bytes_written", "sent_bytes_per_request", Per::Request),
    ("curr_connections", "connections", Per::Moment),
    ("threads", "threads", Per::Moment),
    // A connection had more work than the limit of one turn (memcached's -R).
    ("conn_yields", "yields_per_kilo_request", Per::KiloRequest),
    // Sphinx: requests from one thread to another.
    ("messages", "passed_on_per_request", Per::Request),
    ("wakeups", "wakeups_per_request", Per::Request),
    ("values_lent", "lent_per_request", Per::Request),
    ("queue_waits", "queue_waits_per_kilo_request", Per::KiloRequest),
    ("output_waits", "output_waits_per_kilo_request", Per::KiloRequest),
    ("evictions", "evictions_per_s", Per::Second),
    ("reclaimed", "reclaimed_per_s", Per::Second),
    ("segments_reclaimed", "segments_reclaimed_per_s", Per::Second),
    ("total_connections", "accepted_per_s", Per::Second),
    ("rejected_connections", "rejected_per_s", Per::Second),
    ("listen_disabled_num", "listen_disabled_per_s", Per::Second),
    ("slow_reader_kicks", "slow_reader_kicks_per_s", Per::Second),
    ("read_buf_oom", "read_buffers_missing_per_s", Per::Second),
    ("response_obj_oom", "response_objects_missing_per_s", Per::Second),
    ("hash_is_expanding", "hash_expanding_share", Per::Moment),
    ("waiting", "idle_connections", Per::Moment),
];

impl Moment {
    pub(super) fn since(&self, before: &Moment, program: String) -> ServerCounts {
        let servers = self.said.len().max(1);
        let mut counts =
            ServerCounts { program, servers: self.said.len(), moments: 2, ..ServerCounts::default() };
        let mut elapsed_ns = 0;
        for (now, then) in self.said.iter().zip(&before.said) {
            elapsed_ns += now.at.since(then.at).0;
            counts.answers += 2;
            counts.answers_ns += now.took.0 + then.took.0;
            for (name, value) in &now.numbers {
                let was = then.numbers.get(name).copied().unwrap_or(*value);
                *counts.grown.entry(name.clone()).or_insert(0.0) += (value - was).max(0.0);
                *counts.stood.entry(name.clone()).or_insert(0.0) += value + was;
            }
            counts.service.add(&now.service.since(&then.service));
        }
        counts.elapsed_ns = elapsed_ns / servers as u64;
        counts.used = self.used.zip(before.used).map(|(now, then)| now.since(then));
        counts
    }
}

impl Summed for ServerCounts {
    fn merge(&mut self, other: &ServerCounts) {
        if self.moments == 0 {
            *self = other.clone();
            return;
        }
        self.moments += other.moments;
        self.answers += other.answers;
        self.answers_ns += other.answers_ns;
        self.elapsed_ns += other.elapsed_ns;
        other.grown.iter().for_each(|(name, more)| *self.grown.entry(name.clone()).or_insert(0.0) += more);
        other.stood.iter().for_each(|(name, more)| *self.stood.entry(name.clone()).or_insert(0.0) += more);
        // A slot without a response adds no data.
        if other.moments > 0 {
            self.used = self.used.zip(other.used).map(|(a, b)| a.plus(b));
        }
        self.service.add(&other.service);
    }

    fn write_into(&self, into: &mut Probes, _: f64) -> Option<String> {
        into.server = self.record();
        None
    }
}

impl ServerCounts {
    /// `None` if no slot had two responses.
    fn record(&self) -> Option<ServerCounters> {
        (self.moments > 0 && self.elapsed_ns > 0).then(|| ServerCounters {
            observed_s: self.elapsed_ns as f64 / 1e9,
            program: self.program.clone(),
            servers: self.servers as u32,
            answers: self.answers,
            answer_us_mean: self.answers_ns as f64 / 1e3 / self.answers.max(1) as f64,
            figures: self
                .figures()
                .into_iter()
                .filter(|(_, value)| value.is_finite())
                .map(|(name, value)| Counter { name: name.into(), value })
                .collect(),
            service: self.service.record(),
        })
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let grown = |name: &str| self.grown.get(name).copied();
        let seconds = self.elapsed_ns as f64 / 1e9;
        let commands: f64 = COMMANDS.iter().filter_map(|name| grown(name)).sum();
        let requests = grown("requests").unwrap_or(commands);
        let mean = |name: &str| self.stood.get(name).map(|sum| sum / self.moments as f64);
        let mut figures: BTreeMap<&'static str, Option<f64>> = BTreeMap::new();
        figures.insert("requests_per_s", Some(requests / seconds));
        // A ratio to 0 is not finite, and is left out.
        let (user, system) = (grown("rusage_user"), grown("rusage_system"));
        let own = user.zip(system).map(|(user, system)| user + system);
        figures.insert("cpu_us_per_request", own.map(|s| 1e6 * s / requests));
        figures.insert("cpu_kernel_share", system.zip(own).map(|(system, own)| system / own));
        figures.insert("proc_cpu_us_per_request", self.used.map(|t| t.running_ns as f64 / 1e3 / requests));
        figures.insert("requests_per_wait", self.used.map(|t| requests / t.voluntary as f64));
        figures.insert("requests_per_sleep", grown("sleeps").map(|sleeps| requests / sleeps));
        let threads = mean("threads").unwrap_or(1.0);
        figures.insert("spinning_share", grown("spin_us").map(|us| us / 1e6 / seconds / threads));
        figures.insert("hit_share", grown("get_hits").zip(grown("cmd_get")).map(|(hits, gets)| hits / gets));
        // The request for counters is itself being answered.
        figures.insert("answering", mean("writing").map(|writing| (writing - self.servers as f64).max(0.0)));
        let dropped = grown("total_connections").zip(grown("handled_connections"));
        figures.insert("dropped_per_s", dropped.map(|(all, handled)| (all - handled).max(0.0) / seconds));
        for (counter, name, per) in &FIGURES {
            let value = match per {
                Per::Second => grown(counter).map(|n| n / seconds),
                Per::Request => grown(counter).map(|n| n / requests),
                Per::KiloRequest => grown(counter).map(|n| 1e3 * n / requests),
                Per::Moment => mean(counter),
            };
            figures.insert(name, value);
        }
        figures.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use units::{Nanos, Time};

    use super::*;

    fn moment(at_ms: u64, numbers: &[(&str, f64)], running_ns: u64, voluntary: u64) -> Moment {
        let said = ServerReading {
            at: Time(1_000_000 * at_ms),
            took: Nanos(50_000),
            numbers: numbers.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            ..ServerReading::default()
        };
        Moment { said: vec![said], used: Some(Thread { running_ns, voluntary, ..Thread::default() }) }
    }

    fn check(counts: &ServerCounts, name: &str, expect: Option<f64>) {
        let found = counts.record().unwrap().figure(name);
        let close = |(a, b): (f64, f64)| (a - b).abs() < 1e-9 * b.abs().max(1.0);
        assert!(found.zip(expect).map_or(found == expect, close), "{name}: {found:?}, not {expect:?}");
    }

    #[test]
    fn counters_of_a_cache_become_rates() {
        let numbers = |n: f64| {
            [
                ("cmd_get", 900.0 * n),
                ("get_hits", 450.0 * n),
                ("cmd_set", 80.0 * n),
                ("delete_misses", 20.0 * n),
                ("rusage_user", 0.001 * n),
                ("rusage_system", 0.003 * n),
                ("bytes_read", 30_000.0 * n),
                ("conn_yields", 2.0 * n),
                ("curr_connections", 10.0),
                ("hash_is_expanding", if n > 1.0 { 1.0 } else { 0.0 }),
                ("evictions", 0.0),
            ]
        };
        let slot = moment(700, &numbers(2.0), 9_000_000, 150)
            .since(&moment(200, &numbers(1.0), 5_000_000, 100), "x".into());
        let mut sum = slot.clone();
        sum.merge(&slot);
        sum.merge(&ServerCounts::default());
        let mut late = ServerCounts::default();
        late.merge(&sum);
        assert_eq!(late, sum);
        let record = sum.record().unwrap();
        assert_eq!(
            (record.observed_s, record.servers, record.answers, record.answer_us_mean),
            (1.0, 1, 4, 50.0)
        );
        assert_eq!(record.service, None);
        check(&sum, "requests_per_s", Some(2000.0));
        check(&sum, "cpu_us_per_request", Some(4.0));
        check(&sum, "cpu_kernel_share", Some(0.75));
        check(&sum, "proc_cpu_us_per_request", Some(4.0));
        check(&sum, "requests_per_wait", Some(20.0));
        check(&sum, "received_bytes_per_request", Some(30.0));
        check(&sum, "yields_per_kilo_request", Some(2.0));
        check(&sum, "hit_share", Some(0.5));
        check(&sum, "connections", Some(10.0));
        check(&sum, "hash_expanding_share", Some(0.5));
        check(&sum, "evictions_per_s", Some(0.0));
        // Figures without a counter are absent.
        check(&sum, "requests_per_sleep", None);
        check(&sum, "answering", None);
    }

    #[test]
    fn counters_of_a_web_server_become_rates() {
        let numbers = |n: f64| {
            [
                ("requests", 100.0 * n),
                ("total_connections", 10.0 * n),
                ("handled_connections", 9.0 * n),
                ("writing", 3.0),
                ("waiting", 60.0),
            ]
        };
        let counts = moment(1500, &numbers(2.0), 0, 0).since(&moment(1000, &numbers(1.0), 0, 0), "x".into());
        check(&counts, "requests_per_s", Some(200.0));
        check(&counts, "answering", Some(2.0));
        check(&counts, "idle_connections", Some(60.0));
        check(&counts, "dropped_per_s", Some(2.0));
        check(&counts, "hit_share", None);
        // No wait in that time: the ratio has no denominator.
        check(&counts, "requests_per_wait", None);
    }

    #[test]
    fn several_servers_add_up_and_a_restarted_one_takes_nothing_away() {
        let both = |at: u64, a: f64, b: f64| {
            let [one, two] = [a, b].map(|n| moment(at, &[("cmd_get", n)], 0, 0).said.remove(0));
            Moment { said: vec![one, two], used: None }
        };
        let counts = both(1000, 150.0, 250.0).since(&both(0, 100.0, 200.0), "x".into());
        check(&counts, "requests_per_s", Some(100.0));
        check(&counts, "proc_cpu_us_per_request", None);
        assert_eq!(counts.record().unwrap().servers, 2);
        check(
            &both(1000, 150.0, 7.0).since(&both(0, 100.0, 200.0), "x".into()),
            "requests_per_s",
            Some(50.0),
        );
        assert_eq!(ServerCounts::default().record(), None);
    }
}
