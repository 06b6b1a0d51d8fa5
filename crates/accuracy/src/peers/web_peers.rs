//! The known HTTP generators, and the options by which each offers the load.

use std::fs;
use std::io;

use crate::peers::known_peers::{Peer, words};
use crate::peers::{Load, web_formats};

pub(crate) const PEERS: [Peer; 7] = [
    Peer {
        name: "wrk",
        program: "wrk",
        version_option: Some("--version"),
        pacing: "closed loop",
        paces: false,
        source: "Debian: wrk",
        arguments: wrk,
        report: None,
        parse: web_formats::wrk,
    },
    Peer {
        name: "wrk2",
        program: "wrk2",
        version_option: Some("--version"),
        pacing: "rate per connection, measured from the intended time",
        paces: true,
        source: "github: giltene/wrk2; install its wrk under the name wrk2",
        arguments: wrk2,
        report: None,
        parse: web_formats::wrk,
    },
    Peer {
        name: "ab",
        program: "ab",
        version_option: Some("-V"),
        pacing: "closed loop",
        paces: false,
        source: "Debian: apache2-utils",
        arguments: ab,
        report: None,
        parse: web_formats::ab,
    },
    Peer {
        name: "h2load",
        program: "h2load",
        version_option: Some("--version"),
        pacing: "rate per connection in ticks, held back by its answers",
        paces: true,
        source: "Debian: nghttp2-client",
        arguments: h2load,
        report: None,
        parse: web_formats::h2load,
    },
    Peer {
        name: "hey",
        program: "hey",
        version_option: None,
        pacing: "rate per connection, held back by its answers",
        paces: true,
        source: "Go: github.com/rakyll/hey",
        arguments: hey,
        report: None,
        parse: web_formats::hey,
    },
    Peer {
        name: "oha",
        program: "oha",
        version_option: Some("--version"),
        pacing: "rate over all connections, measured from the intended time (--latency-correction)",
        paces: true,
        source: "crates: oha",
        arguments: oha,
        report: None,
        parse: web_formats::oha,
    },
    Peer {
        name: "vegeta",
        program: "vegeta",
        version_option: Some("-version"),
        pacing: "rate, with more connections while answers are late",
        paces: true,
        source: "Go: github.com/tsenart/vegeta/v12",
        arguments: vegeta,
        report: Some(vegeta_report),
        parse: web_formats::vegeta,
    },
];

fn wrk(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, connections, seconds, .. } = load;
    Ok(words(&format!("-t1 -c{connections} -d{seconds}s --latency http://{server}/page")))
}

fn wrk2(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    // Its first ten seconds are its own calibration, and do not count.
    let whole = seconds + 10;
    Ok(words(&format!("-t1 -c{connections} -d{whole}s -R{rps} --latency http://{server}/page")))
}

fn ab(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, connections, seconds, .. } = load;
    // A time alone limits it to 50 000 requests.
    Ok(words(&format!("-k -q -c {connections} -t {seconds} -n 100000000 http://{server}/page")))
}

fn h2load(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    let each = rps / connections;
    Ok(words(&format!("--h1 -t1 -c{connections} -D {seconds} --rps={each} http://{server}/page")))
}

fn hey(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    let each = rps / connections;
    Ok(words(&format!("-c {connections} -q {each} -z {seconds}s http://{server}/page")))
}

fn oha(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, .. } = load;
    Ok(words(&format!(
        "--no-tui --output-format json -c {connections} -q {rps} --latency-correction -z {seconds}s http://{server}/page"
    )))
}

fn vegeta(load: &Load) -> io::Result<Vec<String>> {
    let Load { server, rps, connections, seconds, folder, .. } = load;
    let (targets, results) = (folder.join("targets"), folder.join("results"));
    fs::write(&targets, format!("GET http://{server}/page\n"))?;
    let (targets, results) = (targets.display(), results.display());
    Ok(words(&format!(
        "attack -targets={targets} -output={results} -rate={rps} -duration={seconds}s -workers={connections} -connections={connections}"
    )))
}

fn vegeta_report(load: &Load) -> Vec<String> {
    words(&format!("report -type=json {}", load.folder.join("results").display()))
}

#[cfg(test)]
mod tests {
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
            // In total, or for each connection.
            let paced = ["3200", "200"].iter().any(|rate| told.contains(rate));
            assert_eq!(paced, peer.paces, "{told}");
        }
    }
}
