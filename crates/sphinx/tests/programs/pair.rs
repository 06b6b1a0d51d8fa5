use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use launch::{Process, Spec};
use tempfile::TempDir;

use crate::resp::talk::{redis, sphinxd};
use crate::support::certificate::certificate;
use crate::support::sasl::{self, PASSWORD, USER};
use crate::support::{PATIENCE, Running, Words, memcached_program, spawn};

/// How a program reaches the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Tcp,
    Unix,
    Tls,
    /// TCP, with the one user that [`sasl`] names.
    Sasl,
    /// RESP over TCP, which a `redis-server` speaks.
    Resp,
}

/// A memcached, or for RESP a Redis, if available, and a Sphinx, set up alike.
pub(crate) struct Pair {
    pub(crate) memcached: Option<Server>,
    pub(crate) sphinx: Server,
}

/// A server, and the values of the braced words in a command.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) words: Words,
    /// `HOST:PORT`, or the path of the socket.
    pub(crate) place: String,
    /// For files of the checks, and the socket and the certificates of the server.
    pub(crate) folder: TempDir,
    _process: Process,
}

/// How long to wait before a socket is tried again.
const PAUSE: Duration = Duration::from_millis(20);

impl Pair {
    pub(crate) fn start(way: Way) -> Pair {
        if way == Way::Resp {
            return resp();
        }
        let pair = Pair { memcached: memcached(way), sphinx: sphinx(way) };
        for server in pair.memcached.iter().chain([&pair.sphinx]) {
            fs::write(server.folder.path().join("item"), format!("{}\n", "value ".repeat(2_000))).unwrap();
            // The port of TLS accepts no plain requests; its clients and the clients of SASL do not need the items.
            if !matches!(way, Way::Tls | Way::Sasl) {
                seed(server);
            }
        }
        pair
    }
}

impl Server {
    /// The word with the server's place in it.
    pub(crate) fn fill(&self, word: &str) -> String {
        let (host, port) = self.host_and_port();
        let folder = self.folder.path().display().to_string();
        word.replace("{server}", &self.place)
            .replace("{host}", host)
            .replace("{port}", port)
            .replace("{folder}", &folder)
    }

    /// The line without any text that identifies the server.
    pub(crate) fn unnamed(&self, line: &str) -> String {
        let (_, port) = self.host_and_port();
        let folder = self.folder.path().display().to_string();
        let line = line.replace(&self.place, "SERVER").replace(&folder, "FOLDER");
        if port == "0" { line } else { line.replace(port, "PORT") }
    }

    /// The path of a socket has the port 0, as PHP writes it.
    fn host_and_port(&self) -> (&str, &str) {
        if self.place.starts_with('/') {
            return (&self.place, "0");
        }
        self.place.rsplit_once(':').expect("an address has a port")
    }
}

/// Two items, of which one was read, so that tools have something to show.
fn seed(server: &Server) {
    if server.place.starts_with('/') {
        seed_over(UnixStream::connect(&server.place).unwrap());
    } else {
        seed_over(TcpStream::connect(&server.place).unwrap());
    }
}

fn seed_over(mut stream: impl Read + Write) {
    let requests = "set seed-a 0 0 3\r\nabc\r\nset seed-b 0 0 3\r\nxyz\r\nget seed-a\r\nquit\r\n";
    stream.write_all(requests.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert_eq!(said, "STORED\r\nSTORED\r\nVALUE seed-a 0 3\r\nabc\r\nEND\r\n");
}

/// The flags that make either server listen so: memcached's, which Sphinx takes as they are.
fn flags(way: Way, folder: &TempDir) -> Vec<String> {
    let path = |name: &str| folder.path().join(name).display().to_string();
    match way {
        Way::Tcp | Way::Resp => Vec::new(),
        Way::Unix => vec!["-s".into(), path("socket"), "-a".into(), "777".into()],
        Way::Tls => {
            let files = format!("ssl_chain_cert={},ssl_key={}", path("cert.pem"), path("key.pem"));
            vec!["-Z".into(), "-o".into(), files]
        }
        Way::Sasl => vec!["-S".into(), "-Y".into(), path("users")],
    }
}

/// A folder that a server without rights may use.
fn folder(way: Way) -> TempDir {
    let folder = if way == Way::Tls { certificate() } else { tempfile::tempdir().unwrap() };
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    folder
}

fn resp() -> Pair {
    let server = |name: &'static str, running: Running, address: SocketAddr| {
        let (words, place) = (running.words, address.to_string());
        Server { name, words, place, folder: folder(Way::Resp), _process: running.process }
    };
    let redis = redis().map(|running| {
        let address = running.address;
        server("Redis", running, address)
    });
    let (sphinx, address) = sphinxd("-m 64 -t 2");
    Pair { memcached: redis, sphinx: server("Sphinx", sphinx, address) }
}

fn memcached_with_sasl() -> Option<Server> {
    let folder = folder(Way::Sasl);
    match sasl::memcached(folder.path()) {
        Ok((process, address, words)) => {
            let place = address.to_string();
            Some(Server { name: "memcached", words, place, folder, _process: process })
        }
        Err(reason) => {
            println!("skipped: the half with memcached's SASL, as {reason}");
            None
        }
    }
}

fn memcached(way: Way) -> Option<Server> {
    if way == Way::Sasl {
        return memcached_with_sasl();
    }
    let (memcached, words) = memcached_program()?;
    let folder = folder(way);
    let extra = flags(way, &folder);
    let options = launch::memcached::Options {
        threads: 2,
        memory: units::Bytes(64 << 20),
        connections: 1024,
        cpus: None,
        extra,
    };
    let (process, place) = match way {
        // With a Unix socket it listens on no port, so any will do.
        Way::Unix => on_socket(memcached.spec(1, &options), &folder.path().join("socket")),
        Way::Tcp | Way::Tls | Way::Sasl | Way::Resp => {
            let (process, address) = memcached.start(&options, PATIENCE).unwrap();
            (process, address.to_string())
        }
    };
    Some(Server { name: "memcached", words, place, folder, _process: process })
}

fn on_socket(spec: Spec, socket: &Path) -> (Process, String) {
    let mut process = Process::spawn(spec).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while UnixStream::connect(socket).is_err() {
        let last_words = process.stderr_tail();
        assert!(process.is_running() && Instant::now() < deadline, "no {}: {last_words:?}", socket.display());
        thread::sleep(PAUSE);
    }
    (process, socket.display().to_string())
}

fn sphinx(way: Way) -> Server {
    let folder = folder(way);
    fs::write(folder.path().join("users"), format!("{USER}:{PASSWORD}\n")).unwrap();
    // A Unix socket is used in place of the network, unless a port is given.
    let port: &[String] = if way == Way::Unix { &[] } else { &["-p".into(), "0".into()] };
    let args = [&["-m", "64", "-t", "2"].map(str::to_owned)[..], port, &flags(way, &folder)].concat();
    let mut process = spawn(&args.join(" "));
    let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    let place = line[launch::sphinx::READY.len()..].split(' ').next().expect("where it listens");
    let place = ["unix:", "tls://"].iter().find_map(|scheme| place.strip_prefix(scheme)).unwrap_or(place);
    Server { name: "Sphinx", words: Words::New, place: place.to_owned(), folder, _process: process }
}
