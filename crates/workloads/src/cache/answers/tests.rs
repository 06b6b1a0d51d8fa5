use openloop::{Fault, Parsed, Then, Workload};
use proto_memcache::client::udp::Header;
use spec::workload::Verify;

use super::CAS_TRIES;
use crate::cache::config::tests::config;
use crate::cache::job::Step;
use crate::cache::requests::tests::{cache, draw};
use crate::cache::{Cache, CacheConfig, Job, Kind, Login, OnMiss, Protocol, Wire};

/// The first job of a mix, with its request written.
fn first(cache: &mut Cache) -> Job {
    let mut job = draw(cache, 0).1[0].1;
    cache.request(&mut job, 0, &mut Vec::new());
    job
}

fn key(cache: &Cache, kind: Kind, n: u64) -> String {
    let mut key = Vec::new();
    cache.items.append_key(kind, n, &mut key);
    String::from_utf8(key).unwrap()
}

/// The answer to the only operation of a mix: its fault's kind (empty for none), and the counters.
fn answered(config: &CacheConfig, answer: &str) -> (&'static str, Vec<(String, u64, u64)>) {
    let mut cache = cache(config);
    let mut job = first(&mut cache);
    let answer = answer.replace('|', "\r\n").replace("KEY", &key(&cache, Kind::Data, job.n));
    match cache.response(&mut job, &mut Wire::default(), answer.as_bytes()) {
        Parsed::Done { used, outcome, then: Then::End } => {
            assert_eq!(used, answer.len());
            (outcome.err().map_or("", |fault| fault.kind), cache.counters())
        }
        other => panic!("{answer:?}: {other:?}"),
    }
}

fn counter(name: &str, count: u64, of: u64) -> (String, u64, u64) {
    (name.into(), count, of)
}

#[test]
fn a_login_is_answered_before_the_first_request() {
    for (protocol, miss) in [(Protocol::Ascii, "END\r\n"), (Protocol::Meta, "EN\r\n")] {
        let of_protocol = config("get:100").with(|options| options.protocol = protocol);
        let mut cache = cache(&CacheConfig { login: Login::read("me:secret"), ..of_protocol });
        let mut out = Vec::new();
        cache.greeting(&mut out);
        assert_eq!(out, b"set taillight:login 0 0 9\r\nme secret\r\n");
        let mut job = first(&mut cache);
        let mut wire = Wire::default();
        assert_eq!(cache.response(&mut job, &mut wire, b"STOR"), Parsed::Partial);
        assert_eq!(cache.response(&mut job, &mut wire, b"STORED\r\n"), Parsed::Used(8));
        for _ in 0..2 {
            assert_eq!(
                cache.response(&mut job, &mut wire, miss.as_bytes()),
                Parsed::done(miss.len(), Ok(()))
            );
        }
        let failure = "CLIENT_ERROR authentication failure";
        let answer = format!("{failure}\r\n");
        let refused = cache.response(&mut job, &mut Wire::default(), answer.as_bytes());
        assert_eq!(refused, Parsed::Refused(Fault::new("client error", failure)));
    }
}

#[test]
fn every_operation_knows_its_answers() {
    let check = |mix: &str, ascii: &str, meta: &str, kind: &str, count: (&str, u64, u64)| {
        for (protocol, answer) in [(Protocol::Ascii, ascii), (Protocol::Meta, meta)] {
            let config = config(&format!("{mix}:100")).with(|options| options.protocol = protocol);
            let (got, counts) = answered(&config, answer);
            assert_eq!(got, kind, "{mix}: {answer}");
            assert!(counts.contains(&counter(count.0, count.1, count.2)), "{mix}: {answer}: {counts:?}");
        }
    };
    for mix in ["get", "gat"] {
        check(mix, "VALUE KEY 0 3|abc|END|", "VA 3|abc|", "", ("hit_ratio", 1, 1));
        check(mix, "END|", "EN|", "", ("hit_ratio", 0, 1));
        check(mix, "VALUE KEY 0 2|ab|END|", "VA 2|ab|", "wrong size", ("hit_ratio", 1, 1));
        check(mix, "SERVER_ERROR busy|", "SERVER_ERROR busy|", "server error", ("hit_ratio", 0, 0));
    }
    check("gets", "VALUE KEY 0 3 7|abc|END|", "VA 3 c7|abc|", "", ("hit_ratio", 1, 1));
    check("set", "STORED|", "HD|", "", ("hit_ratio", 0, 0));
    check("set", "NOT_STORED|", "NS|", "not stored", ("hit_ratio", 0, 0));
    check("set", "CLIENT_ERROR bad|", "CLIENT_ERROR bad|", "client error", ("hit_ratio", 0, 0));
    check("set", "ERROR|", "ERROR|", "unknown command", ("hit_ratio", 0, 0));
    for mix in ["add", "replace", "append", "prepend", "insert"] {
        check(mix, "STORED|", "HD|", "", ("not_stored", 0, 1));
        check(mix, "NOT_STORED|", "NS|", "", ("not_stored", 1, 1));
        check(mix, "NOT_FOUND|", "NF|", "unexpected answer", ("not_stored", 0, 1));
    }
    check("delete", "DELETED|", "HD|", "", ("not_found", 0, 1));
    check("delete", "NOT_FOUND|", "NF|", "", ("not_found", 1, 1));
    check("touch", "TOUCHED|", "HD|", "", ("not_found", 0, 1));
    check("touch", "NOT_FOUND|", "EN|", "", ("not_found", 1, 1));
    for mix in ["incr", "decr"] {
        check(mix, "12|", "VA 2|12|", "", ("not_found", 0, 1));
        check(mix, "NOT_FOUND|", "NF|", "", ("not_found", 1, 1));
        let text = "CLIENT_ERROR cannot increment or decrement non-numeric value|";
        check(mix, text, text, "client error", ("hit_ratio", 0, 0));
    }
    check("cas", "END|", "EN|", "", ("not_found", 1, 1));
    check("cas", "VALUE KEY 0 3|abc|END|", "VA 3|abc|", "no unique number", ("hit_ratio", 0, 0));
}

#[test]
fn partial_answers_and_garbage_are_told_apart() {
    let mut cache = cache(&config("get:100"));
    let mut job = first(&mut cache);
    let mut wire = Wire::default();
    assert_eq!(cache.response(&mut job, &mut wire, b"VALUE t:000001 0 3\r\nabc\r\nEN"), Parsed::Partial);
    let whole = b"VALUE t:000001 0 3\r\nabc\r\nEND\r\nmore";
    assert_eq!(cache.response(&mut job, &mut wire, whole), Parsed::done(30, Ok(())));
    let garbage = cache.response(&mut job, &mut wire, b"HTTP/1.1 400 Bad Request\r\n");
    assert!(matches!(garbage, Parsed::Garbage(_)), "{garbage:?}");
    cache.window_opens();
    assert_eq!(cache.counters(), [counter("hit_ratio", 0, 0)]);
}

/// The next request of `cache`, after `answer`; `None` if the part is done.
fn step(cache: &mut Cache, job: &mut Job, answer: &str) -> (Option<String>, Result<(), Fault>) {
    let parsed = cache.response(job, &mut Wire::default(), answer.replace('|', "\r\n").as_bytes());
    let Parsed::Done { outcome, then, .. } = parsed else { panic!("{parsed:?}") };
    let mut out = Vec::new();
    match then {
        Then::End | Then::Close => return (None, outcome),
        Then::Again { endpoint } | Then::Anew { endpoint } => {
            assert_eq!(endpoint, 0);
            cache.request(job, 0, &mut out);
        }
        Then::Also { operation, endpoint, job: mut next } => {
            assert_eq!((operation, endpoint), (cache.operations().len() - 1, 0));
            cache.request(&mut next, 0, &mut out);
            *job = next;
        }
    }
    (Some(String::from_utf8(out).unwrap().replace("\r\n", "|")), outcome)
}

#[test]
fn cas_reads_then_compares_and_tries_again() {
    for (protocol, read, hit, exists, stored) in [
        (Protocol::Ascii, "gets KEY|", "VALUE KEY 0 3 77|abc|END|", "EXISTS|", "STORED|"),
        (Protocol::Meta, "mg KEY v c|", "VA 3 c77|abc|", "EX|", "HD|"),
    ] {
        let mut cache = cache(&config("cas:100").with(|options| options.protocol = protocol));
        let mut job = first(&mut cache);
        let key = key(&cache, Kind::Data, job.n);
        let compare = match protocol {
            Protocol::Ascii => format!("cas {key} 0 0 3 77|abc|"),
            _ => format!("ms {key} 3 C77|abc|"),
        };
        let (read, hit) = (read.replace("KEY", &key), hit.replace("KEY", &key));
        assert_eq!(step(&mut cache, &mut job, &hit), (Some(compare.clone()), Ok(())));
        assert_eq!(step(&mut cache, &mut job, exists), (Some(read), Ok(())));
        assert_eq!(step(&mut cache, &mut job, &hit), (Some(compare), Ok(())));
        assert_eq!(step(&mut cache, &mut job, stored), (None, Ok(())));
        assert!(cache.counters().contains(&counter("cas_retries", 1, 1)));
    }
}

#[test]
fn cas_gives_up() {
    let mut cache = cache(&config("cas:100"));
    let mut job = first(&mut cache);
    let hit = format!("VALUE {} 0 3 5|abc|END|", key(&cache, Kind::Data, job.n));
    for attempt in 1..=CAS_TRIES {
        assert!(step(&mut cache, &mut job, &hit).0.unwrap().starts_with("cas "));
        let (next, outcome) = step(&mut cache, &mut job, "EXISTS|");
        assert_eq!(next.is_none(), attempt == CAS_TRIES);
        assert_eq!(outcome.is_err(), attempt == CAS_TRIES);
    }
    assert!(cache.counters().contains(&counter("cas_retries", u64::from(CAS_TRIES) - 1, 1)));
}

#[test]
fn a_miss_is_stored_where_that_is_asked_for() {
    for (protocol, miss, stored) in [(Protocol::Ascii, "END|", "STORED|"), (Protocol::Meta, "EN|", "HD|")] {
        let mut cache = cache(&config("get:100").with(|options| {
            (options.protocol, options.on_miss) = (protocol, OnMiss::Set);
        }));
        assert_eq!((cache.operations(), cache.follow_ups()), (vec!["get".into(), "set on miss".into()], 1));
        let mut job = first(&mut cache);
        let key = key(&cache, Kind::Data, job.n);
        let expect = match protocol {
            Protocol::Ascii => format!("set {key} 0 0 3|abc|"),
            _ => format!("ms {key} 3|abc|"),
        };
        assert_eq!(step(&mut cache, &mut job, miss), (Some(expect), Ok(())));
        assert_eq!(step(&mut cache, &mut job, stored), (None, Ok(())));
        assert!(cache.counters().contains(&counter("sets_on_miss", 1, 1)));
    }
}

#[test]
fn the_missing_keys_of_a_multi_get_are_stored() {
    let mut cache = cache(&config("mget(4):100").with(|options| options.on_miss = OnMiss::Set));
    let mut job = first(&mut cache);
    cache.list_keys(&job);
    let keys: Vec<String> = cache.numbers.clone().iter().map(|&n| key(&cache, Kind::Data, n)).collect();
    let answer = format!("VALUE {} 0 3|abc|VALUE {} 0 3|abc|END|", keys[1], keys[2]);
    let expect = format!("set {} 0 0 3|abc|set {} 0 0 3|abc|", keys[0], keys[3]);
    assert_eq!(step(&mut cache, &mut job, &answer), (Some(expect), Ok(())));
    assert_eq!(job.step, Step::SetAllMissing);
    let mut wire = Wire::default();
    assert_eq!(cache.response(&mut job, &mut wire, b"STORED\r\nSTO"), Parsed::Partial);
    let all = b"STORED\r\nSTORED\r\nEND\r\n";
    assert_eq!(cache.response(&mut job, &mut wire, all), Parsed::done(16, Ok(())));
    assert!(cache.counters().contains(&counter("sets_on_miss", 2, 2)));
    assert!(cache.counters().contains(&counter("hit_ratio", 2, 4)));
    // The wire is ready for the next, and one refusal makes the whole an error.
    let refused = b"SERVER_ERROR out of memory storing object\r\nSTORED\r\n";
    let parsed = cache.response(&mut job, &mut wire, refused);
    let fault = Fault::new("server error", "SERVER_ERROR out of memory storing object");
    assert_eq!(parsed, Parsed::done(refused.len(), Err(fault)));
    // Everything there: nothing follows.
    let mut job = first(&mut cache);
    cache.list_keys(&job);
    let numbers = cache.numbers.clone();
    let values = numbers.iter().map(|&n| format!("VALUE {} 0 3|abc|", key(&cache, Kind::Data, n)));
    let answer = values.collect::<String>() + "END|";
    assert_eq!(step(&mut cache, &mut job, &answer), (None, Ok(())));
}

#[test]
fn wrong_contents_are_found() {
    let verified = |mix: &str, protocol| {
        config(mix).with(|options| {
            (options.value_size, options.verify) = ("24".parse().unwrap(), Some(Verify::Checksum));
            options.protocol = protocol;
        })
    };
    let check = |mix: &str, protocol, of: Kind, version: u64, kind: &str, failures: u64| {
        let mut cache = cache(&verified(mix, protocol));
        let mut job = first(&mut cache);
        cache.list_keys(&job);
        let n = if job.step == Step::MultiGet { cache.numbers[0] } else { job.n };
        let name = key(&cache, Kind::Data, n);
        let mut value = Vec::new();
        cache.items.append_value(Kind::Data, n, key(&cache, of, n).as_bytes(), version, &mut value);
        let mut answer = match (protocol, job.step) {
            (Protocol::Ascii, _) => format!("VALUE {name} 0 24\r\n"),
            (Protocol::Meta, Step::MultiGet) => format!("VA 24 k{name}\r\n"),
            _ => "VA 24\r\n".into(),
        }
        .into_bytes();
        answer.extend_from_slice(&value);
        answer.extend_from_slice(match (protocol, job.step) {
            (Protocol::Ascii, _) => b"\r\nEND\r\n",
            (Protocol::Meta, Step::MultiGet) => b"\r\nMN\r\n",
            _ => b"\r\n",
        });
        let parsed = cache.response(&mut job, &mut Wire::default(), &answer);
        let Parsed::Done { outcome, .. } = parsed else { panic!("{parsed:?}") };
        assert_eq!(outcome.err().map_or("", |fault| fault.kind), kind, "{mix}");
        assert!(cache.counters().contains(&counter("verify_failures", failures, 1)), "{mix}");
    };
    for mix in ["get:100", "mget(3):100"] {
        for protocol in [Protocol::Ascii, Protocol::Meta] {
            check(mix, protocol, Kind::Data, 0, "", 0);
            check(mix, protocol, Kind::Data, (1 << 40) + 1, "wrong value", 1);
            check(mix, protocol, Kind::Grown, 0, "wrong value", 1);
        }
    }
}

#[test]
fn a_value_for_another_key_is_a_wrong_one() {
    let mut cache = cache(&config("mget(2):100").with(|options| options.verify = Some(Verify::Checksum)));
    let mut job = first(&mut cache);
    let answer = b"VALUE other 0 3\r\nabc\r\nEND\r\n";
    let parsed = cache.response(&mut job, &mut Wire::default(), answer);
    assert!(matches!(parsed, Parsed::Done { outcome: Err(ref fault), .. } if fault.kind == "wrong value"));
    assert!(cache.counters().contains(&counter("verify_failures", 1, 1)));
}

fn datagram(sequence: u16, count: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Header { request: 5, sequence, count }.append(&mut out);
    out.extend_from_slice(payload);
    out
}

#[test]
fn datagrams_are_put_together_and_counted() {
    let mut cache = cache(&config("get:100").with(|options| options.udp = true));
    let mut job = first(&mut cache);
    let text = format!("VALUE {} 0 3\r\nabc\r\nEND\r\n", key(&cache, Kind::Data, job.n));
    let (a, b) = text.as_bytes().split_at(10);
    let mut wire = Wire::default();
    assert_eq!(cache.tag(&datagram(0, 1, b"END\r\n")), Some(5));
    assert_eq!(cache.tag(b"short"), None);
    let mut give = |cache: &mut Cache, bytes: &[u8]| cache.datagram(&mut job, &mut wire, bytes);
    assert_eq!(give(&mut cache, &datagram(1, 2, b)), Parsed::Partial);
    assert_eq!(give(&mut cache, &datagram(1, 2, b)), Parsed::Partial);
    assert_eq!(give(&mut cache, &datagram(7, 2, b)), Parsed::Partial);
    assert!(matches!(give(&mut cache, &datagram(0, 2, a)), Parsed::Done { outcome: Ok(()), .. }));
    // A late answer to an earlier request with the same number, for another key.
    assert_eq!(give(&mut cache, &datagram(0, 1, b"VALUE t:other 0 3\r\nabc\r\nEND\r\n")), Parsed::Partial);
    assert!(matches!(give(&mut cache, &datagram(0, 1, b"END\r\n")), Parsed::Done { outcome: Ok(()), .. }));
    let expect = [
        counter("hit_ratio", 1, 2),
        counter("udp_reordered_datagrams", 1, 6),
        counter("udp_duplicate_datagrams", 1, 6),
        counter("udp_stray_datagrams", 2, 6),
        counter("udp_multi_datagram_replies", 1, 2),
    ];
    assert_eq!(cache.counters(), expect);
}

#[test]
fn a_reply_over_udp_that_is_no_answer_is_an_error_of_one_request() {
    let check = |payload: &[u8], kind: &str| {
        let mut cache = cache(&config("get:100").with(|options| options.udp = true));
        let mut job = first(&mut cache);
        let parsed = cache.datagram(&mut job, &mut Wire::default(), &datagram(0, 1, payload));
        let Parsed::Done { outcome, .. } = parsed else { panic!("{parsed:?}") };
        assert_eq!(outcome.unwrap_err().kind, kind);
    };
    check(b"HTTP/1.1 400\r\n", "malformed reply");
    check(b"VALUE t:000001 0 3\r\nab", "malformed reply");
    check(b"SERVER_ERROR out of memory\r\n", "server error");
}

#[test]
fn a_multi_get_over_udp_may_come_in_many_messages() {
    let mut cache = cache(&config("mget(3):100").with(|options| options.udp = true));
    let mut job = first(&mut cache);
    cache.list_keys(&job);
    let keys: Vec<String> = cache.numbers.clone().iter().map(|&n| key(&cache, Kind::Data, n)).collect();
    let value = |i: usize| format!("VALUE {} 0 3\r\nabc\r\n", keys[i]).into_bytes();
    let last = [value(2), b"END\r\n".to_vec()].concat();
    let mut wire = Wire::default();
    let mut give = |cache: &mut Cache, bytes: &[u8]| cache.datagram(&mut job, &mut wire, bytes);
    // In another order, one of them in two datagrams around another, and one twice.
    assert_eq!(give(&mut cache, &datagram(1, 2, &value(1)[9..])), Parsed::Partial);
    assert_eq!(give(&mut cache, &datagram(0, 1, &value(0))), Parsed::Partial);
    assert_eq!(give(&mut cache, &datagram(0, 1, &value(0))), Parsed::Partial);
    assert_eq!(give(&mut cache, &datagram(0, 2, &value(1)[..9])), Parsed::Partial);
    // A quiet miss by the meta protocol says nothing, in a datagram.
    assert_eq!(give(&mut cache, &datagram(0, 0, b"")), Parsed::Partial);
    assert!(matches!(give(&mut cache, &datagram(0, 1, &last)), Parsed::Done { outcome: Ok(()), .. }));
    let expect = [
        counter("hit_ratio", 3, 3),
        counter("udp_reordered_datagrams", 1, 6),
        counter("udp_duplicate_datagrams", 1, 6),
        counter("udp_stray_datagrams", 0, 6),
        counter("udp_multi_datagram_replies", 1, 1),
    ];
    assert_eq!(cache.counters(), expect);
}
