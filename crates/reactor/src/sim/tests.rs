use super::*;
use crate::sim::{Costs, Program, World};

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

const DELAY: Nanos = Nanos(5_000);
const LIMIT: Time = Time(1_000_000_000);

fn ping(costs: Costs, stall: Option<(Time, Nanos)>) -> Ping {
    let mut world = World::new(DELAY);
    let (mut client, mut server) = (world.machine(costs), world.machine(costs));
    let addr = server.listen(&at("10.0.0.1:0")).unwrap();
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
fn a_frozen_machine_is_late_and_can_tell() {
    let stalled = ping(Costs::default(), Some((Time(900_000), Nanos(500_000))));
    assert_eq!(stalled.sent, Some(Time(1_400_000)));
    assert_eq!(stalled.longest_gap, Nanos(400_000), "it wanted to run at 1 ms");
    assert!(ping(Costs::default(), None).longest_gap <= Nanos(200));
}

#[test]
fn nobody_listens() {
    let mut world = World::new(DELAY);
    let mut client = world.machine(Costs::default());
    client.connect(&at("10.0.0.1:1")).unwrap();
    let mut ping = Ping::new(Time(1_000_000));
    world.run(&mut [(&mut ping, &mut client)], LIMIT);
    assert!(ping.closed);
}
