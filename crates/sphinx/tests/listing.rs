//! The input of monitoring and tools: groups of statistics under memcached's names, and lists of all items.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::support::client::Client;
use crate::support::{MODES, memcached, sphinxd};

/// The names and values of a group, which must end with `END`.
fn group(address: SocketAddr, name: &str) -> BTreeMap<String, String> {
    let mut client = Client::connect(address);
    client.send(format!("stats {name}\r\n"));
    let lines = client.lines_to("END");
    let pair = |line: &String| {
        let (name, value) = line.strip_prefix("STAT ").and_then(|line| line.split_once(' '))?;
        Some((name.to_owned(), value.to_owned()))
    };
    lines.iter().map(|line| pair(line).unwrap_or_else(|| panic!("stats {name}: {line}"))).collect()
}

/// Performs one of each of the clients' operations.
fn use_it(address: SocketAddr) {
    let mut client = Client::connect(address);
    client.set("k", "5");
    for (request, expect) in [
        ("get k", "VALUE k 0 1"),
        ("get missing", "END"),
        ("incr k 1", "6"),
        ("decr k 1", "5"),
        ("touch k 0", "TOUCHED"),
        ("delete missing", "NOT_FOUND"),
    ] {
        let mut client = Client::connect(address);
        assert_eq!(client.ask(request), expect);
    }
}

/// Settings of features that Sphinx lacks, which memcached reports only if built in.
const ABSENT: [&str; 2] = ["ext_", "ssl_"];

#[test]
fn every_name_of_memcached_is_there() {
    let Some(memcached) = memcached() else { return };
    let sphinx = sphinxd("-t 2 --lazy-memory");
    for server in [memcached.address, sphinx.address] {
        use_it(server);
    }
    for name in ["", "settings", "items", "slabs", "sizes", "extstore"] {
        let (theirs, ours) = (group(memcached.address, name), group(sphinx.address, name));
        let missing: Vec<_> = theirs
            .keys()
            .filter(|key| !ours.contains_key(*key) && !ABSENT.iter().any(|start| key.starts_with(start)))
            .collect();
        assert!(missing.is_empty(), "stats {name} lacks {missing:?}");
        assert_eq!(theirs.is_empty(), ours.is_empty(), "stats {name}");
    }
    // Figures that both count.
    let (theirs, ours) = (group(memcached.address, ""), group(sphinx.address, ""));
    for key in [
        "cmd_get",
        "cmd_set",
        "cmd_touch",
        "get_hits",
        "get_misses",
        "incr_hits",
        "decr_hits",
        "touch_hits",
        "delete_misses",
        "curr_items",
        "evictions",
        "reclaimed",
        "limit_maxbytes",
    ] {
        assert_eq!(theirs[key], ours[key], "{key}");
    }
}

#[test]
fn evictions_and_ends_are_told_apart() {
    let server = sphinxd("-t 1 -m 8 --policy fifo --lazy-memory");
    let mut client = Client::connect(server.address);
    let value = "v".repeat(1000);
    let set = |client: &mut Client, key: String, exptime: i32| {
        let answer = client.ask(&format!("set {key} 0 {exptime} 1000\r\n{value}"));
        assert_eq!(answer, "STORED");
    };
    // Half of them are read, and some would have ended by themselves.
    for i in 0..20_000 {
        set(&mut client, format!("key-{i}"), if i % 10 == 0 { 1000 } else { 0 });
        if i % 2 == 0 {
            assert!(client.get(&format!("key-{i}")).is_some());
        }
    }
    let figures = group(server.address, "");
    let items = group(server.address, "items");
    let number = |text: &String| text.parse::<u64>().unwrap();
    let evictions = number(&figures["evictions"]);
    assert!(evictions > 10_000, "{evictions}");
    let share = |name: &str| number(&figures[name]) as f64 / evictions as f64;
    assert!((0.45..0.55).contains(&share("evicted_unfetched")), "{figures:?}");
    assert!((0.45..0.55).contains(&share("evicted_active")), "{figures:?}");
    let ending = number(&items["items:1:evicted_nonzero"]) as f64 / evictions as f64;
    assert!((0.08..0.12).contains(&ending), "{items:?}");
    assert_eq!(number(&items["items:1:evicted"]), evictions);
    // Expired items, read or not. They expire with a second of the clock, and items of the same second might expire
    // together. Until then the test reads only the item that expires last, as a hit would make the other a read item.
    set(&mut client, "ends-2".into(), 2);
    set(&mut client, "ends-1".into(), 2);
    assert!(client.get("ends-1").is_some());
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while client.get("ends-1").is_some() {
        assert!(std::time::Instant::now() < deadline);
    }
    assert!(client.get("ends-2").is_none());
    assert_eq!((client.stat("reclaimed"), client.stat("expired_unfetched")), (2, 1));
}

/// The keys of a requested list, each of which must appear once.
fn keys(client: &mut Client) -> Vec<String> {
    assert_eq!(client.text(), "OK");
    let lines = client.lines_to("END");
    let key = |line: &String| line.strip_prefix("key=")?.split(' ').next().map(str::to_owned);
    let mut keys: Vec<String> = lines.iter().map(|line| key(line).expect(line)).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "a key is listed twice");
    keys
}

#[test]
fn every_item_is_listed_once_by_any_thread() {
    const ITEMS: usize = 3_000;
    for mode in MODES {
        let server = sphinxd(&format!("-t 3 -m 64 --lazy-memory {mode}"));
        let mut client = Client::connect(server.address);
        (0..ITEMS).for_each(|i| client.set(&format!("key-{i:05}"), "x"));
        // Connections of several threads, all at once, with other requests before and after the list.
        let mut clients: Vec<Client> = (0..6).map(|_| Client::connect(server.address)).collect();
        for client in &mut clients {
            client.send("get key-00001\r\nlru_crawler metadump all\r\nget key-00002\r\n");
        }
        for client in &mut clients {
            assert_eq!(client.lines_to("END"), ["VALUE key-00001 0 1", "x"], "{mode}");
            let expect: Vec<String> = (0..ITEMS).map(|i| format!("key-{i:05}")).collect();
            assert!(keys(client) == expect, "{mode}");
            assert_eq!(client.lines_to("END"), ["VALUE key-00002 0 1", "x"], "{mode}");
            client.send("stats cachedump 1 7\r\nlru_crawler mgdump hash\r\n");
            assert_eq!(client.lines_to("END").len(), 7);
            assert_eq!(client.text(), "OK");
            let requests = client.lines_to("EN");
            assert!(requests.len() == ITEMS && requests.iter().all(|line| line.starts_with("mg key-")));
        }
    }
}

#[test]
fn a_list_that_is_not_read_holds_no_client_up_and_is_whole_later() {
    let server = sphinxd("-t 2 -m 256 --lazy-memory");
    let mut client = Client::connect(server.address);
    // Each blows up to three times its length on its line: some 20 MB, of which the kernel takes a few.
    let (items, key) = (30_000, |i: usize| format!("{i:!>220}"));
    (0..items).for_each(|i| client.set(&key(i), "x"));
    let mut slow: Vec<Client> = (0..4).map(|_| Client::connect(server.address)).collect();
    slow.iter_mut().for_each(|slow| slow.send("lru_crawler metadump all\r\n"));
    // Items created or removed during the list may be missing; all others are listed.
    for i in 0..1_000 {
        client.set(&format!("new-{i}"), "y");
        assert_eq!(client.ask(&format!("delete new-{i}")), "DELETED");
    }
    let lines: Vec<String> = group(server.address, "conns").into_values().collect();
    assert_eq!(lines.iter().filter(|line| *line == "conn_watch").count(), 4, "{lines:?}");
    for slow in &mut slow {
        let keys = keys(slow);
        assert_eq!(keys.iter().filter(|key| !key.starts_with("new-")).count(), items);
    }
}

#[test]
fn tuning_is_answered_and_has_no_effect() {
    let server = sphinxd("-t 2 --lazy-memory");
    let mut client = Client::connect(server.address);
    for request in [
        "slabs automove 1",
        "slabs reassign 1 2",
        "lru mode flat",
        "lru temp_ttl 60",
        "lru_crawler enable",
        "lru_crawler crawl all",
        "extstore item_age 5",
        "verbosity 2",
    ] {
        assert_eq!(client.ask(request), "OK", "{request}");
    }
    assert_eq!(client.ask("debugtime 5"), "ERROR");
    assert_eq!(client.ask("cache_memlimit 100"), "OK");
    assert_eq!(group(server.address, "settings")["slab_automove"], "0");
}

#[test]
fn keys_are_not_listed_where_that_is_not_allowed() {
    let server = sphinxd("-t 2 -X -W --lazy-memory");
    let mut client = Client::connect(server.address);
    for (request, expect) in [
        ("stats cachedump 1 0", "CLIENT_ERROR stats cachedump not allowed"),
        ("stats detail dump", "CLIENT_ERROR stats detail not allowed"),
        ("lru_crawler metadump all", "ERROR metadump not allowed"),
        ("lru_crawler mgdump all", "ERROR key dump not allowed"),
        ("watch", "CLIENT_ERROR watch commands not allowed"),
    ] {
        assert_eq!(client.ask(request), expect);
    }
    assert_eq!(group(server.address, "settings")["dump_enabled"], "no");
}
