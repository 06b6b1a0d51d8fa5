//! Web servers that end connections, set up as their users do: no answer is lost, and none is made up.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use crate::cache::certificate;
use crate::strangers::{nginx, started};
use crate::web::{no_errors, trial};

/// The report: 139 answers of 10,000 were counted as time-outs.
#[test]
fn nginx_that_ends_each_connection_over_tls_loses_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = certificate(folder.path());
    let location = "keepalive_requests 1; location / { return 200 x; }";
    let Some((_server, address)) = nginx(folder.path(), Some(&certificate), location) else { return };
    let ends = ["--timeout", "30s", "--drain", "30s", "--window", "2s", "--connections", "16"];
    let options = [&ends[..], &["--rate", "200", "--tls-insecure"]].concat();
    let trial = trial(&format!("https://{address}/"), &options);
    no_errors(&trial);
    assert_eq!((trial.arrivals.timeouts, trial.arrivals.unfinished), (0, 0), "{:?}", trial.arrivals);
    assert_eq!(trial.counters["closed_by_server"], 1.0, "each answer ends its connection");
}

/// HAProxy says 408 before it ends a connection on which no request came in time.
#[test]
fn haproxys_408_on_idle_connections_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("haproxy.cfg");
    let haproxy = |port: u16| {
        let config = format!(
            "global\n  nbthread 1\n\
             defaults\n  mode http\n  timeout connect 10s\n  timeout client 20s\n  timeout server 20s\n  \
             timeout http-request 200ms\n\
             frontend web\n  bind 127.0.0.1:{port}\n  \
             http-request return status 200 content-type text/plain string x\n"
        );
        fs::write(&file, config).unwrap();
        vec!["-db".into(), "-f".into(), file.display().to_string()]
    };
    let Some((_server, address)) = started("haproxy", "haproxy", haproxy) else { return };
    let mut idle = TcpStream::connect(&address).unwrap();
    idle.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut said = String::new();
    let _ = idle.read_to_string(&mut said);
    if !said.starts_with("HTTP/1.1 408 ") {
        return println!("skipped: this HAProxy ends idle connections with '{said}'");
    }
    // Most connections are idle for longer than that.
    let options = ["--rate", "20", "--connections", "32", "--warmup", "1s", "--window", "3s"];
    let trial = trial(&format!("http://{address}/"), &options);
    for kind in ["unsolicited_bytes", "bytes_between_answers"] {
        assert!(trial.errors.iter().all(|error| error.kind != kind), "{:?}", trial.errors);
    }
    // A request may cross the 408 on its way.
    assert!(trial.arrivals.errors * 10 <= trial.arrivals.intended, "{:?}", trial.errors);
}
