//! Features that Redis does not have: memcached's protocol on the same items, sharing modes, memory limits, a file of users, TLS.

use std::fs;
use std::time::{Duration, Instant};

use super::talk::{Talk, command, sphinxd};
use crate::support::client::Client;
use crate::support::{MODES, PATIENCE};

#[test]
fn both_protocols_have_the_same_items() {
    for mode in MODES {
        let (server, address) = sphinxd(&format!("-t 3 {mode}"));
        let (mut talk, mut client) = (Talk::connect(address), Client::connect(server.address));
        for number in 0..50 {
            assert_eq!(talk.ask(&format!("set r{number} v{number} ex 1000")), "+OK");
            client.send(format!("set m{number} 5 0 2\r\n{:02}\r\n", number));
            assert_eq!(client.text(), "STORED");
        }
        for number in 0..50 {
            client.send(format!("get r{number}\r\n"));
            assert_eq!(client.text(), format!("VALUE r{number} 0 {}", format!("v{number}").len()), "{mode}");
            assert_eq!(client.text(), format!("v{number}"));
            assert_eq!(client.text(), "END");
            assert_eq!(talk.ask(&format!("get m{number}")), format!("${number:02}"));
            assert_eq!(talk.ask(&format!("append m{number} x")), ":3");
        }
        // Flags stay.
        client.send("get m7\r\n");
        assert_eq!(
            (client.text(), client.text(), client.text()),
            ("VALUE m7 5 3".into(), "07x".into(), "END".into())
        );
        // A key that no line of memcached's text can hold.
        talk.send(&command(&[b"SET", b"a key\r\n", b"v"]));
        assert_eq!(talk.reply(), "+OK");
        client.send("mg YSBrZXkNCg== b v\r\n");
        assert!(client.text().starts_with("VA 1"), "{mode}");
        assert_eq!(client.text(), "v", "{mode}");
        assert_eq!(talk.ask("dbsize"), ":101");
        assert_eq!(talk.ask("flushall"), "+OK");
        client.send("get m7\r\n");
        assert_eq!(client.text(), "END");
    }
}

#[test]
fn a_scan_lists_every_key_once() {
    for mode in MODES {
        let (_server, address) = sphinxd(&format!("-t 3 {mode}"));
        let mut talk = Talk::connect(address);
        for number in 0..2_000 {
            talk.send(&command(&[b"SET", format!("key-{number}").as_bytes(), b"v"]));
        }
        (0..2_000).for_each(|_| assert_eq!(talk.reply(), "+OK"));
        for (words, expect) in
            [("", 2_000), ("match key-1?? count 100", 100), ("count 100000", 2_000), ("type list", 0)]
        {
            let (mut cursor, mut keys) = ("0".to_owned(), Vec::new());
            loop {
                let reply = talk.ask(format!("scan {cursor} {words}").trim());
                let (next, rest) = reply.strip_prefix("*[$").unwrap().split_once(", *[").unwrap();
                keys.extend(
                    rest.trim_end_matches(']').split(", ").filter(|key| !key.is_empty()).map(str::to_owned),
                );
                next.clone_into(&mut cursor);
                if cursor == "0" {
                    break;
                }
            }
            let all = keys.len();
            keys.sort();
            keys.dedup();
            assert_eq!((all, keys.len()), (expect, expect), "{mode} {words}");
        }
        assert_eq!(talk.ask("scan 16383"), "-ERR invalid cursor");
        assert_eq!(talk.ask("scan x"), "-ERR invalid cursor");
        assert_eq!(talk.ask("scan 0 count 0"), "-ERR syntax error");
    }
}

#[test]
fn what_is_too_large_gets_an_error_and_the_connection_goes_on() {
    let (_server, address) = sphinxd("-t 2 -I 64k --connection-memory 4");
    let mut talk = Talk::connect(address);
    let large = vec![b'v'; 70_000];
    let error = "-ERR the item is larger than the cache takes; see -I";
    assert_eq!(talk.ask("set k old"), "+OK");
    talk.send(&command(&[b"SET", b"k", &large]));
    assert_eq!(talk.reply(), error);
    talk.send(&command(&[b"SET", b"k", &large[..65_500]]));
    assert_eq!(talk.reply(), error);
    assert_eq!(talk.ask("get k"), "$old");
    talk.send(&command(&[b"SET", b"k", &large[..60_000]]));
    assert_eq!(talk.reply(), "+OK");
    talk.send(&command(&[b"APPEND", b"k", &large[..60_000]]));
    assert_eq!(talk.reply(), error);
    assert_eq!(talk.ask("strlen k"), ":60000");
    // More than half of the memory of connections.
    let mut all: Vec<&[u8]> = vec![b"MSET"];
    (0..40).for_each(|_| all.extend([&b"k"[..], &large[..60_000]]));
    talk.send(&command(&all));
    assert_eq!(talk.reply(), error);
    let long = "k".repeat(251);
    assert_eq!(talk.ask(&format!("get {long}")), "-ERR a key has 1 to 250 bytes, and this one 251");
    assert_eq!(talk.ask(&format!("mget a {long}")), "-ERR a key has 1 to 250 bytes, and this one 251");
    assert_eq!(talk.ask("ping"), "+PONG");
}

/// More keys than the threads do in one turn, and more than a link between them has room for.
#[test]
fn a_command_of_many_keys_is_done_in_parts() {
    for mode in MODES {
        let (_server, address) = sphinxd(&format!("-t 3 --queue 4 {mode}"));
        let mut talk = Talk::connect(address);
        let keys: Vec<String> = (0..5_000).map(|number| format!("k{number}")).collect();
        let mut pairs: Vec<&[u8]> = vec![b"MSET"];
        keys.iter().for_each(|key| pairs.extend([key.as_bytes(), key.as_bytes()]));
        let mut names: Vec<&[u8]> = vec![b"MGET"];
        names.extend(keys.iter().map(|key| key.as_bytes()));
        let mut all = [command(&pairs), command(&names)].concat();
        for name in [&b"EXISTS"[..], b"DEL", b"DEL"] {
            names[0] = name;
            all.extend(command(&names));
        }
        talk.send(&all);
        assert_eq!(talk.reply(), "+OK");
        let values: Vec<String> = keys.iter().map(|key| format!("${key}")).collect();
        assert!(talk.reply() == format!("*[{}]", values.join(", ")), "{mode}");
        assert_eq!(
            (talk.reply(), talk.reply(), talk.reply()),
            (":5000".into(), ":5000".into(), ":0".into()),
            "{mode}"
        );
    }
}

#[test]
fn users_of_the_file_log_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users");
    fs::write(&file, "ann:secret\ndefault:word\n").unwrap();
    let (_server, address) = sphinxd(&format!("-t 1 -Y {}", file.display()));
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.";
    let mut talk = Talk::connect(address);
    assert_eq!(talk.ask("get k"), "-NOAUTH Authentication required.");
    assert!(talk.ask("hello 3").starts_with("-NOAUTH HELLO must be called"));
    assert_eq!(talk.ask("auth ann wrong"), wrong);
    assert_eq!(talk.ask("auth ann secret"), "+OK");
    assert_eq!(talk.ask("get k"), "$-1");
    assert_eq!(talk.ask("reset"), "+RESET");
    assert_eq!(talk.ask("get k"), "-NOAUTH Authentication required.");
    assert_eq!(talk.ask("auth word"), "+OK");
    let mut talk = Talk::connect(address);
    assert!(talk.ask("hello 3 auth ann secret setname me").starts_with("%["));
    assert_eq!(talk.ask("client getname"), "$me");
    assert_eq!(talk.ask("get k"), "_");
    let mut talk = Talk::connect(address);
    (0..6).for_each(|_| assert_eq!(talk.ask("auth ann wrong"), wrong));
    assert_eq!(talk.rest(), "");
    let mut talk = Talk::connect(address);
    talk.send(b"*11\r\n");
    assert_eq!(talk.rest(), "-ERR Protocol error: unauthenticated multibulk length\\r\\n");
}

#[test]
fn it_is_told_of_and_may_be_full() {
    let (server, address) = sphinxd("-t 2 -c 2 --io epoll");
    let mut talk = Talk::connect(address);
    assert_eq!(talk.ask("client setname one"), "+OK");
    assert_eq!(talk.ask("client setinfo lib-name own"), "+OK");
    let mut other = Talk::connect(address);
    assert_eq!(other.ask("ping"), "+PONG");
    let list = other.ask("client list");
    assert!(
        list.matches("id=").count() == 2 && list.contains(" name=one ") && list.contains(" lib-name=own "),
        "{list}"
    );
    assert_eq!(Talk::connect(address).rest(), "-ERR max number of clients reached\\r\\n");
    let info = talk.ask("info clients");
    assert!(info.contains("connected_clients:2\\r\\n") && !info.contains("# Memory"), "{info}");
    assert_eq!(talk.ask("config set maxmemory 32mb"), "+OK");
    assert_eq!(talk.ask("config get maxmemory"), "*[$maxmemory, $33554432]");
    assert!(talk.ask("config set appendonly yes").starts_with("-ERR CONFIG SET failed"));
    drop((other, server));
    let mut process = crate::support::spawn("-s /tmp/none --resp-port 0");
    assert!(!process.wait(PATIENCE).unwrap().success());
    assert!(process.stderr_tail().join("\n").contains("--resp-port; give -l, too"));
}

#[test]
fn an_expiry_that_is_over_ends_the_item_at_once() {
    let (_server, address) = sphinxd("-t 1");
    let mut talk = Talk::connect(address);
    for words in ["expire k 0", "expire k -1", "pexpire k 0", "pexpire k -1", "pexpireat k -1"] {
        assert_eq!(talk.ask("set k v"), "+OK");
        assert_eq!((talk.ask(words), talk.ask("exists k")), (":1".into(), ":0".into()), "{words}");
    }
}

#[test]
fn a_large_value_that_is_replaced_is_sent_from_its_place() {
    let (server, address) = sphinxd("-t 2 -m 512 -I 16m --lazy-memory");
    let (mut talk, mut client) = (Talk::connect(address), Client::connect(server.address));
    let value = "v".repeat(5 << 20);
    client.set("k", &value);
    assert!(talk.ask("getset k small") == format!("${value}"));
    assert_eq!(talk.ask("get k"), "$small");
    assert!(client.stat("values_lent") > 0);
}

#[test]
fn names_and_patterns_are_no_longer_than_makes_sense() {
    let (_server, address) = sphinxd("-t 1");
    let mut talk = Talk::connect(address);
    assert_eq!(talk.ask("client setname me"), "+OK");
    let long = "n".repeat(300);
    for words in ["client setname", "client setinfo lib-name", "client setinfo lib-ver", "hello 2 setname"] {
        assert_eq!(talk.ask(&format!("{words} {long}")), "-ERR a name has at most 256 bytes");
    }
    assert_eq!(talk.ask("client getname"), "$me");
    let pattern = "p".repeat(1000);
    assert!(talk.ask(&format!("scan 0 match {pattern}")).ends_with(", *[]]"));
    assert_eq!(talk.ask(&format!("config get {pattern}")), "*[]");
    let pattern = "p".repeat(1025);
    assert_eq!(talk.ask(&format!("scan 0 match {pattern}")), "-ERR a pattern has at most 1024 bytes");
    assert_eq!(talk.ask(&format!("config get {pattern}")), "-ERR the patterns are too long together");
    let names = " get".repeat(1024);
    assert_eq!(talk.ask(&format!("command info{names}")).matches("$get").count(), 1024);
    assert_eq!(talk.ask(&format!("command info{names} get")), "-ERR COMMAND INFO takes at most 1024 names");
}

#[test]
fn a_transaction_is_refused_and_its_commands_are_executed() {
    let (_server, address) = sphinxd("-t 1");
    let mut talk = Talk::connect(address);
    let words: [&[&[u8]]; 4] = [&[b"MULTI"], &[b"SET", b"k", b"v"], &[b"EXEC"], &[b"GET", b"k"]];
    talk.send(&words.map(command).concat());
    let replies = words.map(|_| talk.reply());
    for (reply, name) in [(&replies[0], "MULTI"), (&replies[2], "EXEC")] {
        assert!(reply.starts_with(&format!("-ERR unknown command \\'{name}\\': ")), "{reply}");
        assert!(reply.contains("this cache has no transactions; send a pipeline without MULTI"), "{reply}");
    }
    assert_eq!((replies[1].as_str(), replies[3].as_str()), ("+OK", "$v"));
}

#[test]
fn scans_leave_others_their_turn() {
    let (server, address) = sphinxd("-t 1");
    let mut talk = Talk::connect(address);
    talk.send(&command(&[b"SCAN", b"0"]).repeat(10));
    (0..10).for_each(|_| assert!(talk.reply().ends_with(", *[]]")));
    assert!(Client::connect(server.address).stat("conn_yields") > 0);
}

#[test]
fn a_log_has_no_long_names() {
    let (server, address) = sphinxd("-v -t 1");
    let user = vec![b'u'; 100_000];
    let mut talk = Talk::connect(address);
    talk.send(&command(&[b"AUTH", &user, b"x"]));
    assert!(talk.reply().starts_with("-WRONGPASS"));
    let deadline = Instant::now() + PATIENCE;
    let line = loop {
        let said = server.process.stderr_tail();
        if let Some(line) = said.into_iter().find(|line| line.contains("could not authenticate")) {
            break line;
        }
        assert!(Instant::now() < deadline, "nothing is logged");
        std::thread::park_timeout(Duration::from_millis(5));
    };
    assert!(line.len() < 1_000, "{} B", line.len());
}
