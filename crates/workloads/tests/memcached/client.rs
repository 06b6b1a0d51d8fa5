use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};

use openloop::{Fault, Parsed, Parts, Then, Workload};
use workloads::cache::{Cache, Job, Wire};

use super::PATIENCE;

/// Sends one request after the other and waits for each answer.
pub(crate) struct Client {
    streams: Vec<(TcpStream, Wire)>,
    datagrams: Vec<UdpSocket>,
    tag: u16,
    /// The faults, by kind.
    pub(crate) faults: HashMap<&'static str, Vec<String>>,
    /// Requests answered, by endpoint.
    pub(crate) answered: HashMap<usize, u64>,
}

impl Client {
    /// A stream to each server, then its UDP port.
    pub(crate) fn connect(tcp: &[SocketAddr], udp: &[SocketAddr]) -> Client {
        let stream = |address: &SocketAddr| {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_nodelay(true).unwrap();
            (stream, Wire::default())
        };
        let datagrams = |address: &SocketAddr| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(address).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        };
        Client {
            streams: tcp.iter().map(stream).collect(),
            datagrams: udp.iter().map(datagrams).collect(),
            tag: 0,
            faults: HashMap::new(),
            answered: HashMap::new(),
        }
    }

    /// Executes arrivals `first` to `last`, and the requests that follow from them.
    pub(crate) fn run(&mut self, cache: &mut Cache, arrivals: std::ops::Range<u64>) {
        for seq in arrivals {
            let mut parts = Parts::new();
            let operation = cache.draw(seq, &mut parts);
            assert!(operation < cache.operations().len() - cache.follow_ups() && !parts.is_empty());
            while let Some((endpoint, job)) = parts.pop() {
                self.carry_out(cache, endpoint, job);
            }
        }
    }

    pub(crate) fn carry_out(&mut self, cache: &mut Cache, mut endpoint: usize, mut job: Job) {
        loop {
            let (outcome, then) = self.step(cache, endpoint, &mut job);
            *self.answered.entry(endpoint).or_default() += 1;
            if let Err(fault) = outcome {
                self.faults.entry(fault.kind).or_default().push(fault.detail);
            }
            match then {
                Then::End | Then::Close => return,
                Then::Again { endpoint: next } | Then::Anew { endpoint: next } => endpoint = next,
                Then::Also { endpoint: next, job: other, .. } => (endpoint, job) = (next, other),
            }
        }
    }

    /// One request and its answer.
    pub(crate) fn step(
        &mut self,
        cache: &mut Cache,
        endpoint: usize,
        job: &mut Job,
    ) -> (Result<(), Fault>, Then<Job>) {
        match endpoint.checked_sub(self.streams.len()) {
            None => self.over_stream(cache, endpoint, job),
            Some(socket) => self.over_udp(cache, socket, job),
        }
    }

    fn over_stream(
        &mut self,
        cache: &mut Cache,
        endpoint: usize,
        job: &mut Job,
    ) -> (Result<(), Fault>, Then<Job>) {
        let mut out = Vec::new();
        cache.request(job, 0, &mut out);
        let (stream, wire) = &mut self.streams[endpoint];
        stream.write_all(&out).unwrap();
        let (mut received, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            let got = stream.read(&mut chunk).unwrap();
            assert!(got > 0, "closed after {}", out.escape_ascii());
            received.extend_from_slice(&chunk[..got]);
            match cache.response(job, wire, &received) {
                Parsed::Partial | Parsed::Used(_) => {}
                Parsed::Done { used, outcome, then } => {
                    assert_eq!(used, received.len(), "{}", received.escape_ascii());
                    return (outcome, then);
                }
                Parsed::Garbage(reason) => panic!("{} was answered: {reason}", out.escape_ascii()),
                Parsed::Refused(fault) => panic!("{fault:?}"),
            }
        }
    }

    fn over_udp(
        &mut self,
        cache: &mut Cache,
        socket: usize,
        job: &mut Job,
    ) -> (Result<(), Fault>, Then<Job>) {
        self.tag = self.tag.wrapping_add(257);
        let mut out = Vec::new();
        cache.request(job, self.tag, &mut out);
        let (mut wire, socket) = (Wire::default(), &self.datagrams[socket]);
        socket.send(&out).unwrap();
        let mut datagram = [0; 2048];
        loop {
            let got = socket.recv(&mut datagram).unwrap();
            assert_eq!(cache.tag(&datagram[..got]), Some(self.tag));
            match cache.datagram(job, &mut wire, &datagram[..got]) {
                Parsed::Partial | Parsed::Used(_) => {}
                Parsed::Done { outcome, then, .. } => return (outcome, then),
                Parsed::Garbage(reason) => panic!("{reason}"),
                Parsed::Refused(fault) => panic!("{fault:?}"),
            }
        }
    }
}
