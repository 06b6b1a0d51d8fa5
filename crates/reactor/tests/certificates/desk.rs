//! Certificates made by the program `openssl`, and its server and client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use reactor::tls::{Failure, Peer};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

/// Turns a hang into a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const P256: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256";
pub(crate) const P521: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-521";
/// The names of a server on this machine.
pub(crate) const HERE: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1";

/// Whether a program is here; says so if it is not.
pub(crate) fn has(program: &str) -> bool {
    let found =
        Command::new(program).arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: there is no {program} here");
    }
    found
}

/// A folder of certificates `NAME.pem` and keys `NAME.key`.
pub(crate) struct Desk(TempDir);

impl Desk {
    /// With an authority, `ca`.
    pub(crate) fn new() -> Desk {
        let desk = Desk(TempDir::new().unwrap());
        desk.own("ca", P256, "basicConstraints=critical,CA:TRUE");
        desk
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file; returns its name.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.file(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// Runs `openssl` in the folder; returns its output.
    pub(crate) fn openssl(&self, arguments: &str) -> Vec<u8> {
        let output =
            Command::new("openssl").args(arguments.split(' ')).current_dir(&self.0).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// A certificate that issued itself, as `openssl req -x509` makes it: an authority's.
    pub(crate) fn own(&self, name: &str, key: &str, extension: &str) {
        let subject = if name == "ca" { "authority" } else { "localhost" };
        self.openssl(&format!(
            "req -x509 {key} -nodes -keyout {name}.key -out {name}.pem -days 30 -subj /CN={subject} -addext {extension}"
        ));
    }

    /// One that `issuer` issued; without extensions it has version 1.
    pub(crate) fn issued(&self, name: &str, issuer: &str, extensions: &str, more: &str) {
        self.openssl(&format!("req {P256} -nodes -keyout {name}.key -out {name}.csr -subj /CN=localhost"));
        self.sign(name, issuer, extensions, more);
    }

    pub(crate) fn sign(&self, name: &str, issuer: &str, extensions: &str, more: &str) {
        let mut command = format!(
            "x509 -req -in {name}.csr -CA {issuer}.pem -CAkey {issuer}.key -set_serial 7 -out {name}.pem {more}"
        );
        if !extensions.is_empty() {
            self.write("extensions", extensions.replace(';', "\n"));
            command.push_str(" -extfile extensions");
        }
        self.openssl(command.trim_end());
    }
}

/// OpenSSL's server, which answers HTTP.
pub(crate) struct Server(Child, pub(crate) u16);

impl Server {
    pub(crate) fn start(desk: &Desk, name: &str, more: &str) -> Server {
        let mut command = Command::new("openssl");
        command.args(["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", &format!("{name}.pem")]);
        command.args(["-key", &format!("{name}.key")]).args(more.split(' ').filter(|word| !word.is_empty()));
        command.current_dir(&desk.0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let port = lines.find_map(|line| line.strip_prefix("ACCEPT 127.0.0.1:")?.parse().ok());
        Server(child, port.unwrap_or_else(|| panic!("{name}: openssl s_server does not start")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// The first line of the answer to a request by a client of ours, or why there is none.
pub(crate) fn ask(config: &Arc<ClientConfig>, name: &str, port: u16) -> Result<String, String> {
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let tls = ClientConnection::new(Arc::clone(config), name).unwrap();
    first_line(StreamOwned::new(tls, socket))
}

fn first_line(mut stream: impl Read + Write) -> Result<String, String> {
    let failed = |error| Failure::explained(error, Peer::Server).to_string();
    stream.write_all(REQUEST).map_err(failed)?;
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).map_err(failed)?;
        line.extend_from_slice(&byte);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// A server of ours that answers one client; the port, and later why it failed.
pub(crate) fn serve_once(config: Arc<ServerConfig>) -> (u16, thread::JoinHandle<Result<(), String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
        let mut request = vec![0; REQUEST.len()];
        let read = stream.read_exact(&mut request);
        read.map_err(|error| Failure::explained(error, Peer::Client).to_string())?;
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").unwrap();
        stream.conn.send_close_notify();
        let _ = stream.flush();
        Ok(())
    });
    (port, server)
}

/// What OpenSSL's client gets, which verifies the server by `ca` and shows `own`.
pub(crate) fn s_client(desk: &Desk, port: u16, ca: &str, own: Option<&str>) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-servername", "localhost"]);
    command.args(["-verify_return_error", "-verify_hostname", "localhost", "-partial_chain", "-quiet"]);
    command.args(["-CAfile", &format!("{ca}.pem")]).current_dir(&desk.0);
    if let Some(own) = own {
        command.args(["-cert", &format!("{own}.pem"), "-key", &format!("{own}.key")]);
    }
    let mut client =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may have failed before.
    let _ = client.stdin.as_mut().unwrap().write_all(REQUEST);
    let output = client.wait_with_output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
