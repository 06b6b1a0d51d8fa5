//! The known generators, and the options by which each offers the load.

use std::fs;
use std::io;

use results::Trial;

use crate::peers::{ACHIEVED, Load, Reported, formats};

/// A load generator.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// Name of its program on the PATH.
    pub(crate) program: &'static str,
    pub(crate) version_option: Option<&'static str>,
    pub(crate) pacing: &'static str,
    /// Whether it accepts a rate.
    pub(crate) paces: bool,
    pub(crate) source: &'static str,
    pub(crate) arguments: fn(&Load) -> io::Result<Vec<String>>,
    /// Command that prints the report, for a generator that writes a file first.
    pub(crate) report: Option<fn(&Load) -> Vec<String>>,
    pub(crate) parse: fn(&str) -> Option<Reported>,
}

impl Peer {
    pub(crate) fn verdict(&self, rps: f64, offered: f64) -> String {
        if self.paces {
            marked("gives none".into(), "sent", rps / offered)
        } else {
            "takes no rate; ran as fast as it could".into()
        }
    }
}

/// Taillight's verdict on its own trial. The number of arrivals depends on the seed.
pub(crate) fn own_verdict(trial: &Trial, offered: f64) -> String {
    let drawn = trial.arrivals.intended as f64 / trial.window_s;
    marked(trial.verdict.to_string(), "drew", drawn / offered)
}

/// `verdict` with the share of the load that was `done`, if it is too small.
fn marked(verdict: String, done: &str, share: f64) -> String {
    if share >= ACHIEVED { verdict } else { format!("{verdict}; {done} {:.1} % of the load", 100.0 * share) }
}

pub(crate) const PEERS: [Peer; 7] = [
    Peer {
        name: "mutilate",
        program: "mutilate",
        version_option: Some("--version"),
        pacing: "rate per connection, held back by its answers (depth 1)",
        paces: true,
        source: "github: leverich/mutilate",
        arguments: mutilate,
        report: None,
        parse: formats::mutilate,
    },
    Peer {
        name: "memcache-perf",
        program: "mcperf",
        version_option: Some("--version"),
        pacing: "as mutilate, from which it comes",
        paces: true,
        source: "github: shaygalon/memcache-perf",
        arguments: mutilate,
        report: None,
        parse: formats::mutilate,
    },
    Peer {
        name: "memtier",
        program: "memtier_benchmark",
        version_option: Some("--version"),
        pacing: "rate per connection in ticks, held back by its answers",
        paces: true,
        source: "github: RedisLabs/memtier_benchmark",
        arguments: memtier,
        report: None,
        parse: formats::memtier,
    },
    Peer {
        name: "memcaslap",
        program: "memcaslap",
        version_option: Some("--version"),
        pacing: "closed loop; its --tps has no effect",
        paces: false,
        source: "Debian: libmemcached-tools",
        arguments: memcaslap,
        report: None,
        parse: formats::memcaslap,
    },
    Peer {
        name: "twemperf",
        program: "twemperf",
        version_option: Some("--version"),
        pacing: "rate per connection",
        paces: true,
        source: "github: twitter-archive/twemperf; install its mcperf under the name twemperf",
        arguments: twemperf,
        report: None,
        parse: formats::twemperf,
    },
    Peer {
        name: "memloader",
        program: "memloader",
        version_option: None,
        pacing: "rate over all connections, from one queue",
        paces: true,
        source: "github: parsa-epfl/memcached-loadtester (CloudSuite); install its loader under the name memloader",
        arguments: memloader,
        report: None,
        parse: formats::memloader,
    },
    Peer {
        name: "rpc-perf",
        program: "rpc-perf",
        version_option: Some("--version"),
        pacing: "rate over all connections, through a queue",
        paces: true,
        source: "github: iopsystems/rpc-perf",
        arguments: rpc_perf,
        report: None,
        parse: formats::rpc_perf,
    },
];

pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(Into::into).collect()
}

/// `exponential:1`, since `exponential` alone crashes it with today's C library; the rate overrides the 1.
fn mutilate(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    Ok(words(&format!(
        "-s {server} --noload -K 30 -V 200 -r 10000 -T 1 -d 1 -c {connections} -q {rps} -i exponential:1 -t {seconds}"
    )))
}

fn memtier(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    let (host, port, each) = (server.ip(), server.port(), rps / connections);
    Ok(words(&format!(
        "-s {host} -p {port} -P memcache_text --ratio 0:1 -t 1 -c {connections} -d 200 --rate-limiting {each} --test-time {seconds} --hide-histogram --print-percentiles 50,99,99.9,100"
    )))
}

fn memcaslap(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    let config = load.folder.join("memcaslap.cnf");
    fs::write(&config, "key\n30 30 1\nvalue\n200 200 1\ncmd\n0 0\n1 1\n")?;
    let config = config.display();
    // It accepts a rate only with a suffix, and prints statistics only with an interval.
    let thousands = (rps / 1_000).max(1);
    Ok(words(&format!(
        "-s {server} -T 1 -c {connections} -F {config} -t {seconds}s -P {thousands}k -w 1k -S {seconds}s"
    )))
}

fn twemperf(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    let (host, port, each) = (server.ip(), server.port(), rps / connections);
    let calls = each * seconds;
    Ok(words(&format!(
        "-s {host} -p {port} -m get -c 0/1 -n {connections} -N {calls} -r {rps} -R {each} -z d200 -H"
    )))
}

/// Items in the format of its item file: cumulative share, size, key.
fn memloader(load: &Load) -> io::Result<Vec<String>> {
    const ITEMS: u64 = 10_000;
    let Load { server, rps, connections, seconds, folder, .. } = load;
    let (items, servers) = (folder.join("items"), folder.join("servers"));
    let line = |i: u64| format!("{:.6}, 200, key{i:027}\n", i as f64 / ITEMS as f64);
    fs::write(&items, (1..=ITEMS).map(line).collect::<String>())?;
    fs::write(&servers, format!("{}, {}\n", server.ip(), server.port()))?;
    let (items, servers) = (items.display(), servers.display());
    Ok(words(&format!(
        "-a {items} -s {servers} -g 1 -w 1 -c {connections} -e -r {rps} -t {seconds} -T {seconds}"
    )))
}

fn rpc_perf(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, folder, .. } = load;
    let file = folder.join("rpc-perf.toml");
    fs::write(
        &file,
        format!(
            "[general]\nprotocol = \"memcache\"\ninterval = {seconds}\nduration = {seconds}\nadmin = \"127.0.0.1:0\"\n\
             [debug]\nlog_level = \"error\"\n\
             [target]\nendpoints = [\"{server}\"]\n\
             [client]\nthreads = 1\npoolsize = {connections}\nconnect_timeout = 10000\nrequest_timeout = 1000\n\
             [workload]\nthreads = 1\n[workload.ratelimit]\nstart = {rps}\n\
             [[workload.keyspace]]\nweight = 1\nklen = 30\nnkeys = 10000\nvlen = 200\nvkind = \"bytes\"\n\
             commands = [{{ verb = \"get\", weight = 1 }}]\n"
        ),
    )?;
    Ok(vec![file.display().to_string()])
}

#[cfg(test)]
mod tests {
    use results::{Arrivals, Verdict};

    use super::*;

    #[test]
    fn each_is_told_server_rate_and_time() {
        let folder = tempfile::tempdir().unwrap();
        let load = Load {
            server: "127.0.0.1:4711".parse().unwrap(),
            rps: 3_200,
            connections: 16,
            seconds: 7,
            seed: 1,
            pid: 1,
            folder: folder.path().into(),
        };
        for peer in &PEERS {
            let mut told = (peer.arguments)(&load).unwrap().join(" ");
            for file in fs::read_dir(folder.path()).unwrap() {
                told += &fs::read_to_string(file.as_ref().unwrap().path()).unwrap();
                fs::remove_file(file.unwrap().path()).unwrap();
            }
            let says = |what: &str| assert!(told.contains(what), "{} is not told {what}: {told}", peer.name);
            says("4711");
            says("16");
            says("7");
            // In total, for each connection, or in thousands.
            assert!(["3200", "200", "3k"].iter().any(|rate| told.contains(rate)), "{told}");
        }
    }

    #[test]
    fn a_generator_that_missed_the_load_is_told_so() {
        let check =
            |peer: usize, rps: f64, expect: &str| assert_eq!(PEERS[peer].verdict(rps, 2_000.0), expect);
        check(0, 1_990.0, "gives none");
        check(0, 1_000.0, "gives none; sent 50.0 % of the load");
        check(3, 50_000.0, "takes no rate; ran as fast as it could");
    }

    #[test]
    fn a_draw_of_less_than_the_load_is_told_as_well() {
        let check = |intended: u64, expect: &str| {
            let arrivals = Arrivals { intended, ..Arrivals::default() };
            let trial = Trial { arrivals, window_s: 10.0, verdict: Verdict::Valid, ..Trial::default() };
            assert_eq!(own_verdict(&trial, 2_000.0), expect);
        };
        check(19_900, "valid");
        check(19_726, "valid; drew 98.6 % of the load");
    }
}
