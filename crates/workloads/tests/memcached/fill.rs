use proto_memcache::client;
use spec::workload::Verify;
use std::io::Write;
use std::net::TcpStream;
use workloads::cache::{CacheConfig, FillPolicy, Placement};

use crate::memcached::client::Client;
use crate::memcached::{Servers, config, with};

#[test]
fn each_server_holds_its_share() {
    let Some(servers) = Servers::start(3) else { return };
    for (placement, threads) in [(Placement::Ketama, "k:"), (Placement::Replicated, "r:")] {
        let config = config(servers.cluster(placement), "get:50,incr:25,append:25");
        let config = with(config, |options| options.key_prefix = threads.parse().unwrap());
        let (_, empty) = servers.prepare(&config, FillPolicy::Never);
        assert_eq!((empty.hit_ratio, empty.filled_now), (0.0, false));
        let (items, filled) = servers.prepare(&config, FillPolicy::Auto);
        assert_eq!((filled.hit_ratio, filled.wrong, filled.filled_now), (1.0, 0, true));
        assert_eq!(items.total(), 1_500);
        let sum = |counts: &[Option<u64>]| counts.iter().map(|count| count.unwrap()).sum::<u64>();
        assert_eq!(sum(&filled.items_after) - sum(&filled.items_before), filled.items_expected);
        let copies = if placement == Placement::Replicated { 3 } else { 1 };
        assert_eq!((filled.items_expected, filled.looked_at), (1_500 * copies, 1_500 * copies));
        let (_, again) = servers.prepare(&config, FillPolicy::Auto);
        assert_eq!((again.hit_ratio, again.filled_now), (1.0, false));
        assert!(servers.prepare(&config, FillPolicy::Always).1.filled_now);
    }
}

#[test]
fn a_large_data_set_is_filled_by_several_threads() {
    let Some(servers) = Servers::start(1) else { return };
    let config = with(config(servers.cluster(Placement::Replicated), "get:100"), |options| {
        (options.keys, options.value_size) = (50_000, "uniform:1..200".parse().unwrap());
    });
    let (_, filled) = servers.prepare(&config, FillPolicy::Auto);
    assert_eq!((filled.hit_ratio, filled.filled_now), (1.0, true));
    assert_eq!(filled.items_after, [Some(50_000)]);
    // A sample is checked; of 50 keys drawn, a few are drawn twice.
    assert!((19_000..=20_000).contains(&filled.looked_at), "{}", filled.looked_at);
}

#[test]
fn a_data_set_remembers_whether_it_can_be_verified() {
    let Some(servers) = Servers::start(1) else { return };
    let plain = |mix| config(servers.cluster(Placement::Replicated), mix);
    let verified = |mix| with(plain(mix), |options| options.verify = Some(Verify::Checksum));
    let fills = |config: &CacheConfig, policy| {
        let data_set = servers.prepare(config, policy).1;
        (data_set.filled_now, data_set.run)
    };
    assert_eq!(fills(&plain("get:100"), FillPolicy::Auto), (true, 0));
    // The sizes are right, the contents are not.
    let found = servers.prepare(&verified("get:100"), FillPolicy::Never).1;
    assert!(found.wrong > 400 && !found.is_complete() && found.run == 0, "{found:?}");
    assert_eq!(fills(&verified("get:100"), FillPolicy::Auto), (true, 1));
    assert_eq!(fills(&verified("get:100"), FillPolicy::Auto), (false, 2));
    // A run that only reads leaves no trace.
    assert_eq!(fills(&verified("get:100"), FillPolicy::Never), (false, 3));
    assert_eq!(fills(&verified("get:100"), FillPolicy::Auto), (false, 3));
    // Reading without verifying keeps the mark; storing so deletes it.
    assert_eq!(fills(&plain("get:100"), FillPolicy::Auto), (false, 0));
    assert_eq!(fills(&verified("get:100"), FillPolicy::Auto), (false, 4));
    assert_eq!(fills(&plain("get:50,set:50"), FillPolicy::Auto), (false, 0));
    assert_eq!(fills(&verified("get:100"), FillPolicy::Auto), (true, 1));
}

#[test]
fn what_an_earlier_run_left_is_not_a_failure_and_what_was_not_sent_is() {
    let Some(servers) = Servers::start(1) else { return };
    let config = with(config(servers.cluster(Placement::Replicated), "get:50,set:50"), |options| {
        (options.keys, options.verify) = (20, Some(Verify::Checksum));
        options.value_size = "64".parse().unwrap();
    });
    let mut client = Client::connect(&servers.addresses, &[]);
    // The second run has fewer arrivals, so it meets versions that are higher than its own numbers.
    client.run(&mut servers.workload(&config), 0..500);
    client.run(&mut servers.workload(&config), 0..100);
    assert!(client.faults.is_empty(), "{:?}", client.faults);
    // Another client overwrites them all.
    let (items, _) = servers.prepare(&config, FillPolicy::Never);
    let mut stream = TcpStream::connect(servers.addresses[0]).unwrap();
    for n in 0..20 {
        let (mut key, mut out) = (Vec::new(), Vec::new());
        items.append_key(workloads::cache::Kind::Data, n, &mut key);
        client::set(&mut out, &key, 0, 0, &[b'x'; 64]);
        stream.write_all(&out).unwrap();
    }
    // Its answers show that they are stored.
    let mut answers = [0; 20 * 8];
    std::io::Read::read_exact(&mut stream, &mut answers).unwrap();
    let (items, found) = servers.prepare(&config, FillPolicy::Never);
    assert_eq!(found.wrong, 20);
    let mut cache = workloads::cache::Cache::new(&config, items, workloads::cache::Seat::ONLY).unwrap();
    client.run(&mut cache, 0..200);
    let wrong = client.faults["wrong value"].len() as u64;
    let counters = openloop::Workload::counters(&cache);
    assert!(
        counters.iter().any(|(name, count, _)| name == "verify_failures" && *count == wrong),
        "{counters:?}"
    );
    assert!(client.faults["wrong value"][0].contains("belongs to another key"), "{:?}", client.faults);
}

#[test]
fn a_server_says_how_many_items_it_holds() {
    let Some(servers) = Servers::start(1) else { return };
    let mut control = servers.control(0);
    let holds = control.holdings().unwrap();
    assert_eq!((holds.items, holds.bytes, holds.limit), (Some(0), Some(0), Some(64 << 20)));
    assert_eq!(control.server(), servers.addresses[0].to_string());
}
