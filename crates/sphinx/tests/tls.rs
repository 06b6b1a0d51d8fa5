//! TLS as memcached sets it up: on the usual port, with clients' certificates, and certificates that are read again.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::support::client::Client;
use crate::support::{PATIENCE, spawn};
use launch::Process;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use reactor::tls::{Identity, Trust, client_config};
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

/// An authority, and a folder with its certificates.
struct Authority {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        let authority = Authority { folder, issuer: Issuer::new(params, key) };
        authority.issue("server");
        authority.issue("client");
        authority
    }

    /// Issues a certificate and its key, in one file `NAME.pem`; returns the certificate.
    fn issue(&self, name: &str) -> Vec<u8> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        // In one step: the server may read it at any time.
        let (next, file) = (self.file("next"), self.file(name));
        fs::write(&next, format!("{}{}", certificate.pem(), key.serialize_pem())).unwrap();
        fs::rename(next, file).unwrap();
        certificate.der().to_vec()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.pem"))
    }

    fn text(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }
}

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// A connection by TLS whose client trusts `authority` and shows the certificate in `own`.
fn connect(address: SocketAddr, authority: &Authority, own: Option<&Path>) -> Encrypted {
    let ca = authority.file("ca");
    let identity = own.map(|file| Identity { certificates: file, key: file });
    let config = client_config(Trust::Authorities(&ca), identity).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), socket)
}

/// Sends a line and reads one of as many bytes as `expect` has.
fn ask(stream: &mut Encrypted, line: &str, expect: &str) -> std::io::Result<()> {
    stream.write_all(format!("{line}\r\n").as_bytes())?;
    let mut said = vec![0; expect.len() + 2];
    stream.read_exact(&mut said)?;
    assert_eq!(String::from_utf8_lossy(&said), format!("{expect}\r\n"), "{line}");
    Ok(())
}

/// The certificate that the server has shown.
fn shown(stream: &Encrypted) -> Vec<u8> {
    stream.conn.peer_certificates().unwrap()[0].to_vec()
}

/// Starts a server; returns it with its places without TLS and with it.
fn places(args: &str) -> (Process, Vec<SocketAddr>, Vec<SocketAddr>) {
    let mut process = spawn(args);
    let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    let rest = &line[launch::sphinx::READY.len()..];
    let first = rest.split(' ').next().unwrap();
    let others = rest.split_once("also on ").map_or("", |(_, others)| others.split(';').next().unwrap());
    let places = [first].into_iter().chain(others.split(", ").filter(|place| !place.is_empty()));
    let (encrypted, plain): (Vec<&str>, Vec<&str>) = places.partition(|place| place.starts_with("tls://"));
    let sockets = |places: Vec<&str>| {
        places.iter().map(|place| place.trim_start_matches("tls://").parse().unwrap()).collect()
    };
    (process, sockets(plain), sockets(encrypted))
}

#[test]
fn the_usual_port_speaks_tls_alone() {
    let authority = Authority::new();
    let args = format!("-Z -p 0 -t 2 -o ssl_chain_cert={}", authority.text("server"));
    let (_process, plain, encrypted) = places(&args);
    assert_eq!((plain.len(), encrypted.len()), (0, 1));
    let mut stream = connect(encrypted[0], &authority, None);
    ask(&mut stream, "set k 0 0 1\r\nv", "STORED").unwrap();
    let mut wrong = Client::connect(encrypted[0]);
    wrong.send("version\r\n");
    let mut said = Vec::new();
    let _ = wrong.stream.read_to_end(&mut said);
    assert!(!said.starts_with(b"VERSION"), "{}", said.escape_ascii());
    ask(&mut stream, "touch k 0", "TOUCHED").unwrap();
}

#[test]
fn an_address_may_do_without_tls() {
    let authority = Authority::new();
    let args = format!(
        "-Z -p 0 -t 2 -l notls:127.0.0.1:0,btls:127.0.0.2 -o ssl_chain_cert={}",
        authority.text("server")
    );
    let (_process, plain, encrypted) = places(&args);
    assert_eq!((plain.len(), encrypted.len()), (1, 1));
    let mut client = Client::connect(plain[0]);
    client.set("k", "v");
    let mut stream = connect(encrypted[0], &authority, None);
    ask(&mut stream, "get k", "VALUE k 0 1\r\nv\r\nEND").unwrap();
}

#[test]
fn clients_show_certificates_as_the_mode_says() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let check = |mode: u32, none: bool, bad: bool| {
        let args = format!(
            "-Z -p 0 -t 1 -o ssl_chain_cert={},ssl_ca_cert={},ssl_verify_mode={mode}",
            authority.text("server"),
            authority.text("ca")
        );
        let (_process, _, encrypted) = places(&args);
        let serves = |own: Option<&Path>| {
            ask(&mut connect(encrypted[0], &authority, own), "touch k 0", "NOT_FOUND").is_ok()
        };
        assert!(serves(Some(&authority.file("client"))), "mode {mode}: a certificate of the authority");
        assert_eq!(serves(None), none, "mode {mode}: no certificate");
        assert_eq!(
            serves(Some(&stranger.file("client"))),
            bad,
            "mode {mode}: another authority's certificate"
        );
    };
    check(0, true, true);
    check(1, true, false);
    check(2, false, false);
    check(3, false, false);
}

#[test]
fn a_certificate_may_be_its_own_authority() {
    let authority = Authority::new();
    let (own, key) = (authority.text("ca"), authority.file("key"));
    fs::write(&key, authority.issuer.key().serialize_pem()).unwrap();
    let both = fs::read_to_string(authority.file("ca")).unwrap() + &fs::read_to_string(&key).unwrap();
    fs::write(authority.file("both"), both).unwrap();
    let args = format!(
        "-Z -p 0 -t 1 -o ssl_chain_cert={own},ssl_key={},ssl_ca_cert={own},ssl_verify_mode=2",
        key.display()
    );
    let (_process, _, encrypted) = places(&args);
    let mut stream = connect(encrypted[0], &authority, Some(&authority.file("both")));
    ask(&mut stream, "touch k 0", "NOT_FOUND").unwrap();
    assert!(ask(&mut connect(encrypted[0], &authority, None), "touch k 0", "NOT_FOUND").is_err());
}

#[test]
fn an_encrypted_key_is_refused_with_the_command_that_decrypts_it() {
    let authority = Authority::new();
    let key = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIG0\n-----END ENCRYPTED PRIVATE KEY-----\n";
    fs::write(authority.file("key"), key).unwrap();
    let (certificate, key) = (authority.text("server"), authority.text("key"));
    let mut process = spawn(&format!("-Z -p 0 -t 1 -o ssl_chain_cert={certificate},ssl_key={key}"));
    assert!(process.await_line(launch::sphinx::READY, PATIENCE).is_err());
    let said = process.stderr_tail().join("\n");
    let expect = format!("{key} has an encrypted private key; decrypt it: openssl pkey -in {key} -out ");
    assert!(said.contains(&expect), "{said}");
}

#[test]
fn an_old_version_is_refused() {
    let authority = Authority::new();
    let tls12 = |min: u32| {
        let args =
            format!("-Z -p 0 -t 1 -o ssl_chain_cert={},ssl_min_version={min}", authority.text("server"));
        let (_process, _, encrypted) = places(&args);
        let mut config = rustls::RootCertStore::empty();
        config.add(rustls::pki_types::pem::PemObject::from_pem_file(authority.file("ca")).unwrap()).unwrap();
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_root_certificates(config)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let socket = TcpStream::connect(encrypted[0]).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let connection = ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
        ask(&mut StreamOwned::new(connection, socket), "touch k 0", "NOT_FOUND").is_ok()
    };
    assert_eq!([0, 2, 3].map(tls12), [true, true, false]);
}

#[test]
fn a_command_has_the_certificate_read_again() {
    let authority = Authority::new();
    let first = authority.issue("server");
    let args =
        format!("-Z -p 0 -t 2 -l notls:127.0.0.1,127.0.0.2 -o ssl_chain_cert={}", authority.text("server"));
    let (_process, plain, encrypted) = places(&args);
    let mut client = Client::connect(plain[0]);
    let mut old = connect(encrypted[0], &authority, None);
    ask(&mut old, "touch k 0", "NOT_FOUND").unwrap();
    assert_eq!(shown(&old), first);
    let new = || {
        let mut stream = connect(encrypted[0], &authority, None);
        ask(&mut stream, "touch k 0", "NOT_FOUND").unwrap();
        shown(&stream)
    };

    let second = authority.issue("server");
    assert_eq!(new(), first, "until the command");
    ask(&mut old, "refresh_certs", "OK").unwrap();
    assert_eq!(new(), second);
    let third = authority.issue("server");
    client.send("refresh_certs noreply\r\n");
    assert_eq!(client.ask("touch k 0"), "NOT_FOUND");
    assert_eq!(new(), third);
    // Each takes long, so that others have their turn between two.
    client.send("refresh_certs\r\n".repeat(3));
    (0..3).for_each(|_| assert_eq!(client.text(), "OK"));
    assert!(client.stat("conn_yields") >= 2);

    fs::write(authority.file("server"), "this is not a certificate").unwrap();
    let said = client.ask("refresh_certs");
    let expect = format!("SERVER_ERROR cannot read a private key from {}: ", authority.text("server"));
    assert!(said.starts_with(&expect) && said.ends_with("; the certificates stay as they were"), "{said}");
    assert_eq!(new(), third);
    ask(&mut old, "touch k 0", "NOT_FOUND").expect("an open connection lives on");
}

#[test]
fn without_tls_there_is_nothing_to_read_again() {
    let server = crate::support::sphinxd("-t 1");
    assert_eq!(Client::connect(server.address).ask("refresh_certs"), "Error TLS not enabled");
}

/// Connects until the server shows `expect`; a signal takes effect in its own time.
fn until_shown(address: SocketAddr, authority: &Authority, expect: &[u8]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut stream = connect(address, authority, None);
        ask(&mut stream, "touch k 0", "NOT_FOUND").unwrap();
        if shown(&stream) == expect {
            return;
        }
        assert!(Instant::now() < deadline, "the server shows the old certificate");
    }
}

#[test]
fn a_signal_has_the_certificate_read_again() {
    let authority = Authority::new();
    let first = authority.issue("server");
    for io in ["epoll", "auto"] {
        let first = if io == "epoll" { first.clone() } else { authority.issue("server") };
        let args = format!("-v -Z -p 0 -t 2 --io {io} -o ssl_chain_cert={}", authority.text("server"));
        let (mut process, _, encrypted) = places(&args);
        let pid = Pid::from_raw(process.pid() as i32).unwrap();
        let mut old = connect(encrypted[0], &authority, None);
        ask(&mut old, "touch k 0", "NOT_FOUND").unwrap();
        assert_eq!(shown(&old), first);

        let second = authority.issue("server");
        kill_process(pid, Signal::HUP).unwrap();
        until_shown(encrypted[0], &authority, &second);
        ask(&mut old, "touch k 0", "NOT_FOUND").expect("an open connection lives on");

        fs::write(authority.file("server"), "this is not a certificate").unwrap();
        kill_process(pid, Signal::HUP).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while !process.stderr_tail().iter().any(|line| line.contains("the certificates stay as they were")) {
            assert!(Instant::now() < deadline, "{:?}", process.stderr_tail());
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        until_shown(encrypted[0], &authority, &second);
        ask(&mut old, "touch k 0", "NOT_FOUND").expect("an open connection lives on");
        assert!(process.is_running());
    }
}
