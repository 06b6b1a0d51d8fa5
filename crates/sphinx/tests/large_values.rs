//! Large values: they are sent directly from the store, and a client never sees another value, even if the item changes
//! during the send.

use std::thread;

use crate::support::client::{Client, await_stat};
use crate::support::{MODES, sphinxd};

/// A value in which each byte shows the version.
fn value(length: usize, version: usize) -> Vec<u8> {
    let alphabet: Vec<u8> = (0..7 * 26).map(|i| b'a' + ((i / 7 + version * 5) % 26) as u8).collect();
    let mut value = alphabet.repeat(length.div_ceil(alphabet.len()));
    value.truncate(length);
    value
}

/// Around the size from which values are lent, of a socket's buffer, and of one send.
const LENGTHS: [usize; 8] = [4095, 4096, 4097, 10_000, 65_536, 70_000, 300_000, 1_000_000];

/// The options of each server, with the I/O mode.
fn servers() -> impl Iterator<Item = String> {
    MODES.into_iter().flat_map(|mode| {
        ["-t 1", "-t 3", "-t 2 --queue 1"]
            .into_iter()
            .flat_map(move |threads| ["epoll", "auto"].map(|io| format!("{threads} {mode} --io {io}")))
    })
}

#[test]
fn values_of_every_size_come_as_they_were_stored() {
    for args in servers() {
        let server = sphinxd(&format!("-m 96 --lazy-memory {args}"));
        let mut client = Client::connect(server.address);
        for (i, length) in LENGTHS.into_iter().enumerate() {
            client.set(&format!("key-{length}"), value(length, i));
        }
        assert_eq!(client.stat("values_lent"), 0);
        // One by one, all in one request, pipelined with changes of them, and as meta commands.
        for (i, length) in LENGTHS.into_iter().enumerate() {
            assert!(client.get(&format!("key-{length}")).unwrap() == value(length, i), "{args} {length}");
        }
        let keys = LENGTHS.map(|length| format!("key-{length}")).join(" ");
        client.send(format!("get {keys} nothing key-4096\r\n"));
        for (i, length) in LENGTHS.into_iter().enumerate().chain([(1, 4096)]) {
            assert_eq!(client.text(), format!("VALUE key-{length} 0 {length}"), "{args}");
            assert!(
                client.bytes(length) == value(length, i) && client.bytes(2) == b"\r\n",
                "{args} {length}"
            );
        }
        assert_eq!(client.text(), "END");
        for (i, length) in LENGTHS.into_iter().enumerate() {
            let key = format!("key-{length}");
            client.send(format!("mg {key} v h\r\nset {key} 0 0 3\r\nnew\r\nget {key}\r\n"));
            assert_eq!(client.text(), format!("VA {length} h1"), "{args}");
            assert!(
                client.bytes(length) == value(length, i) && client.bytes(2) == b"\r\n",
                "{args} {length}"
            );
            assert_eq!(client.text(), "STORED");
            for line in [format!("VALUE {key} 0 3"), "new".into(), "END".into()] {
                assert_eq!(client.text(), line, "{args}");
            }
        }
        // Each was requested three times and one a fourth time; the one below the threshold never counts.
        assert_eq!(client.stat("values_lent"), 3 * (LENGTHS.len() as u64 - 1) + 1, "{args}");
        assert_eq!(client.stat("segments_pinned"), 0, "{args}");
    }
}

/// Readers that take their time, while all memory is written again and again.
#[test]
fn what_is_on_its_way_is_not_written_over() {
    const LENGTH: usize = 200_000;
    for args in servers() {
        let server = sphinxd(&format!("-m 48 --lazy-memory {args}"));
        let address = server.address;
        let mut writer = Client::connect(address);
        for key in 0..20 {
            writer.set(&format!("key-{key}"), value(LENGTH, key));
        }
        let readers: Vec<_> = (0..3)
            .map(|reader| {
                thread::spawn(move || {
                    let mut client = Client::connect(address);
                    for round in 0..4 {
                        let keys: Vec<usize> = (0..20).map(|i| (i * 7 + reader + round) % 20).collect();
                        // 4 MB at once, which no socket takes: replies wait, copied and not.
                        keys.iter().for_each(|key| client.send(format!("get key-{key}\r\n")));
                        for key in keys {
                            let header = client.text();
                            if header == "END" {
                                continue;
                            }
                            assert_eq!(header, format!("VALUE key-{key} 0 {LENGTH}"));
                            let got = client.bytes(LENGTH + 2);
                            assert!(
                                got[..LENGTH] == value(LENGTH, key),
                                "a value of another key than key-{key}"
                            );
                            assert_eq!(client.text(), "END");
                        }
                    }
                })
            })
            .collect();
        // 60 MB, which is more than the memory.
        for i in 0..300 {
            writer.set(&format!("key-{}", i % 20), value(LENGTH, i % 20));
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(writer.stat("total_items"), 320, "{args}");
    }
}

/// If the connection's thread owns the key, a value in pieces goes directly to its place; no client sees it before it
/// is complete.
#[test]
fn values_arrive_where_they_are_stored() {
    for args in servers() {
        let server = sphinxd(&format!("-m 96 --lazy-memory {args}"));
        let (mut writer, mut reader) = (Client::connect(server.address), Client::connect(server.address));
        for (i, length) in LENGTHS.into_iter().enumerate() {
            let key = format!("key-{length}");
            let (old, new) = (value(length, i), value(length, i + 9));
            writer.set(&key, &old);
            let request =
                [format!("set {key} 0 0 {length}\r\n").as_bytes(), &new, b"\r\nversion\r\n"].concat();
            // The line's end and the value's are cut, too.
            let cuts = [17, 18, request.len() / 3, request.len() - 11, request.len() - 10, request.len()];
            let mut sent = 0;
            for cut in cuts {
                assert!(reader.get(&key).unwrap() == old, "{args} {length} up to {cut}");
                writer.send(&request[sent..cut]);
                sent = cut;
            }
            assert_eq!(writer.text(), "STORED", "{args} {length}");
            assert!(writer.text().starts_with("VERSION "));
            assert!(reader.get(&key).unwrap() == new, "{args} {length}");
            // A value longer than announced leaves the old one, and its rest is parsed as memcached does.
            let (half, rest) = old.split_at(length / 2);
            writer.send([format!("set {key} 0 0 {length}\r\n").as_bytes(), half].concat());
            assert!(reader.get(&key).unwrap() == new, "{args} {length}");
            writer.send([rest, b"xx\r\nversion\r\n"].concat());
            assert_eq!(writer.text(), "CLIENT_ERROR bad data chunk", "{args} {length}");
            assert_eq!(writer.text(), "CLIENT_ERROR bad command line format", "{args} {length}");
            assert!(writer.text().starts_with("VERSION "));
            assert!(reader.get(&key).unwrap() == new, "{args} {length}");
        }
        let placed = writer.stat("values_placed");
        let large = LENGTHS.iter().filter(|&&length| length > 16 << 10).count() as u64;
        assert!(placed <= 2 * large, "{args}: {placed}");
        assert!(placed >= large || args.starts_with("-t 2") || args.starts_with("-t 3"), "{args}: {placed}");
        assert_eq!(writer.stat("segments_pinned"), 0, "{args}");
    }
}

#[test]
fn a_client_that_goes_in_the_midst_of_a_value_leaves_nothing() {
    const LENGTH: usize = 500_000;
    for args in servers() {
        let server = sphinxd(&format!("-m 48 --lazy-memory {args}"));
        let mut other = Client::connect(server.address);
        other.set("key", b"old");
        let before = other.stat("bytes");
        for round in 0..3 {
            let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(server.address)).collect();
            for client in &mut clients {
                client.send([format!("set key 0 0 {LENGTH}\r\n").as_bytes(), &value(LENGTH / 2, 1)].concat());
            }
            // All memory is rewritten in that time.
            for i in 0..if round == 1 { 200 } else { 0 } {
                other.set(&format!("key-{}", i % 10), value(LENGTH, i));
            }
            drop(clients);
        }
        // Some may have gone before they were accepted.
        await_stat(&mut other, "total_connections", |total| total == 61);
        await_stat(&mut other, "curr_connections", |connections| connections <= 1);
        (0..10).for_each(|i| {
            assert!(["DELETED", "NOT_FOUND"].contains(&&*other.ask(&format!("delete key-{i}"))))
        });
        other.set("key", b"old");
        assert_eq!((other.stat("bytes"), other.stat("segments_pinned")), (before, 0), "{args}");
    }
}
