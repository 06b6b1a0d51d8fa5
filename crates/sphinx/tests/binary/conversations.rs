//! Requests, and their required answers.

use proto_memcache::binary::testing::Packet;
use proto_memcache::binary::{NO_VIVIFY, Status, opcode};

use crate::binary::talk::{Talk, get, set};

/// A conversation with a server whose cache is empty; it may open further connections.
type Conversation = fn(&mut Talk, &dyn Fn() -> Talk);

pub(crate) const ALL: [(&str, Conversation); 12] = [
    ("storage", storage),
    ("unique numbers", unique_numbers),
    ("get", get_of_all_kinds),
    ("append and prepend", append_and_prepend),
    ("counters", counters),
    ("delete", delete),
    ("touch", touch),
    ("expiry", expiry),
    ("pipelines", pipelines),
    ("sizes", sizes),
    ("the server", the_server),
    ("refused", refused),
];

fn new(code: u8) -> Packet<'static> {
    Packet::new(code)
}

fn storage(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    talk.says(new(opcode::REPLACE).key(key).store(0, 0).value(b"v"), Status::NotFound);
    talk.says(new(opcode::REPLACEQ).key(key).store(0, 0).value(b"v"), Status::NotFound);
    talk.stored(new(opcode::ADD).key(key).store(0xdead_beef, 0).value(b"1"));
    talk.says(new(opcode::ADD).key(key).store(0, 0).value(b"2"), Status::Exists);
    talk.says(new(opcode::ADDQ).key(key).store(0, 0).value(b"2"), Status::Exists);
    talk.shows(get(key), 0xdead_beef, b"", b"1");
    talk.stored(new(opcode::REPLACE).key(key).store(3, 0).value(b""));
    talk.shows(get(key), 3, b"", b"");
    talk.silent(new(opcode::REPLACEQ).key(key).store(0, 0).value(b"4"));
    talk.silent(new(opcode::SETQ).key(b"other").store(0, 0).value(b"5"));
    talk.silent(new(opcode::ADDQ).key(b"third").store(0, 0).value(b"6"));
    talk.shows(get(key), 0, b"", b"4");
    talk.shows(get(b"other"), 0, b"", b"5");
    talk.shows(get(b"third"), 0, b"", b"6");
    // Keys and values may be any bytes.
    let any: Vec<u8> = (0..=255).collect();
    let key = &any[..250];
    talk.stored(set(key, &any));
    talk.shows(new(opcode::GETK).key(key), 0, key, &any);
    talk.shows(new(opcode::GATK).key(key).touch(0), 0, key, &any);
}

fn unique_numbers(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    talk.says(set(key, b"1").cas(1), Status::NotFound);
    talk.says(new(opcode::ADD).key(key).store(0, 0).value(b"1").cas(1), Status::NotFound);
    let first = talk.stored(set(key, b"1"));
    assert_eq!(talk.shows(get(key), 0, b"", b"1"), first);
    let second = talk.stored(set(key, b"2").cas(first));
    assert!(second != first);
    talk.says(set(key, b"3").cas(first), Status::Exists);
    talk.says(new(opcode::SETQ).key(key).store(0, 0).value(b"3").cas(first), Status::Exists);
    talk.says(new(opcode::REPLACE).key(key).store(0, 0).value(b"3").cas(first), Status::Exists);
    talk.silent(new(opcode::REPLACEQ).key(key).store(0, 0).value(b"3").cas(second));
    let third = talk.shows(new(opcode::GETQ).key(key), 0, b"", b"3");
    // With a unique number, `add` stores over an item.
    let fourth = talk.stored(new(opcode::ADD).key(key).store(0, 0).value(b"4").cas(third));
    talk.says(new(opcode::APPEND).key(key).value(b"5").cas(third), Status::Exists);
    let fifth = talk.stored(new(opcode::APPEND).key(key).value(b"5").cas(fourth));
    assert_eq!(talk.shows(get(key), 0, b"", b"45"), fifth);
    talk.says(new(opcode::INCREMENT).key(key).count(1, 0, 0).cas(fourth), Status::Exists);
    let sixth = talk.counts(new(opcode::INCREMENT).key(key).count(1, 0, 0).cas(fifth), 46);
    assert_eq!(talk.shows(new(opcode::GAT).key(key).touch(0), 0, b"", b"46"), sixth);
    assert_eq!(talk.shows(new(opcode::TOUCH).key(key).touch(0), 0, b"", b""), sixth);
    talk.says(new(opcode::DELETE).key(key).cas(fifth), Status::Exists);
    talk.says(new(opcode::DELETEQ).key(key).cas(fifth), Status::Exists);
    talk.silent(new(opcode::DELETEQ).key(key).cas(sixth));
    talk.says(get(key), Status::NotFound);
}

fn get_of_all_kinds(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    talk.says(get(key), Status::NotFound);
    talk.silent(new(opcode::GETQ).key(key));
    talk.silent(new(opcode::GETKQ).key(key));
    talk.silent(new(opcode::GATQ).key(key).touch(0));
    talk.silent(new(opcode::GATKQ).key(key).touch(0));
    talk.says(new(opcode::GAT).key(key).touch(0), Status::NotFound);
    for packet in [new(opcode::GETK).key(key), new(opcode::GATK).key(key).touch(0)] {
        let answers = talk.ask(packet);
        assert_eq!(answers.len(), 1);
        assert_eq!((answers[0].status(), &answers[0].key[..]), (Status::NotFound, key));
        assert!(answers[0].value.is_empty() && answers[0].extras.is_empty());
    }
    let cas = talk.stored(new(opcode::SET).key(key).store(7, 0).value(b"value"));
    for (code, shown) in
        [(opcode::GET, &b""[..]), (opcode::GETQ, b""), (opcode::GETK, key), (opcode::GETKQ, key)]
    {
        assert_eq!(talk.shows(new(code).key(key), 7, shown, b"value"), cas);
    }
    for (code, shown) in
        [(opcode::GAT, &b""[..]), (opcode::GATQ, b""), (opcode::GATK, key), (opcode::GATKQ, key)]
    {
        assert_eq!(talk.shows(new(code).key(key).touch(100), 7, shown, b"value"), cas);
    }
}

fn append_and_prepend(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    for code in [opcode::APPEND, opcode::APPENDQ, opcode::PREPEND, opcode::PREPENDQ] {
        talk.says(new(code).key(key).value(b"v"), Status::NotStored);
    }
    talk.stored(new(opcode::SET).key(key).store(9, 0).value(b"v"));
    talk.stored(new(opcode::APPEND).key(key).value(b">"));
    talk.stored(new(opcode::PREPEND).key(key).value(b"<"));
    talk.silent(new(opcode::APPENDQ).key(key).value(b">>"));
    talk.silent(new(opcode::PREPENDQ).key(key).value(b"<<"));
    talk.stored(new(opcode::APPEND).key(key));
    talk.shows(get(key), 9, b"", b"<<<v>>>");
}

fn counters(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    for code in [opcode::INCREMENT, opcode::INCREMENTQ, opcode::DECREMENT, opcode::DECREMENTQ] {
        talk.says(new(code).key(key).count(1, 2, NO_VIVIFY), Status::NotFound);
    }
    talk.counts(new(opcode::INCREMENT).key(key).count(1, 10, 0), 10);
    talk.counts(new(opcode::INCREMENT).key(key).count(u64::MAX, 0, NO_VIVIFY), 9);
    talk.counts(new(opcode::DECREMENT).key(key).count(4, 0, 0), 5);
    talk.silent(new(opcode::INCREMENTQ).key(key).count(7, 0, 0));
    talk.silent(new(opcode::DECREMENTQ).key(key).count(2, 0, 0));
    talk.counts(new(opcode::INCREMENT).key(key).count(0, 0, 0), 10);
    talk.counts(new(opcode::DECREMENT).key(key).count(11, 0, 0), 0);
    talk.silent(new(opcode::DECREMENTQ).key(b"made").count(1, 77, 3600));
    talk.shows(get(b"made"), 0, b"", b"77");
    talk.counts(new(opcode::INCREMENT).key(b"large").count(1, u64::MAX, 0), u64::MAX);
    talk.counts(new(opcode::INCREMENT).key(b"large").count(1, 0, 0), 0);
    for value in [&b"x"[..], b"", b"-1", b"1x", b"99999999999999999999"] {
        talk.stored(set(b"text", value));
        talk.says(new(opcode::INCREMENT).key(b"text").count(1, 0, 0), Status::NonNumeric);
        talk.says(new(opcode::DECREMENTQ).key(b"text").count(1, 0, 0), Status::NonNumeric);
    }
    talk.stored(new(opcode::SET).key(b"flags").store(5, 0).value(b"1"));
    talk.counts(new(opcode::INCREMENT).key(b"flags").count(1, 0, 0), 2);
    talk.shows(get(b"flags"), 5, b"", b"2");
}

fn delete(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    talk.says(new(opcode::DELETE).key(key), Status::NotFound);
    talk.says(new(opcode::DELETEQ).key(key), Status::NotFound);
    talk.stored(set(key, b"v"));
    let answers = talk.ask(new(opcode::DELETE).key(key));
    assert_eq!((answers.len(), answers[0].header.body, answers[0].header.cas), (1, 0, 0));
    talk.says(get(key), Status::NotFound);
    talk.stored(set(key, b"v"));
    talk.silent(new(opcode::DELETEQ).key(key));
    talk.says(get(key), Status::NotFound);
    talk.stored(set(key, b"v"));
    talk.silent(new(opcode::FLUSHQ));
    talk.says(get(key), Status::NotFound);
    talk.stored(set(key, b"v"));
    talk.silent(new(opcode::FLUSHQ).touch(3600));
    talk.shows(get(key), 0, b"", b"v");
    let answers = talk.ask(new(opcode::FLUSH).touch(0));
    assert_eq!((answers.len(), answers[0].header.body), (1, 0));
    talk.says(get(key), Status::NotFound);
}

fn touch(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    talk.says(new(opcode::TOUCH).key(key).touch(10), Status::NotFound);
    let cas = talk.stored(new(opcode::SET).key(key).store(6, 0).value(b"v"));
    assert_eq!(talk.shows(new(opcode::TOUCH).key(key).touch(100), 6, b"", b""), cas);
    talk.shows(get(key), 6, b"", b"v");
    // A date that is past ends it.
    talk.shows(new(opcode::TOUCH).key(key).touch(1_000_000_000), 6, b"", b"");
    talk.says(get(key), Status::NotFound);
    talk.stored(set(key, b"v"));
    talk.shows(new(opcode::GATK).key(key).touch(1_000_000_000), 0, key, b"v");
    talk.silent(new(opcode::GETQ).key(key));
}

fn expiry(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    // Never, a span, and a date long ahead, which a signed number would take for one in the past.
    for exptime in [0, 100, 2_592_000, 4_000_000_000, u32::MAX] {
        talk.stored(new(opcode::SET).key(b"key").store(0, exptime).value(b"v"));
        talk.shows(get(b"key"), 0, b"", b"v");
    }
    talk.stored(new(opcode::SET).key(b"key").store(0, 1_000_000_000).value(b"v"));
    talk.says(get(b"key"), Status::NotFound);
    talk.counts(new(opcode::INCREMENT).key(b"number").count(1, 1, 1_000_000_000), 1);
    talk.counts(new(opcode::INCREMENT).key(b"number").count(1, 7, 0), 7);
}

fn pipelines(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let keys: Vec<String> = (0..200).map(|i| format!("key-{i}")).collect();
    let sets: Vec<Packet> = (keys.iter().step_by(2))
        .map(|key| new(opcode::SETQ).key(key.as_bytes()).store(0, 0).value(key.as_bytes()))
        .collect();
    let (answers, closed) = talk.ask_all(&sets);
    assert!(answers.is_empty() && !closed);
    let gets: Vec<Packet> = keys.iter().map(|key| new(opcode::GETKQ).key(key.as_bytes())).collect();
    let (answers, _) = talk.ask_all(&gets);
    let found: Vec<&[u8]> = answers.iter().map(|answer| &answer.value[..]).collect();
    let expect: Vec<&[u8]> = keys.iter().step_by(2).map(|key| key.as_bytes()).collect();
    assert_eq!(found, expect);
    // Errors of quiet requests are in order between other answers.
    let mut mixed = Vec::new();
    for key in &keys[..50] {
        let key = key.as_bytes();
        mixed.extend([new(opcode::DELETEQ).key(key), new(opcode::GETQ).key(key), new(opcode::NOOP)]);
    }
    let (answers, _) = talk.ask_all(&mixed);
    assert_eq!(answers.len(), 75);
    let statuses: Vec<Status> = answers.iter().map(|answer| answer.status()).collect();
    for three in statuses.chunks(3) {
        assert_eq!(three, [Status::Done, Status::NotFound, Status::Done]);
    }
}

fn sizes(talk: &mut Talk, _: &dyn Fn() -> Talk) {
    let key = &b"key"[..];
    for length in [1, 100, 4_000, 5_000, 20_000, 100_000, 500_000] {
        let value: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        talk.stored(set(key, &value));
        talk.shows(new(opcode::GETK).key(key), 0, key, &value);
    }
    // As in the text protocol: 1 MiB with all that belongs to an item.
    let value = vec![b'v'; 1 << 20];
    let most = (1 << 20) - 59 - key.len();
    talk.stored(set(key, &value[..most]));
    talk.shows(get(key), 0, b"", &value[..most]);
    talk.says(new(opcode::ADD).key(key).store(0, 0).value(&value[..most + 1]), Status::TooLarge);
    talk.shows(get(key), 0, b"", &value[..most]);
    talk.says(new(opcode::SETQ).key(key).store(0, 0).value(&value), Status::TooLarge);
    // Better no value than an old one.
    talk.says(get(key), Status::NotFound);
    talk.says(new(opcode::APPEND).key(key).value(&value), Status::TooLarge);
    talk.stored(set(key, &value[..600_000]));
    talk.says(new(opcode::APPEND).key(key).value(&value[..600_000]), Status::NotStored);
}

fn the_server(talk: &mut Talk, connect: &dyn Fn() -> Talk) {
    let answers = talk.ask(new(opcode::VERSION));
    let version = String::from_utf8(answers[0].value.clone()).unwrap();
    assert!(version.starts_with("1.6."), "{version}");
    talk.stored(set(b"key", b"value"));
    talk.shows(get(b"key"), 0, b"", b"value");
    let stats = talk.stats(b"");
    for name in ["pid", "uptime", "time", "version", "curr_items", "get_hits", "cmd_set", "bytes"] {
        assert!(stats.iter().any(|(other, value)| other == name && !value.is_empty()), "{name}: {stats:?}");
    }
    let has = |stats: &[(String, String)], start: &str| stats.iter().any(|(name, _)| name.starts_with(start));
    assert!(has(&talk.stats(b"settings"), "maxbytes"));
    assert!(has(&talk.stats(b"items"), "items:"));
    assert!(has(&talk.stats(b"slabs"), "active_slabs"));
    assert!(talk.stats(b"reset").is_empty());
    talk.says(new(opcode::STAT).key(b"nothing of the kind"), Status::NotFound);
    talk.stats(b"detail on");
    talk.stored(set(b"prefix:key", b"value"));
    talk.shows(get(b"prefix:key"), 0, b"", b"value");
    let detail = talk.stats(b"detail dump");
    assert_eq!((detail.len(), detail[0].0.as_str()), (1, "detailed"));
    assert!(detail[0].1.contains("PREFIX prefix get 1 hit 1 set 1 del 0\r\n"), "{}", detail[0].1);
    assert!(detail[0].1.ends_with("END\r\n"));
    talk.stats(b"detail off");
    talk.says(new(0x30), Status::Unknown);
    talk.says(new(0xff), Status::Unknown);
    // Without users SASL is unavailable.
    talk.says(new(opcode::SASL_LIST), Status::Unknown);
    talk.says(new(opcode::SASL_AUTH).key(b"PLAIN").value(b"\0ann\0secret"), Status::Unknown);
    let mut other = connect();
    let (answers, closed) = other.ask_all(&[new(opcode::QUIT)]);
    assert!(closed);
    assert!(answers.iter().all(|answer| answer.status() == Status::Done) && answers.len() <= 1);
    let (answers, closed) = connect().ask_all(&[set(b"key", b"last"), new(opcode::QUITQ)]);
    assert!(closed && answers.len() <= 1);
}

fn refused(_: &mut Talk, connect: &dyn Fn() -> Talk) {
    let long = [b'k'; 251];
    let check = |packet: Packet<'_>, status: Status| connect().refuses(packet, status);
    check(get(&long), Status::Invalid);
    check(get(b""), Status::Invalid);
    check(get(b"k").value(b"v"), Status::Invalid);
    check(get(b"k").touch(1), Status::Invalid);
    check(new(opcode::SET).key(b"k").value(b"v"), Status::Invalid);
    check(new(opcode::SET).store(0, 0).value(b"v"), Status::Invalid);
    check(new(opcode::APPEND).value(b"v"), Status::Invalid);
    check(new(opcode::DELETE), Status::Invalid);
    check(new(opcode::INCREMENT).key(b"k"), Status::Invalid);
    check(new(opcode::TOUCH).key(b"k"), Status::Invalid);
    check(new(opcode::GAT).touch(0), Status::Invalid);
    check(new(opcode::FLUSH).key(b"k"), Status::Invalid);
    check(new(opcode::NOOP).key(b"k"), Status::Invalid);
    check(new(opcode::VERSION).touch(0), Status::Invalid);
    check(new(opcode::QUIT).key(b"k"), Status::Invalid);
    check(new(opcode::STAT).key(b"k").touch(0), Status::Invalid);
    // An invalid request closes the connection without an answer.
    let mut talk = connect();
    let mut bytes = Vec::new();
    new(opcode::NOOP).append(&mut bytes);
    bytes.extend([0x81; 24]);
    talk.send(&bytes);
    assert!(talk.next().is_none_or(|answer| answer.status() == Status::Done));
    assert!(talk.next().is_none());
}
