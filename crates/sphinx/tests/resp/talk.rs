use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use launch::{Process, Spec};

use crate::support::{PATIENCE, Running, Words, spawn};

/// A connection that speaks RESP.
pub(crate) struct Talk {
    stream: BufReader<TcpStream>,
}

impl Talk {
    pub(crate) fn connect(address: SocketAddr) -> Talk {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Talk { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// The reply to a command of words.
    pub(crate) fn ask(&mut self, words: &str) -> String {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        self.send(&command(&words));
        self.reply()
    }

    /// The next reply as text: its first character, and its value; elements in brackets.
    pub(crate) fn reply(&mut self) -> String {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).unwrap();
        assert!(line.ends_with(b"\r\n"), "the connection ended within a reply: {}", line.escape_ascii());
        let rest = line[1..line.len() - 2].escape_ascii().to_string();
        let kind = char::from(line[0]);
        let number = rest.parse::<i64>();
        match (kind, number) {
            ('$' | '=', Ok(length @ 0..)) => {
                let mut value = vec![0; length as usize + 2];
                self.stream.read_exact(&mut value).unwrap();
                assert!(value.ends_with(b"\r\n"), "a value has its length");
                format!("{kind}{}", value[..length as usize].escape_ascii())
            }
            ('*' | '~' | '>' | '%', Ok(count @ 0..)) => {
                let count = if kind == '%' { 2 * count } else { count };
                let mut text = format!("{kind}[");
                for at in 0..count {
                    write!(text, "{}{}", if at > 0 { ", " } else { "" }, self.reply()).unwrap();
                }
                text + "]"
            }
            _ => format!("{kind}{rest}"),
        }
    }

    /// Everything until the server closes.
    pub(crate) fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes).unwrap();
        bytes.escape_ascii().to_string()
    }
}

/// A command as clients write it.
pub(crate) fn command(args: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// A `sphinxd` with a port for RESP; its address.
pub(crate) fn sphinxd(args: &str) -> (Running, SocketAddr) {
    let mut process = spawn(&format!("-p 0 --resp-port 0 {args}"));
    let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    let port = |after: &str| {
        let rest = line.split_once(after).unwrap_or_else(|| panic!("no '{after}' in '{line}'")).1;
        let rest = rest.split([' ', ',', ';']).next().unwrap();
        rest.trim_start_matches("tls://").parse::<SocketAddr>().unwrap()
    };
    let (address, resp) = (port(launch::sphinx::READY), port("for RESP on "));
    (Running { address, process, words: Words::New }, resp)
}

/// Starts a `redis-server` on a free port; `None`, with a printed reason, if unavailable.
pub(crate) fn redis() -> Option<Running> {
    const PROGRAM: &str = "/usr/bin/redis-server";
    if !Path::new(PROGRAM).exists() {
        println!(
            "skipped: the half with Redis, as {PROGRAM} is not here; `apt-get install redis-server` brings it"
        );
        return None;
    }
    loop {
        let port = launch::free_port().unwrap();
        let args = format!("--port {port} --bind 127.0.0.1 --save  --appendonly no --databases 1 --dir /tmp");
        let spec = Spec::new("redis-server", PROGRAM).args(args.split(' '));
        let mut process = Process::spawn(spec).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        match process.await_port(address, PATIENCE) {
            Ok(()) => return Some(Running { address, process, words: Words::New }),
            // Another process took the port first.
            Err(launch::Error::PortTaken { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
