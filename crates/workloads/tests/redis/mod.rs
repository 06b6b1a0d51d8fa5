//! The cache workload against real servers of Redis: every operation, shards, a Redis Cluster whose slots move. Requests go
//! one after the other; `crates/taillight/tests/cli/redis.rs` has the engine, TLS and logins.

mod faults;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use launch::{Process, Spec, find_program, free_port};
use openloop::Workload;
use proto_resp::client::cluster::{SLOTS, slot};
use reactor::Address;
use spec::workload::Verify;
use tempfile::TempDir;
use workloads::cache::{
    Cache, CacheConfig, Cluster, Control, DataSet, FillPolicy, Items, Kind, OnMiss, Placement, Preparation,
    Protocol, Seat, Server, prepare,
};

use crate::memcached::client::Client;
use crate::memcached::{self, with};

/// Turns a hang into a failure; it is not an expected duration.
const PATIENCE: Duration = Duration::from_secs(60);
const EVERYTHING: &str = "get:25,mget(7):10,mget(uniform:1..30):5,set:20,add:5,replace:5,append:10,delete:5,incr:5,\
                          decr:2,touch:3,gat:3,insert:2";

/// Servers that end with the test.
struct Servers {
    addresses: Vec<SocketAddr>,
    /// Where the nodes of a Redis Cluster speak to each other.
    buses: Vec<String>,
    _processes: Vec<Process>,
    _folder: TempDir,
}

impl Servers {
    /// Starts `count` servers with these further arguments; `None`, with a printed reason, if unavailable.
    fn start(count: usize, extra: &[&str]) -> Option<Servers> {
        let Some(program) = find_program("redis-server") else {
            println!("skipped: redis-server is not installed (apt-get install redis-server)");
            return None;
        };
        let folder = TempDir::new().unwrap();
        let mut servers =
            Servers { addresses: Vec::new(), buses: Vec::new(), _processes: Vec::new(), _folder: folder };
        let mut tries = 0;
        while servers.addresses.len() < count {
            let port = free_port().unwrap();
            let own = servers._folder.path().join(port.to_string());
            std::fs::create_dir_all(&own).unwrap();
            let (port_text, own) = (port.to_string(), own.display().to_string());
            let bus = free_port().unwrap().to_string();
            let words = [
                "--port",
                &port_text,
                "--cluster-port",
                &bus,
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                &own,
            ];
            let spec = Spec::new("redis-server", &program).args(words).args(extra.iter().copied());
            let mut process = Process::spawn(spec).unwrap();
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            match process.await_port(address, PATIENCE) {
                Ok(()) => {}
                // Another process took this port or the port of the bus between the choice and the start.
                Err(launch::Error::PortTaken { .. } | launch::Error::Died { .. }) if tries < 5 => {
                    tries += 1;
                    continue;
                }
                Err(error) => panic!("{error}"),
            }
            servers._processes.push(process);
            servers.buses.push(bus);
            servers.addresses.push(address);
        }
        Some(servers)
    }

    /// The nodes of a whole Redis Cluster, with an equal share of the slots each.
    fn form_cluster(count: usize) -> Option<Servers> {
        let extra = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"];
        let servers = Servers::start(count, &extra)?;
        let share = |node: usize| node * SLOTS / count;
        for node in 0..count {
            let range = [share(node).to_string(), (share(node + 1) - 1).to_string()];
            servers.say(node, &["CLUSTER", "ADDSLOTSRANGE", &range[0], &range[1]]);
            if node > 0 {
                let port = servers.addresses[0].port().to_string();
                servers.say(node, &["CLUSTER", "MEET", "127.0.0.1", &port, &servers.buses[0]]);
            }
        }
        for node in 0..count {
            servers.until(node, &["CLUSTER", "INFO"], |info| {
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_known_nodes:{count}"))
                    && info.contains(&format!("cluster_slots_assigned:{SLOTS}"))
            });
        }
        Some(servers)
    }

    /// One command and its answer, whose first line is left out of a value.
    fn say(&self, server: usize, words: &[&str]) -> String {
        let mut stream = TcpStream::connect(self.addresses[server]).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut out = Vec::new();
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        proto_resp::client::command(&mut out, &words);
        stream.write_all(&out).unwrap();
        let mut answer = BufReader::new(stream);
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        assert!(!line.starts_with('-'), "{line}");
        match line.trim_end().strip_prefix('$') {
            Some("-1") => String::new(),
            Some(length) => {
                let mut value = vec![0; length.parse().unwrap()];
                answer.read_exact(&mut value).unwrap();
                String::from_utf8(value).unwrap()
            }
            None => line.trim_end().into(),
        }
    }

    /// Asks until the answer is as it shall be.
    fn until(&self, server: usize, words: &[&str], is: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.say(server, words);
            if is(&answer) {
                return;
            }
            assert!(Instant::now() < deadline, "{words:?}: {answer}");
        }
    }

    fn cluster(&self, placement: Placement) -> Cluster {
        let server = |address: &SocketAddr| Server { host: address.ip().to_string(), port: address.port() };
        Cluster { servers: self.addresses.iter().map(server).collect(), placement }
    }

    fn prepare(&self, config: &CacheConfig, policy: FillPolicy) -> (Arc<Items>, DataSet) {
        let items = Arc::new(Items::new(config));
        let dialect = config.dialect();
        let how = Preparation {
            connect: &|server| Ok(Control::connect(&Address::Tcp(self.addresses[server]), &dialect)?.0),
            threads: 2,
            policy,
            agreed: false,
            seed: 1,
            progress: &|_| {},
        };
        let data_set = prepare(config, &items, &how).unwrap();
        (items, data_set)
    }

    /// Fills the servers, and makes a thread's workload.
    fn workload(&self, config: &CacheConfig) -> (Cache, Arc<Items>) {
        let (items, data_set) = self.prepare(config, FillPolicy::Auto);
        assert!(data_set.is_complete() && data_set.unknown.is_empty(), "{data_set:?}");
        (Cache::new(config, Arc::clone(&items), Seat::ONLY).unwrap(), items)
    }
}

/// Small: 500 keys of 12 to 40 B, values of 1 to 2 000 B.
fn config(cluster: Cluster, mix: &str) -> CacheConfig {
    with(memcached::config(cluster, mix), |options| {
        (options.protocol, options.verify) = (Protocol::Resp, Some(Verify::Checksum));
    })
}

fn counter(cache: &Cache, name: &str) -> (u64, u64) {
    cache.counters().into_iter().find(|(known, _, _)| known == name).map_or((0, 0), |(_, n, of)| (n, of))
}

#[test]
fn every_operation_with_verified_contents_on_each_placement() {
    let Some(servers) = Servers::start(2, &["--appendonly", "no"]) else { return };
    for placement in [Placement::Replicated, Placement::Ketama, Placement::Modulo] {
        servers.say(0, &["FLUSHALL"]);
        servers.say(1, &["FLUSHALL"]);
        let config = with(config(servers.cluster(placement), EVERYTHING), |options| {
            options.expiry = "uniform:500..1000".parse().unwrap();
        });
        let (mut cache, items) = servers.workload(&config);
        let mut client = Client::connect(&servers.addresses, &[]);
        client.run(&mut cache, 0..4_000);
        assert!(client.faults.is_empty(), "{:?}", client.faults);
        let (failures, verified) = counter(&cache, "verify_failures");
        assert!(failures == 0 && verified > 4_000, "{:?}", cache.counters());
        let (hits, gets) = counter(&cache, "hit_ratio");
        assert!(hits < gets && hits > gets / 2, "deletes leave gaps: {:?}", cache.counters());
        assert!(counter(&cache, "not_stored").0 > 0 && counter(&cache, "not_found").0 > 0);
        assert!(servers.say(0, &["TTL", &key(&items, 0)]).trim_start_matches(':') != "-1");
    }
}

/// A key of the data set.
fn key(items: &Items, n: u64) -> String {
    let mut key = Vec::new();
    items.append_key(Kind::Data, n, &mut key);
    String::from_utf8(key).unwrap()
}

#[test]
fn evictions_show_in_the_hit_ratio_and_misses_are_stored() {
    let extra = ["--maxmemory", "6mb", "--maxmemory-policy", "allkeys-lru"];
    let Some(servers) = Servers::start(1, &extra) else { return };
    let config = with(config(servers.cluster(Placement::Replicated), "get:90,mget(5):10"), |options| {
        (options.keys, options.on_miss) = (20_000, OnMiss::Set);
        options.value_size = "1000".parse().unwrap();
    });
    let items = Arc::new(Items::new(&config));
    let dialect = config.dialect();
    let how = Preparation {
        connect: &|server| Ok(Control::connect(&Address::Tcp(servers.addresses[server]), &dialect)?.0),
        threads: 2,
        policy: FillPolicy::Auto,
        agreed: false,
        seed: 1,
        progress: &|_| {},
    };
    let error = prepare(&config, &items, &how).unwrap_err().to_string();
    assert!(error.contains("has 6 MiB for items") && error.contains("--yes"), "{error}");
    let data_set = prepare(&config, &items, &Preparation { agreed: true, ..how }).unwrap();
    assert!(!data_set.is_complete() && data_set.hit_ratio > 0.05, "{data_set:?}");
    let mut cache = Cache::new(&config, items, Seat::ONLY).unwrap();
    let mut client = Client::connect(&servers.addresses, &[]);
    client.run(&mut cache, 0..4_000);
    assert!(client.faults.is_empty(), "{:?}", client.faults);
    let ((hits, gets), (stored, missed)) = (counter(&cache, "hit_ratio"), counter(&cache, "sets_on_miss"));
    assert!(
        hits > 0 && hits < gets * 3 / 4 && stored == missed && missed == gets - hits,
        "{:?}",
        cache.counters()
    );
}

#[test]
fn foreign_items_need_consent() {
    let Some(servers) = Servers::start(1, &[]) else { return };
    servers.say(0, &["SET", "someone:else", "x"]);
    let config = config(servers.cluster(Placement::Replicated), "get:100");
    let items = Items::new(&config);
    let dialect = config.dialect();
    let how = Preparation {
        connect: &|server| Ok(Control::connect(&Address::Tcp(servers.addresses[server]), &dialect)?.0),
        threads: 1,
        policy: FillPolicy::Auto,
        agreed: false,
        seed: 1,
        progress: &|_| {},
    };
    let error = prepare(&config, &items, &how).unwrap_err().to_string();
    assert!(error.contains("such as 'someone:else'") && error.contains("--yes"), "{error}");
    assert_eq!(servers.say(0, &["DBSIZE"]), ":1");
    prepare(&config, &items, &Preparation { agreed: true, ..how }).unwrap();
    assert_eq!(servers.say(0, &["GET", "someone:else"]), "x");
}

/// Moves a slot and its items to another node. While `meanwhile` runs, the items have moved and the slot has not, so
/// that the old node answers with ASK.
fn move_slot(servers: &Servers, slot: usize, [from, to]: [usize; 2], meanwhile: impl FnOnce()) {
    let (slot, ids) = (slot.to_string(), [from, to].map(|node| servers.say(node, &["CLUSTER", "MYID"])));
    servers.say(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &ids[0]]);
    servers.say(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &ids[1]]);
    let port = servers.addresses[to].port().to_string();
    let keys = list(servers, from, &slot);
    for key in &keys {
        servers.say(from, &["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
    }
    meanwhile();
    for node in [to, from] {
        servers.say(node, &["CLUSTER", "SETSLOT", &slot, "NODE", &ids[1]]);
    }
}

/// The keys of a slot on a node.
fn list(servers: &Servers, node: usize, slot: &str) -> Vec<String> {
    let mut stream = TcpStream::connect(servers.addresses[node]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut out = Vec::new();
    proto_resp::client::command(&mut out, &[b"CLUSTER", b"GETKEYSINSLOT", slot.as_bytes(), b"1000"]);
    stream.write_all(&out).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let count: usize = lines.next().unwrap().strip_prefix('*').unwrap().parse().unwrap();
    (0..count).map(|_| lines.by_ref().nth(1).unwrap()).collect()
}

#[test]
fn nothing_is_lost_while_slots_of_a_redis_cluster_move() {
    let Some(servers) = Servers::form_cluster(3) else { return };
    let address = Address::Tcp(servers.addresses[0]);
    // A node alone is refused.
    let alone = config(servers.cluster(Placement::Replicated), "get:100");
    let error = Control::connect(&address, &alone.dialect()).err().unwrap().to_string();
    assert!(error.contains("add --placement cluster"), "{error}");

    let config = config(servers.cluster(Placement::Cluster), "get:40,mget(9):20,set:30,incr:10");
    let (mut control, version) = Control::connect(&address, &config.dialect()).unwrap();
    assert!(version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())));
    let mut nodes = control.nodes().unwrap();
    nodes.sort_by_key(|node| node.port);
    let mut known = config.cluster.servers.clone();
    known.sort_by_key(|node| node.port);
    assert_eq!(nodes, known);

    let (mut cache, items) = servers.workload(&config);
    let mut client = Client::connect(&servers.addresses, &[]);
    client.run(&mut cache, 0..500);
    assert_eq!((counter(&cache, "cluster_moved").0, counter(&cache, "cluster_ask").0), (0, 0));
    let mut arrivals = 500..;
    // 20 slots that have items.
    let owners: Vec<(usize, usize)> = (0..20)
        .map(|n| {
            let key = key(&items, n);
            (slot(key.as_bytes()), items.server(key.as_bytes()).unwrap())
        })
        .collect();
    for (slot, from) in owners {
        let mut batch = |cache: &mut Cache, client: &mut Client| {
            let start = arrivals.start;
            arrivals.start += 100;
            client.run(cache, start..start + 100);
        };
        move_slot(&servers, slot, [from, (from + 1) % 3], || batch(&mut cache, &mut client));
        batch(&mut cache, &mut client);
    }
    assert!(client.faults.is_empty(), "{:?}", client.faults);
    let (hits, gets) = counter(&cache, "hit_ratio");
    assert_eq!(hits, gets, "no item is lost: {:?}", cache.counters());
    assert_eq!(counter(&cache, "verify_failures").0, 0);
    let (moved, asked) = (counter(&cache, "cluster_moved").0, counter(&cache, "cluster_ask").0);
    assert!(moved > 5 && asked > 5, "{:?}", cache.counters());
    // A fill learns the new places.
    let (_, data_set) = servers.prepare(&config, FillPolicy::Auto);
    assert!(data_set.is_complete() && !data_set.filled_now && data_set.wrong == 0, "{data_set:?}");
}
