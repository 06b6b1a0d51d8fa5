//! Servers of another kind than the workload asks for: each is named before the load, with the way to measure it.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use launch::{Process, Spec, find_program};
use results::Trial;

use crate::cache::certificate;
use crate::hostile_servers::{reset, server};
use crate::redis::redis;
use crate::run::{Served, answers, finish, on_free_port, refuses, taillight, text};

/// Turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a program that listens on a port; `None`, with the reason printed, if it is not installed.
pub(crate) fn started(
    program: &str,
    package: &str,
    arguments: impl Fn(u16) -> Vec<String>,
) -> Option<(Process, String)> {
    let Some(path) = find_program(program) else {
        println!("skipped: {program} is not installed (apt-get install {package})");
        return None;
    };
    let spec = |port| Spec::new(program, &path).args(arguments(port));
    let (process, address) = on_free_port(PATIENCE, spec);
    Some((process, address.to_string()))
}

/// NGINX that answers with `location`, over TLS with a certificate.
pub(crate) fn nginx(folder: &Path, tls: Option<&[String; 2]>, location: &str) -> Option<(Process, String)> {
    started("nginx", "nginx", |port| {
        let (ssl, certificate) = match tls {
            Some([cert, key]) => (" ssl", format!("ssl_certificate {cert}; ssl_certificate_key {key};")),
            None => ("", String::new()),
        };
        let config = format!(
            "pid {0}/pid; error_log {0}/error.log; daemon off; master_process off; events {{}}\n\
             http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f;\n\
             uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n\
             server {{ listen 127.0.0.1:{port}{ssl}; {certificate} {location} }} }}",
            folder.display()
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, config).unwrap();
        ["-c", &file.display().to_string(), "-p", &folder.display().to_string()].map(Into::into).into()
    })
}

/// A server that speaks first, or answers all requests so.
fn saying(bytes: &'static [u8], first: bool) -> String {
    server(move |mut stream, _| {
        if !first {
            let _ = stream.read(&mut [0; 4096]);
        }
        let _ = stream.write_all(bytes);
        while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
    })
}

fn cache(target: &str) -> Command {
    taillight(&["load", "cache", "--target", target, "--rate", "1k", "--fill", "never", "--json"])
}

fn web(target: &str) -> Command {
    let mut command = taillight(&["load", "web", "--target", target, "--rate", "500", "--json"]);
    command.args(["--warmup", "0s", "--window", "300ms", "--connections", "4", "--pace", "sleep"]);
    command
}

#[test]
fn redis_is_no_memcached() {
    let Some((_open, address)) = redis(&[]) else { return };
    let says = ["is Redis", "-ERR unknown command", "add --protocol resp"];
    refuses(&mut cache(&address), 1, &says);
    let instead = format!("taillight load cache --protocol resp --target {address}");
    refuses(&mut web(&format!("http://{address}/")), 1, &["is Redis", &instead]);
    refuses(cache(&address).arg("--tls-insecure"), 1, &["does not speak TLS and is Redis"]);
    let Some((_locked, address)) = redis(&["--requirepass", "secret"]) else { return };
    refuses(&mut cache(&address), 1, &["is Redis"]);
}

#[test]
fn a_web_server_is_no_cache() {
    let folder = tempfile::tempdir().unwrap();
    let Some((_server, address)) = nginx(folder.path(), None, "return 200 x;") else { return };
    let instead = format!("taillight load web --target http://{address}/");
    refuses(&mut cache(&address), 1, &["is an HTTP server", "HTTP/1.1 400", &instead]);
    refuses(
        cache(&address).arg("--tls-insecure"),
        1,
        &["does not speak TLS and is an HTTP server", &instead],
    );
    let plain = format!("write http://{address}/");
    refuses(web(&format!("https://{address}/")).arg("--tls-insecure"), 1, &["does not speak TLS", &plain]);
}

#[test]
fn a_cache_is_no_web_server() {
    let Some((_server, address)) = crate::cache::memcached(&[]) else { return };
    let says = ["is a memcached-compatible cache", &format!("taillight load cache --target {address}")];
    refuses(&mut web(&format!("http://{address}/")), 1, &says);
    refuses(web(&format!("https://{address}/")).arg("--tls-insecure"), 1, &says);
    let says = ["does not speak TLS and is a memcached-compatible cache", "leave out --tls-ca"];
    refuses(cache(&address.to_string()).arg("--tls-insecure"), 1, &says);
    let sphinx = Served::start(&["serve", "sphinx", "-p", "0", "-m", "64", "-t", "1"], launch::sphinx::READY);
    refuses(&mut web(&format!("http://{}/", sphinx.address)), 1, &["is a memcached-compatible cache"]);
}

#[test]
fn a_port_that_expects_tls() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = certificate(folder.path());
    let Some((_server, address)) = nginx(folder.path(), Some(&certificate), "return 200 x;") else { return };
    let instead = format!("write https://{address}/");
    refuses(&mut web(&format!("http://{address}/")), 1, &["expects TLS", &instead]);
    answers(&finish(web(&format!("https://{address}/")).args(["--tls-ca", &certificate[0]])));
    // A wrong authority does not raise a doubt that it is TLS.
    let other = tempfile::tempdir().unwrap();
    let [authority, _] = crate::cache::certificate(other.path());
    refuses(web(&format!("https://{address}/")).args(["--tls-ca", &authority]), 1, &["certificate"]);
    let alert = saying(b"\x15\x03\x01\x00\x02\x02\x46", false);
    refuses(&mut cache(&alert), 1, &["expects TLS", "--tls-ca FILE"]);
    refuses(&mut web(&format!("http://{alert}/")), 1, &["expects TLS", &format!("https://{alert}/")]);
}

#[test]
fn servers_that_speak_first() {
    let check = |bytes: &'static [u8], name: &str| {
        let address = saying(bytes, true);
        refuses(&mut cache(&address), 1, &[name, "memcached-compatible server"]);
        refuses(&mut web(&format!("http://{address}/")), 1, &[name, "URL of an HTTP server"]);
    };
    check(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "is an SSH server");
    check(b"220 mail.example ESMTP Postfix\r\n", "is a mail or file server");
    check(b"\x49\x00\x00\x00\x0a8.0.36\x00\x08\x00\x00\x00", "is MySQL or MariaDB");
}

#[test]
fn a_server_over_ipv6_is_named_as_well() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        return println!("skipped: this machine has no IPv6");
    };
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"-ERR unknown command 'version'\r\n");
        }
    });
    refuses(&mut cache(&address), 1, &[&format!("{address} is Redis")]);
    refuses(&mut web(&format!("http://{address}/")), 1, &[&format!("{address} is Redis")]);
}

/// The answer to a request whose head is refused before its body was read; then the connection is reset.
#[test]
fn an_early_refusal_is_counted_and_no_obstacle() {
    let address = server(|mut stream, _| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream
            .write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        reset(&stream);
    });
    let mut command = web(&format!("http://{address}/upload"));
    let output = finish(command.args(["--method", "POST", "--body-size", "4MiB"]));
    answers(&output);
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert_eq!(trial.arrivals.completed, 0, "{:?}", trial.errors);
    assert!(!trial.errors.is_empty());
}

#[test]
fn a_redirect_names_the_url_to_use() {
    let folder = tempfile::tempdir().unwrap();
    let location = "location /old { return 301 /new; } location / { return 200 x; }";
    let Some((_server, address)) = nginx(folder.path(), None, location) else { return };
    let old = format!("http://{address}/old");
    let new = format!("http://{address}/new");
    refuses(
        &mut web(&old),
        1,
        &[&format!("redirects to {new} (status 301)"), &format!("--target {new}"), "--verify none"],
    );
    answers(&finish(&mut web(&new)));
    // Redirects may be the object of a measurement; then the errors name their target.
    let output = finish(web(&old).args(["--verify", "none"]));
    answers(&output);
    assert!(text(&output).contains("status 301, a redirect to"), "{}", text(&output));
    // wrk counts redirects as answers.
    let wrk = finish(&mut taillight(&["wrk", "-t1", "-c1", "-d300ms", "-R100", &old]));
    assert!(text(&wrk).contains("Requests/sec"), "{}", text(&wrk));
    // Of several pages, all are redirected only if they are to another server.
    let list = folder.path().join("list");
    fs::write(&list, "/old\n/other\n").unwrap();
    let listed = |target: &str| {
        let mut command = web(target);
        command.arg("--urls").arg(&list);
        command
    };
    answers(&finish(&mut listed(&format!("http://{address}"))));
    let elsewhere =
        saying(b"HTTP/1.1 301 Moved\r\nLocation: https://h.invalid/old\r\nContent-Length: 0\r\n\r\n", false);
    refuses(&mut listed(&format!("http://{elsewhere}")), 1, &["--target https://h.invalid,"]);
}

#[test]
fn a_path_takes_a_url() {
    let says = ["only a URL has a path", "http://127.0.0.1:9/x for a web server, or 127.0.0.1:9 for a cache"];
    refuses(&mut web("127.0.0.1:9/x"), 2, &says);
    refuses(&mut cache("127.0.0.1:9/x"), 2, &says);
}
