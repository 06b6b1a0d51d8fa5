//! HTTP/2 against real servers: NGINX, nghttp2's, and that of Node.js; and servers that do not speak it.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use launch::{Process, Spec, find_program, free_port};
use results::Transport;
use tempfile::TempDir;

use crate::nginx::{has, made};
use crate::run::{refuses, taillight, web};
use crate::web::{certificate_and_key, no_errors, trial};

/// A server that takes longer than this to start is stuck.
const PATIENCE: Duration = Duration::from_secs(60);
const FILES: &str = "50x5000";

/// A server of a program's own, on ports of its own.
struct Running {
    _process: Process,
    ports: Vec<u16>,
}

impl Running {
    /// Starts `words` of a program with this number of free ports; repeats it if another program has taken one.
    fn start(ports: usize, words: impl Fn(&[u16]) -> Vec<String>) -> Running {
        loop {
            let ports: Vec<u16> = (0..ports).map(|_| free_port().unwrap()).collect();
            let words = words(&ports);
            let mut process =
                Process::spawn(Spec::new(&words[0], &words[0]).args(words[1..].to_vec())).unwrap();
            let ready = |port: &u16| process.await_port((Ipv4Addr::LOCALHOST, *port).into(), PATIENCE);
            match ports.iter().try_for_each(ready) {
                Ok(()) => return Running { _process: process, ports },
                Err(launch::Error::PortTaken { .. } | launch::Error::Died { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

/// NGINX on four ports: with HTTP/2 in the clear and over TLS, and the same without it.
fn nginx(folder: &Path, set: &Path) -> Running {
    Running::start(4, |ports| {
        let [clear, tls, old, old_tls] = ports else { unreachable!("four were asked for") };
        let (at, set) = (folder.display(), set.display());
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {at}/{name};\n"))
            .concat();
        let server = |listen: String| {
            let keys = format!("ssl_certificate {at}/cert.pem; ssl_certificate_key {at}/key.pem;");
            format!(
                "server {{ listen 127.0.0.1:{listen}; {keys} root {set};\n location = /post {{ return 200; }} }}\n"
            )
        };
        let servers = [
            server(format!("{clear} http2")),
            server(format!("{tls} ssl http2")),
            server(old.to_string()),
            server(format!("{old_tls} ssl")),
        ]
        .concat();
        let config = format!(
            "daemon off; worker_processes 1; pid {at}/pid; error_log {at}/error.log;\nevents {{}}\n\
             http {{ access_log off; keepalive_requests 50; http2_max_concurrent_streams 16;\n{temporary}{servers}}}\n"
        );
        fs::write(folder.join("nginx.conf"), config).unwrap();
        words(&["nginx", "-c", &folder.join("nginx.conf").display().to_string()])
    })
}

/// A folder with a certificate of 127.0.0.1 and its key, and the file of the former.
fn papers() -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (certificate, _) = certificate_and_key(folder.path());
    (folder, certificate)
}

const LOAD: [&str; 10] =
    ["--rate", "1k", "--files", FILES, "--verify", "checksum", "--http", "2", "--files-seed", "1"];

#[test]
fn nginx_in_the_clear_and_over_tls() {
    if !has("nginx") {
        return;
    }
    let (_outer, set, _) = made(FILES);
    let (folder, certificate) = papers();
    let server = nginx(folder.path(), &set);
    let [clear, tls, old, old_tls] = server.ports[..] else { unreachable!("four were asked for") };
    let clear = format!("http://127.0.0.1:{clear}");
    for depth in ["1", "8"] {
        let found = trial(&clear, &[&LOAD[..], &["--depth", depth]].concat());
        no_errors(&found);
        assert_eq!((found.counters["verify_failures"], found.transport), (0.0, Some(Transport::Tcp)));
        assert_eq!(web(&found).http.to_string(), "2");
        // After 50 requests of each connection.
        assert!(found.counters["closed_by_server"] > 0.0, "{:?}", found.counters);
        assert_eq!(found.counters["connections_with_fewer_streams"], 0.0);
    }
    let deep = trial(&clear, &[&LOAD[..], &["--depth", "64"]].concat());
    no_errors(&deep);
    assert_eq!(deep.counters["connections_with_fewer_streams"], 1.0);
    let each = trial(&clear, &[&LOAD[..], &["--requests-per-connection", "5"]].concat());
    no_errors(&each);
    let tls = format!("https://127.0.0.1:{tls}");
    let found = trial(&tls, &[&LOAD[..], &["--depth", "8", "--tls-ca", &certificate]].concat());
    no_errors(&found);
    assert_eq!((found.counters["verify_failures"], found.transport), (0.0, Some(Transport::Tls)));
    let list = folder.path().join("list");
    fs::write(&list, "/missing\n").unwrap();
    let missing = ["--rate", "500", "--http", "2", "--depth", "4", "--urls", &list.display().to_string()];
    let found = trial(&clear, &missing);
    assert_eq!((found.arrivals.completed, found.errors.len()), (0, 1), "{:?}", found.errors);
    assert!(found.errors[0].kind.contains("404"), "{:?}", found.errors);
    let head = trial(&clear, &[&LOAD[..4], &["--http", "2", "--method", "HEAD", "--depth", "4"]].concat());
    no_errors(&head);
    let post = ["--rate", "100", "--http", "2", "--method", "POST", "--body-size", "200KiB", "--depth", "4"];
    let found = trial(&format!("{clear}/post"), &post);
    assert_eq!(found.arrivals.errors, 0, "{:?}", found.errors);
    assert!(found.arrivals.completed > 10, "{:?}", found.arrivals);
    // Without HTTP/2.
    let mut command = taillight(&["load", "web", "--target", &format!("http://127.0.0.1:{old}")]);
    refuses(command.args(LOAD), 1, &["HTTP/2's settings", "leave out --http 2"]);
    let mut command = taillight(&["load", "web", "--target", &format!("https://127.0.0.1:{old_tls}")]);
    refuses(command.args(LOAD).arg("--tls-insecure"), 1, &["selected 'http/1.1'", "leave out --http 2"]);
    // And a server of HTTP/2 alone, asked for HTTP/1.1.
    let mut command = taillight(&["load", "web", "--target", &clear, "--rate", "100"]);
    refuses(&mut command, 1, &["an HTTP/2 server", "add --http 2"]);
}

#[test]
fn nghttpd_in_the_clear_and_over_tls() {
    if !has("nghttpd") {
        return;
    }
    let (_outer, set, _) = made(FILES);
    let (folder, certificate) = papers();
    let (set, at) = (set.display().to_string(), |file: &str| folder.path().join(file).display().to_string());
    let clear = Running::start(1, |ports| {
        words(&["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", &set, "-m", "10", &ports[0].to_string()])
    });
    let found =
        trial(&format!("http://127.0.0.1:{}", clear.ports[0]), &[&LOAD[..], &["--depth", "8"]].concat());
    no_errors(&found);
    assert_eq!(found.counters["verify_failures"], 0.0);
    let tls = Running::start(1, |ports| {
        let (key, certificate) = (at("key.pem"), at("cert.pem"));
        words(&["nghttpd", "-a", "127.0.0.1", "-d", &set, &ports[0].to_string(), &key, &certificate])
    });
    let options = [&LOAD[..], &["--depth", "8", "--tls-ca", &certificate]].concat();
    no_errors(&trial(&format!("https://127.0.0.1:{}", tls.ports[0]), &options));
}

/// Its answers come in the order of their delays, and its fields use the dynamic table.
const NODE: &str = "
const server = require('http2').createServer();
server.on('stream', (stream, fields) => {
  const length = 100 + Number(fields[':path'].slice(1));
  setTimeout(() => {
    stream.respond({ ':status': 200, 'x-of-this-server': 'the same each time', 'content-length': length });
    stream.end(Buffer.alloc(length));
  }, length % 7);
});
server.listen(Number(process.argv[1]), '127.0.0.1');
";

#[test]
fn node_answers_out_of_order() {
    let Some(node) = find_program("node") else { return println!("skipped: there is no node here") };
    let server =
        Running::start(1, |ports| words(&[&node.display().to_string(), "-e", NODE, &ports[0].to_string()]));
    let folder = TempDir::new().unwrap();
    let list = folder.path().join("list");
    let paths: String = (0..50).map(|n| format!("/{n} {}\n", 100 + n)).collect();
    fs::write(&list, paths).unwrap();
    let options = ["--rate", "500", "--http", "2", "--depth", "16", "--connections", "1", "--urls"];
    let target = format!("http://127.0.0.1:{}", server.ports[0]);
    let found = trial(&target, &[&options[..], &[&list.display().to_string()]].concat());
    no_errors(&found);
    assert_eq!(found.counters["verify_failures"], 0.0, "each answer has the length of its own path");
}
