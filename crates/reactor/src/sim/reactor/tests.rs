use super::*;
use crate::sim::{Costs, Program, StreamFaults, World};

fn at(addr: &str) -> Address {
    Address::Tcp(addr.parse().unwrap())
}

/// Answers every byte with itself.
struct Echo;

impl Handler<SimReactor> for Echo {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        if let Event::Data { conn, bytes, .. } = event {
            reactor.output(conn).extend_from_slice(bytes);
            reactor.flush(conn);
        }
    }
}

impl Program for Echo {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

/// Sends one byte at a given moment and notes when it comes back.
struct Ping {
    send_at: Time,
    conn: Option<Conn>,
    sent: Option<Time>,
    back: Option<Time>,
    closed: bool,
    longest_gap: Nanos,
    last: Time,
}

impl Ping {
    fn new(send_at: Time) -> Ping {
        Ping {
            send_at,
            conn: None,
            sent: None,
            back: None,
            closed: false,
            longest_gap: Nanos::ZERO,
            last: Time(0),
        }
    }
}

impl Handler<SimReactor> for Ping {
    fn event(&mut self, _: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } => self.conn = Some(conn),
            Event::Data { at, bytes, .. } => {
                assert_eq!(bytes, b"x");
                self.back = Some(at);
            }
            Event::Closed { .. } => self.closed = true,
            _ => {}
        }
    }
}

impl Program for Ping {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let now = reactor.now();
        self.longest_gap = self.longest_gap.max(now.since(self.last) - reactor.waited());
        self.last = now;
        if let Some(conn) = self.conn.filter(|_| self.sent.is_none() && now >= self.send_at) {
            reactor.output(conn).push(b'x');
            self.sent = Some(reactor.flush(conn));
        }
        let until = if self.sent.is_some() { Time::NEVER } else { self.send_at };
        reactor.poll(Wait::Spin(until), self).unwrap();
        self.back.is_none() && !self.closed
    }
}

/// Asks, ends its sending side or the whole stream, and waits for the answer.
struct Leaver {
    conn: Option<Conn>,
    stays: bool,
    answer: Vec<u8>,
    closed: bool,
}

impl Handler<SimReactor> for Leaver {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } => {
                self.conn = Some(conn);
                reactor.output(conn).extend_from_slice(b"question");
                reactor.flush(conn);
                if self.stays { reactor.end_sending(conn) } else { reactor.close(conn) }
            }
            Event::Data { bytes, .. } => self.answer.extend_from_slice(bytes),
            Event::Closed { .. } => self.closed = true,
            _ => {}
        }
    }
}

impl Program for Leaver {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        !self.closed
    }
}

/// Answers when the client sends no more; reads nothing before it is woken if it is `paused`.
#[derive(Default)]
struct Late {
    paused: bool,
    question: Vec<u8>,
    ends: usize,
    closed: Vec<Option<std::io::ErrorKind>>,
}

impl Handler<SimReactor> for Late {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => {
                reactor.pause_reading(conn, self.paused);
                // Both have arrived by the time at which it looks.
                reactor.work(Nanos(50_000));
                reactor.wake();
            }
            Event::Woken if self.paused => {
                self.paused = false;
                assert_eq!((self.question.len(), self.ends), (0, 0));
                reactor.pause_reading(Conn { slot: 0, generation: 1 }, false);
            }
            Event::Data { bytes, .. } => self.question.extend_from_slice(bytes),
            Event::ReadClosed { conn } => {
                self.ends += 1;
                reactor.output(conn).extend_from_slice(b"answer");
                reactor.flush(conn);
            }
            Event::Closed { error, .. } => self.closed.push(error.map(|error| error.kind())),
            _ => {}
        }
    }
}

impl Program for Late {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

#[test]
fn a_stream_whose_peer_sends_no_more_can_be_answered() {
    let check = |stays: bool, paused: bool, answer: &str, closed: &[Option<std::io::ErrorKind>]| {
        let mut world = World::new(DELAY);
        let (mut client, mut server) = (world.machine(Costs::default()), world.machine(Costs::default()));
        server.tell_half_closes();
        let addr = server.listen(&at("10.0.0.1:0")).unwrap();
        client.connect(&addr).unwrap();
        let mut leaver = Leaver { conn: None, stays, answer: Vec::new(), closed: false };
        let mut late = Late { paused, ..Late::default() };
        world.run(&mut [(&mut leaver, &mut client), (&mut late, &mut server)], LIMIT);
        assert_eq!((&late.question[..], late.ends), (&b"question"[..], 1), "{stays} {paused}");
        assert_eq!((&leaver.answer[..], &late.closed[..]), (answer.as_bytes(), closed), "{stays} {paused}");
    };
    check(true, false, "answer", &[]);
    check(true, true, "answer", &[]);
    // A machine that has forgotten the stream answers with a reset.
    check(false, false, "", &[Some(std::io::ErrorKind::ConnectionReset)]);
}

/// Resets each client that sends data; as a client it sends data and waits for the end.
#[derive(Default)]
struct Resetter {
    ends: Vec<Option<std::io::ErrorKind>>,
}

impl Handler<SimReactor> for Resetter {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } => {
                reactor.output(conn).extend_from_slice(b"question");
                reactor.flush(conn);
            }
            Event::Data { conn, .. } => {
                reactor.reset(conn);
                reactor.reset(conn);
            }
            Event::Closed { error, .. } => self.ends.push(error.map(|error| error.kind())),
            _ => {}
        }
    }
}

impl Program for Resetter {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

#[test]
fn a_reset_is_told_to_the_peer() {
    let mut world = World::new(DELAY);
    let (mut client, mut server) = (world.machine(Costs::default()), world.machine(Costs::default()));
    let addr = server.listen(&at("10.0.0.1:0")).unwrap();
    client.connect(&addr).unwrap();
    let (mut asks, mut resets) = (Resetter::default(), Resetter::default());
    world.run(&mut [(&mut asks, &mut client), (&mut resets, &mut server)], LIMIT);
    assert_eq!(asks.ends, [Some(std::io::ErrorKind::ConnectionReset)]);
    assert_eq!(resets.ends, []);
}

const DELAY: Nanos = Nanos(5_000);
const LIMIT: Time = Time(1_000_000_000);

fn ping(costs: Costs, stall: Option<(Time, Nanos)>) -> Ping {
    ping_at(&at("10.0.0.1:0"), costs, stall)
}

fn ping_at(addr: &Address, costs: Costs, stall: Option<(Time, Nanos)>) -> Ping {
    let mut world = World::new(DELAY);
    let (mut client, mut server) = (world.machine(costs), world.machine(costs));
    let addr = server.listen(addr).unwrap();
    client.connect(&addr).unwrap();
    if let Some((from, span)) = stall {
        world.stall(&client, from, span);
    }
    let mut ping = Ping::new(Time(1_000_000));
    world.run(&mut [(&mut ping, &mut client), (&mut Echo, &mut server)], LIMIT);
    ping
}

#[test]
fn a_round_trip_takes_exactly_its_parts() {
    let free = ping(Costs::default(), None);
    assert_eq!(free.sent, Some(Time(1_000_000)));
    assert_eq!(free.back, Some(Time(1_010_000)));
    let costs = Costs { send: Nanos(300), receive: Nanos(70) };
    assert_eq!(ping(costs, None).back, Some(Time(1_010_000 + 2 * 300 + 2 * 70)));
}

#[test]
fn a_clock_that_is_stepped_reads_more_and_delays_nothing() {
    // When and by how much; when it is sent and back by the machine's own clock, and back by the world's. Units: µs.
    let check = |from: u64, by: u64, sent: u64, back: u64, world: u64| {
        let mut clocks = World::new(DELAY);
        let (mut client, mut server) = (clocks.machine(Costs::default()), clocks.machine(Costs::default()));
        let addr = server.listen(&at("10.0.0.1:0")).unwrap();
        client.connect(&addr).unwrap();
        clocks.step_clock(&client, Time(1_000 * from), Nanos(1_000 * by));
        let mut ping = Ping::new(Time(1_000_000));
        clocks.run(&mut [(&mut ping, &mut client), (&mut Echo, &mut server)], LIMIT);
        let [sent, back, world] = [sent, back, world].map(|us| Time(1_000 * us));
        assert_eq!((ping.sent, ping.back), (Some(sent), Some(back)), "{by} at {from}");
        assert_eq!(client.clock(), world, "{by} at {from}");
    };
    check(500, 400, 1_000, 1_010, 610);
    check(900, 1_000, 1_900, 1_910, 910);
    check(1_005, 1_000, 1_000, 2_010, 1_010);
    check(2_000, 1_000, 1_000, 1_010, 1_010);
}

#[test]
fn a_frozen_machine_is_late_and_can_tell() {
    let stalled = ping(Costs::default(), Some((Time(900_000), Nanos(500_000))));
    assert_eq!(stalled.sent, Some(Time(1_400_000)));
    assert_eq!(stalled.longest_gap, Nanos(400_000), "it wanted to run at 1 ms");
    assert!(ping(Costs::default(), None).longest_gap <= Nanos(200));
}

#[test]
fn no_server_listens() {
    let mut world = World::new(DELAY);
    let mut client = world.machine(Costs::default());
    client.connect(&at("10.0.0.1:1")).unwrap();
    let mut ping = Ping::new(Time(1_000_000));
    world.run(&mut [(&mut ping, &mut client)], LIMIT);
    assert!(ping.closed);
}

#[test]
#[should_panic(expected = "not in the order of their machines")]
fn programs_that_are_not_in_the_order_of_their_machines_are_refused() {
    let mut world = World::new(DELAY);
    let (mut server, mut client) = (world.machine(Costs::default()), world.machine(Costs::default()));
    world.run(&mut [(&mut Resetter::default(), &mut client), (&mut Echo, &mut server)], LIMIT);
}

#[test]
fn a_unix_socket_is_a_stream_under_its_path() {
    let unix = Address::Unix("/run/echo".into());
    assert_eq!(ping_at(&unix, Costs::default(), None).back, Some(Time(1_010_000)));
    let mut world = World::new(DELAY);
    let mut server = world.machine(Costs::default());
    assert_eq!(server.listen(&unix).unwrap(), unix);
    assert_eq!(server.listen(&unix).unwrap_err().kind(), io::ErrorKind::AddrInUse);
}

/// Pauses at once, resumes after a while, and notes the received bytes.
#[derive(Default)]
struct Pausing {
    conn: Option<Conn>,
    got: Vec<u8>,
}

impl Handler<SimReactor> for Pausing {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => {
                reactor.pause_reading(conn, true);
                self.conn = Some(conn);
            }
            Event::Data { bytes, .. } => self.got.extend_from_slice(bytes),
            _ => {}
        }
    }
}

impl Program for Pausing {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        // Some bytes have come, some are on their way.
        let resume_at = Time(100_500);
        let now = reactor.now();
        if now >= resume_at
            && let Some(conn) = self.conn.take()
        {
            assert!(self.got.is_empty());
            reactor.pause_reading(conn, false);
        }
        reactor.poll(Wait::Sleep(if now < resume_at { resume_at } else { Time::NEVER }), self).unwrap();
        true
    }
}

/// Sends the numbers from 0 to 99, one a µs.
struct Counting(u8, Option<Conn>);

impl Handler<SimReactor> for Counting {
    fn event(&mut self, _: &mut SimReactor, event: Event<'_>) {
        if let Event::Connected { conn } = event {
            self.1 = Some(conn);
        }
    }
}

impl Program for Counting {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let due = |i: u8| Time(50_000 + 1_000 * u64::from(i));
        if let Some(conn) = self.1
            && self.0 < 100
            && due(self.0) <= reactor.now()
        {
            reactor.output(conn).push(self.0);
            reactor.flush(conn);
            self.0 += 1;
        }
        let until = if self.0 < 100 { due(self.0) } else { Time::NEVER };
        reactor.poll(Wait::Sleep(until), self).unwrap();
        true
    }
}

#[test]
fn what_was_held_back_comes_before_what_came_later() {
    let mut world = World::new(DELAY);
    let (mut client, mut server) = (world.machine(Costs::default()), world.machine(Costs::default()));
    let addr = server.listen(&at("10.0.0.1:0")).unwrap();
    client.connect(&addr).unwrap();
    let (mut counting, mut pausing) = (Counting(0, None), Pausing::default());
    world.run(&mut [(&mut counting, &mut client), (&mut pausing, &mut server)], LIMIT);
    assert_eq!(pausing.got, (0..100).collect::<Vec<u8>>());
}

/// Sends numbers on a connection, more whenever there is room, and reads the other side's.
struct Chatter {
    server: Option<Address>,
    sent: u32,
    read: Vec<u8>,
    resets: u32,
    drained: u32,
    wake: Option<SimWaker>,
    woken: u32,
}

const NUMBERS: u32 = 2_000;

impl Chatter {
    fn new(server: Option<Address>) -> Chatter {
        Chatter { server, sent: 0, read: Vec::new(), resets: 0, drained: 0, wake: None, woken: 0 }
    }

    fn say(&mut self, reactor: &mut SimReactor, conn: Conn) {
        while self.sent < NUMBERS && reactor.unsent(conn) < 64 {
            for _ in 0..5 {
                reactor.output(conn).extend_from_slice(&self.sent.to_le_bytes());
                self.sent += 1;
            }
            reactor.flush(conn);
        }
    }
}

impl Handler<SimReactor> for Chatter {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } | Event::Connected { conn } => self.say(reactor, conn),
            Event::Drained { conn } => {
                self.drained += 1;
                self.say(reactor, conn);
            }
            Event::Data { conn, bytes, .. } => {
                self.read.extend_from_slice(bytes);
                if let Some(other) = &self.wake {
                    other.wake();
                }
                self.say(reactor, conn);
            }
            Event::Closed { .. } => self.resets += 1,
            Event::Woken => self.woken += 1,
            other => panic!("{other:?}"),
        }
    }
}

impl Program for Chatter {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if let Some(server) = self.server.take() {
            reactor.connect(&server).unwrap();
        }
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

#[test]
fn streams_are_cut_and_held_up_and_keep_their_bytes_in_order() {
    let expect: Vec<u8> = (0..NUMBERS).flat_map(u32::to_le_bytes).collect();
    let mut histories = Vec::new();
    for seed in [1, 2, 1] {
        let mut world = World::new(Nanos::from_micros(10));
        world.stream_faults(StreamFaults {
            split: 0.5,
            short: 0.3,
            reset: 0.0,
            late: Nanos::from_micros(300),
            seed,
        });
        let (mut near, mut far) = (world.machine(Costs::default()), world.machine(Costs::default()));
        let server = at("10.0.0.1:7");
        far.listen(&server).unwrap();
        let (mut asks, mut answers) = (Chatter::new(Some(server)), Chatter::new(None));
        asks.wake = Some(far.waker());
        world.run(&mut [(&mut asks, &mut near), (&mut answers, &mut far)], Time(60_000_000_000));
        assert!(asks.read == expect && answers.read == expect, "seed {seed}");
        assert!(asks.drained > 10 && asks.resets == 0 && answers.woken > 10, "seed {seed}");
        histories.push((near.now(), asks.drained, answers.woken));
    }
    assert_eq!(histories[0], histories[2], "one seed, one history");
    assert_ne!(histories[0], histories[1]);
}

#[test]
fn a_reset_is_seen_on_both_sides_and_what_came_before_it_is_in_order() {
    let expect: Vec<u8> = (0..NUMBERS).flat_map(u32::to_le_bytes).collect();
    for seed in 0..20 {
        let mut world = World::new(Nanos::from_micros(10));
        let late = Nanos::from_micros(50);
        world.stream_faults(StreamFaults { split: 0.5, short: 0.1, reset: 0.02, late, seed });
        let (mut near, mut far) = (world.machine(Costs::default()), world.machine(Costs::default()));
        let server = at("10.0.0.1:7");
        far.listen(&server).unwrap();
        let (mut asks, mut answers) = (Chatter::new(Some(server)), Chatter::new(None));
        world.run(&mut [(&mut asks, &mut near), (&mut answers, &mut far)], Time(60_000_000_000));
        assert_eq!((asks.resets, answers.resets), (1, 1), "seed {seed}: of hundreds of flushes one is hit");
        assert!(expect.starts_with(&asks.read) && expect.starts_with(&answers.read), "seed {seed}");
    }
}

/// Reads a little each µs, and notes when.
#[derive(Default)]
struct Sipping {
    source: Option<std::net::IpAddr>,
    sips: Vec<(Time, Vec<u8>)>,
    resume: Option<(Time, Conn)>,
    closed: Option<Time>,
}

impl Handler<SimReactor> for Sipping {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.source = reactor.source(conn),
            Event::Data { conn, at, bytes, .. } => {
                self.sips.push((at, bytes.to_vec()));
                reactor.pause_reading(conn, true);
                self.resume = Some((at + Nanos(1_000), conn));
            }
            Event::Closed { .. } => self.closed = Some(reactor.now()),
            _ => {}
        }
    }
}

impl Program for Sipping {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if let Some((_, conn)) = self.resume.take_if(|(at, _)| *at <= reactor.now()) {
            reactor.pause_reading(conn, false);
        }
        let until = self.resume.map_or(Time::NEVER, |(at, _)| at);
        reactor.poll(Wait::Sleep(until), self).unwrap();
        self.closed.is_none()
    }
}

/// Sends two texts at once, and leaves.
struct Blurting;

impl Handler<SimReactor> for Blurting {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        if let Event::Connected { conn } = event {
            for text in [0..60, 60..100] {
                reactor.output(conn).extend(text);
                reactor.flush(conn);
            }
            reactor.close(conn);
        }
    }
}

impl Program for Blurting {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

#[test]
fn a_receive_takes_no_more_than_its_limit_and_the_end_comes_last() {
    let mut world = World::new(DELAY);
    let (mut server, mut client) = (world.machine(Costs::default()), world.machine(Costs::default()));
    let addr = server.listen(&at("10.0.0.1:0")).unwrap();
    server.limit_receives(7);
    let source = "10.0.0.99".parse().unwrap();
    client
        .connect_via(&addr, &Via { source: Some(source), receive_buffer: Some(7), ..Via::default() })
        .unwrap();
    let mut sipping = Sipping::default();
    world.run(&mut [(&mut sipping, &mut server), (&mut Blurting, &mut client)], LIMIT);
    assert_eq!(sipping.source, Some(source));
    let all: Vec<u8> = sipping.sips.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    assert_eq!(all, (0..100).collect::<Vec<u8>>());
    // Nine receives for the first text and six for the second.
    assert_eq!(sipping.sips.len(), 15);
    assert!(sipping.sips.windows(2).all(|pair| pair[1].0.since(pair[0].0) == Nanos(1_000)));
    let last = sipping.sips[14].0;
    assert_eq!(sipping.closed, Some(last + Nanos(1_000)));
}
