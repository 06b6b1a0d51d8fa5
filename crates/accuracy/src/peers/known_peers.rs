//! The known generators, and the options by which each offers the load.

use results::Trial;

use crate::peers::{ACHIEVED, Load, Reported, formats};

pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// Name of its program on the PATH.
    pub(crate) program: &'static str,
    pub(crate) version_option: Option<&'static str>,
    pub(crate) pacing: &'static str,
    /// Whether it accepts a rate.
    pub(crate) paces: bool,
    pub(crate) source: &'static str,
    /// Its arguments, with the placeholders of [`Load::filled`].
    pub(crate) arguments: &'static str,
    /// Names and texts of its configuration files.
    pub(crate) files: fn(&Load) -> Vec<(&'static str, String)>,
    /// Arguments by which it prints the report, for a generator that writes a file first.
    pub(crate) report: Option<&'static str>,
    pub(crate) parse: fn(&str) -> Option<Reported>,
}

/// The properties that most generators have.
const PEER: Peer = Peer {
    name: "",
    program: "",
    version_option: Some("--version"),
    pacing: "",
    paces: true,
    source: "",
    arguments: "",
    files: |_| Vec::new(),
    report: None,
    parse: |_| None,
};

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

/// `exponential:1`, since `exponential` alone crashes it with today's C library; the rate overrides the 1.
const MUTILATE: &str = "-s {server} --noload -K 30 -V 200 -r 10000 -T 1 -d 1 -c {connections} -q {rps} \
                        -i exponential:1 -t {seconds}";

pub(crate) const CACHE_PEERS: [Peer; 7] = [
    Peer {
        name: "mutilate",
        program: "mutilate",
        pacing: "rate per connection, held back by its answers (depth 1)",
        source: "github: leverich/mutilate",
        arguments: MUTILATE,
        parse: |text| formats::audited(text, &["mutilate"]),
        ..PEER
    },
    Peer {
        name: "memcache-perf",
        program: "mcperf",
        pacing: "as mutilate, from which it comes",
        source: "github: shaygalon/memcache-perf",
        arguments: MUTILATE,
        parse: |text| formats::audited(text, &["mutilate"]),
        ..PEER
    },
    Peer {
        name: "memtier",
        program: "memtier_benchmark",
        pacing: "rate per connection in ticks, held back by its answers",
        source: "github: RedisLabs/memtier_benchmark",
        arguments: "-s {host} -p {port} -P memcache_text --ratio 0:1 -t 1 -c {connections} -d 200 --rate-limiting {each} \
                    --test-time {seconds} --hide-histogram --print-percentiles 50,99,99.9,100",
        parse: |text| formats::audited(text, &["memtier_benchmark"]),
        ..PEER
    },
    Peer {
        name: "memcaslap",
        program: "memcaslap",
        pacing: "closed loop; its --tps has no effect",
        paces: false,
        source: "Debian: libmemcached-tools",
        // It accepts a rate only with a suffix, and prints statistics only with an interval.
        arguments: "-s {server} -T 1 -c {connections} -F {folder}/memcaslap.cnf -t {seconds}s -P {thousands}k -w 1k \
                    -S {seconds}s",
        files: |_| vec![("memcaslap.cnf", "key\n30 30 1\nvalue\n200 200 1\ncmd\n0 0\n1 1\n".into())],
        parse: formats::memcaslap,
        ..PEER
    },
    Peer {
        name: "twemperf",
        program: "twemperf",
        pacing: "rate per connection",
        source: "github: twitter-archive/twemperf; install its mcperf under the name twemperf",
        arguments: "-s {host} -p {port} -m get -c 0/1 -n {connections} -N {calls} -r {rps} -R {each} -z d200 -H",
        parse: formats::twemperf,
        ..PEER
    },
    Peer {
        name: "memloader",
        program: "memloader",
        version_option: None,
        pacing: "rate over all connections, from one queue",
        source: "github: parsa-epfl/memcached-loadtester (CloudSuite); install its loader under the name memloader",
        arguments: "-a {folder}/items -s {folder}/servers -g 1 -w 1 -c {connections} -e -r {rps} -t {seconds} -T {seconds}",
        files: memloader_files,
        parse: formats::memloader,
        ..PEER
    },
    Peer {
        name: "rpc-perf",
        program: "rpc-perf",
        pacing: "rate over all connections, through a queue",
        source: "github: iopsystems/rpc-perf",
        arguments: "{folder}/rpc-perf.toml",
        files: rpc_perf_files,
        parse: formats::rpc_perf,
        ..PEER
    },
];

pub(crate) const WEB_PEERS: [Peer; 7] = [
    Peer {
        name: "wrk",
        program: "wrk",
        pacing: "closed loop",
        paces: false,
        source: "Debian: wrk",
        arguments: "-t1 -c{connections} -d{seconds}s --latency http://{server}/page",
        parse: |text| formats::audited(text, &["wrk", "wrk2"]),
        ..PEER
    },
    Peer {
        name: "wrk2",
        program: "wrk2",
        pacing: "rate per connection, measured from the intended time",
        source: "github: giltene/wrk2; install its wrk under the name wrk2",
        arguments: "-t1 -c{connections} -d{calibrated}s -R{rps} --latency http://{server}/page",
        parse: |text| formats::audited(text, &["wrk", "wrk2"]),
        ..PEER
    },
    Peer {
        name: "ab",
        program: "ab",
        version_option: Some("-V"),
        pacing: "closed loop",
        paces: false,
        source: "Debian: apache2-utils",
        // A time alone limits it to 50 000 requests.
        arguments: "-k -q -c {connections} -t {seconds} -n 100000000 http://{server}/page",
        parse: |text| formats::audited(text, &["ab"]),
        ..PEER
    },
    Peer {
        name: "h2load",
        program: "h2load",
        pacing: "rate per connection in ticks, held back by its answers",
        source: "Debian: nghttp2-client",
        arguments: "--h1 -t1 -c{connections} -D {seconds} --rps={each} http://{server}/page",
        parse: formats::h2load,
        ..PEER
    },
    Peer {
        name: "hey",
        program: "hey",
        version_option: None,
        pacing: "rate per connection, held back by its answers",
        source: "Go: github.com/rakyll/hey",
        arguments: "-c {connections} -q {each} -z {seconds}s http://{server}/page",
        parse: |text| formats::audited(text, &["hey"]),
        ..PEER
    },
    Peer {
        name: "oha",
        program: "oha",
        pacing: "rate over all connections, measured from the intended time (--latency-correction)",
        source: "crates: oha",
        arguments: "--no-tui --output-format json -c {connections} -q {rps} --latency-correction -z {seconds}s \
                    http://{server}/page",
        parse: |text| formats::audited_json(text, &["oha"]),
        ..PEER
    },
    Peer {
        name: "vegeta",
        program: "vegeta",
        version_option: Some("-version"),
        pacing: "rate, with more connections while answers are late",
        source: "Go: github.com/tsenart/vegeta/v12",
        arguments: "attack -targets={folder}/targets -output={folder}/results -rate={rps} -duration={seconds}s \
                    -workers={connections} -connections={connections}",
        files: |load| vec![("targets", format!("GET http://{}/page\n", load.server))],
        report: Some("report -type=json {folder}/results"),
        parse: |text| formats::audited_json(text, &["vegeta"]),
        ..PEER
    },
];

/// Items in the format of its item file: cumulative share, size, key.
fn memloader_files(load: &Load) -> Vec<(&'static str, String)> {
    const ITEMS: u64 = 10_000;
    let line = |i: u64| format!("{:.6}, 200, key{i:027}\n", i as f64 / ITEMS as f64);
    let servers = format!("{}, {}\n", load.server.ip(), load.server.port());
    vec![("items", (1..=ITEMS).map(line).collect()), ("servers", servers)]
}

fn rpc_perf_files(load: &Load) -> Vec<(&'static str, String)> {
    let Load { server, rps, connections, seconds, .. } = load;
    let text = format!(
        "[general]\nprotocol = \"memcache\"\ninterval = {seconds}\nduration = {seconds}\nadmin = \"127.0.0.1:0\"\n\
         [debug]\nlog_level = \"error\"\n\
         [target]\nendpoints = [\"{server}\"]\n\
         [client]\nthreads = 1\npoolsize = {connections}\nconnect_timeout = 10000\nrequest_timeout = 1000\n\
         [workload]\nthreads = 1\n[workload.ratelimit]\nstart = {rps}\n\
         [[workload.keyspace]]\nweight = 1\nklen = 30\nnkeys = 10000\nvlen = 200\nvkind = \"bytes\"\n\
         commands = [{{ verb = \"get\", weight = 1 }}]\n"
    );
    vec![("rpc-perf.toml", text)]
}

#[cfg(test)]
mod tests {
    use results::{Arrivals, Verdict};

    use super::*;

    #[test]
    fn each_is_told_server_rate_and_time() {
        let load = Load {
            server: "127.0.0.1:4711".parse().unwrap(),
            rps: 3_200,
            connections: 16,
            seconds: 7,
            seed: 1,
            pid: 1,
            folder: "/tmp/folder".into(),
        };
        let names_rate = |peer: &Peer| {
            let files = (peer.files)(&load).into_iter().map(|(_, text)| text);
            let told = load.filled(peer.arguments).into_iter().chain(files).collect::<Vec<_>>().join(" ");
            let says = |what: &str| assert!(told.contains(what), "{} is not told {what}: {told}", peer.name);
            says("4711");
            says("16");
            says("7");
            // In total, for each connection, or in thousands.
            ["3200", "200", "3k"].iter().any(|rate| told.contains(rate))
        };
        for peer in &CACHE_PEERS {
            assert!(names_rate(peer), "{}", peer.name);
        }
        for peer in &WEB_PEERS {
            assert_eq!(names_rate(peer), peer.paces, "{}", peer.name);
        }
    }

    #[test]
    fn a_generator_that_missed_the_load_is_told_so() {
        let check =
            |peer: usize, rps: f64, expect: &str| assert_eq!(CACHE_PEERS[peer].verdict(rps, 2_000.0), expect);
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
