use spec::workload::Verify;

use super::*;
use crate::cache::config::tests::config;

pub(in crate::cache) fn cache(config: &CacheConfig) -> Cache {
    let items = Items::new(config);
    items.versions().begin(1, true);
    Cache::new(config, Arc::new(items), Seat::ONLY).unwrap()
}

/// The parts of arrival `seq`, in the order in which they were pushed.
pub(in crate::cache) fn draw(cache: &mut Cache, seq: u64) -> (usize, Vec<(usize, Job)>) {
    let mut parts = Parts::new();
    let operation = cache.draw_parts(seq, &mut parts);
    let mut drawn: Vec<_> = std::iter::from_fn(|| parts.pop()).collect();
    drawn.reverse();
    (operation, drawn)
}

/// The first two requests of a mix of one operation.
fn bytes(config: &CacheConfig) -> String {
    let mut cache = cache(config);
    let mut out = Vec::new();
    for seq in 0..2 {
        for (_, mut job) in draw(&mut cache, seq).1 {
            cache.write(&mut job, 0, &mut out);
        }
    }
    String::from_utf8_lossy(&out).replace("\r\n", "|")
}

#[test]
fn golden_bytes_of_each_operation() {
    let check = |mix: &str, ascii: &str, meta: &str| {
        let ascii_config =
            config(&format!("{mix}:100")).with(|options| options.expiry = "7".parse().unwrap());
        let meta_config = ascii_config.clone().with(|options| options.protocol = Protocol::Meta);
        assert_eq!([bytes(&ascii_config), bytes(&meta_config)], [ascii, meta], "{mix}");
    };
    check("get", "get t:000082|get t:000010|", "mg t:000082 v|mg t:000010 v|");
    check(
        "mget(3)",
        "get t:000009 t:000034 t:000045|get t:000027 t:000060 t:000086|",
        "mg t:000009 v k q|mg t:000034 v k q|mg t:000045 v k q|mn|mg t:000027 v k q|mg t:000060 v k q|mg t:000086 v k q|mn|",
    );
    check("gets", "gets t:000082|gets t:000010|", "mg t:000082 v c|mg t:000010 v c|");
    check(
        "set",
        "set t:000082 0 7 3|abc|set t:000010 0 7 3|abc|",
        "ms t:000082 3 T7|abc|ms t:000010 3 T7|abc|",
    );
    check(
        "add",
        "add t:000082 0 7 3|abc|add t:000010 0 7 3|abc|",
        "ms t:000082 3 T7 ME|abc|ms t:000010 3 T7 ME|abc|",
    );
    check(
        "replace",
        "replace t:000082 0 7 3|abc|replace t:000010 0 7 3|abc|",
        "ms t:000082 3 T7 MR|abc|ms t:000010 3 T7 MR|abc|",
    );
    check(
        "append",
        "append t:a00082 0 0 8|+piece+\n|append t:a00010 0 0 8|+piece+\n|",
        "ms t:a00082 8 MA|+piece+\n|ms t:a00010 8 MA|+piece+\n|",
    );
    check(
        "prepend",
        "prepend t:a00082 0 0 8|+piece+\n|prepend t:a00010 0 0 8|+piece+\n|",
        "ms t:a00082 8 MP|+piece+\n|ms t:a00010 8 MP|+piece+\n|",
    );
    check("delete", "delete t:000082|delete t:000010|", "md t:000082|md t:000010|");
    check("incr", "incr t:c00082 1|incr t:c00010 1|", "ma t:c00082 v|ma t:c00010 v|");
    check("decr", "decr t:c00082 1|decr t:c00010 1|", "ma t:c00082 v MD|ma t:c00010 v MD|");
    check("touch", "touch t:000082 7|touch t:000010 7|", "mg t:000082 T7|mg t:000010 T7|");
    check("gat", "gat 7 t:000082|gat 7 t:000010|", "mg t:000082 v T7|mg t:000010 v T7|");
    check("cas", "gets t:000082|gets t:000010|", "mg t:000082 v c|mg t:000010 v c|");
    check(
        "insert",
        "add t:000100 0 7 3|abc|add t:000101 0 7 3|abc|",
        "ms t:000100 3 T7 ME|abc|ms t:000101 3 T7 ME|abc|",
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_others() {
    let with = |seed| bytes(&CacheConfig { seed, ..config("get:50,set:50") });
    assert_eq!(with(9), with(9));
    assert!((10..20).any(|seed| with(seed) != with(9)));
}

#[test]
fn the_mix_is_kept() {
    let mut cache = cache(&config("get:70,set:20,mget(2):10"));
    let mut counts = [0u32; 3];
    for seq in 0..100_000 {
        counts[draw(&mut cache, seq).0] += 1;
    }
    for (count, share) in counts.into_iter().zip([0.7, 0.2, 0.1]) {
        let expect = 100_000.0 * share;
        let deviation = (f64::from(count) - expect) / (expect * (1.0 - share)).sqrt();
        assert!(deviation.abs() < 4.5, "{counts:?}");
    }
    assert_eq!(cache.names(), ["get", "set", "mget(2)"]);
}

#[test]
fn a_value_over_the_expiry_follows_from_the_arrival() {
    let config = config("set:100").with(|options| options.expiry = "uniform:1..1000".parse().unwrap());
    let (first, again) = (bytes(&config), bytes(&config));
    assert_eq!(first, again);
    let times: Vec<&str> = first.split('|').filter_map(|line| line.split(' ').nth(3)).collect();
    assert!(times.len() == 2 && times[0] != times[1], "{times:?}");
}

#[test]
fn appends_are_bounded() {
    let mut cache = cache(&config("append:100").with(|options| options.keys = 2));
    let mut since = [0u32; 2];
    let mut resets = 0;
    for seq in 0..1_000 {
        let job = draw(&mut cache, seq).1[0].1;
        let pieces = &mut since[job.n as usize];
        match job.step {
            Step::Append => *pieces += 1,
            Step::Reset => {
                assert_eq!(*pieces, 64);
                *pieces = 0;
                resets += 1;
            }
            other => panic!("{other:?}"),
        }
        assert!(*pieces <= 64);
    }
    // 1 000 appends to two items: each 65th is a reset.
    assert!((13..=15).contains(&resets), "{resets}");
}

fn cluster(placement: &str, mix: &str) -> CacheConfig {
    let servers = ["a", "b", "c"].map(|name| name.parse().unwrap()).to_vec();
    let cluster = crate::cache::Cluster { servers, placement: placement.parse().unwrap() };
    CacheConfig { cluster, ..config(mix) }
}

#[test]
fn replicas_get_every_write_and_share_the_reads() {
    let endpoints = |mix: &str, seq| {
        let mut cache = cache(&cluster("replicated", mix));
        (0..seq).flat_map(|seq| draw(&mut cache, seq).1).map(|(endpoint, _)| endpoint).collect::<Vec<_>>()
    };
    assert_eq!(endpoints("set:100", 2), [0, 1, 2, 0, 1, 2]);
    assert_eq!(endpoints("delete:100", 1), [0, 1, 2]);
    assert_eq!(endpoints("cas:100", 1), [0, 1, 2]);
    for mix in ["get:100", "mget(5):100"] {
        let reads = endpoints(mix, 3_000);
        assert_eq!(reads.len(), 3_000, "one each");
        for server in 0..3 {
            let count = reads.iter().filter(|&&endpoint| endpoint == server).count();
            // The standard deviation is √(3 000 × 2/9) = 26.
            assert!(count.abs_diff(1_000) < 120, "{count}");
        }
    }
}

#[test]
fn shards_get_what_is_theirs() {
    for placement in ["ketama", "modulo"] {
        let config = cluster(placement, "get:50,set:50");
        let mut cache = cache(&config);
        let mut seen = [0; 3];
        for seq in 0..300 {
            let parts = draw(&mut cache, seq).1;
            let [(endpoint, job)] = parts[..] else { panic!("{parts:?}") };
            let mut key = Vec::new();
            cache.items.append_key(Kind::Data, job.n, &mut key);
            assert_eq!(cache.items.server(&key), Some(endpoint));
            seen[endpoint] += 1;
        }
        assert!(seen.iter().all(|&count| count > 30), "{placement}: {seen:?}");
    }
}

#[test]
fn a_multi_get_is_split_among_shards() {
    let mut cache = cache(&cluster("ketama", "mget(20):100"));
    let mut shapes = Vec::new();
    for seq in 0..50 {
        let parts = draw(&mut cache, seq).1;
        let mut keys = Vec::new();
        for (endpoint, mut job) in parts.clone() {
            let mut out = Vec::new();
            cache.write(&mut job, 0, &mut out);
            let text = String::from_utf8(out).unwrap();
            let words: Vec<&str> = text.trim_end().split(' ').skip(1).collect();
            assert_eq!(words.len() as u64, job.extra);
            assert!(words.iter().all(|key| cache.items.server(key.as_bytes()) == Some(endpoint)));
            keys.extend(words.into_iter().map(String::from));
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 20, "each key once");
        shapes.push(parts.len());
    }
    assert!(shapes.contains(&3));
}

#[test]
fn only_gets_go_over_udp() {
    let config = cluster("ketama", "get:25,mget(4):25,gets:25,set:25").with(|options| options.udp = true);
    assert_eq!(config.endpoints(), 6);
    let mut cache = cache(&config);
    for seq in 0..200 {
        let (operation, parts) = draw(&mut cache, seq);
        for (endpoint, mut job) in parts {
            let over_udp = operation < 2;
            assert_eq!(endpoint, usize::from(job.server) + if over_udp { 3 } else { 0 });
            let mut out = Vec::new();
            cache.write(&mut job, 0x0102, &mut out);
            assert_eq!(out.starts_with(&[1, 2, 0, 0, 0, 1, 0, 0]), over_udp);
        }
    }
}

/// The requests of a trace in the form of Twitter's.
fn of_trace(text: &str, select: &replay::Select, protocol: Protocol) -> CacheConfig {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace");
    std::fs::write(&file, text).unwrap();
    let requests = Arc::new(replay::open(&file, &mut |_| true).unwrap());
    let replay = Arc::new(replay::Replay::new(requests, select).unwrap());
    let config = config("get:100").with(|options| {
        (options.key_digits, options.protocol) = (crate::cache::Digits::Base62, protocol);
    });
    CacheConfig { replay: Some(replay), ..config }
}

const TRACE: &str =
    "0,a,20,0,1,get,0\n1,a,20,2,1,set,60\n2,b,1,3,1,add,9000000\n3,a,20,0,1,delete,0\n4,b,1,1,1,incr,0\n";

/// What arrivals `0..count` write, line by line.
fn replayed(config: &CacheConfig, count: u64) -> (Vec<String>, Cache) {
    config.check().unwrap();
    let mut cache = cache(config);
    let mut out = Vec::new();
    for seq in 0..count {
        for (_, mut job) in draw(&mut cache, seq).1 {
            cache.write(&mut job, 0, &mut out);
        }
    }
    let lines = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    (lines, cache)
}

#[test]
fn a_trace_brings_keys_operations_sizes_and_expiry() {
    let (lines, mut cache) = replayed(&of_trace(TRACE, &replay::Select::default(), Protocol::Ascii), 5);
    let key = |line: usize| lines[line].split(' ').nth(1).unwrap().to_owned();
    let (a, b) = (key(0), key(3));
    // The prefix `t:` and 11 digits; a longer key has zeros before its number, a shorter one is raised.
    assert!(a.len() == 20 && a.starts_with("t:00") && b.len() == 13 && b.starts_with("t:"), "{a} {b}");
    assert_eq!(
        lines,
        [
            format!("get {a}"),
            format!("set {a} 0 60 2"),
            "ab".into(),
            // Longer than memcached takes for a span.
            format!("set {b} 0 2592000 3"),
            "abc".into(),
            format!("delete {a}"),
            format!("set {b} 0 0 1"),
            "a".into(),
        ]
    );
    let twice_as_fast =
        CacheConfig { replay_speed: 2.0, ..of_trace(TRACE, &replay::Select::default(), Protocol::Ascii) };
    assert_eq!(replayed(&twice_as_fast, 5).0[1], format!("set {a} 0 30 2"));
    // The most frequent operation first.
    assert_eq!(cache.names(), ["set", "get", "delete"]);
    assert_eq!((cache.counts.stand_ins, cache.counts.recorded), (1, 5));
    let drawn: Vec<usize> = (0..5).map(|seq| draw(&mut cache, seq).0).collect();
    assert_eq!(drawn, [1, 0, 0, 2, 0]);
}

#[test]
fn a_trace_is_replayed_by_every_protocol() {
    let select = replay::Select::default();
    let (meta, _) = replayed(&of_trace(TRACE, &select, Protocol::Meta), 2);
    assert!(
        meta[0].starts_with("mg t:0") && meta[1].starts_with("ms t:0") && meta[1].ends_with(" 2 T60"),
        "{meta:?}"
    );
    let (resp, _) = replayed(&of_trace(TRACE, &select, Protocol::Resp), 2);
    let resp = resp.join("|");
    assert!(resp.contains("|GET|") && resp.contains("|SET|") && resp.contains("|EX|$2|60"), "{resp}");
    // The second round repeats the first.
    let loops = replay::Select { loops: true, ..select };
    let (twice, _) = replayed(&of_trace(TRACE, &loops, Protocol::Ascii), 10);
    assert_eq!(twice[..8], twice[8..]);
}

#[test]
fn values_of_a_trace_are_checked_for_their_own_length() {
    let config = of_trace(TRACE, &replay::Select::default(), Protocol::Ascii);
    let config = config.with(|options| options.verify = Some(Verify::Checksum));
    let items = Items::new(&config);
    items.versions().begin(1, true);
    let (mut key, mut value) = (Vec::new(), Vec::new());
    items.append_key(Kind::Data, 1, &mut key);
    items.append_value(Kind::Data, 1, &key, 0, &mut value);
    assert_eq!(value.len(), 2);
    // The get before it knows no length.
    assert_eq!(items.check(0, &key, &value), Ok(()));
    assert!(items.check(0, &key, b"xy").is_err());
}
