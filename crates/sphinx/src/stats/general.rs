//! `stats` without a group: every name of memcached, followed by the names that only Sphinx has.
//!
//! Figures of memcached without an equivalent here are 0, or another constant that docs/reference/sphinx.md lists.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use proto_memcache::server::reply;
use units::Bytes;

use super::{CoreStats, Line, fields, sampled, zeros};
use crate::config::Config;
use crate::sampling::Reading;
use crate::watch::Counts;

/// Figures of the server as a whole.
pub(crate) struct Moment {
    /// Units: seconds of Unix time.
    pub(crate) now: u32,
    /// Units: seconds.
    pub(crate) uptime: u32,
    pub(crate) accepting: bool,
    /// The memory limit of items and their index.
    pub(crate) memory: Bytes,
    pub(crate) watch: Counts,
    /// The hit ratio by memory, if requests are sampled.
    pub(crate) curve: Option<Reading>,
}

impl CoreStats {
    /// Appends the answer to `stats`.
    pub(crate) fn write(&self, config: &Config, moment: &Moment, out: &mut Vec<u8>) {
        let line: Line<'_> = &mut |name, value| reply::stat(out, name, &value.to_string());
        process(config, moment, line);
        self.connections(config, moment, line);
        self.commands(config, line);
        self.memory(moment, line);
        self.items(line);
        self.own(config, moment, line);
        out.extend_from_slice(reply::END);
    }

    fn connections(&self, config: &Config, moment: &Moment, line: Line<'_>) {
        line("max_connections", &config.connections);
        line("curr_connections", &self.connections);
        fields!(line, self; total_connections rejected_connections);
        line("connection_structures", &self.connections);
        zeros!(line; response_obj_oom response_obj_count response_obj_bytes);
        zeros!(line; read_buf_count read_buf_bytes read_buf_bytes_free read_buf_oom);
        line("reserved_fds", &config.reserved_descriptors());
        line("accepting_conns", &u64::from(moment.accepting));
        zeros!(line; listen_disabled_num time_in_listen_disabled_us);
        line("threads", &config.cpus.len());
        line("conn_yields", &self.yields);
        line("idle_kicks", &self.idle_kicks);
        zeros!(line; unexpected_napi_ids round_robin_fallback);
    }

    fn commands(&self, config: &Config, line: Line<'_>) {
        let store = &self.store;
        fields!(line, store; cmd_get cmd_set);
        line("cmd_flush", &(store.cmd_flush / config.partitions() as u64));
        line("cmd_touch", &store.cmd_touch);
        line("cmd_meta", &self.cmd_meta);
        fields!(line, store; get_hits get_misses get_expired get_flushed delete_misses delete_hits);
        fields!(line, store; incr_misses incr_hits decr_misses decr_hits);
        fields!(line, store; cas_misses cas_hits cas_badval touch_hits touch_misses store_too_large);
        line("store_no_memory", &store.no_memory);
        fields!(line, self; auth_cmds auth_errors bytes_read bytes_written);
    }

    fn memory(&self, moment: &Moment, line: Line<'_>) {
        let store = &self.store;
        line("limit_maxbytes", &moment.memory.0);
        line("hash_power_level", &store.index_buckets.checked_ilog2().unwrap_or(0));
        line("hash_bytes", &store.index_bytes);
        // It grows by a bucket at a time, with the insert that needs it.
        zeros!(line; hash_is_expanding);
        zeros!(line; slab_reassign_rescues slab_reassign_chunk_rescues slab_reassign_inline_reclaim);
        zeros!(line; slab_reassign_busy_items slab_reassign_busy_deletes slab_reassign_busy_nomem);
        line("slab_reassign_last_busy_status", &"none");
        // Only memcached 1.6.18 has the first.
        zeros!(line; slab_reassign_evictions_nomem slab_reassign_running slabs_moved);
        line("slab_global_page_pool", &store.spare_segments);
        zeros!(line; lru_crawler_running lru_crawler_starts lru_maintainer_juggles malloc_fails);
        zeros!(line; log_worker_dropped log_worker_written);
        line("log_watcher_skipped", &moment.watch.skipped);
        line("log_watcher_sent", &moment.watch.sent);
        line("log_watchers", &moment.watch.watchers);
    }

    fn items(&self, line: Line<'_>) {
        let store = &self.store;
        line("bytes", &store.bytes);
        line("curr_items", &store.items);
        fields!(line, store; total_items expired_unfetched evicted_unfetched evicted_active evictions);
        line("reclaimed", &store.expired);
        line("crawler_reclaimed", &store.tended_away);
        line("crawler_items_checked", &store.tended);
        zeros!(line; lrutail_reflocked moves_to_cold);
        line("moves_to_warm", &store.kept);
        zeros!(line; moves_within_lru);
        line("direct_reclaims", &store.direct_reclaims);
        zeros!(line; lru_bumps_dropped);
    }

    /// Figures that memcached does not have.
    fn own(&self, config: &Config, moment: &Moment, line: Line<'_>) {
        let store = &self.store;
        line("sharing", &config.sharing);
        fields!(line, store; kept expired segments);
        line("segments_reclaimed", &store.reclaimed_segments);
        line("segments_pinned", &store.pinned_segments);
        fields!(line, self; values_lent values_placed);
        line("hugepages_pool_bytes", &store.pool_bytes);
        line("hugepages_thp_bytes", &store.thp_bytes);
        fields!(line, self; accept_failures tls_errors refused_binary refused_tls refused_http refused_text);
        fields!(line, self; slow_reader_kicks datagrams_dropped);
        line("messages", &self.asks);
        fields!(line, self; connections_here);
        fields!(line, self; wakeups spin_us spin_found sleeps queue_waits output_waits connection_memory);
        line("connection_memory_limit", &config.connection_memory);
        fields!(line, self; connection_memory_waits connection_memory_kicks);
        line("hit_ratio_by_memory", &sampled::summary(moment.curve.as_ref()));
    }
}

fn process(config: &Config, moment: &Moment, line: Line<'_>) {
    let [user, system] = processor_times();
    line("pid", &std::process::id());
    line("uptime", &moment.uptime);
    line("time", &moment.now);
    line("version", &crate::VERSION);
    // The event loop's library, which is its own here.
    line("libevent", &config.io);
    line("pointer_size", &usize::BITS);
    line("rusage_user", &user);
    line("rusage_system", &system);
}

/// The time on processors of all threads of the process, for users and for the system, in seconds to the microsecond.
pub(crate) fn processor_times() -> [String; 2] {
    match getrusage(UsageWho::RUSAGE_SELF) {
        Ok(usage) => [usage.user_time(), usage.system_time()].map(seconds),
        Err(_) => [TimeVal::new(0, 0); 2].map(seconds),
    }
}

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
        let moment = Moment {
            now: 1_700_000_000,
            uptime: 60,
            accepting: true,
            memory: Bytes(64 << 20),
            watch: Counts::default(),
            curve: None,
        };
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
