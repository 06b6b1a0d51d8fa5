//! The groups of `stats` on items and their classes: there is one size class, number 1.

use cache_store::Stats;
use proto_memcache::server::reply;

use super::{Line, fields, zeros};
use crate::config::Config;

/// Appends the answer to `stats items`. Units: `now` in seconds of Unix time.
pub(crate) fn items(stats: &Stats, now: u32, out: &mut Vec<u8>) {
    if stats.items > 0 {
        let line: Line<'_> =
            &mut |name, value| reply::stat(out, &format!("items:1:{name}"), &value.to_string());
        line("number", &stats.items);
        zeros!(line; number_hot number_warm);
        line("number_cold", &stats.items);
        zeros!(line; age_hot age_warm);
        line("age", &stats.oldest.map_or(0, |since| now.saturating_sub(since)));
        line("mem_requested", &stats.bytes);
        line("evicted", &stats.evictions);
        line("evicted_nonzero", &stats.evicted_ending);
        line("evicted_time", &stats.evicted_idle);
        line("outofmemory", &stats.no_memory);
        zeros!(line; tailrepairs);
        line("reclaimed", &stats.expired);
        fields!(line, stats; expired_unfetched evicted_unfetched evicted_active);
        line("crawler_reclaimed", &stats.tended_away);
        line("crawler_items_checked", &stats.tended);
        zeros!(line; lrutail_reflocked moves_to_cold);
        line("moves_to_warm", &stats.kept);
        zeros!(line; moves_within_lru);
        fields!(line, stats; direct_reclaims);
        zeros!(line; hits_to_hot hits_to_warm);
        line("hits_to_cold", &stats.get_hits);
        zeros!(line; hits_to_temp);
    }
    out.extend_from_slice(reply::END);
}

/// Appends the answer to `stats slabs`: the chunks and pages of the class are the segments, of which those that hold
/// anything are used.
///
/// The class has no `mem_requested`: it is in [`items`], and memcached_exporter fails as a whole if both have it.
pub(crate) fn slabs(stats: &Stats, config: &Config, out: &mut Vec<u8>) {
    let segment = config.store(0, 0).segment as u64;
    let all = stats.segments + stats.spare_segments;
    if stats.segments > 0 {
        let line: Line<'_> = &mut |name, value| reply::stat(out, &format!("1:{name}"), &value.to_string());
        line("chunk_size", &segment);
        line("chunks_per_page", &1);
        line("total_pages", &all);
        line("total_chunks", &all);
        line("used_chunks", &stats.segments);
        line("free_chunks", &stats.spare_segments);
        zeros!(line; free_chunks_end);
        fields!(line, stats; get_hits cmd_set delete_hits incr_hits decr_hits cas_hits cas_badval touch_hits);
    }
    reply::stat(out, "active_slabs", if stats.segments > 0 { "1" } else { "0" });
    reply::stat(out, "total_malloced", &(all * segment).to_string());
    out.extend_from_slice(reply::END);
}

/// Appends the answer to `stats sizes`: as in memcached by default, sizes are not kept track of, since walking all items
/// would hold up the clients.
pub(crate) fn sizes(out: &mut Vec<u8>) {
    reply::stat(out, "sizes_status", "disabled");
    out.extend_from_slice(reply::END);
}

/// Appends the answer to `stats partitions`: which thread has which keys, where clients may know, and where each listens for
/// its own.
pub(crate) fn partitions(config: &Config, out: &mut Vec<u8>) {
    let known = config.has_known_partitions();
    reply::stat(out, "threads", &config.cpus.len().to_string());
    reply::stat(out, "hash", if known { "murmur3_32" } else { "secret" });
    for (thread, sockets) in config.partition_ports.iter().enumerate() {
        let sockets: Vec<String> = sockets.iter().map(ToString::to_string).collect();
        reply::stat(out, &format!("{thread}:listen"), &sockets.join(","));
    }
    out.extend_from_slice(reply::END);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(write: impl FnOnce(&mut Vec<u8>)) -> Vec<String> {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn partitions_are_told_where_they_are_no_secret() {
        let secret = lines(|out| partitions(&Config::for_tests(), out));
        assert_eq!(secret, ["STAT threads 1", "STAT hash secret", "END"]);
        let ports = vec![vec!["127.0.0.1:1".parse().unwrap(), "[::1]:1".parse().unwrap()]];
        let told = lines(|out| partitions(&Config { partition_ports: ports, ..Config::for_tests() }, out));
        let listen = "STAT 0:listen 127.0.0.1:1,[::1]:1";
        assert_eq!(told, ["STAT threads 1", "STAT hash murmur3_32", listen, "END"]);
    }

    #[test]
    fn an_empty_cache_has_no_class() {
        let (config, empty) = (Config::for_tests(), Stats::default());
        assert_eq!(lines(|out| items(&empty, 9, out)), ["END"]);
        let slabs = lines(|out| slabs(&empty, &config, out));
        assert_eq!(slabs, ["STAT active_slabs 0", "STAT total_malloced 0", "END"]);
    }

    #[test]
    fn a_class_tells_of_items_and_segments() {
        let stats = Stats {
            items: 3,
            bytes: 99,
            evictions: 2,
            evicted_unfetched: 1,
            evicted_idle: 70,
            expired: 4,
            segments: 5,
            spare_segments: 2,
            oldest: Some(1_000),
            ..Stats::default()
        };
        let items = lines(|out| items(&stats, 1_060, out));
        for expect in [
            "STAT items:1:number 3",
            "STAT items:1:age 60",
            "STAT items:1:mem_requested 99",
            "STAT items:1:evicted 2",
            "STAT items:1:evicted_time 70",
            "STAT items:1:evicted_unfetched 1",
            "STAT items:1:reclaimed 4",
        ] {
            assert!(items.contains(&expect.into()), "{expect} {items:?}");
        }
        let slabs = lines(|out| slabs(&stats, &Config::for_tests(), out));
        for expect in [
            "STAT 1:chunk_size 1048576",
            "STAT 1:total_chunks 7",
            "STAT 1:used_chunks 5",
            "STAT 1:free_chunks 2",
            "STAT total_malloced 7340032",
        ] {
            assert!(slabs.contains(&expect.into()), "{expect} {slabs:?}");
        }
        assert!(!slabs.iter().any(|line| line.contains("mem_requested")), "{slabs:?}");
        assert_eq!((items.last().unwrap().as_str(), slabs.last().unwrap().as_str()), ("END", "END"));
    }
}
