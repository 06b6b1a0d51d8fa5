use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use results::Probes;

use super::*;

/// A server that answers each line with the result of `answer` for it and its number, on any number of connections; it
/// ends with the test.
fn server(answer: fn(&str, u64) -> Option<String>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
            let mut to = client;
            let mut number = 0;
            while let Some(Ok(line)) = lines.next() {
                number += 1;
                let Some(answer) = answer(&line, number) else { break };
                if to.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    address
}

fn stats(line: &str, n: u64) -> Option<String> {
    let (gets, cpu) = (1000 * n, n as f64 / 100.0);
    (line == "stats").then(|| {
        format!(
            "STAT version 1.6.18\r\nSTAT cmd_get {gets}\r\nSTAT rusage_user {cpu}\r\nSTAT rusage_system {cpu}\r\nEND\r\n"
        )
    })
}

fn asked(servers: &[SocketAddr]) -> Subject {
    Subject { pids: vec![std::process::id()], ..Subject::default() }
        .asked_at(servers.iter().map(|server| (*server).into()).collect())
}

#[test]
fn a_server_is_asked_at_both_ends_of_each_slot() {
    let (mut own_ports, mut missing) = (Vec::new(), Vec::new());
    let subject = asked(&[server(stats), server(stats)]);
    let mut probe = open(&subject, &mut own_ports, &mut missing).unwrap_or_else(|lacks| panic!("{lacks:?}"));
    assert_eq!((own_ports.len(), missing.len()), (2, 0), "{missing:?}");
    probe.resume().unwrap();
    let mut sum = probe.pause();
    probe.resume().unwrap();
    let second = probe.pause();
    sum.add(second.as_ref());
    let mut record = Probes::default();
    assert_eq!(sum.enter(1.0, &mut record), None);
    let got = record.server.unwrap();
    assert_eq!((got.program.as_str(), got.servers, got.answers), ("memcached 1.6.18", 2, 8));
    // Each response adds 1000 gets and 20 ms of processor time.
    assert!((got.figure("cpu_us_per_request").unwrap() - 20.0).abs() < 1e-6, "{got:?}");
    let requests = got.figure("requests_per_s").unwrap() * got.observed_s;
    assert!((requests - 4000.0).abs() < 1e-6, "{got:?}");
    assert!(got.figure("proc_cpu_us_per_request").is_some_and(|us| us > 0.0), "{got:?}");
    assert!(got.answer_us_mean > 0.0 && got.service.is_none(), "{got:?}");
}

#[test]
fn a_server_that_tells_nothing_is_said() {
    let check = |subject: &Subject, part: &str| {
        let lacks = open(subject, &mut Vec::new(), &mut Vec::new()).err().unwrap();
        assert!(lacks[0].what.contains(part), "{lacks:?}");
        assert_eq!(lacks[0].probe, "server");
    };
    check(&Subject::default(), "the address of a server");
    check(&asked(&[server(|_, _| Some("ERROR\r\n".into()))]), "answers 'stats' in plain text");
    check(&asked(&[server(|_, _| None)]), "it ended the connection");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    check(&asked(&[closed]), "refused");
}

#[test]
fn a_server_that_ends_is_told_at_the_next_beginning() {
    let twice = |line: &str, n: u64| stats(line, n).filter(|_| n < 3);
    let subject = asked(&[server(twice)]);
    let mut probe =
        open(&subject, &mut Vec::new(), &mut Vec::new()).unwrap_or_else(|lacks| panic!("{lacks:?}"));
    probe.resume().unwrap();
    let mut record = Probes::default();
    probe.pause().enter(1.0, &mut record);
    assert_eq!(record.server, None);
    assert!(probe.resume().is_err());
}

#[test]
fn a_sphinx_without_metrics_is_told_how_to_have_them() {
    let sphinx = |_: &str, n: u64| {
        Some(format!("STAT sharing read\r\nSTAT cmd_get {n}\r\nSTAT sleeps {n}\r\nEND\r\n"))
    };
    let mut missing = Vec::new();
    let subject = asked(&[server(sphinx)]);
    let mut probe = open(&subject, &mut Vec::new(), &mut missing).unwrap_or_else(|lacks| panic!("{lacks:?}"));
    assert!(
        missing[0].what.contains("--metrics") && missing[0].probe == "server: service times",
        "{missing:?}"
    );
    probe.resume().unwrap();
    let mut record = Probes::default();
    probe.pause().enter(1.0, &mut record);
    assert_eq!(record.server.unwrap().figure("requests_per_sleep"), Some(1.0));
}
