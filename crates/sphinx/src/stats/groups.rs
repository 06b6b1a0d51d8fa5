//! The groups of `stats` that say what the items are and where: there is one class of sizes, and it is 1.

use cache_store::Stats;
use proto_memcache::server::reply;

use crate::config::Config;

fn write(lines: &[(&str, u64)], out: &mut Vec<u8>) {
    for (name, number) in lines {
        reply::stat(out, name, &number.to_string());
    }
}

/// Appends the answer to `stats items`. Units: `now` in seconds of Unix time.
pub(crate) fn items(stats: &Stats, now: u32, out: &mut Vec<u8>) {
    if stats.items > 0 {
        let age = stats.oldest.map_or(0, |since| u64::from(now.saturating_sub(since)));
        write(
            &[
                ("items:1:number", stats.items),
                ("items:1:number_hot", 0),
                ("items:1:number_warm", 0),
                ("items:1:number_cold", stats.items),
                ("items:1:age_hot", 0),
                ("items:1:age_warm", 0),
                ("items:1:age", age),
                ("items:1:mem_requested", stats.bytes),
                ("items:1:evicted", stats.evictions),
                ("items:1:evicted_nonzero", stats.evicted_ending),
                ("items:1:evicted_time", stats.evicted_idle),
                ("items:1:outofmemory", stats.no_memory),
                ("items:1:tailrepairs", 0),
                ("items:1:reclaimed", stats.expired),
                ("items:1:expired_unfetched", stats.expired_unfetched),
                ("items:1:evicted_unfetched", stats.evicted_unfetched),
                ("items:1:evicted_active", stats.evicted_active),
                ("items:1:crawler_reclaimed", stats.tended_away),
                ("items:1:crawler_items_checked", stats.tended),
                ("items:1:lrutail_reflocked", 0),
                ("items:1:moves_to_cold", 0),
                ("items:1:moves_to_warm", stats.kept),
                ("items:1:moves_within_lru", 0),
                ("items:1:direct_reclaims", stats.direct_reclaims),
                ("items:1:hits_to_hot", 0),
                ("items:1:hits_to_warm", 0),
                ("items:1:hits_to_cold", stats.get_hits),
                ("items:1:hits_to_temp", 0),
            ],
            out,
        );
    }
    out.extend_from_slice(reply::END);
}

/// Appends the answer to `stats slabs`: the chunks and pages of the class are the segments, of which those that hold
/// anything are used.
///
/// The class has no `mem_requested`: it is in [`items`], and memcached_exporter fails as a whole where both have it.
pub(crate) fn slabs(stats: &Stats, config: &Config, out: &mut Vec<u8>) {
    let segment = config.store(0, 0).segment as u64;
    let is_used = u64::from(stats.segments > 0);
    let all = stats.segments + stats.spare_segments;
    if is_used > 0 {
        write(
            &[
                ("1:chunk_size", segment),
                ("1:chunks_per_page", 1),
                ("1:total_pages", all),
                ("1:total_chunks", all),
                ("1:used_chunks", stats.segments),
                ("1:free_chunks", stats.spare_segments),
                ("1:free_chunks_end", 0),
                ("1:get_hits", stats.get_hits),
                ("1:cmd_set", stats.cmd_set),
                ("1:delete_hits", stats.delete_hits),
                ("1:incr_hits", stats.incr_hits),
                ("1:decr_hits", stats.decr_hits),
                ("1:cas_hits", stats.cas_hits),
                ("1:cas_badval", stats.cas_badval),
                ("1:touch_hits", stats.touch_hits),
            ],
            out,
        );
    }
    write(&[("active_slabs", is_used), ("total_malloced", all * segment)], out);
    out.extend_from_slice(reply::END);
}

/// Appends the answer to `stats sizes`: as in memcached by default, sizes are not kept track of, since walking all items
/// would hold up the clients.
pub(crate) fn sizes(out: &mut Vec<u8>) {
    reply::stat(out, "sizes_status", "disabled");
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
            "STAT 1:chunk_size 2097152",
            "STAT 1:total_chunks 7",
            "STAT 1:used_chunks 5",
            "STAT 1:free_chunks 2",
            "STAT total_malloced 14680064",
        ] {
            assert!(slabs.contains(&expect.into()), "{expect} {slabs:?}");
        }
        assert!(!slabs.iter().any(|line| line.contains("mem_requested")), "{slabs:?}");
        assert_eq!((items.last().unwrap().as_str(), slabs.last().unwrap().as_str()), ("END", "END"));
    }
}
