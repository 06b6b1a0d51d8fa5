//! `INFO` and `CONFIG`: the server's figures and settings under Redis' names.

use cache_store::Policy;
use units::Bytes;

use super::REDIS_VERSION;
use crate::config::Config;
use crate::stats::general::processor_times;
use crate::stats::{CoreStats, Line};

/// Which sections `INFO` has, by their places in [`NAMES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sections(u16);

/// Source: Redis' names and order.
const NAMES: [&str; 8] =
    ["server", "clients", "memory", "persistence", "stats", "replication", "cpu", "keyspace"];

impl Sections {
    /// The sections that these words ask for; all of them without a word. An unknown word asks for none, as in Redis.
    pub(crate) fn of<'a>(words: impl Iterator<Item = &'a [u8]>) -> Sections {
        let all = Sections((1 << NAMES.len()) - 1);
        let mut any = false;
        let asked = words.fold(Sections::default(), |sum, word| {
            any = true;
            let is_all =
                [&b"all"[..], b"default", b"everything"].iter().any(|all| word.eq_ignore_ascii_case(all));
            let one = NAMES.iter().position(|name| word.eq_ignore_ascii_case(name.as_bytes()));
            Sections(sum.0 | if is_all { all.0 } else { one.map_or(0, |at| 1 << at) })
        });
        if any { asked } else { all }
    }

    fn has(self, name: &str) -> bool {
        NAMES.iter().position(|own| *own == name).is_some_and(|at| self.0 & (1 << at) != 0)
    }
}

/// Figures of `INFO` that are not counters.
pub(crate) struct Moment {
    /// Units: seconds.
    pub(crate) uptime: u32,
    /// Units: µs of Unix time.
    pub(crate) now: i64,
    /// The limit of items and their index.
    pub(crate) memory: Bytes,
    /// The port for RESP.
    pub(crate) port: u16,
}

pub(crate) fn info(
    config: &Config,
    stats: &CoreStats,
    moment: &Moment,
    sections: Sections,
    out: &mut Vec<u8>,
) {
    let mut section = |name: &str, title: &str, lines: &dyn Fn(Line<'_>)| {
        if !sections.has(name) {
            return;
        }
        if !out.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(format!("# {title}\r\n").as_bytes());
        lines(&mut |name, value| out.extend_from_slice(format!("{name}:{value}\r\n").as_bytes()));
    };
    let store = &stats.store;
    let used = store.bytes + store.index_bytes;
    section("server", "Server", &|line| {
        line("redis_version", &REDIS_VERSION);
        line("redis_mode", &"standalone");
        line("sphinx_version", &env!("CARGO_PKG_VERSION"));
        line("arch_bits", &usize::BITS);
        line("multiplexing_api", &config.io);
        line("process_id", &std::process::id());
        line("tcp_port", &moment.port);
        line("server_time_usec", &moment.now);
        line("uptime_in_seconds", &moment.uptime);
        line("uptime_in_days", &(moment.uptime / 86_400));
        line("io_threads_active", &usize::from(config.cpus.len() > 1));
    });
    section("clients", "Clients", &|line| {
        line("connected_clients", &stats.connections);
        line("maxclients", &config.connections);
        line("blocked_clients", &0);
    });
    section("memory", "Memory", &|line| {
        line("used_memory", &used);
        line("used_memory_human", &Bytes(used));
        line("used_memory_dataset", &store.bytes);
        line("maxmemory", &moment.memory.0);
        line("maxmemory_human", &moment.memory);
        line("maxmemory_policy", &policy(config));
        line("mem_clients_normal", &stats.connection_memory);
    });
    section("persistence", "Persistence", &|line| {
        line("loading", &0);
        line("rdb_bgsave_in_progress", &0);
        line("aof_enabled", &0);
    });
    section("stats", "Stats", &|line| {
        line("total_connections_received", &stats.total_connections);
        line("total_commands_processed", &stats.resp_commands);
        line("total_net_input_bytes", &stats.bytes_read);
        line("total_net_output_bytes", &stats.bytes_written);
        line("rejected_connections", &stats.rejected_connections);
        line("expired_keys", &store.expired);
        line("evicted_keys", &store.evictions);
        line("keyspace_hits", &store.get_hits);
        line("keyspace_misses", &store.get_misses);
        line("acl_access_denied_auth", &stats.auth_errors);
    });
    section("replication", "Replication", &|line| {
        line("role", &"master");
        line("connected_slaves", &0);
    });
    section("cpu", "CPU", &|line| {
        let [user, system] = processor_times();
        line("used_cpu_sys", &system);
        line("used_cpu_user", &user);
    });
    section("keyspace", "Keyspace", &|line| {
        if store.items > 0 {
            line("db0", &format_args!("keys={},expires=0,avg_ttl=0", store.items));
        }
    });
}

/// Redis' name of the most similar policy; no policy of Redis evicts by the age of a segment.
fn policy(config: &Config) -> &'static str {
    if config.policy == Policy::Never { "noeviction" } else { "allkeys-lru" }
}

/// The settings that `CONFIG GET` tells, sorted by name.
pub(crate) fn settings(config: &Config, memory: Bytes, port: u16) -> Vec<(&'static str, String)> {
    vec![
        ("appendonly", "no".into()),
        ("databases", "1".into()),
        ("io-threads", config.cpus.len().to_string()),
        ("maxclients", config.connections.to_string()),
        ("maxmemory", memory.0.to_string()),
        ("maxmemory-policy", policy(config).into()),
        ("port", port.to_string()),
        ("proto-max-bulk-len", config.gathered_max().to_string()),
        ("save", String::new()),
        ("tcp-backlog", config.backlog.to_string()),
        ("timeout", config.idle_timeout.to_string()),
    ]
}

/// Reads a size as Redis' configuration does: a number of bytes, or one with `k`, `kb`, `m`, `mb`, `g` or `gb`.
/// Source: Redis' `memtoull`.
pub(crate) fn read_memory(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor: u64 = match &text[digits.len()..] {
        "" | "b" => 1,
        "k" => 1_000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> impl Iterator<Item = &[u8]> {
        text.split_whitespace().map(str::as_bytes)
    }

    #[test]
    fn info_has_the_sections_that_are_asked_for() {
        let mut stats = CoreStats { connections: 3, resp_commands: 7, ..CoreStats::default() };
        stats.store.items = 5;
        let told = |sections: &str| {
            let mut out = Vec::new();
            let moment = Moment { uptime: 90_000, now: 1, memory: Bytes(64 << 20), port: 6379 };
            info(&Config::for_tests(), &stats, &moment, Sections::of(words(sections)), &mut out);
            String::from_utf8(out).unwrap()
        };
        let all = told("");
        assert_eq!(all.matches("# ").count(), NAMES.len());
        assert!(all.contains("\r\nconnected_clients:3\r\n") && all.contains("uptime_in_days:1\r\n"), "{all}");
        assert_eq!(told("Keyspace"), "# Keyspace\r\ndb0:keys=5,expires=0,avg_ttl=0\r\n");
        assert_eq!(told("nothing"), "");
        assert_eq!(told("everything").lines().count(), all.lines().count());
    }

    #[test]
    fn settings_are_sorted_and_sizes_are_redis() {
        let all = settings(&Config::for_tests(), Bytes(64 << 20), 6379);
        assert!(all.is_sorted());
        let check =
            |text: &str, expect: Option<u64>| assert_eq!(read_memory(text.as_bytes()), expect, "{text}");
        check("100", Some(100));
        check("1k", Some(1000));
        check("1KB", Some(1024));
        check("2gb", Some(2 << 30));
        check("2tb", None);
        check("", None);
        check("mb", None);
        check("99999999999gb", None);
    }
}
