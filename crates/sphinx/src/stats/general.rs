//! `stats` without a group: every name of memcached, and behind them those of Sphinx alone.
//!
//! What memcached counts and there is not here is 0, or another constant that docs/reference/sphinx.md lists.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use proto_memcache::server::reply;

use super::CoreStats;
use crate::config::Config;

/// What only the server as a whole knows.
pub(crate) struct Moment {
    /// Units: seconds of Unix time.
    pub(crate) now: u32,
    /// Units: seconds.
    pub(crate) uptime: u32,
    /// Whether clients are taken.
    pub(crate) accepting: bool,
}

/// A figure's value.
enum Value {
    Number(u64),
    Text(String),
}

use Value::{Number, Text};

impl CoreStats {
    /// Appends the answer to `stats`.
    pub(crate) fn write(&self, config: &Config, moment: &Moment, out: &mut Vec<u8>) {
        let lists = [
            self.process(config, moment),
            self.connections(config, moment),
            self.commands(config),
            self.memory(config),
            self.items(),
            self.own(config),
        ];
        for (name, value) in lists.into_iter().flatten() {
            match value {
                Number(number) => reply::stat(out, name, &number.to_string()),
                Text(text) => reply::stat(out, name, &text),
            }
        }
        out.extend_from_slice(reply::END);
    }

    fn process(&self, config: &Config, moment: &Moment) -> Vec<(&'static str, Value)> {
        // Of all threads of the process, as memcached's.
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let time = |of: fn(&nix::sys::resource::Usage) -> TimeVal| {
            usage.as_ref().map_or("0.000000".into(), |usage| seconds(of(usage)))
        };
        vec![
            ("pid", Number(u64::from(std::process::id()))),
            ("uptime", Number(u64::from(moment.uptime))),
            ("time", Number(u64::from(moment.now))),
            ("version", Text(crate::VERSION.into())),
            // The event loop's library, which is its own here.
            ("libevent", Text(config.io.to_string())),
            ("pointer_size", Number(u64::from(usize::BITS))),
            ("rusage_user", Text(time(|usage| usage.user_time()))),
            ("rusage_system", Text(time(|usage| usage.system_time()))),
        ]
    }

    fn connections(&self, config: &Config, moment: &Moment) -> Vec<(&'static str, Value)> {
        vec![
            ("max_connections", Number(config.connections as u64)),
            ("curr_connections", Number(self.connections)),
            ("total_connections", Number(self.total_connections)),
            ("rejected_connections", Number(self.rejected_connections)),
            ("connection_structures", Number(self.connections)),
            ("response_obj_oom", Number(0)),
            ("response_obj_count", Number(0)),
            ("response_obj_bytes", Number(0)),
            ("read_buf_count", Number(0)),
            ("read_buf_bytes", Number(0)),
            ("read_buf_bytes_free", Number(0)),
            ("read_buf_oom", Number(0)),
            ("reserved_fds", Number(config.reserved_descriptors() as u64)),
            ("accepting_conns", Number(u64::from(moment.accepting))),
            ("listen_disabled_num", Number(0)),
            ("time_in_listen_disabled_us", Number(0)),
            ("threads", Number(config.cpus.len() as u64)),
            ("conn_yields", Number(self.yields)),
            ("idle_kicks", Number(self.idle_kicks)),
            ("unexpected_napi_ids", Number(0)),
            ("round_robin_fallback", Number(0)),
        ]
    }

    fn commands(&self, config: &Config) -> Vec<(&'static str, Value)> {
        let store = &self.store;
        vec![
            ("cmd_get", Number(store.cmd_get)),
            ("cmd_set", Number(store.cmd_set)),
            ("cmd_flush", Number(store.cmd_flush / config.partitions() as u64)),
            ("cmd_touch", Number(store.cmd_touch)),
            ("cmd_meta", Number(self.cmd_meta)),
            ("get_hits", Number(store.get_hits)),
            ("get_misses", Number(store.get_misses)),
            ("get_expired", Number(store.get_expired)),
            ("get_flushed", Number(store.get_flushed)),
            ("delete_misses", Number(store.delete_misses)),
            ("delete_hits", Number(store.delete_hits)),
            ("incr_misses", Number(store.incr_misses)),
            ("incr_hits", Number(store.incr_hits)),
            ("decr_misses", Number(store.decr_misses)),
            ("decr_hits", Number(store.decr_hits)),
            ("cas_misses", Number(store.cas_misses)),
            ("cas_hits", Number(store.cas_hits)),
            ("cas_badval", Number(store.cas_badval)),
            ("touch_hits", Number(store.touch_hits)),
            ("touch_misses", Number(store.touch_misses)),
            ("store_too_large", Number(store.store_too_large)),
            ("store_no_memory", Number(store.no_memory)),
            ("auth_cmds", Number(self.auth_cmds)),
            ("auth_errors", Number(self.auth_errors)),
            ("bytes_read", Number(self.bytes_read)),
            ("bytes_written", Number(self.bytes_written)),
        ]
    }

    fn memory(&self, config: &Config) -> Vec<(&'static str, Value)> {
        let store = &self.store;
        vec![
            ("limit_maxbytes", Number(config.memory.0)),
            ("hash_power_level", Number(u64::from(store.index_buckets.checked_ilog2().unwrap_or(0)))),
            ("hash_bytes", Number(store.index_bytes)),
            // It grows by a bucket at a time, with the insert that needs it.
            ("hash_is_expanding", Number(0)),
            ("slab_reassign_rescues", Number(0)),
            ("slab_reassign_chunk_rescues", Number(0)),
            ("slab_reassign_inline_reclaim", Number(0)),
            ("slab_reassign_busy_items", Number(0)),
            ("slab_reassign_busy_deletes", Number(0)),
            ("slab_reassign_busy_nomem", Number(0)),
            ("slab_reassign_last_busy_status", Text("none".into())),
            // Only memcached 1.6.18 has it.
            ("slab_reassign_evictions_nomem", Number(0)),
            ("slab_reassign_running", Number(0)),
            ("slabs_moved", Number(0)),
            ("slab_global_page_pool", Number(store.spare_segments)),
            ("lru_crawler_running", Number(0)),
            ("lru_crawler_starts", Number(0)),
            ("lru_maintainer_juggles", Number(0)),
            ("malloc_fails", Number(0)),
            ("log_worker_dropped", Number(0)),
            ("log_worker_written", Number(0)),
            ("log_watcher_skipped", Number(0)),
            ("log_watcher_sent", Number(0)),
            ("log_watchers", Number(0)),
        ]
    }

    fn items(&self) -> Vec<(&'static str, Value)> {
        let store = &self.store;
        vec![
            ("bytes", Number(store.bytes)),
            ("curr_items", Number(store.items)),
            ("total_items", Number(store.total_items)),
            ("expired_unfetched", Number(store.expired_unfetched)),
            ("evicted_unfetched", Number(store.evicted_unfetched)),
            ("evicted_active", Number(store.evicted_active)),
            ("evictions", Number(store.evictions)),
            ("reclaimed", Number(store.expired)),
            ("crawler_reclaimed", Number(store.tended_away)),
            ("crawler_items_checked", Number(store.tended)),
            ("lrutail_reflocked", Number(0)),
            ("moves_to_cold", Number(0)),
            ("moves_to_warm", Number(store.kept)),
            ("moves_within_lru", Number(0)),
            ("direct_reclaims", Number(store.direct_reclaims)),
            ("lru_bumps_dropped", Number(0)),
        ]
    }

    /// What memcached has not.
    fn own(&self, config: &Config) -> Vec<(&'static str, Value)> {
        let store = &self.store;
        vec![
            ("sharing", Text(config.sharing.to_string())),
            ("kept", Number(store.kept)),
            ("expired", Number(store.expired)),
            ("segments", Number(store.segments)),
            ("segments_reclaimed", Number(store.reclaimed_segments)),
            ("segments_pinned", Number(store.pinned_segments)),
            ("values_lent", Number(self.values_lent)),
            ("values_placed", Number(self.values_placed)),
            ("hugepages_pool_bytes", Number(store.pool_bytes)),
            ("hugepages_thp_bytes", Number(store.thp_bytes)),
            ("accept_failures", Number(self.accept_failures)),
            ("tls_errors", Number(self.tls_errors)),
            ("refused_binary", Number(self.refused_binary)),
            ("refused_tls", Number(self.refused_tls)),
            ("refused_http", Number(self.refused_http)),
            ("slow_reader_kicks", Number(self.slow_reader_kicks)),
            ("datagrams_dropped", Number(self.datagrams_dropped)),
            ("messages", Number(self.asks)),
            ("wakeups", Number(self.wakeups)),
            ("spin_us", Number(self.spin_us)),
            ("spin_found", Number(self.spin_found)),
            ("sleeps", Number(self.sleeps)),
            ("queue_waits", Number(self.queue_waits)),
            ("output_waits", Number(self.output_waits)),
            ("connection_memory", Number(self.connection_memory)),
            ("connection_memory_limit", Number(config.connection_memory as u64)),
            ("connection_memory_waits", Number(self.connection_memory_waits)),
            ("connection_memory_kicks", Number(self.connection_memory_kicks)),
        ]
    }
}

/// A time in seconds to the microsecond.
fn seconds(time: TimeVal) -> String {
    format!("{}.{:06}", time.tv_sec(), time.tv_usec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto_memcache::client::{Expect, Outcome, Parse, ResponseParser};

    #[test]
    fn stats_are_memcacheds_lines() {
        let mut one = CoreStats { connections: 2, asks: 5, ..CoreStats::default() };
        one.store.get_hits = 7;
        one.store.cmd_flush = 1;
        one.store.index_bytes = 1 << 16;
        (one.store.index_buckets, one.store.no_memory) = (1024, 3);
        let mut both = one;
        both += one;
        let config = Config { cpus: vec![0, 1], ..Config::for_tests() };
        let mut out = Vec::new();
        let moment = Moment { now: 1_700_000_000, uptime: 60, accepting: true };
        both.write(&config, &moment, &mut out);
        let mut parser = ResponseParser::default();
        let Parse::Done { consumed, outcome: Outcome::Stats(stats) } = parser.parse(Expect::Stats, &out)
        else {
            panic!("{}", out.escape_ascii())
        };
        assert_eq!(consumed, out.len());
        let check = |name: &str, expect: &str| {
            assert_eq!(
                stats.get(name).map(|v| v.escape_ascii().to_string()).as_deref(),
                Some(expect),
                "{name}"
            );
        };
        check("curr_connections", "4");
        check("get_hits", "14");
        check("cmd_flush", "1");
        check("messages", "10");
        check("hash_bytes", "131072");
        check("accepting_conns", "1");
        check("threads", "2");
        check("limit_maxbytes", "67108864");
        check("hash_power_level", "11");
        check("store_no_memory", "6");
        check("slab_reassign_last_busy_status", "none");
        check("uptime", "60");
        check("time", "1700000000");
        check("version", crate::VERSION);
        assert_eq!(seconds(TimeVal::new(12, 3_045)), "12.003045");
        for name in ["rusage_user", "rusage_system"] {
            let time = std::str::from_utf8(stats.get(name).unwrap()).unwrap();
            assert!(time.split_once('.').is_some_and(|(_, micros)| micros.len() == 6), "{name} {time}");
        }
        // A plugin of collectd reads no more.
        assert!(out.len() < 4096, "{} B of stats", out.len());
        both.reset();
        assert_eq!((both.connections, both.asks, both.store.get_hits), (4, 0, 0));
    }
}
