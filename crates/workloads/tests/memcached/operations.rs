use std::collections::HashMap;

use openloop::Workload;
use spec::workload::Verify;
use workloads::cache::{Cache, CacheConfig, OnMiss, Placement, Protocol};

use crate::memcached::client::Client;
use crate::memcached::{Servers, config, with};

const EVERYTHING: &str = "get:15,mget(7):10,mget(uniform:1..30):5,gets:5,set:15,add:5,replace:5,append:10,prepend:5,\
                          delete:5,incr:5,decr:2,touch:3,gat:3,cas:5,insert:2";

fn counters(cache: &Cache) -> HashMap<String, (u64, u64)> {
    cache.counters().into_iter().map(|(name, count, of)| (name, (count, of))).collect()
}

fn run(servers: &Servers, config: &CacheConfig, arrivals: u64) -> (Client, HashMap<String, (u64, u64)>) {
    let mut cache = servers.workload(config);
    let udp = if config.options.udp { servers.addresses.as_slice() } else { &[] };
    let mut client = Client::connect(&servers.addresses, udp);
    client.run(&mut cache, 0..arrivals);
    assert!(client.faults.is_empty(), "{:?}", client.faults);
    let counters = counters(&cache);
    (client, counters)
}

#[test]
fn every_operation_by_both_protocols_with_verified_contents() {
    let Some(servers) = Servers::start(1) else { return };
    for protocol in [Protocol::Ascii, Protocol::Meta] {
        let config = with(config(servers.cluster(Placement::Replicated), EVERYTHING), |options| {
            (options.protocol, options.verify) = (protocol, Some(Verify::Checksum));
            options.expiry = "uniform:500..1000".parse().unwrap();
        });
        let (_, counters) = run(&servers, &config, 8_000);
        let (failures, verified) = counters["verify_failures"];
        assert!(failures == 0 && verified > 8_000, "{counters:?}");
        let (hits, gets) = counters["hit_ratio"];
        assert!(hits < gets && hits > gets / 2, "deletes leave gaps: {counters:?}");
        for (name, of_least) in [("not_found", 800), ("not_stored", 1_500)] {
            let (count, of) = counters[name];
            assert!(count > 0 && of > of_least, "{name}: {counters:?}");
        }
        assert_eq!(counters["cas_retries"].0, 0, "no other client is there");
    }
}

#[test]
fn a_cluster_of_shards_or_replicas() {
    let Some(servers) = Servers::start(3) else { return };
    for (placement, protocol) in [
        (Placement::Ketama, Protocol::Ascii),
        (Placement::Modulo, Protocol::Meta),
        (Placement::Replicated, Protocol::Ascii),
    ] {
        let config = with(config(servers.cluster(placement), EVERYTHING), |options| {
            (options.protocol, options.verify) = (protocol, Some(Verify::Checksum));
            options.key_prefix = format!("{placement}:").parse().unwrap();
            options.key_size = "uniform:20..40".parse().unwrap();
        });
        let (client, counters) = run(&servers, &config, 3_000);
        assert_eq!(counters["verify_failures"].0, 0);
        for server in 0..3 {
            assert!(client.answered[&server] > 300, "{placement}: {:?}", client.answered);
        }
    }
}

#[test]
fn a_miss_is_stored_and_then_a_hit() {
    let Some(servers) = Servers::start(1) else { return };
    for (protocol, mix) in [
        (Protocol::Ascii, "get:50,delete:50"),
        (Protocol::Meta, "get:50,delete:50"),
        (Protocol::Ascii, "mget(40):50,delete:50"),
        (Protocol::Meta, "mget(40):50,delete:50"),
    ] {
        let config = with(config(servers.cluster(Placement::Replicated), mix), |options| {
            (options.keys, options.protocol) = (50, protocol);
            (options.verify, options.on_miss) = (Some(Verify::Checksum), OnMiss::Set);
        });
        let (_, counters) = run(&servers, &config, 2_000);
        let (hits, gets) = counters["hit_ratio"];
        assert_eq!(counters["sets_on_miss"], (gets - hits, gets - hits), "{mix}");
        assert!(gets > hits && hits > 0);
    }
}

#[test]
fn a_compare_that_fails_is_tried_again() {
    let Some(servers) = Servers::start(1) else { return };
    let config = with(config(servers.cluster(Placement::Replicated), "cas:100"), |options| options.keys = 1);
    // Another client stores between the two steps of each first attempt.
    let mut cache = servers.workload(&config);
    let mut parts = openloop::Parts::new();
    cache.draw(0, &mut parts);
    let (endpoint, mut job) = parts.pop().unwrap();
    let mut client = Client::connect(&servers.addresses, &[]);
    let (outcome, then) = client.step(&mut cache, endpoint, &mut job);
    assert_eq!((outcome, then), (Ok(()), openloop::Then::Again { endpoint: 0 }));
    client.run(&mut servers.workload(&config), 0..1);
    client.carry_out(&mut cache, endpoint, job);
    assert!(client.faults.is_empty(), "{:?}", client.faults);
    assert_eq!(counters(&cache)["cas_retries"], (1, 1));
}

#[test]
fn gets_over_udp_and_everything_else_over_tcp() {
    let Some(servers) = Servers::with_udp(2) else { return };
    let mix = "get:40,mget(20):20,set:20,gets:10,delete:10";
    for protocol in [Protocol::Ascii, Protocol::Meta] {
        // Replies of up to 20 × 2 000 B take many datagrams.
        let config = with(config(servers.cluster(Placement::Ketama), mix), |options| {
            (options.udp, options.protocol) = (true, protocol);
            options.verify = Some(Verify::Checksum);
        });
        let (client, counters) = run(&servers, &config, 2_000);
        assert_eq!(counters["verify_failures"].0, 0);
        let (multi, replies) = counters["udp_multi_datagram_replies"];
        assert!(multi > 100 && replies > 1_000, "{counters:?}");
        assert_eq!(counters["udp_stray_datagrams"].0, 0);
        assert_eq!(replies, client.answered[&2] + client.answered[&3]);
    }
}
