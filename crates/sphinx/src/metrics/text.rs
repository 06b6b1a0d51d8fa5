use std::fmt::Write;

use crate::VERSION;
use crate::config::Config;
use crate::metrics::{Format, Snapshot};
use crate::sampling::{Hottest, Reading};
use crate::service::{CLASSES, bound_us};
use crate::stats::CoreStats;
use units::Bytes;

/// A figure of each thread.
struct Figure {
    name: &'static str,
    help: &'static str,
    /// Whether it only grows, until `stats reset`.
    is_counter: bool,
    /// A label in addition to the thread's number: its name, and its value for the figure.
    label: Option<(&'static str, &'static str)>,
    of: fn(&CoreStats) -> u64,
}

const fn counter(
    name: &'static str,
    help: &'static str,
    label: Option<(&'static str, &'static str)>,
    of: fn(&CoreStats) -> u64,
) -> Figure {
    Figure { name, help, is_counter: true, label, of }
}

const fn gauge(name: &'static str, help: &'static str, of: fn(&CoreStats) -> u64) -> Figure {
    Figure { name, help, is_counter: false, label: None, of }
}

const COMMANDS: (&str, &str) = ("sphinx_commands", "Commands carried out on a thread's keys");
const OUTCOMES: (&str, &str) = ("sphinx_outcomes", "How commands on a thread's keys ended");

const fn command(what: &'static str, of: fn(&CoreStats) -> u64) -> Figure {
    counter(COMMANDS.0, COMMANDS.1, Some(("command", what)), of)
}

const fn outcome(what: &'static str, of: fn(&CoreStats) -> u64) -> Figure {
    counter(OUTCOMES.0, OUTCOMES.1, Some(("outcome", what)), of)
}

const fn refused(protocol: &'static str, of: fn(&CoreStats) -> u64) -> Figure {
    let help = "Connections and datagrams of other protocols refused";
    counter("sphinx_refused", help, Some(("protocol", protocol)), of)
}

/// In groups of one name, as the format demands.
const FIGURES: &[Figure] = &[
    command("get", |s| s.store.cmd_get),
    command("set", |s| s.store.cmd_set),
    command("touch", |s| s.store.cmd_touch),
    command("flush", |s| s.store.cmd_flush),
    outcome("get_hits", |s| s.store.get_hits),
    outcome("get_misses", |s| s.store.get_misses),
    outcome("get_expired", |s| s.store.get_expired),
    outcome("get_flushed", |s| s.store.get_flushed),
    outcome("delete_hits", |s| s.store.delete_hits),
    outcome("delete_misses", |s| s.store.delete_misses),
    outcome("incr_hits", |s| s.store.incr_hits),
    outcome("incr_misses", |s| s.store.incr_misses),
    outcome("decr_hits", |s| s.store.decr_hits),
    outcome("decr_misses", |s| s.store.decr_misses),
    outcome("cas_hits", |s| s.store.cas_hits),
    outcome("cas_misses", |s| s.store.cas_misses),
    outcome("cas_badval", |s| s.store.cas_badval),
    outcome("touch_hits", |s| s.store.touch_hits),
    outcome("touch_misses", |s| s.store.touch_misses),
    outcome("store_too_large", |s| s.store.store_too_large),
    counter("sphinx_evictions", "Items that made room for others", None, |s| s.store.evictions),
    counter("sphinx_segments_reclaimed", "Segments taken back", None, |s| s.store.reclaimed_segments),
    gauge("sphinx_segments", "Segments in use", |s| s.store.segments),
    gauge("sphinx_segments_pinned", "Segments out of use, of which replies have values", |s| {
        s.store.pinned_segments
    }),
    gauge("sphinx_items", "Items that are there", |s| s.store.items),
    gauge("sphinx_item_bytes", "Bytes of items that are there", |s| s.store.bytes),
    gauge("sphinx_index_bytes", "Bytes of the index", |s| s.store.index_bytes),
    gauge("sphinx_connections", "Open connections", |s| s.connections),
    counter("sphinx_connections_accepted", "Connections ever accepted", None, |s| s.total_connections),
    counter("sphinx_connections_rejected", "Connections too many", None, |s| s.rejected_connections),
    counter("sphinx_accept_failures", "Connections that the system could not give", None, |s| {
        s.accept_failures
    }),
    counter("sphinx_tls_errors", "Connections closed since their TLS failed", None, |s| s.tls_errors),
    refused("binary", |s| s.refused_binary),
    refused("tls", |s| s.refused_tls),
    refused("http", |s| s.refused_http),
    refused("text", |s| s.refused_text),
    counter("sphinx_idle_kicks", "Connections closed for their silence", None, |s| s.idle_kicks),
    counter("sphinx_slow_reader_kicks", "Connections closed that read nothing", None, |s| {
        s.slow_reader_kicks
    }),
    counter("sphinx_resp_connections", "Connections accepted for RESP", None, |s| s.resp_connections),
    counter("sphinx_resp_commands", "Commands of RESP", None, |s| s.resp_commands),
    counter("sphinx_auth_attempts", "Attempts to authenticate", None, |s| s.auth_cmds),
    counter("sphinx_auth_errors", "Failed attempts to authenticate", None, |s| s.auth_errors),
    counter(
        "sphinx_datagrams_dropped",
        "Datagrams that were not served, and requests of several that did not get whole",
        None,
        |s| s.datagrams_dropped,
    ),
    counter("sphinx_read_bytes", "Bytes received", None, |s| s.bytes_read),
    counter("sphinx_written_bytes", "Bytes of replies", None, |s| s.bytes_written),
    counter("sphinx_values_lent", "Values sent from where they are stored", None, |s| s.values_lent),
    counter("sphinx_values_placed", "Values received where they are stored", None, |s| s.values_placed),
    counter("sphinx_messages", "Requests passed to other threads", None, |s| s.asks),
    counter("sphinx_connections_here", "Connections received by the thread's own processor", None, |s| {
        s.connections_here
    }),
    counter("sphinx_wakeups", "Sleeping threads woken", None, |s| s.wakeups),
    counter("sphinx_sleeps", "Times that the thread slept", None, |s| s.sleeps),
    counter("sphinx_queue_waits", "Times that a connection waited for a full queue", None, |s| s.queue_waits),
    gauge("sphinx_connection_memory_bytes", "What connections' buffers take of their budget", |s| {
        s.connection_memory
    }),
    counter("sphinx_connection_memory_waits", "Times that a connection waited for memory", None, |s| {
        s.connection_memory_waits
    }),
    counter(
        "sphinx_connection_memory_kicks",
        "Connections closed that held memory and made no progress",
        None,
        |s| s.connection_memory_kicks,
    ),
    counter("sphinx_output_waits", "Times that a connection waited for its replies to leave", None, |s| {
        s.output_waits
    }),
];

/// Writes the threads' figures.
pub(super) fn write(
    snapshots: &[Snapshot],
    config: &Config,
    memory: Bytes,
    curve: Option<&Reading>,
    format: Format,
) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = try_write(&mut out, snapshots, config, (memory, curve), format);
    out
}

fn try_write(
    out: &mut String,
    snapshots: &[Snapshot],
    config: &Config,
    (memory, curve): (Bytes, Option<&Reading>),
    format: Format,
) -> std::fmt::Result {
    // Prometheus' format has no type for facts, and names a family of counters as their samples.
    let is_open = format == Format::OpenMetrics;
    let (build, info) = if is_open { ("sphinx_build", "info") } else { ("sphinx_build_info", "gauge") };
    head(out, build, info, "The version and the event loop")?;
    writeln!(out, "sphinx_build_info{{version=\"{VERSION}\",io=\"{}\"}} 1", config.io.name())?;
    head(out, "sphinx_memory_limit_bytes", "gauge", "What items and their index may take")?;
    writeln!(out, "sphinx_memory_limit_bytes {}", memory.0)?;
    head(out, "sphinx_connections_limit", "gauge", "Connections at once")?;
    writeln!(out, "sphinx_connections_limit {}", config.connections)?;
    head(out, "sphinx_connection_memory_limit_bytes", "gauge", "The budget of connections' buffers")?;
    writeln!(out, "sphinx_connection_memory_limit_bytes {}", config.connection_memory)?;
    let mut last = "";
    for Figure { name, help, is_counter, label, of } in FIGURES {
        let suffix = if *is_counter { "_total" } else { "" };
        if *name != last {
            let family = if is_open { (*name).to_owned() } else { format!("{name}{suffix}") };
            head(out, &family, if *is_counter { "counter" } else { "gauge" }, help)?;
            last = name;
        }
        let label = label.map_or(String::new(), |(name, value)| format!(",{name}=\"{value}\""));
        for snapshot in snapshots {
            let (core, value) = (snapshot.number, of(&snapshot.stats));
            writeln!(out, "{name}{suffix}{{core=\"{core}\"{label}}} {value}")?;
        }
    }
    head(out, "sphinx_queue_depth", "gauge", "Requests passed to another thread and not answered")?;
    for snapshot in snapshots {
        let from = snapshot.number;
        for (to, depth) in snapshot.unanswered.iter().enumerate().filter(|(to, _)| *to != from) {
            writeln!(out, "sphinx_queue_depth{{core=\"{from}\",to=\"{to}\"}} {depth}")?;
        }
    }
    if let Some(curve) = curve {
        sampled(out, curve)?;
    }
    if config.metrics_hot_keys {
        hot_keys(out, snapshots)?;
    }
    service_times(out, snapshots)?;
    if is_open { writeln!(out, "# EOF") } else { Ok(()) }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) -> std::fmt::Result {
    writeln!(out, "# TYPE {name} {kind}\n# HELP {name} {help}.")
}

fn sampled(out: &mut String, curve: &Reading) -> std::fmt::Result {
    if !curve.points.is_empty() {
        head(out, "sphinx_hit_ratio", "gauge", "Sampled reads that hit, with a half-life of 10 minutes")?;
        writeln!(out, "sphinx_hit_ratio {:.4}", curve.hit_ratio)?;
        head(out, "sphinx_lru_hit_ratio", "gauge", "The same as it would be in an LRU cache of this memory")?;
    }
    for (memory, ratio) in &curve.points {
        writeln!(out, "sphinx_lru_hit_ratio{{memory_bytes=\"{memory}\"}} {ratio:.4}")?;
    }
    head(out, "sphinx_sampled_keys", "gauge", "Keys that these are estimated from")?;
    writeln!(out, "sphinx_sampled_keys {}", curve.keys)
}

/// Keys are URL-encoded, so that no byte of them ends a label.
fn hot_keys(out: &mut String, snapshots: &[Snapshot]) -> std::fmt::Result {
    head(out, "sphinx_hot_key_share", "gauge", "The share of requests of one of the hottest keys")?;
    let lines: Vec<u8> = snapshots.iter().flat_map(|snapshot| &snapshot.hot_keys).copied().collect();
    for (key, share) in Hottest::read(&lines).0 {
        writeln!(out, "sphinx_hot_key_share{{key=\"{key}\"}} {share:.4}")?;
    }
    Ok(())
}

fn service_times(out: &mut String, snapshots: &[Snapshot]) -> std::fmt::Result {
    let name = "sphinx_service_time_seconds";
    let help = "From the return of a receive to just before the send of its replies; each request of a batch counts \
                with the batch's time";
    head(out, name, "histogram", help)?;
    for snapshot in snapshots {
        let core = snapshot.number;
        for (class, times) in CLASSES.iter().zip(&snapshot.service.classes) {
            let mut below = 0;
            for (bucket, count) in times.counts.iter().enumerate() {
                below += count;
                let bound = match bucket + 1 == times.counts.len() {
                    true => "+Inf".into(),
                    false => format!("{:?}", bound_us(bucket) as f64 / 1e6),
                };
                writeln!(
                    out,
                    "{name}_bucket{{core=\"{core}\",operation=\"{class}\",le=\"{bound}\"}} {below}"
                )?;
            }
            let sum = times.sum as f64 / 1e9;
            writeln!(out, "{name}_sum{{core=\"{core}\",operation=\"{class}\"}} {sum}")?;
            writeln!(out, "{name}_count{{core=\"{core}\",operation=\"{class}\"}} {below}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use units::Time;

    use super::*;
    use crate::service::{Batch, Class, ServiceTimes};

    fn snapshot(number: usize) -> Snapshot {
        let mut stats = CoreStats { connections: 3, ..CoreStats::default() };
        stats.store.get_hits = 7;
        let (mut service, mut batch) = (ServiceTimes::default(), Batch::default());
        batch.add(Class::Get, Time(0));
        service.leave(&mut batch, Time(3_000));
        Snapshot { number, stats, unanswered: vec![0, 5], service, hot_keys: b"4 \n2 a%22\n".to_vec() }
    }

    fn write_all(format: Format) -> String {
        let config = Config { metrics_hot_keys: true, ..Config::for_tests() };
        let points = vec![(64 << 20, 0.5), (128 << 20, 0.75)];
        let curve = Reading { points, hit_ratio: 0.5, keys: 7, ..Reading::default() };
        write(&[snapshot(0), snapshot(1)], &config, Bytes(64 << 20), Some(&curve), format)
    }

    #[test]
    fn each_line_is_a_head_or_a_sample_of_its_family() {
        for format in [Format::OpenMetrics, Format::Prometheus] {
            check_families(&write_all(format), format);
        }
    }

    fn check_families(text: &str, format: Format) {
        let is_open = format == Format::OpenMetrics;
        assert_eq!(text.ends_with("\n# EOF\n"), is_open);
        assert_eq!(text.contains("# TYPE sphinx_build info\n"), is_open);
        assert_eq!(text.contains("# TYPE sphinx_build_info gauge\n"), !is_open);
        assert_eq!(text.contains("# TYPE sphinx_commands counter\n"), is_open);
        assert_eq!(text.contains("# TYPE sphinx_commands_total counter\n"), !is_open);
        let (mut families, mut family) = (HashSet::new(), String::new());
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split(' ').next().unwrap().to_owned();
                assert!(families.insert(family.clone()), "{family} comes twice");
            } else if !line.starts_with("# HELP ") {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert!(name.starts_with(&family), "{line} in {family}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
    }

    #[test]
    fn the_figures_are_there() {
        let text = write_all(Format::OpenMetrics);
        for expect in [
            "sphinx_outcomes_total{core=\"1\",outcome=\"get_hits\"} 7",
            "sphinx_connections{core=\"0\"} 3",
            "sphinx_queue_depth{core=\"0\",to=\"1\"} 5",
            "sphinx_service_time_seconds_bucket{core=\"0\",operation=\"get\",le=\"2e-6\"} 0",
            "sphinx_service_time_seconds_bucket{core=\"0\",operation=\"get\",le=\"4e-6\"} 1",
            "sphinx_service_time_seconds_bucket{core=\"0\",operation=\"get\",le=\"+Inf\"} 1",
            "sphinx_service_time_seconds_sum{core=\"0\",operation=\"get\"} 0.000003",
            "sphinx_service_time_seconds_count{core=\"0\",operation=\"get\"} 1",
            "sphinx_memory_limit_bytes 67108864",
            "sphinx_hit_ratio 0.5000",
            "sphinx_lru_hit_ratio{memory_bytes=\"134217728\"} 0.7500",
            "sphinx_sampled_keys 7",
            "sphinx_hot_key_share{key=\"a%22\"} 0.5000",
        ] {
            assert!(text.lines().any(|line| line == expect), "no {expect} in\n{text}");
        }
        assert!(!text.contains("core=\"0\",to=\"0\""));
    }
}
