//! The server under many, slow, rude and departing clients.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::client::{Client, await_stat};
use crate::support::{PATIENCE, Running, resident, sphinxd};

#[test]
fn stats_add_up_over_all_threads() {
    for threads in [1, 2, 4] {
        let server = sphinxd(&format!("-t {threads} -m 64 -c 77"));
        let mut client = Client::connect(server.address);
        for i in 0..100 {
            client.set(&format!("key-{i}"), "0123456789");
            assert!(client.get(&format!("key-{i}")).is_some());
            assert!(client.get(&format!("missing-{i}")).is_none());
        }
        let mut check =
            |name: &str, expect: u64| assert_eq!(client.stat(name), expect, "{name}, {threads} threads");
        check("threads", threads);
        check("cmd_set", 100);
        check("cmd_get", 200);
        check("get_hits", 100);
        check("get_misses", 100);
        check("curr_items", 100);
        check("total_items", 100);
        check("limit_maxbytes", 64 << 20);
        check("max_connections", 77);
        check("accepting_conns", 1);
        check("curr_connections", 1);
        check("total_connections", 1);
        check("pid", u64::from(server.process.pid()));
        let read = client.stat("bytes_read");
        assert!(read > 100 * 40, "{read}");
        let mut other = Client::connect(server.address);
        assert_eq!(other.ask("flush_all"), "OK");
        assert_eq!(other.stat("cmd_flush"), 1);
        assert_eq!(other.stat("curr_connections"), 2);
        assert_eq!(other.ask("stats reset"), "RESET");
        assert_eq!((other.stat("cmd_get"), other.stat("cmd_set")), (0, 0));
        assert_eq!(other.stat("curr_connections"), 2);
    }
}

#[test]
fn connections_over_the_limit_are_told_so() {
    let server = sphinxd("-t 2 -c 3");
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(server.address)).collect();
    for client in &mut clients {
        assert!(client.ask("version").starts_with("VERSION "));
    }
    for _ in 0..5 {
        let mut extra = Client::connect(server.address);
        assert_eq!(extra.text(), "ERROR Too many open connections");
        assert_eq!(extra.line(), None);
    }
    assert_eq!(clients[0].stat("rejected_connections"), 5);
    // When one leaves another is accepted.
    let mut leaver = clients.pop().unwrap();
    leaver.send("quit\r\n");
    assert_eq!(leaver.line(), None);
    assert!(Client::connect(server.address).ask("version").starts_with("VERSION "));
}

#[test]
fn memory_is_taken_before_the_first_request_or_as_it_fills_if_asked() {
    let (whole, lazy) = (sphinxd("-t 2 -m 64 --eager-memory"), sphinxd("-t 2 -m 64 --lazy-memory"));
    let (whole, lazy) = (resident(&whole), resident(&lazy));
    // Within 16 MiB for the program, its stacks and its buffers.
    assert!((64 << 20..80 << 20).contains(&whole), "{whole}");
    assert!(lazy < 16 << 20, "{lazy}");
}

#[test]
fn a_slow_reader_holds_up_no_client_and_costs_little() {
    for args in ["-t 1 --io epoll", "-t 1", "-t 2"] {
        let server = sphinxd(&format!("{args} -m 64"));
        let mut client = Client::connect(server.address);
        let value: Vec<u8> = (0..1_000_000u32).map(|i| (i * 7 % 251) as u8).collect();
        for key in ["a", "b", "c", "d"] {
            client.set(key, &value);
        }
        // Requests 800 MB of answers without reading them.
        let mut slow = Client::connect(server.address);
        for _ in 0..200 {
            slow.send("get a b c d\r\n");
        }
        // Its requests are being answered, or are unread; others are served in that time.
        for i in 0..100 {
            client.set(&format!("other-{i}"), "x");
            assert_eq!(client.get(&format!("other-{i}")).as_deref(), Some(&b"x"[..]));
        }
        // The thread of the slow client may not have had a processor yet.
        await_stat(&mut client, "output_waits", |waits| waits > 0);
        // 64 MiB of items, the output of one connection, and answers under way; far from 800 MB.
        let held = resident(&server);
        assert!(held < 200 << 20, "{held}");
        // When it reads at last, all answers arrive in order.
        for _ in 0..200 {
            for key in ["a", "b", "c", "d"] {
                assert_eq!(slow.text(), format!("VALUE {key} 0 1000000"));
                assert!(slow.bytes(1_000_002).starts_with(&value));
            }
            assert_eq!(slow.text(), "END");
        }
    }
}

#[test]
fn a_client_that_never_reads_is_not_read_from_either() {
    let server = sphinxd("-t 2 -m 64");
    let mut client = Client::connect(server.address);
    client.set("large", vec![b'v'; 1_000_000]);
    let mut rude = Client::connect(server.address);
    rude.stream.set_nonblocking(true).unwrap();
    let requests = "get large\r\n".repeat(10_000);
    let (mut sent, mut refusals) = (0, 0);
    // The kernel buffers some MiB for both sides; the server's share must be limited.
    while refusals < 100 {
        match rude.stream.write(requests.as_bytes()) {
            Ok(n) => (sent, refusals) = (sent + n, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refusals += 1;
                // The thread that answers this has had a turn in which to read.
                client.stat("threads");
            }
        }
        assert!(sent < 100 << 20, "the server has read {sent} bytes of requests");
    }
    let held = resident(&server);
    assert!(held < 200 << 20, "{held}");
}

#[test]
fn an_unknown_client_is_held_back_as_all_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "ann:secret\n").unwrap();
    for io in ["epoll", "auto"] {
        let args = format!("-t 1 -m 64 --lazy-memory --io {io} -Y {}", users.display());
        let server = sphinxd(&args);
        let mut rude = Client::connect(server.address);
        rude.stream.set_nonblocking(true).unwrap();
        // Each is answered with 30 B that are not read; the kernel buffers some MiB for both sides.
        let lines = "\n".repeat(64 << 10);
        let mut refusals = 0;
        while refusals < 100 {
            match rude.stream.write(lines.as_bytes()) {
                Ok(_) => refusals = 0,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    refusals += 1;
                    thread::sleep(Duration::from_millis(1));
                }
            }
            let held = resident(&server);
            assert!(held < 64 << 20, "{args}: {held}");
        }
        drop(rude);
        // A client that reads its replies continues, and may still log in.
        const LINES: usize = 600_000;
        let mut client = Client::connect(server.address);
        let mut stream = client.stream.try_clone().unwrap();
        let writer = thread::spawn(move || {
            stream.write_all("\n".repeat(LINES).as_bytes()).unwrap();
            stream.write_all(b"set any 0 0 10\r\nann secret\r\nget k\r\n").unwrap();
        });
        for i in 0..LINES {
            assert_eq!(client.line().as_deref(), Some(&b"CLIENT_ERROR unauthenticated"[..]), "{args} {i}");
        }
        assert_eq!((client.text().as_str(), client.text().as_str()), ("STORED", "END"), "{args}");
        writer.join().unwrap();
    }
}

#[test]
fn a_get_of_thousands_of_keys_passes_a_queue_of_one() {
    let server = sphinxd("-t 4 --queue 1");
    let mut client = Client::connect(server.address);
    let keys: Vec<String> = (0..5_000).map(|i| format!("key-{i}")).collect();
    for key in keys.iter().step_by(2) {
        client.send(format!("set {key} 0 0 {} noreply\r\n{key}\r\n", key.len()));
    }
    client.send(format!("get {}\r\nversion\r\n", keys.join(" ")));
    for key in keys.iter().step_by(2) {
        assert_eq!(client.text(), format!("VALUE {key} 0 {}", key.len()));
        assert_eq!(client.text(), *key);
    }
    assert_eq!(client.text(), "END");
    assert!(client.text().starts_with("VERSION "));
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let server = sphinxd("-t 4 --queue 2");
    let mut stays = Client::connect(server.address);
    let descriptors =
        |server: &Running| fs::read_dir(format!("/proc/{}/fd", server.process.pid())).unwrap().count();
    assert_eq!(stays.ask("version").split(' ').next(), Some("VERSION"));
    let before = descriptors(&server);
    for round in 0..200 {
        let mut leaves = Client::connect(server.address);
        let keys: Vec<String> = (0..200).map(|i| format!("key-{}", i * round % 1000)).collect();
        leaves.send(format!("get {}\r\nset {} 0 0 10\r\nhal", keys.join(" "), keys[0]));
        // Some leave during the answer, with bytes unread, which resets the connection.
        if round % 2 == 0 {
            let mut byte = [0];
            leaves.stream.read_exact(&mut byte).unwrap();
        }
    }
    // The server learns of each in its own time, but before long. The last ones may not even be accepted yet.
    await_stat(&mut stays, "total_connections", |total| total >= 201);
    await_stat(&mut stays, "curr_connections", |connections| connections <= 1);
    // A ring keeps a descriptor until the kernel has ended its pending operations, a moment later.
    let deadline = Instant::now() + PATIENCE;
    // A server that has only just started may have had one more, such as a file of /proc.
    while descriptors(&server) > before {
        assert!(Instant::now() < deadline, "{} descriptors, and {before} before", descriptors(&server));
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    assert_eq!(stays.stat("total_connections"), 201);
    for i in 0..100 {
        stays.set(&format!("key-{i}"), "still here");
        assert!(stays.get(&format!("key-{i}")).is_some());
    }
}

#[test]
fn evicted_items_make_room_for_new_ones() {
    let server = sphinxd("-t 2 -m 8");
    let mut client = Client::connect(server.address);
    let value = vec![b'v'; 10_000];
    for i in 0..3_000 {
        client.set(&format!("key-{i}"), &value);
        assert_eq!(client.get(&format!("key-{i}")).as_ref(), Some(&value));
    }
    let (items, evictions) = (client.stat("curr_items"), client.stat("evictions"));
    assert_eq!(items + evictions, 3_000);
    // Each thread has four segments of 104 items, of which two may be empty.
    assert!((400..=840).contains(&items), "{items}");
    assert!(client.stat("bytes") <= 8 << 20);
}

#[test]
fn a_client_that_ends_its_sending_side_gets_all_that_it_asked_for() {
    for args in ["-t 1", "-t 4", "-t 4 --queue 1", "-t 2 --io uring"] {
        // Without io_uring the server reports that and ends.
        if args.contains("uring") && reactor::choose(reactor::Io::Uring, reactor::Backend::Epoll).is_err() {
            println!("skipped: {args}, as there is no io_uring");
            continue;
        }
        let server = sphinxd(args);
        let mut client = Client::connect(server.address);
        let value = vec![b'v'; 20_000];
        for key in 0..20 {
            client.set(&format!("key-{key}"), &value);
        }
        for round in 0..20 {
            let mut leaver = Client::connect(server.address);
            let gets: String = (0..200).map(|i| format!("get key-{}\r\n", (i * 7 + round) % 20)).collect();
            // The last request is incomplete, and is not waited for.
            leaver.send(format!("{gets}mn\r\nget key-"));
            leaver.stream.shutdown(std::net::Shutdown::Write).unwrap();
            for i in 0..200 {
                assert_eq!(leaver.text(), format!("VALUE key-{} 0 20000", (i * 7 + round) % 20), "{args}");
                assert!(leaver.bytes(20_002).starts_with(&value));
                assert_eq!(leaver.text(), "END");
            }
            assert_eq!((leaver.text().as_str(), leaver.line()), ("MN", None), "{args}");
        }
        // They have disconnected, too.
        await_stat(&mut client, "curr_connections", |connections| connections <= 1);
    }
}

#[test]
fn stats_tell_the_settings_and_the_items_in_memcacheds_words() {
    let server = sphinxd("-t 2 -m 64 -c 77 --lazy-memory");
    let mut client = Client::connect(server.address);
    let mut group = |name: &str| -> Vec<String> {
        client.send(format!("stats {name}\r\n"));
        let lines = std::iter::from_fn(|| Some(client.text()).filter(|line| line != "END"));
        lines.collect()
    };
    let settings = group("settings");
    let port = format!("STAT tcpport {}", server.address.port());
    for line in [
        "STAT maxbytes 67108864",
        "STAT maxconns 77",
        "STAT num_threads 2",
        "STAT inter 127.0.0.1",
        "STAT domain_socket NULL",
        "STAT udpport 0",
        "STAT item_size_max 1048576",
        "STAT shutdown_command no",
        "STAT auth_enabled_ascii no",
        "STAT detail_enabled no",
        port.as_str(),
    ] {
        assert!(settings.iter().any(|setting| setting == line), "{line} is not in {settings:?}");
    }
    assert!(group("items").is_empty());
    for (word, expect) in [("on", "STAT detail_enabled yes"), ("off", "STAT detail_enabled no")] {
        assert_eq!(Client::connect(server.address).ask(&format!("stats detail {word}")), "OK");
        assert!(group("settings").iter().any(|setting| setting == expect), "{expect}");
    }
    for key in 0..50 {
        Client::connect(server.address).set(&format!("key-{key}"), "value");
    }
    // Items of both threads.
    assert_eq!(group("items")[0], "STAT items:1:number 50");
}

#[test]
fn connections_are_told_with_their_ends() {
    for threads in [1, 3] {
        let server = sphinxd(&format!("-t {threads} --lazy-memory"));
        let mut clients: Vec<Client> = (0..6).map(|_| Client::connect(server.address)).collect();
        clients.iter_mut().for_each(|client| assert!(client.ask("version").starts_with("VERSION")));
        clients[0].send("stats conns\r\n");
        let lines: Vec<String> =
            std::iter::from_fn(|| Some(clients[0].text()).filter(|line| line != "END")).collect();
        let of = |name: &str| -> Vec<&str> {
            lines
                .iter()
                .filter(|line| line.contains(name))
                .map(|line| line.rsplit(' ').next().unwrap())
                .collect()
        };
        let listens = format!("tcp:{}", server.address);
        assert_eq!(of(":listen_addr "), [listens.as_str(); 6], "{lines:?}");
        let mut states = of(":state ");
        states.sort_unstable();
        let expect = ["conn_listening", "conn_parse_cmd"].into_iter().chain(["conn_read"; 5]);
        assert_eq!(states, expect.collect::<Vec<_>>());
        let mut ends = of(":addr ");
        assert!(ends.contains(&listens.as_str()), "{lines:?}");
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(ends.len(), 7, "{lines:?}");
        assert_eq!(lines.len(), 6 * 4 + 3);
        let number = |line: &String| line.split([' ', ':']).nth(1).unwrap().parse::<usize>().unwrap();
        assert!(lines.is_sorted_by_key(number), "{lines:?}");
        assert!(lines[1].ends_with(":state conn_listening"), "{lines:?}");
    }
}

#[test]
fn without_evictions_a_full_cache_refuses_and_keeps() {
    let server = sphinxd("-t 2 -m 16 -M --lazy-memory");
    let mut client = Client::connect(server.address);
    let value = "v".repeat(10_000);
    let stored = (0..10_000)
        .take_while(|i| client.ask(&format!("set key-{i} 0 0 10000\r\n{value}")) == "STORED")
        .count();
    assert!((1_000..1_700).contains(&stored), "{stored}");
    let refused = client.ask(&format!("set one-more 0 0 10000\r\n{value}"));
    assert!(refused == "STORED" || refused == "SERVER_ERROR out of memory storing object", "{refused}");
    for i in 0..stored {
        assert!(client.get(&format!("key-{i}")).is_some(), "{i} of {stored}");
    }
    assert_eq!(client.stat("evictions"), 0);
}

/// A read by `mg` with `T` also renews the item: it counts as read, as by a `gat`.
#[test]
fn an_item_that_was_read_and_renewed_is_kept_like_one_that_was_touched() {
    let server = sphinxd("-t 1 -m 16");
    let mut client = Client::connect(server.address);
    for key in ["read", "touched", "neither"] {
        client.set(key, "v");
    }
    assert_eq!(client.ask("mg read T1000"), "HD");
    assert_eq!(client.ask("touch touched 1000"), "TOUCHED");
    // One and a half times the memory.
    let value = "x".repeat(1_000);
    for i in 0..24_000 {
        client.send(format!("set cold-{i} 0 0 1000 noreply\r\n{value}\r\n"));
    }
    assert_eq!(client.ask("mn"), "MN");
    let there = ["read", "touched", "neither"].map(|key| client.get(key).is_some());
    assert_eq!(there, [true, true, false]);
}
