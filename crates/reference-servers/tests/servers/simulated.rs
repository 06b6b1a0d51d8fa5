use std::io;

use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use reference_servers::Stalls;
use reference_servers::video::Limits;
use units::{Nanos, Time};

use crate::{Answer, answers, bytes, part, server};

/// How long a byte takes from one machine to the other.
const DELAY: Nanos = Nanos::from_millis(1);
const LIMIT: Time = Time(200_000_000_000);
const FILE: &str = "/v000003/480p.bin";

/// Sends requests on one connection, the next when an answer is complete, and records the times.
struct Client {
    requests: Vec<Vec<u8>>,
    asked: usize,
    received: Vec<u8>,
    /// The arrival of the last byte of each complete answer.
    whole: Vec<Time>,
    first_byte: Option<Time>,
    last_byte: Time,
    ended: Option<(Time, Option<io::ErrorKind>)>,
    /// Whether it stays when all is answered.
    stays: bool,
    left: bool,
}

impl Client {
    fn new(requests: Vec<Vec<u8>>) -> Client {
        Client {
            requests,
            asked: 0,
            received: Vec::new(),
            whole: Vec::new(),
            first_byte: None,
            last_byte: Time(0),
            ended: None,
            stays: false,
            left: false,
        }
    }

    /// How many answers there are to be.
    fn expected(&self) -> usize {
        let heads = |request: &Vec<u8>| request.windows(4).filter(|four| *four == b"\r\n\r\n").count();
        self.requests.iter().map(heads).sum()
    }

    fn ask(&mut self, reactor: &mut SimReactor, conn: Conn) {
        if let Some(request) = self.requests.get(self.asked) {
            self.asked += 1;
            reactor.output(conn).extend_from_slice(request);
            reactor.flush(conn);
        }
    }
}

impl Handler<SimReactor> for Client {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } => self.ask(reactor, conn),
            Event::Data { conn, at, bytes, .. } => {
                self.first_byte.get_or_insert(at);
                self.last_byte = at;
                self.received.extend_from_slice(bytes);
                let done = answers(&self.received)
                    .iter()
                    .filter(|answer| answer.body.len() == answer.announced)
                    .count();
                if done > self.whole.len() {
                    self.whole.push(at);
                    self.ask(reactor, conn);
                }
                if done == self.expected() && !self.stays {
                    reactor.close(conn);
                    self.left = true;
                }
            }
            Event::Closed { error, .. } => {
                self.ended = Some((reactor.now(), error.map(|error| error.kind())))
            }
            _ => {}
        }
    }
}

impl Program for Client {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        self.ended.is_none() && !self.left
    }
}

/// The answers to a client with these requests from a server with these faults.
fn asked(faults: &str, stalls: Stalls, limits: Limits, requests: Vec<Vec<u8>>) -> (Client, Vec<Answer>) {
    asked_by(Client::new(requests), faults, stalls, limits)
}

fn asked_by(mut client: Client, faults: &str, stalls: Stalls, limits: Limits) -> (Client, Vec<Answer>) {
    let mut world = World::new(DELAY);
    let (mut here, mut there) = (world.machine(Costs::default()), world.machine(Costs::default()));
    let address: Address = "10.0.0.1:80".parse().map(Address::Tcp).unwrap();
    there.listen(&address).unwrap();
    here.connect(&address).unwrap();
    let mut server = server(faults, stalls, limits);
    world.run(&mut [(&mut client, &mut here), (&mut server, &mut there)], LIMIT);
    let all = answers(&client.received);
    (client, all)
}

fn parts(count: usize) -> Vec<Vec<u8>> {
    (0..count as u64).map(|n| part(FILE, n * 1000, n * 1000 + 999)).collect()
}

/// There and back, twice: to connect, and to ask.
const ROUND_TRIPS: Nanos = Nanos(4_000_000);
/// How much later than computed something may come: empty looks of the server's, each 200 ns.
const SLACK: Nanos = Nanos(100_000);

#[track_caller]
fn comes_at(found: Time, expect: Nanos) {
    let late = found.since(Time(expect.0));
    assert!(found.0 >= expect.0 && late <= SLACK, "{found:?} and not {expect:?}");
}

#[test]
fn answers_come_at_once_and_hold_what_was_asked_for() {
    let (client, all) = asked("", Stalls::default(), Limits::default(), parts(20));
    assert_eq!(all.len(), 20);
    for (n, answer) in (0..).zip(&all) {
        assert_eq!((answer.status, answer.announced), (206, 1000));
        assert!(answer.body == bytes(3, 2, n * 1000, n * 1000 + 999));
    }
    comes_at(client.whole[0], ROUND_TRIPS);
    let ended = client.whole[19];
    assert!(ended.0 < ROUND_TRIPS.0 + 20 * 2 * DELAY.0 + SLACK.0, "{ended:?}");
}

#[test]
fn requests_that_come_together_are_answered_in_order() {
    let all = vec![parts(50).concat()];
    let (_, answers) = asked("", Stalls::default(), Limits::default(), all);
    let firsts: Vec<Vec<u8>> = answers.into_iter().map(|answer| answer.body).collect();
    let expect: Vec<Vec<u8>> = (0..50).map(|n| bytes(3, 2, n * 1000, n * 1000 + 999)).collect();
    assert!(firsts == expect);
}

#[test]
fn a_delay_holds_every_nth_chunk_up() {
    let (client, all) = asked("delay:3:2s", Stalls::default(), Limits::default(), parts(6));
    assert_eq!(all.len(), 6);
    let gaps: Vec<Nanos> = client.whole.windows(2).map(|two| two[1].since(two[0])).collect();
    for (n, gap) in (2..).zip(gaps) {
        let expect = Nanos(2 * DELAY.0 + if n % 3 == 0 { 2_000_000_000 } else { 0 });
        comes_at(Time(gap.0), expect);
    }
}

#[test]
fn a_trickle_comes_at_its_rate() {
    // 10 000 B at 1000 B in a second, of which a twentieth comes at once.
    let request = vec![part(FILE, 0, 9_999)];
    let (client, all) = asked("trickle:1:1000", Stalls::default(), Limits::default(), request);
    assert!(all[0].body == bytes(3, 2, 0, 9_999));
    comes_at(client.first_byte.unwrap(), ROUND_TRIPS);
    let took = client.whole[0].since(client.first_byte.unwrap()).as_secs_f64();
    assert!((9.9..10.0).contains(&took), "{took}");
}

#[test]
fn a_stall_holds_up_what_would_leave_in_it() {
    let stall = |from: u64| Stalls::once(Time(from), Nanos::from_secs(3));
    // The request arrives after the beginning of the stall.
    let (client, _) = asked("", stall(2_000_000), Limits::default(), parts(1));
    comes_at(client.whole[0], Nanos(3_000_000_000 + 2_000_000 + DELAY.0));
    let (client, _) = asked("", stall(100_000_000), Limits::default(), parts(1));
    comes_at(client.whole[0], ROUND_TRIPS);
}

#[test]
fn a_body_is_cut_or_reset_in_its_middle() {
    let check = |fault: &str, end: Option<io::ErrorKind>| {
        let (client, all) = asked(fault, Stalls::default(), Limits::default(), parts(4));
        let lengths: Vec<usize> = all.iter().map(|answer| answer.body.len()).collect();
        assert_eq!((lengths, client.ended.unwrap().1), (vec![1000, 1000, 500], end), "{fault}");
        assert!(all[2].body == bytes(3, 2, 2_000, 2_499) && all[2].announced == 1000);
    };
    check("cut:3", None);
    check("reset:3", Some(io::ErrorKind::ConnectionReset));
}

#[test]
fn other_faults_leave_the_connection_usable() {
    let check = |fault: &str, statuses: [u16; 3]| {
        let (client, all) = asked(fault, Stalls::default(), Limits::default(), parts(3));
        assert_eq!(all.iter().map(|answer| answer.status).collect::<Vec<_>>(), statuses, "{fault}");
        assert_eq!(client.ended, None, "{fault}");
        all
    };
    check("unavailable:2", [206, 503, 206]);
    check("gone:2", [206, 404, 206]);
    assert!(check("wrong-range:2", [206, 206, 206])[1].head.contains("bytes 1001-2000/"));
    let whole = check("whole:2", [206, 200, 206]);
    assert_eq!(whole[1].announced as u64, crate::catalog().size(3, 2));
    let garbled = check("garbled:2", [206, 206, 206]);
    let mut expect = bytes(3, 2, 1_000, 1_999);
    expect[500] ^= 1;
    assert!(garbled[1].body == expect);
}

#[test]
fn one_that_neither_asks_nor_reads_is_closed() {
    let limits = Limits { idle: Nanos::from_secs(5), ..Limits::default() };
    let client = Client { stays: true, ..Client::new(parts(2)) };
    let (client, all) = asked_by(client, "", Stalls::default(), limits);
    assert_eq!(all.len(), 2);
    let (ended, error) = client.ended.unwrap();
    let idle = ended.since(client.last_byte).as_secs_f64();
    // It is looked for once a second.
    assert!((5.0..6.1).contains(&idle) && error.is_none(), "{idle} {error:?}");
    // A connection that this server delays is not idle.
    let (client, all) = asked("delay:1:20s", Stalls::default(), limits, parts(1));
    assert_eq!(all.len(), 1);
    assert!(client.whole[0].since(Time(0)).as_secs_f64() > 20.0);
}

#[test]
fn too_many_are_turned_away() {
    let limits = Limits { connections: 0, ..Limits::default() };
    let (client, all) = asked("", Stalls::default(), limits, parts(1));
    assert!(all.is_empty() && client.ended.is_some());
}

#[test]
fn what_is_not_a_request_ends_the_connection() {
    let check = |request: &[u8], status: &[u16]| {
        let client = Client { stays: true, ..Client::new(vec![request.to_vec()]) };
        let (client, all) = asked_by(client, "", Stalls::default(), Limits::default());
        assert_eq!(all.iter().map(|answer| answer.status).collect::<Vec<_>>(), status);
        assert_eq!(client.ended.map(|(_, error)| error), Some(None));
    };
    check(b"nonsense\r\n\r\n", &[400]);
    check(b"GET / HTTP/2.0\r\n\r\n", &[400]);
    check(&[b'x'; 9_000], &[431]);
    // A body that never arrives has the same time-out as any request.
    check(b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n", &[]);
}
