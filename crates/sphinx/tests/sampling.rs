//! The hit ratio by memory and the hottest keys, as a client and a collector of metrics see them.

use std::collections::HashMap;

use crate::operation::http;
use crate::support::client::Client;
use crate::support::{MODES, PATIENCE, spawn, sphinxd};

/// The lines of a group of `stats`.
fn stats(client: &mut Client, group: &str) -> HashMap<String, String> {
    client.send(format!("stats {group}\r\n"));
    let lines = client.lines_to("END");
    let pair = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((words[0], words.len()), ("STAT", 3), "{line}");
        (words[1].to_owned(), words[2].to_owned())
    };
    lines.iter().map(pair).collect()
}

#[test]
fn more_memory_is_known_to_bring_more_hits() {
    curves_of(&MODES);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn more_memory_is_known_to_bring_more_hits_on_another_loop_and_one_thread() {
    curves_of(&["--sharing read --io epoll", "--sharing something --io epoll", "--sharing nothing -t 1"]);
}

/// Twice the memory in a loop: an LRU cache of this memory has no hits, one of four times has all but the first round's.
fn curves_of(modes: &[&str]) {
    for mode in modes {
        let server = sphinxd(&format!("-t 2 -m 8 {mode}"));
        let mut client = Client::connect(server.address);
        let (keys, rounds, value) = (4_000, 4, "v".repeat(4_000));
        for number in 0..keys * rounds {
            let key = format!("key-{}", number % keys);
            if client.get(&key).is_none() {
                client.set(&key, &value);
            }
        }
        let measured = client.stat("get_hits") as f64 / client.stat("cmd_get") as f64;
        let curve = stats(&mut client, "mrc");
        let point = |name: &str| -> f64 { curve[&format!("mrc:{name}")].parse().unwrap() };
        assert!(point("2MiB") < 0.05 && point("8MiB") < 0.1, "{mode}: {curve:?}");
        for enough in ["32MiB", "64MiB"] {
            assert!((point(enough) - 0.75).abs() < 0.08, "{mode}: {curve:?}");
        }
        assert!((point("measured") - measured).abs() < 0.05, "{mode}: {measured} {curve:?}");
        let whole = stats(&mut client, "");
        let word = &whole["hit_ratio_by_memory"];
        assert!(word.starts_with("4MiB=") && word.contains(",32MiB=0."), "{word}");

        assert_eq!(client.ask("stats reset"), "RESET");
        let curve = stats(&mut client, "mrc");
        assert_eq!((curve["mrc:reads"].as_str(), curve.len()), ("0", 3), "{mode}: {curve:?}");
        assert_eq!(stats(&mut client, "")["hit_ratio_by_memory"], "unknown");
    }
}

#[test]
fn the_hottest_keys_are_told_if_keys_may_be() {
    for mode in MODES {
        let server = sphinxd(&format!("-t 2 {mode}"));
        let mut client = Client::connect(server.address);
        for number in 0..2_000 {
            client.set(&format!("key-{number}"), "v");
            assert!(client.get(&format!("key-{number}")).is_some());
            client.get("hot\"{key}");
        }
        let hottest = stats(&mut client, "hotkeys");
        assert_eq!(hottest["hotkeys:1:key"], "hot%22%7Bkey%7D", "{mode}");
        let share: f64 = hottest["hotkeys:1:share"].parse().unwrap();
        assert!((share - 0.333).abs() < 0.05, "{mode}: {share}");
        assert_eq!(hottest.len(), 2 * 20);
        assert_eq!(client.ask("stats reset"), "RESET");
        assert_eq!(stats(&mut client, "hotkeys"), HashMap::new());
    }
    let server = sphinxd("-t 2 -X");
    let mut client = Client::connect(server.address);
    assert_eq!(client.ask("stats hotkeys"), "CLIENT_ERROR stats hotkeys not allowed");
    assert!(stats(&mut client, "mrc").contains_key("mrc:reads"));
}

#[test]
fn nothing_is_sampled_without_sampling() {
    let server = sphinxd("-t 2 --no-sampling");
    let mut client = Client::connect(server.address);
    client.set("key", "v");
    (0..1_000).for_each(|_| assert!(client.get("key").is_some()));
    for group in ["mrc", "hotkeys"] {
        assert_eq!(stats(&mut client, group), HashMap::new());
    }
    assert_eq!(stats(&mut client, "")["hit_ratio_by_memory"], "off");
}

#[test]
fn metrics_have_the_curve_and_keys_only_if_asked_for() {
    for (more, has_keys, has_curve) in
        [("", false, true), ("--metrics-hot-keys", true, true), ("--no-sampling", false, false)]
    {
        let mut process = spawn(&format!("-p 0 -t 2 -m 64 --metrics 127.0.0.1:0 {more}"));
        let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
        let address = line[launch::sphinx::READY.len()..].split(' ').next().unwrap().parse().unwrap();
        let place = line.split_once("metrics on http://").unwrap().1.strip_suffix("/metrics").unwrap();
        let mut client = Client::connect(address);
        client.set("secret\"key", "v");
        (0..1_000).for_each(|_| assert!(client.get("secret\"key").is_some()));
        let (_, body) = http(place, "GET /metrics HTTP/1.1\r\n\r\n");
        let has = |line: &str| body.lines().any(|other| other.starts_with(line));
        assert_eq!(has("sphinx_hot_key_share{key=\"secret%22key\"} "), has_keys, "{more}: {body}");
        assert_eq!(body.contains("secret"), has_keys, "{more}: {body}");
        assert_eq!(has("sphinx_lru_hit_ratio{memory_bytes=\"134217728\"} 1."), has_curve, "{more}: {body}");
        assert_eq!(has("sphinx_hit_ratio 1."), has_curve, "{more}: {body}");
    }
}
