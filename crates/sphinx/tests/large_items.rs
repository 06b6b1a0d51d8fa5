//! Items that are larger than a segment (`-I` over 2m): every command on them, the cost of their room to others, and
//! clients that announce one and do not send it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::support::client::{Client, await_stat};
use crate::support::{LogOnFailure, MODES, PATIENCE, Words, memcached_with, sphinxd};
use proto_memcache::binary::opcode;
use proto_memcache::binary::testing::{Packet, Read, read};

/// A value in which each byte shows the version and its position.
fn value(length: usize, version: usize) -> Vec<u8> {
    let line: Vec<u8> = (0..26 * 7).map(|i| b'a' + ((i / 7 + version * 5) % 26) as u8).collect();
    let mut value = Vec::with_capacity(length + line.len());
    for i in 0..length / line.len() + 1 {
        value.extend_from_slice(&line);
        let at = value.len() - 8;
        value[at..].copy_from_slice(format!("{i:08}").as_bytes());
    }
    value.truncate(length);
    value
}

const MIB: usize = 1 << 20;
/// Both sides of a segment, of two, and more.
const LENGTHS: [usize; 5] = [2 * MIB - 100, 2 * MIB, 4 * MIB + 1, 3_000_000, 7 * MIB];

fn servers() -> impl Iterator<Item = String> {
    MODES.into_iter().flat_map(|mode| {
        ["-t 1 --io epoll", "-t 2 --queue 1 --io auto"].into_iter().map(move |args| format!("{args} {mode}"))
    })
}

fn stored(client: &mut Client, line: &str, value: &[u8]) -> String {
    client.send([format!("{line} {}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat());
    client.text()
}

/// memcached's replies for such items, which this server must give too.
fn check_commands(name: &str, client: &mut Client) {
    let (first, second) = (value(5 * MIB, 1), value(4 * MIB, 2));
    let shown = |client: &mut Client, expect: &[u8]| {
        assert!(client.get("k").unwrap() == expect, "{name}: another value");
    };
    assert_eq!(stored(client, "replace k 0 0", &first), "NOT_STORED", "{name}");
    let cas = |client: &mut Client, unique: &str, value: &[u8]| {
        client.send([format!("cas k 3 0 {} {unique}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat());
        client.text()
    };
    assert_eq!(cas(client, "7", &first), "NOT_FOUND", "{name}");
    assert_eq!(stored(client, "add k 5 0", &first), "STORED", "{name}");
    assert_eq!(stored(client, "add k 5 0", &second), "NOT_STORED", "{name}");
    shown(client, &first);
    assert_eq!(stored(client, "replace k 6 0", &second), "STORED", "{name}");
    shown(client, &second);
    client.send("gets k\r\n");
    let header = client.text();
    assert!(header.starts_with(&format!("VALUE k 6 {}", second.len())), "{name}: {header}");
    assert!(client.bytes(second.len() + 2)[..second.len()] == second);
    assert_eq!(client.text(), "END");
    let unique = header.rsplit(' ').next().unwrap().to_owned();
    assert_eq!(cas(client, "1000000007", &first), "EXISTS", "{name}");
    assert_eq!(cas(client, &unique, &first), "STORED", "{name}");
    shown(client, &first);
    assert_eq!(
        client.ask("incr k 1"),
        "CLIENT_ERROR cannot increment or decrement non-numeric value",
        "{name}"
    );
    assert_eq!(client.ask("touch k 100"), "TOUCHED", "{name}");
    client.send("gat 0 k\r\n");
    assert_eq!(client.text(), format!("VALUE k 3 {}", first.len()), "{name}");
    assert!(client.bytes(first.len() + 2)[..first.len()] == first);
    assert_eq!(client.text(), "END");
    // A missing line end leaves the old value; replies to the rest are not compared.
    client.send([format!("set k 0 0 {}\r\n", second.len()).as_bytes(), &second, b"xx\r\n"].concat());
    assert_eq!(client.text(), "CLIENT_ERROR bad data chunk", "{name}");
    let mut client = Client::connect(client.stream.peer_addr().unwrap());
    let client = &mut client;
    shown(client, &first);
    // Without an answer, and pipelined.
    let silent =
        [format!("set k 0 0 {} noreply\r\n", second.len()).as_bytes(), &second, b"\r\nget k\r\nmn\r\n"]
            .concat();
    client.send(silent);
    assert_eq!(client.text(), format!("VALUE k 0 {}", second.len()), "{name}");
    assert!(client.bytes(second.len() + 2)[..second.len()] == second);
    assert_eq!((client.text(), client.text()), ("END".into(), "MN".into()), "{name}");
    // Meta commands.
    assert_eq!(ms(client, "k", "T0 F9 k q O7", &first), "", "{name}");
    assert_eq!(client.text(), "MN", "{name}");
    client.send("mg k v f s\r\n");
    assert_eq!(client.text(), format!("VA {} f9 s{}", first.len(), first.len()), "{name}");
    assert!(client.bytes(first.len() + 2)[..first.len()] == first);
    assert_eq!(ms(client, "k", "ME k", &second), "NS kk", "{name}");
    assert_eq!(ms(client, "k", "C1 c", &second).split(' ').next(), Some("EX"), "{name}");
    assert_eq!(ms(client, "k", "MR s k", &second), format!("HD s{} kk", second.len()), "{name}");
    shown(client, &second);
    assert_eq!(ms(client, "bmV3", "b k", &first), "HD kbmV3 b", "{name}");
    assert!(client.get("new").unwrap() == first, "{name}");
    client.send("md k q\r\nmn\r\n");
    assert_eq!(client.text(), "MN", "{name}");
    assert_eq!(client.ask("delete new"), "DELETED", "{name}");
    // Over the limit: the value is skipped, and the old value of a `set` is dropped.
    let large = value(65 * MIB, 1);
    assert_eq!(client.ask("set k 0 0 3\r\nold"), "STORED");
    assert_eq!(stored(client, "add k 0 0", &large), "SERVER_ERROR object too large for cache", "{name}");
    assert_eq!(client.get("k").unwrap(), b"old", "{name}");
    assert_eq!(stored(client, "set k 0 0", &large), "SERVER_ERROR object too large for cache", "{name}");
    assert_eq!(client.get("k"), None, "{name}");
    check_binary(name, client, &first);
}

/// `ms`; an empty answer if none came before that of `mn`, which is then still to be read as a line.
fn ms(client: &mut Client, key: &str, flags: &str, value: &[u8]) -> String {
    let quiet = flags.split(' ').any(|flag| flag == "q");
    let end: &[u8] = if quiet { b"\r\nmn\r\n" } else { b"\r\n" };
    client.send([format!("ms {key} {} {flags}\r\n", value.len()).as_bytes(), value, end].concat());
    if quiet { String::new() } else { client.text() }
}

fn check_binary(name: &str, client: &Client, value: &[u8]) {
    let mut client = Client::connect(client.stream.peer_addr().unwrap());
    for key in [&b"k"[..], b"not a word"] {
        let mut sent = Vec::new();
        Packet::new(opcode::SETQ).key(key).store(4, 0).value(value).append(&mut sent);
        Packet::new(opcode::SET).key(key).store(5, 0).value(value).append(&mut sent);
        Packet::new(opcode::GETK).key(key).opaque(7).append(&mut sent);
        client.send(sent);
        let header = client.bytes(24);
        assert_eq!((header[0], header[1], &header[6..12]), (0x81, opcode::SET, &[0; 6][..]), "{name}");
        let header = client.bytes(24);
        let body = u32::from_be_bytes(header[8..12].try_into().unwrap()) as usize;
        assert_eq!((header[1], body), (opcode::GETK, 4 + key.len() + value.len()), "{name}");
        let all = [header, client.bytes(body)].concat();
        let Read::Done { response, .. } = read(&all, all.len()) else { panic!("{name}: no whole response") };
        assert!(response.value == value && response.key == key, "{name}");
    }
    let mut sent = Vec::new();
    Packet::new(opcode::DELETE).key(b"k").append(&mut sent);
    client.send(sent);
    assert_eq!(client.bytes(24)[1], opcode::DELETE);
}

/// Items between a segment of a small partition and 2 MiB: whole and in pieces, joined, and as the binary protocol stores them.
#[test]
fn little_memory_holds_the_largest_items_that_are_usual() {
    for args in servers() {
        let server = sphinxd(&format!("{args} -m 16"));
        let mut client = Client::connect(server.address);
        for round in 0..40 {
            let (length, key) = (60_000 + round * 24_000, format!("k{}", round % 7));
            let expect = value(length, round);
            assert_eq!(stored(&mut client, &format!("set {key} 1 0"), &expect), "STORED", "{args} {length}");
            assert!(client.get(&key).unwrap() == expect, "{args} {length}: another value");
        }
        let (half, large) = (value(400_000, 1), value(500_000, 2));
        assert_eq!(stored(&mut client, "set j 0 0", &half), "STORED", "{args}");
        assert_eq!(stored(&mut client, "append j 0 0", &large), "STORED", "{args}");
        assert_eq!(stored(&mut client, "prepend j 0 0", b"first"), "STORED", "{args}");
        assert!(client.get("j").unwrap() == [b"first", &half[..], &large[..]].concat(), "{args}: joined");
        assert_eq!(stored(&mut client, "append j 0 0", &large), "NOT_STORED", "{args}: over -I");
        assert_eq!(ms(&mut client, "j", "MA", b"last"), "HD", "{args}");
        assert!(client.get("j").unwrap() == [b"first", &half[..], &large[..], b"last"].concat(), "{args}");
        let number = [b"17".to_vec(), vec![b' '; 300_000]].concat();
        assert_eq!(stored(&mut client, "set n 0 0", &number), "STORED", "{args}");
        assert_eq!(client.ask("incr n 1"), "18", "{args}");
        assert!(client.get("n").unwrap() == [b"18".to_vec(), vec![b' '; 300_000]].concat(), "{args}");
    }
}

#[test]
fn memcached_takes_large_items_so() {
    if let Some(memcached) = memcached_with(|_| ["-I", "64m", "-m", "512"].map(String::from).into())
        && memcached.words == Words::New
    {
        check_commands("memcached", &mut Client::connect(memcached.address));
    }
}

#[test]
fn sphinx_takes_large_items_as_memcached_does() {
    for args in ["-t 1", "-t 2 --sharing nothing", "-t 2 --sharing read", "-t 2 --sharing nothing --queue 1"]
    {
        let server = sphinxd(&format!("-m 512 -I 64m --lazy-memory {args}"));
        let mut client = Client::connect(server.address);
        check_commands(args, &mut client);
        client.send("stats settings\r\n");
        let settings = client.lines_to("END");
        assert!(settings.contains(&format!("STAT item_size_max {}", 64 * MIB)), "{args}");
        // A value stored in its own segments cannot be appended to here: the whole would be too large.
        client.set("k", value(5 * MIB, 1));
        for verb in ["append", "prepend"] {
            assert_eq!(client.ask(&format!("{verb} k 0 0 1\r\nx")), "NOT_STORED");
            let refused = stored(&mut client, &format!("{verb} k 0 0"), &value(3 * MIB, 1));
            assert_eq!(refused, "SERVER_ERROR object too large for cache");
        }
        assert_eq!(ms(&mut client, "k", "MA", &value(3 * MIB, 1)), "SERVER_ERROR object too large for cache");
        assert!(
            client.get("k").unwrap() == value(5 * MIB, 1),
            "{args}: what is refused leaves the old value"
        );
        let mut binary = Client::connect(server.address);
        let (mut sent, large) = (Vec::new(), value(3 * MIB, 1));
        Packet::new(opcode::SET).key(b"k").store(0, 0).value(&large).cas(1).append(&mut sent);
        binary.send(sent);
        // `Too large.` is its status, and its text.
        assert_eq!(
            (&binary.bytes(24)[6..8], binary.bytes(10)),
            (&[0, 3][..], b"Too large.".to_vec()),
            "{args}"
        );
        assert!(
            client.get("k").unwrap() == value(5 * MIB, 1),
            "{args}: what is refused leaves the old value"
        );
        assert_eq!((client.stat("segments_pinned"), client.stat("curr_items")), (0, 2), "{args}");
    }
}

#[test]
fn values_of_every_size_come_as_they_were_stored() {
    for args in servers() {
        let server = sphinxd(&format!("-m 1024 -I 16m --lazy-memory {args}"));
        let mut client = Client::connect(server.address);
        for round in 0..2 {
            // A partition has room for all of them, and for storing one again.
            for (i, length) in LENGTHS.into_iter().enumerate() {
                client.set(&format!("key-{length}"), value(length, i + round));
            }
            let keys = LENGTHS.map(|length| format!("key-{length}")).join(" ");
            client.send(format!("get {keys} nothing key-3000000\r\nget nothing\r\n"));
            for (i, length) in LENGTHS.into_iter().enumerate().chain([(3, 3_000_000)]) {
                assert_eq!(client.text(), format!("VALUE key-{length} 0 {length}"), "{args}");
                let got = client.bytes(length + 2);
                assert!(
                    got[..length] == value(length, i + round) && got[length..] == *b"\r\n",
                    "{args} {length}"
                );
            }
            assert_eq!((client.text(), client.text()), ("END".into(), "END".into()), "{args}");
        }
        client.send("lru_crawler metadump all\r\n");
        let mut sizes: Vec<usize> = client
            .lines_to("END")
            .iter()
            .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("size=")?.parse().ok()))
            .collect();
        sizes.sort_unstable();
        assert!(sizes.len() == 5 && sizes[4] > 7 * MIB && sizes[4] < 7 * MIB + 100, "{args}: {sizes:?}");
        assert_eq!(client.stat("segments_pinned"), 0, "{args}");
    }
}

/// 100 MB, while another client continues, above and below the limit of free memory.
#[test]
fn a_hundred_megabytes_come_and_go_while_others_are_served() {
    const LENGTH: usize = 100_000_000;
    for args in ["-t 2 --sharing nothing", "-t 2 --sharing read --io epoll"] {
        let server = sphinxd(&format!("-m 1024 -I 128m --lazy-memory {args}"));
        let address = server.address;
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let others = scope.spawn(|| {
                let (mut client, mut asked) = (Client::connect(address), 0);
                while !done.load(Ordering::Relaxed) {
                    let (key, text) = (format!("small-{}", asked % 1000), format!("{asked}"));
                    client.set(&key, &text);
                    assert_eq!(client.get(&key).unwrap(), text.as_bytes());
                    asked += 1;
                }
                asked
            });
            let mut client = Client::connect(address);
            // More than fit, of both threads' keys.
            for i in 0..8 {
                let value = value(LENGTH, i);
                client.set(&format!("large-{i}"), &value);
                assert!(client.get(&format!("large-{i}")).unwrap() == value, "{args} {i}");
            }
            done.store(true, Ordering::Relaxed);
            let asked = others.join().unwrap();
            println!("{args}: the other client was served {asked} times");
            assert!(client.stat("evictions") >= 2, "{args}");
            assert_eq!(client.stat("segments_pinned"), 0, "{args}");
        });
    }
}

/// Slow readers, while the values being sent to them are stored again and again.
#[test]
fn what_is_on_its_way_is_not_written_over() {
    const LENGTH: usize = 5 * MIB;
    for args in servers() {
        let server = sphinxd(&format!("-m 1024 -I 16m --lazy-memory {args}"));
        let address = server.address;
        let mut writer = Client::connect(address);
        let values: Vec<Vec<u8>> = (0..4).map(|version| value(LENGTH, version)).collect();
        (0..3).for_each(|key| writer.set(&format!("key-{key}"), &values[0]));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let readers: Vec<_> = (0..3)
                .map(|key| {
                    let (values, done) = (&values, &done);
                    scope.spawn(move || {
                        let mut client = Client::connect(address);
                        while !done.load(Ordering::Relaxed) {
                            if let Some(got) = client.get(&format!("key-{key}")) {
                                assert!(values.contains(&got), "a value of several");
                            }
                        }
                    })
                })
                .collect();
            for i in 0..30 {
                let line = format!("set key-{} 0 0", i % 3);
                let answer = stored(&mut writer, &line, &values[i % 4]);
                assert!(
                    answer == "STORED" || answer == "SERVER_ERROR out of memory storing object",
                    "{args}: {answer}"
                );
            }
            done.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
    }
}

#[test]
fn who_announces_and_does_not_send_holds_a_bounded_part() {
    for args in ["-t 1", "-t 2 --sharing nothing", "-t 2 --sharing read"] {
        let server = sphinxd(&format!("-m 128 -I 16m --lazy-memory -o reader_timeout=1 -vv {args}"));
        let _log = LogOnFailure(&server);
        let mut other = Client::connect(server.address);
        let mut silent: Vec<Client> = (0..30).map(|_| Client::connect(server.address)).collect();
        for (i, client) in silent.iter_mut().enumerate() {
            client.send(format!("set silent-{i} 0 0 15000000\r\nbeginning"));
        }
        // Small items find room at any time.
        for i in 0..3000 {
            other.set(&format!("key-{i}"), [b'x'; 10_000]);
        }
        assert!(other.get("key-2999").is_some(), "{args}");
        // Refused clients continue; all others are closed after a long silence.
        let mut refused = 0;
        for client in &mut silent {
            if let Some(line) = client.line() {
                assert_eq!(line, b"SERVER_ERROR out of memory storing object", "{args}");
                refused += 1;
            }
        }
        assert!((1..30).contains(&refused), "{args}: {refused} were refused");
        drop(silent);
        await_stat(&mut other, "curr_connections", |connections| connections <= 1);
        // And their memory is free again.
        for i in 0..4 {
            let deadline = Instant::now() + PATIENCE;
            while stored(&mut other, &format!("set large-{i} 0 0"), &value(15_000_000, i)) != "STORED" {
                assert!(Instant::now() < deadline, "{args}: what was announced is held for ever");
            }
        }
    }
}

/// Two of them do not fit together, so that the old one would have to be evicted for its replacement.
#[test]
fn a_large_value_on_a_condition_never_costs_the_one_that_it_is_about() {
    const NO_MEMORY: &str = "SERVER_ERROR out of memory storing object";
    for args in ["-t 1 -m 16", "-t 4 -m 64 --sharing nothing", "-t 4 -m 64 --sharing read"] {
        let server = sphinxd(&format!("{args} -I 8m"));
        let mut client = Client::connect(server.address);
        let (first, second) = (value(6_500_000, 1), value(6_500_000, 2));
        // Keys of every thread.
        for key in ["a", "b", "c", "d", "e", "f"] {
            client.set(key, &first);
            let check = |client: &mut Client, what: &str| {
                assert!(client.get(key).as_ref() == Some(&first), "{args} {key}: {what}");
            };
            let small = format!("small-{key}");
            client.set(&small, "stays");
            let evictions = client.stat("evictions");
            assert_eq!(stored(&mut client, &format!("add {key} 0 0"), &second), "NOT_STORED", "{args} {key}");
            check(&mut client, "add");
            assert_eq!(ms(&mut client, key, "ME k O7", &second), format!("NS k{key} O7"), "{args} {key}");
            assert_eq!(ms(&mut client, key, "C1000000007", &second), "EX", "{args} {key}");
            assert_eq!(
                stored(&mut client, &format!("replace no{key} 0 0"), &second),
                "NOT_STORED",
                "{args} {key}"
            );
            let cas = |client: &mut Client, unique: &str| {
                let line = format!("cas {key} 0 0 {} {unique}\r\n", second.len());
                client.send([line.as_bytes(), &second, b"\r\n"].concat());
                client.text()
            };
            assert_eq!(cas(&mut client, "1000000007"), "EXISTS", "{args} {key}");
            let silent = format!("add {key} 0 0 {} noreply\r\n", second.len());
            client.send([silent.as_bytes(), &second, b"\r\nmn\r\n"].concat());
            assert_eq!(client.text(), "MN", "{args} {key}");
            check(&mut client, "what is refused");
            assert_eq!(client.stat("evictions"), evictions, "{args} {key}: what is refused evicts nothing");
            // A condition that holds has no room, and costs nothing either.
            assert_eq!(
                stored(&mut client, &format!("replace {key} 0 0"), &second),
                NO_MEMORY,
                "{args} {key}"
            );
            check(&mut client, "replace");
            assert_eq!(ms(&mut client, key, "MR", &second), NO_MEMORY, "{args} {key}");
            client.send(format!("gets {key}\r\n"));
            let unique = client.text().rsplit(' ').next().unwrap().to_owned();
            client.bytes(first.len() + 2);
            assert_eq!(client.text(), "END");
            assert_eq!(cas(&mut client, &unique), NO_MEMORY, "{args} {key}");
            check(&mut client, "cas");
            assert_eq!(client.get(&small).unwrap(), b"stays", "{args} {key}");
            // A `set` is not about it.
            client.set(key, &second);
            assert!(client.get(key).unwrap() == second, "{args} {key}");
            assert_eq!(client.ask(&format!("delete {key}")), "DELETED");
        }
        // If there are others, they make room, even newer ones.
        let little = value(900_000, 1);
        for key in 0..44 {
            client.set(&format!("k{key}"), &little);
        }
        let oldest = (0..44).find(|key| client.ask(&format!("me k{key}")) != "EN").unwrap();
        for _ in 0..3 {
            assert_eq!(stored(&mut client, &format!("replace k{oldest} 0 0"), &little), "STORED", "{args}");
        }
    }
}

/// The rest of a value without room is never read as a request.
#[test]
fn a_value_without_room_is_skipped() {
    let server = sphinxd("-t 1 -m 64 -I 30m -M --lazy-memory");
    let mut client = Client::connect(server.address);
    client.set("first", value(25_000_000, 1));
    let request = [b"set second 0 0 25000000\r\n", &value(25_000_000, 2)[..], b"\r\nget first\r\n"].concat();
    client.send(request);
    assert_eq!(client.text(), "SERVER_ERROR out of memory storing object");
    assert_eq!(client.text(), "VALUE first 0 25000000");
    assert!(client.bytes(25_000_002)[..25_000_000] == value(25_000_000, 1));
    assert_eq!(client.text(), "END");
    assert_eq!(
        ms(&mut client, "third", "T0", &value(25_000_000, 3)),
        "SERVER_ERROR out of memory storing object"
    );
    assert_eq!(client.ask("delete first"), "DELETED");
    client.set("second", value(25_000_000, 2));
    assert!(client.get("second").unwrap() == value(25_000_000, 2));
}

#[test]
fn watchers_are_told_of_them() {
    let server = sphinxd("-t 2 --sharing nothing -m 128 -I 16m --lazy-memory");
    let mut watcher = Client::connect(server.address);
    assert_eq!(watcher.ask("watch mutations"), "OK");
    let mut client = Client::connect(server.address);
    // Keys of both threads.
    for i in 0..6 {
        client.set(&format!("key-{i}"), value(3_000_000, i));
        let told = watcher.stream_line();
        assert!(told.contains(&format!("type=item_store key=key-{i} status=stored cmd=set")), "{told}");
        assert!(told.ends_with("size=3000000"), "{told}");
    }
    assert_eq!(stored(&mut client, "add key-0 0 0", &value(3_000_000, 1)), "NOT_STORED");
    let told = watcher.stream_line();
    assert!(told.contains("key=key-0 status=not_stored cmd=add"), "{told}");
}

#[test]
fn they_outlive_a_graceful_restart() {
    let folder =
        if Path::new("/dev/shm").is_dir() { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() };
    let folder = folder.unwrap();
    let file = folder.path().join("memory");
    let args = format!("-t 2 --sharing read -m 128 -I 16m -A -e {}", file.display());
    let mut server = sphinxd(&args);
    let mut client = Client::connect(server.address);
    for i in 0..4 {
        client.set(&format!("large-{i}"), value((3 + i) * MIB, i));
        client.set(&format!("small-{i}"), "x");
    }
    // A value that is only announced is not saved.
    let mut silent = Client::connect(server.address);
    silent.send("set silent 0 0 5000000\r\nbeginning");
    client.send("shutdown graceful\r\n");
    assert_eq!(server.process.wait(PATIENCE).unwrap().code(), Some(0));
    let server = sphinxd(&args);
    let mut client = Client::connect(server.address);
    for i in 0..4 {
        assert!(client.get(&format!("large-{i}")).unwrap() == value((3 + i) * MIB, i), "{i}");
        assert_eq!(client.get(&format!("small-{i}")).unwrap(), b"x");
    }
    assert_eq!((client.get("silent"), client.stat("curr_items")), (None, 8));
    client.set("large-9", value(15 * MIB, 9));
    assert!(client.get("large-9").unwrap() == value(15 * MIB, 9));
}
