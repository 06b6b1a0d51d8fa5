//! `watch`: a connection becomes a stream of events, as in memcached.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::client::Client;
use crate::support::{MODES, memcached, sphinxd};

/// The next line of a stream, without the parts that differ from run to run: the time, the number of the line, of the
/// connection and of its port, and the size class, of which there is one here.
fn next(watcher: &mut Client) -> String {
    let line = watcher.stream_line();
    let words = line.split(' ').filter(|word| {
        !["ts=", "gid=", "cfd=", "rport=", "clsid="].iter().any(|name| word.starts_with(name))
    });
    words.collect::<Vec<_>>().join(" ")
}

fn watch(address: SocketAddr, kinds: &str) -> Client {
    let mut watcher = Client::connect(address);
    assert_eq!(watcher.ask(&format!("watch {kinds}")), "OK");
    watcher
}

fn talk(address: SocketAddr, requests: &str) {
    let mut client = Client::connect(address);
    client.send(format!("{requests}mn\r\n"));
    while client.text() != "MN" {}
}

/// memcached's reports of operations, in its words. They are made one after the other, as threads' lines may overtake
/// each other.
fn check_operations(address: SocketAddr) {
    let mut watcher = watch(address, "mutations");
    let mut client = Client::connect(address);
    for (request, expect) in [
        ("set a%b 0 100 3\r\nabc", "key=a%25b status=stored cmd=set ttl=100 size=3"),
        ("add a%b 0 0 1\r\nx", "key=a%25b status=not_stored cmd=add ttl=0 size=1"),
        ("append a%b 0 0 2\r\nde", "key=a%25b status=stored cmd=append ttl=100 size=5"),
        ("cas a%b 0 0 1 1000000\r\nx", "key=a%25b status=exists cmd=cas ttl=0 size=1"),
        ("cas none 0 0 1 1\r\nx", "key=none status=not_found cmd=cas ttl=0 size=1"),
        ("set quiet 0 0 2 noreply\r\nhi", "key=quiet status=stored cmd=set ttl=0 size=2"),
    ] {
        client.send(format!("{request}\r\n"));
        if !request.contains("noreply") {
            client.text();
        }
        let line = next(&mut watcher);
        // A second may have passed.
        let same = [expect.to_owned(), expect.replace("ttl=100", "ttl=99")];
        let line = line.strip_prefix("type=item_store ").unwrap_or(&line);
        assert!(same.iter().any(|expect| expect == line), "{line}, not {expect}");
    }
    drop(watcher);
    let mut watcher = watch(address, "fetchers");
    for (key, expect) in [
        ("a%b", "type=item_get key=a%25b status=found size=5"),
        ("missing", "type=item_get key=missing status=not_found size=0"),
    ] {
        client.get(key);
        assert_eq!(next(&mut watcher), expect);
    }
}

#[test]
fn memcached_tells_operations_so() {
    if let Some(server) = memcached() {
        check_operations(server.address);
    }
}

#[test]
fn sphinx_tells_operations_as_memcached_does() {
    for mode in MODES {
        for threads in [1, 3] {
            check_operations(sphinxd(&format!("-t {threads} --lazy-memory {mode}")).address);
        }
    }
}

#[test]
fn an_item_that_has_ended_or_was_deleted_is_told() {
    let server = sphinxd("-t 2 --lazy-memory");
    let mut watcher = watch(server.address, "fetchers deletions");
    // Two keys may have two owners, whose lines come in either order.
    talk(server.address, "set a 0 -1 1\r\nx\r\nget a\r\n");
    assert_eq!(next(&mut watcher), "type=item_get key=a status=expired size=0");
    talk(server.address, "set b 0 0 2\r\nxy\r\ndelete b\r\ndelete b\r\nmd b\r\nmg b v\r\n");
    assert_eq!(next(&mut watcher), "type=deleted key=b cmd=delete size=2");
    assert_eq!(next(&mut watcher), "type=item_get key=b status=not_found size=0");
    talk(server.address, "set c 0 0 1\r\nx\r\nflush_all\r\nget c\r\n");
    assert_eq!(next(&mut watcher), "type=item_get key=c status=flushed size=0");
    // A large value is received directly into the store, and is reported all the same.
    let mut watcher = watch(server.address, "mutations");
    let mut client = Client::connect(server.address);
    for i in 0..4 {
        let value = "v".repeat(100_000);
        client.set(&format!("large-{i}"), value);
        assert_eq!(
            next(&mut watcher),
            format!("type=item_store key=large-{i} status=stored cmd=set ttl=0 size=100000")
        );
    }
}

#[test]
fn evictions_and_connections_are_told() {
    let server = sphinxd("-t 1 -m 4 -I 64k --lazy-memory");
    let mut evictions = watch(server.address, "evictions");
    let mut client = Client::connect(server.address);
    for i in 0..400 {
        client.set(&format!("key-{i}"), "v".repeat(20_000));
    }
    assert!(client.stat("evictions") > 0);
    let line = next(&mut evictions);
    assert!(line.starts_with("type=eviction key=key-") && line.contains(" fetch=no ttl=-1 la="), "{line}");
    assert!(line.ends_with(" size=20000"), "{line}");

    let mut connections = watch(server.address, "connevents");
    let (mut quits, kept) = (Client::connect(server.address), Client::connect(server.address));
    let begins = "type=conn_new rip=127.0.0.1 transport=tcp";
    assert_eq!([next(&mut connections), next(&mut connections)], [begins, begins]);
    quits.send("quit\r\n");
    assert_eq!(quits.line(), None);
    let ends = "type=conn_close rip=127.0.0.1 transport=tcp reason=normal";
    assert_eq!(next(&mut connections), ends);
    drop(kept);
    assert_eq!(next(&mut connections), ends);
    // As in memcached, a connection that the server closes for its input ends by an error.
    for wrong in
        [&b"GET / HTTP/1.1\r\n"[..], &[b'x'; 3000], b"\x80\0\0\xff\0\0\0\0\0\0\0\xff\0\0\0\0\0\0\0\0\0\0\0\0"]
    {
        let mut refused = Client::connect(server.address);
        assert_eq!(next(&mut connections), begins);
        refused.send(wrong);
        let error = "type=conn_close rip=127.0.0.1 transport=tcp reason=error";
        assert_eq!(next(&mut connections), error, "{}", wrong.escape_ascii());
    }
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let check = |address: SocketAddr, is_here: bool| {
        let mut client = Client::connect(address);
        assert_eq!(client.ask("watch foo"), "ERROR");
        // Kinds of a proxy are accepted, but never occur.
        let mut other = Client::connect(address);
        assert_eq!(other.ask("watch proxyreqs"), "OK");
        // Behind another request it waits for the answer to that.
        let mut third = Client::connect(address);
        third.send("get a\r\nwatch\r\n");
        assert_eq!((third.text(), third.text()), ("END".into(), "OK".into()));
        let mut all: Vec<Client> = (0..18).map(|_| watch(address, "fetchers")).collect();
        assert_eq!(client.ask("watch"), "WATCHER_TOO_MANY log watcher limit reached");
        if is_here {
            assert_eq!(client.stat("log_watchers"), 20);
            // A watcher that leaves makes room.
            drop(all.pop());
            while client.stat("log_watchers") == 20 {}
            assert_eq!(client.ask("watch"), "OK");
        }
    };
    check(sphinxd("-t 2 --lazy-memory").address, true);
    if let Some(server) = memcached() {
        check(server.address, false);
    }
    let server = sphinxd("-t 1 -W --lazy-memory");
    let mut refused = Client::connect(server.address);
    assert_eq!(refused.ask("watch fetchers"), "CLIENT_ERROR watch commands not allowed");
}

#[test]
fn one_that_does_not_read_loses_lines_and_holds_up_none() {
    let server = sphinxd("-t 2 --lazy-memory -o watcher_logbuf_size=8");
    let mut watcher = watch(server.address, "fetchers mutations");
    let mut client = Client::connect(server.address);
    let key = "k".repeat(200);
    // Far more than the buffer and both ends' sockets hold.
    for _ in 0..400 {
        client.send(format!("get {key}\r\n").repeat(500) + "mn\r\n");
        while client.text() != "MN" {}
    }
    let skipped = client.stat("log_watcher_skipped");
    assert!(skipped > 0, "all {} lines found room", client.stat("log_watcher_sent"));
    // It reads, and gets the number of lines missed. The server ignores its input.
    _ = watcher.stream.write_all(b"get a\r\n");
    let is_told = AtomicBool::new(false);
    thread::scope(|scope| {
        // The number of missed lines comes with the next line.
        scope.spawn(|| {
            let mut client = Client::connect(server.address);
            while !is_told.load(Ordering::Relaxed) {
                assert_eq!(client.ask("get next"), "END");
            }
        });
        while !watcher.stream_line().starts_with("skipped=") {}
        is_told.store(true, Ordering::Relaxed);
    });
    assert_eq!(client.ask("version").split(' ').next(), Some("VERSION"));
}
