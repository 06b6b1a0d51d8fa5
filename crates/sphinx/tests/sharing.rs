//! The differences between the modes of sharing, and their common behaviour.

use crate::support::client::Client;
use crate::support::{MODES, sphinxd};

/// Requests that go to all threads, whichever own the keys: 200 keys on 4 threads.
fn keys() -> Vec<String> {
    (0..200).map(|i| format!("key-{i}")).collect()
}

#[test]
fn help_and_errors_name_the_modes() {
    let mut process = crate::support::spawn("--help");
    assert!(process.wait(crate::support::PATIENCE).unwrap().success());
    let lines: Vec<String> =
        std::iter::from_fn(|| process.next_line(std::time::Duration::from_secs(5))).collect();
    let help = lines.join("\n");
    for word in ["--sharing", "--group", "nothing", "read", "something", "everything"] {
        assert!(help.contains(word), "{word} in {help}");
    }
}

/// Pipelined on one connection, each read sees the write before it, whichever threads do them.
#[test]
fn a_read_sees_what_the_same_connection_wrote_before_it() {
    for mode in MODES {
        for more in ["-t 1", "-t 2 --queue 1", "-t 4"] {
            let server = sphinxd(&format!("{more} {mode}"));
            let mut client = Client::connect(server.address);
            for round in 0..50 {
                let mut requests = String::new();
                for key in keys() {
                    // Also without an answer, and after an answer that has to wait.
                    let noreply = if round % 2 == 0 { " noreply" } else { "" };
                    let value = format!("{key}-{round}");
                    requests += &format!("set {key} 0 0 {}{noreply}\r\n{value}\r\n", value.len());
                    requests += &format!("get {key}\r\nget {key}\r\n");
                }
                requests += "flush_all\r\n";
                keys().iter().for_each(|key| requests += &format!("get {key}\r\n"));
                client.send(&requests);
                for key in keys() {
                    if round % 2 == 1 {
                        assert_eq!(client.text(), "STORED");
                    }
                    for _ in 0..2 {
                        let value = format!("{key}-{round}");
                        assert_eq!(client.text(), format!("VALUE {key} 0 {}", value.len()), "{mode} {more}");
                        assert_eq!(client.text(), value);
                        assert_eq!(client.text(), "END");
                    }
                }
                assert_eq!(client.text(), "OK");
                for key in keys() {
                    assert_eq!(client.text(), "END", "{key} after a flush, {mode} {more}");
                }
            }
        }
    }
}

/// Messages for 200 requests that need none: the statistics themselves ask three threads, and with `--sharing read` a thread may be
/// awake by chance, to tend its partition.
const CHANCE: u64 = 20;

/// Which threads pass messages in each mode while all others sleep, and for which operations.
#[test]
fn messages_are_for_what_is_not_shared() {
    let check = |mode: &str, for_gets: bool, for_sets: bool| {
        let server = sphinxd(&format!("-t 4 {mode}"));
        let mut client = Client::connect(server.address);
        let messages = |client: &mut Client, act: &dyn Fn(&mut Client, &str)| {
            let before = client.stat("messages");
            keys().iter().for_each(|key| act(client, key));
            client.stat("messages") - before > CHANCE
        };
        assert_eq!(messages(&mut client, &|client, key| client.set(key, "v")), for_sets, "{mode}: sets");
        let get = |client: &mut Client, key: &str| assert!(client.get(key).is_some());
        assert_eq!(messages(&mut client, &get), for_gets, "{mode}: gets");
        for (name, expect) in [("cmd_get", 200), ("get_hits", 200), ("cmd_set", 200), ("curr_items", 200)] {
            assert_eq!(client.stat(name), expect, "{mode}: {name}");
        }
        assert_eq!(client.ask("flush_all"), "OK");
        assert_eq!(client.stat("cmd_flush"), 1, "{mode}");
        assert!(keys().iter().all(|key| client.get(key).is_none()), "{mode}");
        assert_eq!(client.stat("get_misses"), 200, "{mode}");
        assert_eq!(client.ask("stats reset"), "RESET");
        assert_eq!((client.stat("cmd_get"), client.stat("get_hits")), (0, 0), "{mode}");
    };
    check("--sharing nothing", true, true);
    check("--sharing read", false, false);
    check("--sharing something", true, true);
    check("--sharing something --group 4", false, false);
    check("--sharing everything", false, false);
}

/// The partition of a thread that sleeps is written by the thread of the client, and no thread is woken.
#[test]
fn an_update_wakes_no_thread() {
    for io in ["epoll", "auto"] {
        let server = sphinxd(&format!("-t 4 --io {io}"));
        let mut client = Client::connect(server.address);
        let wakeups = client.stat("wakeups");
        for key in keys() {
            client.set(&key, "1");
            assert_eq!(client.ask(&format!("incr {key} 1")), "2");
            assert_eq!(client.ask(&format!("append {key} 0 0 1\r\n0")), "STORED");
            assert_eq!(client.ask(&format!("touch {key} 0")), "TOUCHED");
            assert_eq!(client.get(&key).as_deref(), Some(&b"20"[..]));
            assert_eq!(client.ask(&format!("delete {key}")), "DELETED");
        }
        // Two questions for the statistics ask and answer three threads each, and a thread may be awake by chance: to tend its
        // partition, or since it has just answered.
        let woken = client.stat("wakeups") - wakeups;
        assert!(woken < 100, "{io}: {woken} threads woken by 1000 updates");
    }
}

/// What `mg` changes is changed in the partition of a thread that sleeps.
#[test]
fn an_mg_needs_no_message_for_a_thread_that_sleeps() {
    let server = sphinxd("-t 4 --sharing read");
    let mut client = Client::connect(server.address);
    keys().iter().for_each(|key| client.set(key, "v"));
    let check = |client: &mut Client, flags: &str, expect: &str| {
        let before = client.stat("messages");
        for key in keys() {
            assert_eq!(client.ask(&format!("mg {key} {flags}")), expect.replace("KEY", &key), "{flags}");
        }
        assert!(client.stat("messages") - before <= CHANCE, "{flags}");
    };
    check(&mut client, "s f k Oabc", "HD s1 f0 kKEY Oabc");
    check(&mut client, "t", "HD t-1");
    check(&mut client, "t T0", "HD t-1");
    check(&mut client, "R30", "HD");
    check(&mut client, "N0", "HD");
    // For a stale item one reader is elected to store it, on any thread.
    keys().iter().for_each(|key| assert_eq!(client.ask(&format!("md {key} I")), "HD"));
    check(&mut client, "s", "HD s1 X W");
    check(&mut client, "s", "HD s1 Z X");
}

/// Values that must not be mixed with others while they are read from other threads and their memory is used again.
#[test]
fn large_values_are_whole_while_memory_is_used_again() {
    let value = |i: usize| vec![b'a' + (i % 26) as u8; 1000 + i * 7919 % 200_000];
    for mode in MODES {
        let server = sphinxd(&format!("-t 4 -m 16 {mode}"));
        let writer = std::thread::spawn({
            let address = server.address;
            move || {
                let mut client = Client::connect(address);
                for i in 0..1000 {
                    client.set(&format!("large-{}", i % 100), value(i % 100));
                }
            }
        });
        let mut found = 0;
        let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(server.address)).collect();
        while !writer.is_finished() {
            for (i, client) in clients.iter_mut().enumerate() {
                let number = (found * 31 + i * 17) % 100;
                if let Some(got) = client.get(&format!("large-{number}")) {
                    assert!(got == value(number), "{mode}: large-{number} is not what was written");
                }
                found += 1;
            }
        }
        writer.join().unwrap();
        assert!(clients[0].stat("segments_reclaimed") > 10, "{mode}: memory was used again");
    }
}
