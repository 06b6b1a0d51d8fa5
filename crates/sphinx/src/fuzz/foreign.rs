//! A simulated server of one thread, and a client of another protocol.

use std::sync::Arc;
use std::sync::mpsc::channel;

use clap::{Args as _, Command, FromArgMatches as _};
use proto_memcache::client::udp::Header;
use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Address, Conn, Doorbell, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::Options;
use crate::core::{Common, Core};
use crate::partitions::{self, Own, Partitions};
use crate::server::links;

/// Longer inputs reveal no more than these. Units: bytes.
const INPUT_MAX: usize = 4096;
/// When the client asks for the server's counters; all its input was received long before.
const ASKS: Time = Time(1_000_000_000);
/// Far more than that takes.
const LIMIT: Time = Time(10_000_000_000);

/// Sends bytes that begin as another protocol, and asserts that its refusal is the only answer and that no command was
/// executed. The first byte chooses the protocol and the cuts of the bytes; the others follow the beginning.
pub fn foreign_protocols(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let rest = &rest[..rest.len().min(INPUT_MAX)];
    let step = [1, 3, 24, INPUT_MAX * 2][usize::from(choice / 4 % 4)];
    let (name, begin): (&str, &[u8]) = match choice % 4 {
        0 | 1 => ("refused_binary", b"\x80"),
        2 => ("refused_tls", b"\x16\x03"),
        _ => ("refused_http", b"POST / HTTP/1.1\r\n"),
    };
    let sent = [begin, rest].concat();
    let by_datagram = choice % 4 == 1;
    let (expect, refused): (Vec<u8>, bool) = match name {
        "refused_binary" if sent.len() < 24 => (Vec::new(), by_datagram),
        "refused_binary" => {
            let message =
                b"This server speaks memcached's text protocol only; set the client to text (ascii).";
            let length = message.len() as u8;
            let head =
                [&[0x81, sent[1], 0, 0, 0, 0, 0, 0x83, 0, 0, 0, length], &sent[12..16], &[0; 8]].concat();
            ([&head[..], message].concat(), true)
        }
        "refused_tls" => (b"\x15\x03\x03\x00\x02\x02\x28".to_vec(), true),
        _ => {
            let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 66\r\n";
            let body = "This is a cache that speaks memcached's text protocol, not HTTP.\r\n";
            (format!("{head}Connection: close\r\n\r\n{body}").into_bytes(), true)
        }
    };
    let (answer, stats) = answer_to(&sent, step, by_datagram, "ascii");
    let answer = match (by_datagram, Header::read(&answer)) {
        (true, Some((_, text))) => text.to_vec(),
        _ => answer,
    };
    assert!(answer == expect, "{} was answered to {}", answer.escape_ascii(), sent.escape_ascii());
    for line in stats.lines() {
        let mut words = line.split(' ').skip(1);
        let (Some(stat), Some(value)) = (words.next(), words.next()) else { continue };
        let counts_commands = ["cmd_", "get_", "delete_", "incr_", "decr_", "cas_", "touch_", "auth_"];
        let is_command =
            counts_commands.iter().any(|start| stat.starts_with(start)) || stat.ends_with("_items");
        let expect = if stat == name { u8::from(refused) } else { 0 };
        if is_command || stat.starts_with("refused_") {
            assert_eq!(value, expect.to_string(), "{stat} after {}", sent.escape_ascii());
        }
    }
    assert!(stats.contains(name), "no {name} in {stats}");
}

struct ForeignServer(Core<SimReactor>);

impl Program for ForeignServer {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        self.0.turn(reactor).expect("a simulated reactor does not fail");
        true
    }
}

/// Sends pieces on one connection, and later asks for `stats` on another.
struct Client {
    places: [Address; 2],
    conns: [Option<Conn>; 2],
    pieces: Vec<Vec<u8>>,
    answer: Vec<u8>,
    stats: Vec<u8>,
}

impl Handler<SimReactor> for Client {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } if self.conns[1] == Some(conn) => {
                reactor.output(conn).extend_from_slice(b"stats\r\n");
                reactor.flush(conn);
            }
            Event::Connected { conn } => {
                for piece in self.pieces.drain(..) {
                    reactor.output(conn).extend_from_slice(&piece);
                    reactor.flush(conn);
                }
            }
            Event::Data { conn, bytes, .. } if self.conns[1] == Some(conn) => {
                self.stats.extend_from_slice(bytes)
            }
            Event::Data { bytes, .. } => self.answer.extend_from_slice(bytes),
            _ => {}
        }
    }
}

impl Program for Client {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.conns[0].is_none() {
            self.conns[0] = reactor.connect(&self.places[0]).ok();
        }
        let until = if reactor.now() < ASKS {
            ASKS
        } else {
            if self.conns[1].is_none() {
                self.conns[1] = reactor.connect(&self.places[1]).ok();
            }
            Time::NEVER
        };
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        !self.stats.ends_with(b"END\r\n")
    }
}

/// The answer of a server that speaks `protocol` to bytes that come in steps of `step`, or as one datagram, and its
/// `stats` afterwards.
pub(super) fn answer_to(bytes: &[u8], step: usize, by_datagram: bool, protocol: &str) -> (Vec<u8>, String) {
    let words = [
        "--lazy-memory",
        "--cpus",
        "0",
        "-t",
        "1",
        "-m",
        "4",
        "-I",
        "64k",
        "--io",
        "epoll",
        "-U",
        "1",
        "-B",
        protocol,
    ];
    let command = Options::augment_args(Command::new("sphinxd").no_binary_name(true));
    let matches = command.try_get_matches_from(words).expect("they are right");
    let config = Options::from_arg_matches(&matches).and_then(|options| {
        options.resolve().map_err(|error| clap::Error::raw(clap::error::ErrorKind::Io, error))
    });
    let config = config.expect("they are right");
    let mut world = World::new(Nanos::from_micros(10));
    let (mut client_machine, mut machine) =
        (world.machine(Costs::default()), world.machine(Costs::default()));
    for place in &config.listen {
        machine.listen(place).expect("the network is empty");
    }
    let places: Vec<Address> = config.listen.clone();
    let (datagrams, streams): (Vec<_>, Vec<_>) = places.into_iter().partition(Address::is_datagram);
    let doorbell = Doorbell::new(machine.waker());
    let links = links(std::slice::from_ref(&doorbell), config.queue).remove(0);
    let epochs = partitions::epochs(&config);
    let own = Own::make(&config, 0, 1, &epochs, None).expect("there is memory");
    let offer = own.offer(config.sharing);
    let partitions = Partitions::new(&config, 0, own, &[offer]);
    let common = Arc::new(Common::new(config, None, None, Time(0), channel().0));
    let mut server = ForeignServer(Core::new(common, 0, partitions, links, doorbell));
    let pieces = if by_datagram {
        let mut datagram = Vec::new();
        Header::of_request(7).append(&mut datagram);
        datagram.extend_from_slice(bytes);
        vec![datagram]
    } else {
        bytes.chunks(step).map(<[u8]>::to_vec).collect()
    };
    let first = if by_datagram { datagrams[0].clone() } else { streams[0].clone() };
    let mut client = Client {
        places: [first, streams[0].clone()],
        conns: [None, None],
        pieces,
        answer: Vec::new(),
        stats: Vec::new(),
    };
    world.run(&mut [(&mut client, &mut client_machine), (&mut server, &mut machine)], LIMIT);
    (client.answer, String::from_utf8(client.stats).expect("stats are text"))
}
