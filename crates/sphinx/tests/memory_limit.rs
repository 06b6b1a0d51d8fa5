//! `cache_memlimit`: the memory of items changes while they are used.

use std::time::Instant;

use crate::support::client::Client;
use crate::support::{MODES, PATIENCE, resident, sphinxd};

const MIB: u64 = 1 << 20;
const VALUE: usize = 1000;

fn value(i: usize) -> String {
    format!("{i:0VALUE$}")
}

fn fill(client: &mut Client, count: usize) {
    for first in (0..count).step_by(100) {
        let sets =
            (first..first + 100).map(|i| format!("set key-{i} 0 0 {VALUE} noreply\r\n{}\r\n", value(i)));
        client.send(sets.collect::<String>() + "mn\r\n");
        assert_eq!(client.text(), "MN");
    }
}

/// Counts the survivors of the first `count`; each must have its own value.
fn alive(client: &mut Client, count: usize) -> usize {
    let mut alive = 0;
    for first in (0..count).step_by(100) {
        let keys = (first..first + 100).map(|i| format!(" key-{i}"));
        client.send(format!("get{}\r\n", keys.collect::<String>()));
        let lines = client.lines_to("END");
        for item in lines.chunks_exact(2) {
            let number = item[0].split(['-', ' ']).nth(2).and_then(|number| number.parse().ok()).unwrap();
            assert!(item[0].ends_with(" 0 1000") && item[1] == value(number), "{}", item[0]);
            alive += 1;
        }
    }
    alive
}

#[test]
fn memory_becomes_less_and_more_in_every_mode() {
    for mode in MODES {
        let server = sphinxd(&format!("-t 2 -m 64 --lazy-memory {mode}"));
        let mut client = Client::connect(server.address);
        let count = 40_000;
        fill(&mut client, count);
        let (before, evictions) = (resident(&server), client.stat("evictions"));
        assert_eq!((evictions, client.stat("limit_maxbytes")), (0, 64 * MIB), "{mode}");
        assert_eq!(client.ask("cache_memlimit 16"), "OK");
        assert_eq!(client.stat("limit_maxbytes"), 16 * MIB);
        let deadline = Instant::now() + PATIENCE;
        while client.stat("bytes") > 16 * MIB || resident(&server) + 20 * MIB > before {
            assert!(Instant::now() < deadline, "{mode}: {} of {before} are left", resident(&server));
        }
        let left = alive(&mut client, count);
        assert!((4_000..20_000).contains(&left), "{mode}: {left}");
        assert_eq!(client.ask("cache_memlimit 128"), "OK");
        fill(&mut client, count);
        assert_eq!((alive(&mut client, count), client.stat("limit_maxbytes")), (count, 128 * MIB), "{mode}");
        // An impossible limit changes nothing.
        assert_eq!(client.ask("cache_memlimit 7"), "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m");
        let refused = client.ask("cache_memlimit 999999999");
        assert_eq!(refused, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
        client.send("stats settings\r\n");
        assert!(client.lines_to("END").contains(&format!("STAT maxbytes {}", 128 * MIB)), "{mode}");
    }
}

#[test]
fn the_largest_item_has_room_in_the_least_memory() {
    let server = sphinxd("-t 1 -m 128 -I 32m --lazy-memory");
    let mut client = Client::connect(server.address);
    let store = |client: &mut Client| {
        let length = 32 << 20;
        let header = format!("set large 0 0 {}\r\n", length - 100);
        client.send([header.as_bytes(), &vec![b'v'; length - 100], b"\r\n"].concat());
        client.text()
    };
    assert_eq!(store(&mut client), "STORED");
    for megabytes in [8, 63] {
        let refused = client.ask(&format!("cache_memlimit {megabytes}"));
        assert_eq!(refused, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
    }
    assert_eq!((client.ask("cache_memlimit 64"), store(&mut client)), ("OK".into(), "STORED".into()));
    client.send("stats settings\r\n");
    assert!(client.lines_to("END").contains(&format!("STAT item_size_max {}", 32 * MIB)));
}
