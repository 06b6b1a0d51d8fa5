use std::result::Result;

use openloop::Workload;
use spec::workload::Verify;

use super::*;
use crate::cache::config::tests::config;
use crate::cache::requests::tests::{cache, draw};
use crate::cache::{CacheConfig, Cluster, Login, OnMiss, Placement, Protocol};

fn resp(mix: &str) -> CacheConfig {
    config(mix).with(|options| options.protocol = Protocol::Resp)
}

/// A Redis Cluster of these ports; all slots are the first one's.
fn cluster(ports: &[u16], config: CacheConfig) -> CacheConfig {
    let server = |port: &u16| format!("127.0.0.1:{port}").parse().unwrap();
    let cluster = Cluster { servers: ports.iter().map(server).collect(), placement: Placement::Cluster };
    CacheConfig { cluster, ..config }
}

/// The request of a job, line ends as `|`.
fn written(cache: &mut Cache, job: &mut Job) -> String {
    let mut out = Vec::new();
    cache.request(job, 0, &mut out);
    String::from_utf8(out).unwrap().replace("\r\n", "|")
}

fn first(cache: &mut Cache) -> Job {
    let mut job = draw(cache, 0).1[0].1;
    written(cache, &mut job);
    job
}

/// The next request, and where, after this answer; the fault's kind if it is an error.
fn step(cache: &mut Cache, job: &mut Job, answer: &str) -> Result<Option<(usize, String)>, &'static str> {
    let answer = answer.replace('|', "\r\n");
    let mut wire = Wire::default();
    for cut in 0..answer.len() {
        assert_eq!(cache.response(job, &mut wire, &answer.as_bytes()[..cut]), Parsed::Partial, "{answer:?}");
    }
    let Parsed::Done { used, outcome, then } = cache.response(job, &mut wire, answer.as_bytes()) else {
        panic!("{answer:?}")
    };
    assert_eq!(used, answer.len());
    outcome.map_err(|fault| fault.kind)?;
    Ok(match then {
        Then::Again { endpoint } => Some((endpoint, written(cache, job))),
        Then::Also { endpoint, job: next, .. } => {
            *job = next;
            Some((endpoint, written(cache, job)))
        }
        _ => None,
    })
}

fn counted(cache: &Cache, name: &str) -> (u64, u64) {
    cache.counters().into_iter().find(|(known, _, _)| known == name).map_or((0, 0), |(_, n, of)| (n, of))
}

#[test]
fn golden_bytes_of_each_operation() {
    let check = |mix: &str, expiry: &str, expect: &str| {
        let config = resp(&format!("{mix}:100")).with(|options| options.expiry = expiry.parse().unwrap());
        let mut cache = cache(&config);
        let mut job = draw(&mut cache, 0).1[0].1;
        assert_eq!(written(&mut cache, &mut job), expect, "{mix}");
    };
    check("get", "7", "*2|$3|GET|$8|t:000082|");
    check("mget(3)", "7", "*4|$4|MGET|$8|t:000009|$8|t:000034|$8|t:000045|");
    check("set", "0", "*3|$3|SET|$8|t:000082|$3|abc|");
    check("set", "7", "*5|$3|SET|$8|t:000082|$3|abc|$2|EX|$1|7|");
    check("add", "7", "*6|$3|SET|$8|t:000082|$3|abc|$2|NX|$2|EX|$1|7|");
    check("replace", "0", "*4|$3|SET|$8|t:000082|$3|abc|$2|XX|");
    check("insert", "0", "*4|$3|SET|$8|t:000100|$3|abc|$2|NX|");
    check("append", "0", "*3|$6|APPEND|$8|t:a00082|$8|+piece+\n|");
    check("delete", "0", "*2|$3|DEL|$8|t:000082|");
    check("incr", "0", "*2|$4|INCR|$8|t:c00082|");
    check("decr", "0", "*2|$4|DECR|$8|t:c00082|");
    check("touch", "7", "*3|$6|EXPIRE|$8|t:000082|$1|7|");
    check("touch", "0", "*2|$5|TOUCH|$8|t:000082|");
    check("gat", "7", "*4|$5|GETEX|$8|t:000082|$2|EX|$1|7|");
}

#[test]
fn every_operation_knows_its_answers() {
    let check = |mix: &str, answer: &str, kind: &str, (name, count, of): (&str, u64, u64)| {
        let mut cache = cache(&resp(&format!("{mix}:100")));
        let mut job = first(&mut cache);
        let fault = step(&mut cache, &mut job, answer).err().unwrap_or_default();
        assert_eq!((fault, counted(&cache, name)), (kind, (count, of)), "{mix}: {answer}");
    };
    for mix in ["get", "gat"] {
        check(mix, "$3|abc|", "", ("hit_ratio", 1, 1));
        check(mix, "$-1|", "", ("hit_ratio", 0, 1));
        check(mix, "_|", "", ("hit_ratio", 0, 1));
        check(mix, "$2|ab|", "wrong size", ("hit_ratio", 1, 1));
        check(mix, "+OK|", "unexpected answer", ("hit_ratio", 0, 0));
        check(mix, "-LOADING Redis is loading|", "server error", ("hit_ratio", 0, 0));
        check(mix, "-ERR unknown command 'GET'|", "unknown command", ("hit_ratio", 0, 0));
        check(mix, "-WRONGTYPE Operation|", "client error", ("hit_ratio", 0, 0));
        // Without a Redis Cluster it is an error like any other.
        check(mix, "-MOVED 5 127.0.0.1:2|", "server error", ("hit_ratio", 0, 0));
        check(mix, ">1|+note|$3|abc|", "", ("hit_ratio", 1, 1));
    }
    check("mget(2)", "*2|$3|abc|$-1|", "", ("hit_ratio", 1, 2));
    check("mget(2)", "*1|$3|abc|", "unexpected answer", ("hit_ratio", 0, 0));
    check("set", "+OK|", "", ("hit_ratio", 0, 0));
    check("set", "-OOM command not allowed|", "server error", ("hit_ratio", 0, 0));
    check("set", "$-1|", "unexpected answer", ("hit_ratio", 0, 0));
    for mix in ["add", "replace", "insert"] {
        check(mix, "+OK|", "", ("not_stored", 0, 1));
        check(mix, "$-1|", "", ("not_stored", 1, 1));
    }
    check("append", ":11|", "", ("not_stored", 0, 1));
    for mix in ["delete", "touch"] {
        check(mix, ":1|", "", ("not_found", 0, 1));
        check(mix, ":0|", "", ("not_found", 1, 1));
        check(mix, ":2|", "unexpected answer", ("not_found", 0, 0));
    }
    check("incr", ":-12|", "", ("not_found", 0, 1));
    check("decr", "+OK|", "unexpected answer", ("not_found", 0, 0));
}

#[test]
fn bytes_that_are_no_reply_end_the_connection() {
    let mut cache = cache(&resp("get:100"));
    let mut job = first(&mut cache);
    let parsed = cache.response(&mut job, &mut Wire::default(), b"ERROR\r\n");
    assert_eq!(parsed, Parsed::Garbage("no reply of RESP begins so: 'ERROR'".into()));
}

#[test]
fn a_login_is_answered_before_the_first_request() {
    let login = Login::read("me:secret");
    let mut cache = cache(&CacheConfig { login, ..resp("get:100") });
    let mut out = Vec::new();
    cache.greeting(&mut out);
    assert_eq!(out, b"*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\n");
    let mut job = first(&mut cache);
    let mut wire = Wire::default();
    assert_eq!(cache.response(&mut job, &mut wire, b"+OK\r\n"), Parsed::Partial);
    assert_eq!(cache.response(&mut job, &mut wire, b"+OK\r\n$3\r\nabc\r\n"), Parsed::done(14, Ok(())));
    assert_eq!(cache.response(&mut job, &mut wire, b"$3\r\nabc\r\n"), Parsed::done(9, Ok(())));
    let refused = cache.response(&mut job, &mut Wire::default(), b"-WRONGPASS invalid\r\n");
    assert_eq!(refused, Parsed::Refused(Fault::new("client error", "WRONGPASS invalid")));
}

#[test]
fn wrong_contents_are_found() {
    let mut cache = cache(&resp("get:50,mget(2):50").with(|options| {
        (options.value_size, options.verify) = ("24".parse().unwrap(), Some(Verify::Checksum));
    }));
    for _ in 0..2 {
        let value = "v".repeat(24);
        let mut job = first(&mut cache);
        let answer = match job.step {
            Step::MultiGet => format!("*2|$-1|$24|{value}|"),
            _ => format!("$24|{value}|"),
        };
        assert_eq!(step(&mut cache, &mut job, &answer), Err("wrong value"));
    }
    assert_eq!(counted(&cache, "verify_failures"), (2, 2));
}

#[test]
fn missing_keys_are_stored() {
    let mut cache = cache(&resp("mget(3):100").with(|options| options.on_miss = OnMiss::Set));
    let mut job = first(&mut cache);
    let next = step(&mut cache, &mut job, "*3|$-1|$3|abc|$-1|").unwrap().unwrap().1;
    assert_eq!(next, "*3|$3|SET|$8|t:000009|$3|abc|*3|$3|SET|$8|t:000045|$3|abc|");
    assert_eq!(step(&mut cache, &mut job, "+OK|+OK|"), Ok(None));
    assert_eq!((counted(&cache, "sets_on_miss"), counted(&cache, "hit_ratio")), ((2, 2), (1, 3)));
    assert_eq!(step(&mut cache, &mut job, "+OK|-OOM command not allowed|"), Err("server error"));
}

#[test]
fn a_key_that_has_moved_is_asked_for_again() {
    let mut cache = cache(&cluster(&[1, 2], resp("get:100")));
    let mut job = first(&mut cache);
    let slot = client::cluster::slot(b"t:000082");
    let get = "*2|$3|GET|$8|t:000082|";
    // For this request only.
    let ask = format!("-ASK {slot} 127.0.0.1:2|");
    assert_eq!(step(&mut cache, &mut job, &ask), Ok(Some((1, format!("*1|$6|ASKING|{get}")))));
    assert_eq!(step(&mut cache, &mut job, "+OK|$3|abc|"), Ok(None));
    assert_eq!(cache.items.server(b"t:000082"), Some(0));
    // For good; an empty host is the one that answers.
    let mut job = Job { asking: false, server: 0, tries: 0, ..job };
    let moved = format!("-MOVED {slot} :2|");
    assert_eq!(step(&mut cache, &mut job, &moved), Ok(Some((1, get.into()))));
    assert_eq!(step(&mut cache, &mut job, "$-1|"), Ok(None));
    assert_eq!(cache.items.server(b"t:000082"), Some(1));
    assert_eq!((counted(&cache, "cluster_ask"), counted(&cache, "cluster_moved")), ((1, 4), (1, 4)));
    assert_eq!(counted(&cache, "hit_ratio"), (1, 2));
    // Never without an end, nor to a node that has no connections.
    assert_eq!(step(&mut cache, &mut job, &format!("-MOVED {slot} 127.0.0.1:3|")), Err("unknown node"));
    job.tries = 0;
    for _ in 0..REDIRECTIONS {
        assert!(step(&mut cache, &mut job, &moved).is_ok());
    }
    assert_eq!(step(&mut cache, &mut job, &moved), Err("redirected too often"));
}

#[test]
fn the_moved_keys_of_a_multi_get_are_asked_for_one_by_one() {
    let config = resp("mget(3):100").with(|options| options.on_miss = OnMiss::Set);
    let mut cache = cache(&cluster(&[1, 2], config));
    let mut job = draw(&mut cache, 0).1[0].1;
    let get = |n: u32| format!("*2|$3|GET|$8|t:0000{n:02}|");
    assert_eq!(written(&mut cache, &mut job), [get(9), get(34), get(45)].concat());
    let to = |key: &[u8]| format!("-MOVED {} 127.0.0.1:2|", client::cluster::slot(key));
    let answer = [to(b"t:000009"), "$-1|".into(), to(b"t:000045")].concat();
    assert_eq!(step(&mut cache, &mut job, &answer), Ok(Some((1, get(9)))));
    assert_eq!(step(&mut cache, &mut job, "$3|abc|"), Ok(Some((1, get(45)))));
    // The key that is missing is stored at its own node.
    let set = "*3|$3|SET|$8|t:000034|$3|abc|";
    assert_eq!(step(&mut cache, &mut job, "$3|abc|"), Ok(Some((0, set.into()))));
    let moved = to(b"t:000034");
    assert_eq!(step(&mut cache, &mut job, &moved), Ok(Some((1, set.into()))));
    assert_eq!(step(&mut cache, &mut job, "+OK|"), Ok(None));
    assert_eq!((counted(&cache, "hit_ratio"), counted(&cache, "sets_on_miss")), ((2, 3), (1, 1)));
    assert_eq!(counted(&cache, "cluster_moved").0, 3);
}
