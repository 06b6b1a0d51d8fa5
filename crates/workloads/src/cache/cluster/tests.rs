use std::fs;
use std::path::Path;
use std::time::Duration;

use launch::{Process, Spec, find_program};

use super::*;

fn cluster(placement: Placement, servers: &[&str]) -> Cluster {
    Cluster { servers: servers.iter().map(|text| text.parse().unwrap()).collect(), placement }
}

#[test]
fn reads_servers() {
    let check = |text: &str, host: &str, port: u16, shown: &str| {
        let server: Server = text.parse().unwrap();
        assert_eq!((server.host.as_str(), server.port, server.to_string().as_str()), (host, port, shown));
    };
    check("cache", "cache", 11211, "cache:11211");
    check("10.0.0.1:11311", "10.0.0.1", 11311, "10.0.0.1:11311");
    check("[::1]:5", "::1", 5, "[::1]:5");
    check("[::1]", "::1", 11211, "[::1]:11211");
    check("/run/cache.sock", "/run/cache.sock", 0, "/run/cache.sock");
    for wrong in ["", ":5", "a:", "a:0", "a:x", "a:70000", "::1", "[::1", "a b"] {
        assert!(wrong.parse::<Server>().is_err(), "{wrong}");
    }
    for text in ["replicated", "ketama", "modulo"] {
        assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
    }
    assert!("random".parse::<Placement>().is_err());
}

#[test]
fn refuses_none_and_twice_the_same() {
    let check = |servers: &[&str], expect: Option<&str>| {
        let got = cluster(Placement::Modulo, servers).check().err().map(|e| e.to_string());
        match expect {
            None => assert_eq!(got, None),
            Some(part) => assert!(got.as_ref().is_some_and(|e| e.contains(part)), "{got:?}"),
        }
    };
    check(&["a", "b"], None);
    check(&["a", "a:5"], None);
    check(&[], Some("0 servers"));
    check(&["a", "b", "a:11211"], Some("'a:11211' is twice"));
}

/// Answers of libmemcached 1.1.4, by `testdata/placement.c`: a key, and its server of three and of 41.
const GOLDEN: [(&str, [usize; 2], [usize; 2]); 9] = [
    ("taillight:000001", [1, 27], [0, 29]),
    ("foo", [1, 3], [0, 6]),
    ("session:9f2c", [2, 15], [0, 29]),
    ("a", [1, 0], [0, 30]),
    ("user_1000", [2, 12], [0, 36]),
    ("Ünicode", [0, 10], [1, 28]),
    ("x:y:z", [0, 36], [2, 25]),
    ("00000000000000000000000000000000000000000000000000", [0, 9], [0, 22]),
    ("key_with_a_longer_name_than_one_md5_block_of_sixty_four_bytes_0123456789", [1, 3], [1, 21]),
];

#[test]
fn keys_go_where_libmemcached_puts_them() {
    let few = ["10.0.0.1:11211", "10.0.0.2:11211", "cache-c:11212"];
    let many: Vec<String> = (1..=41).map(|i| format!("10.0.1.{i}:11311")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (key, ketama, modulo) in GOLDEN {
        for (placement, expect) in [(Placement::Ketama, ketama), (Placement::Modulo, modulo)] {
            let of = |servers: &[&str]| Shards::new(&cluster(placement, servers)).of(key.as_bytes()).unwrap();
            assert_eq!([of(&few), of(&many)], expect, "{placement} {key}");
        }
    }
}

#[test]
fn one_server_and_replicas_hold_everything() {
    for placement in [Placement::Replicated, Placement::Ketama, Placement::Modulo] {
        assert_eq!(Shards::new(&cluster(placement, &["a"])).of(b"k"), None);
    }
    assert_eq!(Shards::new(&cluster(Placement::Replicated, &["a", "b"])).of(b"k"), None);
}

/// The installed libmemcached is queried for thousands of keys, on clusters in which single precision costs points (25,
/// 47 and 50 servers) and others.
#[test]
fn agrees_with_the_installed_libmemcached() {
    const PATIENCE: Duration = Duration::from_secs(60);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/placement.c");
    let Some(cc) = find_program("cc") else { return println!("skipped: there is no C compiler") };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let compile = Spec::new("cc", cc).args([
        "-o".into(),
        path("placement"),
        source.display().to_string(),
        "-lmemcached".into(),
    ]);
    if Process::spawn(compile).unwrap().wait_success(PATIENCE).is_err() {
        return println!("skipped: libmemcached is not installed (apt-get install libmemcached-dev)");
    }
    let keys: Vec<String> = (0..3_000).map(|n| format!("taillight:{n:0width$}", width = n % 100)).collect();
    fs::write(path("keys"), keys.join("\n")).unwrap();
    for placement in [Placement::Ketama, Placement::Modulo] {
        for count in [2, 3, 25, 47, 50] {
            // Hosts with the default port, which is left out of the points' names, and with another.
            let names: Vec<String> = (0..count)
                .map(|i| format!("host-{i}:{}", if i % 2 == 0 { 11211 } else { 11300 + i }))
                .collect();
            let ask = Spec::new("placement", path("placement"))
                .args([placement.to_string(), path("keys")])
                .args(names.clone());
            let mut process = Process::spawn(ask).unwrap();
            let servers: Vec<&str> = names.iter().map(String::as_str).collect();
            let shards = Shards::new(&cluster(placement, &servers));
            for key in &keys {
                let theirs: usize = process.next_line(PATIENCE).unwrap().parse().unwrap();
                assert_eq!(shards.of(key.as_bytes()), Some(theirs), "{placement} over {count}: {key}");
            }
        }
    }
}
