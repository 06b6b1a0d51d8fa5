//! Large values: they leave from where they are stored, and nobody who is sent one sees another, whatever happens to its
//! item meanwhile.

mod support;

use std::thread;

use support::client::Client;
use support::{MODES, sphinxd};

/// A value that tells which it is in each of its bytes.
fn value(length: usize, version: usize) -> Vec<u8> {
    (0..length).map(|i| b'a' + ((i / 7 + version * 5) % 26) as u8).collect()
}

/// Both sides of the size from which values are lent, of a socket's buffer, and of what is sent at once.
const LENGTHS: [usize; 8] = [4095, 4096, 4097, 10_000, 65_536, 70_000, 300_000, 1_000_000];

/// What each of these servers is, and how it talks to the kernel.
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
        // One by one, all in one request, pipelined with what changes them, and as meta commands.
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
        // Each was asked for three times and one a fourth time; the one that is too small never counts.
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
