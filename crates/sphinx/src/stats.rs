pub(crate) mod connections;
pub(crate) mod groups;
pub(crate) mod prefixes;

use std::ops::AddAssign;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use proto_memcache::server::reply;

use crate::config::Config;

macro_rules! core_stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What one thread holds and has done. Those of all threads add up.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct CoreStats {
            /// Of its partition.
            pub(crate) store: cache_store::Stats,
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl AddAssign for CoreStats {
            fn add_assign(&mut self, other: CoreStats) {
                self.store += other.store;
                $(self.$name += other.$name;)*
            }
        }
    };
}

core_stats! {
    /// Open connections.
    connections,
    /// Connections ever accepted.
    total_connections,
    /// Connections turned away because there were too many.
    rejected_connections,
    /// Connections that the system could not give.
    accept_failures,
    /// Connections closed since their TLS failed.
    tls_errors,
    /// Connections closed for their silence.
    idle_kicks,
    /// Connections closed since they took nothing of their replies.
    slow_reader_kicks,
    /// Attempts to authenticate.
    auth_cmds,
    /// Those that failed.
    auth_errors,
    /// Datagrams that came while too many of the same peer waited.
    datagrams_dropped,
    /// Units: bytes.
    bytes_read,
    /// Units: bytes.
    bytes_written,
    /// Values that were sent from where they are stored.
    values_lent,
    /// Values that were received where they are stored.
    values_placed,
    /// `me` commands.
    cmd_meta,
    /// Requests passed to other threads.
    asks,
    /// Sleeping threads woken.
    wakeups,
    /// Time spent looking for work instead of sleeping. Units: µs.
    spin_us,
    /// Pauses that ended while the thread looked.
    spin_found,
    /// Times that the thread slept.
    sleeps,
    /// Times that a connection had to wait for a full queue.
    queue_waits,
    /// Times that a connection had to wait for its own replies to leave.
    output_waits,
}

impl CoreStats {
    /// Sets what counts events to 0.
    pub(crate) fn reset(&mut self) {
        *self = CoreStats { store: self.store, connections: self.connections, ..CoreStats::default() };
        self.store.reset();
    }

    /// Appends the answer to `stats`, with memcached's names where they mean the same.
    ///
    /// Units: `now` and `uptime` in seconds. `accepting`: whether clients are taken.
    pub(crate) fn write(&self, config: &Config, now: u32, uptime: u64, accepting: bool, out: &mut Vec<u8>) {
        let store = &self.store;
        let numbers = [
            ("pid", u64::from(std::process::id())),
            ("uptime", uptime),
            ("time", u64::from(now)),
            ("pointer_size", u64::from(usize::BITS)),
            ("max_connections", config.connections as u64),
            ("curr_connections", self.connections),
            ("total_connections", self.total_connections),
            ("rejected_connections", self.rejected_connections),
            ("accepting_conns", u64::from(accepting)),
            ("idle_kicks", self.idle_kicks),
            ("auth_cmds", self.auth_cmds),
            ("auth_errors", self.auth_errors),
            ("cmd_get", store.cmd_get),
            ("cmd_set", store.cmd_set),
            ("cmd_flush", store.cmd_flush / config.partitions() as u64),
            ("cmd_touch", store.cmd_touch),
            ("cmd_meta", self.cmd_meta),
            ("get_hits", store.get_hits),
            ("get_misses", store.get_misses),
            ("get_expired", store.get_expired),
            ("get_flushed", store.get_flushed),
            ("delete_misses", store.delete_misses),
            ("delete_hits", store.delete_hits),
            ("incr_misses", store.incr_misses),
            ("incr_hits", store.incr_hits),
            ("decr_misses", store.decr_misses),
            ("decr_hits", store.decr_hits),
            ("cas_misses", store.cas_misses),
            ("cas_hits", store.cas_hits),
            ("cas_badval", store.cas_badval),
            ("touch_hits", store.touch_hits),
            ("touch_misses", store.touch_misses),
            ("store_too_large", store.store_too_large),
            ("bytes_read", self.bytes_read),
            ("bytes_written", self.bytes_written),
            ("limit_maxbytes", config.memory.0),
            ("threads", config.cpus.len() as u64),
            ("bytes", store.bytes),
            ("curr_items", store.items),
            ("total_items", store.total_items),
            ("evictions", store.evictions),
            ("kept", store.kept),
            ("expired", store.expired),
            ("segments", store.segments),
            ("segments_reclaimed", store.reclaimed_segments),
            ("segments_pinned", store.pinned_segments),
            ("values_lent", self.values_lent),
            ("values_placed", self.values_placed),
            ("hash_bytes", store.index_bytes),
            ("hugepages_pool_bytes", store.pool_bytes),
            ("hugepages_thp_bytes", store.thp_bytes),
            ("accept_failures", self.accept_failures),
            ("tls_errors", self.tls_errors),
            ("slow_reader_kicks", self.slow_reader_kicks),
            ("datagrams_dropped", self.datagrams_dropped),
            ("messages", self.asks),
            ("wakeups", self.wakeups),
            ("spin_us", self.spin_us),
            ("spin_found", self.spin_found),
            ("sleeps", self.sleeps),
            ("queue_waits", self.queue_waits),
            ("output_waits", self.output_waits),
        ];
        reply::stat(out, "version", crate::VERSION);
        reply::stat(out, "sharing", &config.sharing.to_string());
        // Of all threads of the process, as memcached's.
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            reply::stat(out, "rusage_user", &seconds(usage.user_time()));
            reply::stat(out, "rusage_system", &seconds(usage.system_time()));
        }
        for (name, number) in numbers {
            reply::stat(out, name, &number.to_string());
        }
        out.extend_from_slice(reply::END);
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
        let mut both = one;
        both += one;
        let config = Config { cpus: vec![0, 1], ..Config::for_tests() };
        let mut out = Vec::new();
        both.write(&config, 1_700_000_000, 60, true, &mut out);
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
        check("uptime", "60");
        check("time", "1700000000");
        check("version", crate::VERSION);
        assert_eq!(seconds(TimeVal::new(12, 3_045)), "12.003045");
        for name in ["rusage_user", "rusage_system"] {
            let time = std::str::from_utf8(stats.get(name).unwrap()).unwrap();
            assert!(time.split_once('.').is_some_and(|(_, micros)| micros.len() == 6), "{name} {time}");
        }
        both.reset();
        assert_eq!((both.connections, both.asks, both.store.get_hits), (4, 0, 0));
    }
}
