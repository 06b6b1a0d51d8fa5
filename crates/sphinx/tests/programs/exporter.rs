use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use launch::Process;

use super::pair::Server;
use super::run::{self, Ended};
use crate::support::PATIENCE;

/// The names and labels of the metrics that memcached_exporter exports for the server, the value of `memcached_up`, and
/// errors of its log.
pub(crate) fn metrics(server: &Server) -> Ended {
    let (mut exporter, address) = start(server);
    let text = get(address, "/metrics");
    let samples = text.lines().filter(|line| line.starts_with("memcached_"));
    // About itself, not about the server.
    let samples = samples.filter(|line| !line.starts_with("memcached_exporter_"));
    let lines = samples.map(|line| match line.rsplit_once(' ') {
        Some(("memcached_up", up)) => format!("memcached_up {up}"),
        Some((name, _)) if name.starts_with("memcached_version{") => "memcached_version".into(),
        Some((name, _)) => name.into(),
        None => line.into(),
    });
    let lines = lines.collect();
    exporter.terminate();
    let _ = exporter.wait(PATIENCE);
    let errors = exporter.stderr_tail().into_iter().filter(|line| line.contains("level=error")).collect();
    Ended { lines, status: "0".into(), errors }
}

fn start(server: &Server) -> (Process, SocketAddr) {
    loop {
        let port = launch::free_port().unwrap();
        let words = [
            "memcached_exporter".into(),
            format!("--memcached.address={}", server.place),
            // The default is one second, in which a busy machine may not schedule the exporter and the server.
            format!("--memcached.timeout={}s", PATIENCE.as_secs()),
            format!("--web.listen-address=127.0.0.1:{port}"),
        ];
        let mut process = Process::spawn(run::spec(&words).unwrap()).unwrap();
        let address = (Ipv4Addr::LOCALHOST, port).into();
        match process.await_port(address, PATIENCE) {
            Ok(()) => return (process, address),
            Err(launch::Error::PortTaken { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}
