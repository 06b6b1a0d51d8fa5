use std::io;
use std::net::SocketAddr;

use crate::peers::GO_FOR_ONE;
use crate::sim::SimReactor;
use crate::sim::world::Delivery;
use crate::{Conn, Event, Handler, Reactor, udp};

/// The longest payload of UDP over IPv4: 65 535 less headers of 20 and 8 bytes.
const LONGEST: usize = 65_507;

/// A peer of a datagram server: the address that it writes to, its machine and its socket.
pub(super) type Key = (SocketAddr, (usize, Conn));

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Link {
    /// The other end of a stream, once it is established.
    Stream { peer: Option<(usize, Conn)> },
    /// A datagram server.
    Socket { server: SocketAddr },
    /// One peer of a datagram server of this machine, and its index among them.
    Peer { index: u32 },
}

impl Default for Link {
    fn default() -> Link {
        Link::Stream { peer: None }
    }
}

impl Link {
    pub(super) fn is_datagram(self) -> bool {
        !matches!(self, Link::Stream { .. })
    }
}

impl SimReactor {
    pub(super) fn connect_for_datagrams(&mut self, server: SocketAddr) -> Conn {
        let conn = self.insert(Link::Socket { server });
        let at = self.clock();
        self.wires.borrow_mut().arrive(self.index, at, Delivery::Ready { conn });
        conn
    }

    /// Sends the output as one datagram, subject to the network's faults.
    pub(super) fn flush_datagram(&mut self, conn: Conn) {
        let Some(slot) = self.slot(conn) else { return };
        let (link, bytes) = (slot.link, std::mem::take(&mut slot.out));
        let left = self.leave();
        let mut wires = self.wires.borrow_mut();
        if bytes.len() > LONGEST {
            let error = Some(io::ErrorKind::InvalidInput);
            return wires.arrive(self.index, left, Delivery::Closed { conn, error });
        }
        self.datagrams.sent += 1;
        for late in wires.copies() {
            let bytes = bytes.clone();
            match link {
                Link::Socket { server } => match wires.listeners.get(&crate::Address::Udp(server)).copied() {
                    Some(machine) => {
                        let from = (self.index, conn);
                        wires.deliver(machine, left + late, Delivery::Datagram { at: server, from, bytes });
                    }
                    // The other machine's refusal takes as long again.
                    None => {
                        let (back, error) = (wires.delay, Some(io::ErrorKind::ConnectionRefused));
                        wires.deliver(self.index, left + late + back, Delivery::Closed { conn, error });
                    }
                },
                Link::Peer { index } => {
                    let (_, (machine, conn)) = self.peers.key(index);
                    wires.deliver(machine, left + late, Delivery::Data { conn, bytes });
                }
                Link::Stream { .. } => {}
            }
        }
    }

    pub(super) fn serve_datagram(
        &mut self,
        at: SocketAddr,
        from: (usize, Conn),
        bytes: &[u8],
        handler: &mut impl Handler<Self>,
    ) {
        let arrived = self.now();
        let conn = match self.peers.heard(&(at, from), arrived) {
            Some(conn) => conn,
            None => self.add_peer((at, from), handler),
        };
        match self.slot(conn).map(|slot| slot.paused) {
            None => {}
            Some(true) => self.datagrams.dropped_paused += 1,
            Some(false) => {
                self.datagrams.received += 1;
                handler.event(self, Event::Data { conn, at: arrived, came: None, bytes });
            }
        }
    }

    /// Makes a pseudo-connection of a peer that is heard for the first time, and room for it first.
    fn add_peer(&mut self, key: Key, handler: &mut impl Handler<Self>) -> Conn {
        for _ in 0..GO_FOR_ONE {
            if let Some(silent) = self.peers.to_end(self.now())
                && self.remove(silent).is_some()
            {
                handler.event(self, Event::Closed { conn: silent, error: Some(udp::evicted()) });
            }
        }
        let conn = self.insert_peer(key, self.now());
        handler.event(self, Event::Accepted { conn });
        conn
    }
}

#[cfg(test)]
mod tests {
    use units::{Nanos, Time};

    use super::*;
    use crate::sim::{Costs, Faults, Mishaps, Program, World};
    use crate::{Address, Wait};

    const DELAY: Nanos = Nanos(5_000);
    /// The time between two datagrams.
    const GAP: Nanos = Nanos(1_000);
    const LIMIT: Time = Time(1_000_000_000);

    /// Answers every datagram with itself.
    #[derive(Default)]
    struct Echo {
        accepted: usize,
        heard: usize,
    }

    impl Handler<SimReactor> for Echo {
        fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
            match event {
                Event::Accepted { conn } => {
                    assert!(reactor.is_datagram(conn));
                    self.accepted += 1;
                }
                Event::Data { conn, bytes, .. } => {
                    self.heard += 1;
                    reactor.output(conn).extend_from_slice(bytes);
                    reactor.flush(conn);
                }
                _ => {}
            }
        }
    }

    impl Program for Echo {
        fn step(&mut self, reactor: &mut SimReactor) -> bool {
            reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
            true
        }
    }

    /// Sends numbered datagrams at a fixed rate and notes when each reply arrives.
    #[derive(Default)]
    struct Client {
        conn: Option<Conn>,
        count: u32,
        sent: u32,
        back: Vec<(Time, u32)>,
        closed: Option<io::ErrorKind>,
    }

    impl Handler<SimReactor> for Client {
        fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
            match event {
                Event::Connected { conn } => {
                    assert!(reactor.is_datagram(conn));
                    self.conn = Some(conn);
                }
                Event::Data { at, bytes, .. } => {
                    self.back.push((at, u32::from_le_bytes(bytes.try_into().expect("one datagram"))));
                }
                Event::Closed { error, .. } => self.closed = error.map(|error| error.kind()),
                _ => {}
            }
        }
    }

    impl Program for Client {
        fn step(&mut self, reactor: &mut SimReactor) -> bool {
            let due = |sent: u32| Time(100_000) + Nanos(GAP.0 * u64::from(sent));
            while let Some(conn) = self.conn
                && self.sent < self.count
                && due(self.sent) <= reactor.now()
            {
                reactor.output(conn).extend_from_slice(&self.sent.to_le_bytes());
                reactor.flush(conn);
                self.sent += 1;
            }
            let until = if self.sent < self.count { due(self.sent) } else { Time::NEVER };
            reactor.poll(Wait::Sleep(until), self).unwrap();
            self.closed.is_none()
        }
    }

    fn run(count: u32, faults: Option<Faults>) -> (Client, Echo, Mishaps) {
        let mut world = World::new(DELAY);
        let (mut client, mut server) = (world.machine(Costs::default()), world.machine(Costs::default()));
        let addr = server.listen(&Address::Udp("10.0.0.1:0".parse().unwrap())).unwrap();
        client.connect(&addr).unwrap();
        if let Some(faults) = faults {
            world.faults(faults);
        }
        let (mut sender, mut echo) = (Client { count, ..Client::default() }, Echo::default());
        world.run(&mut [(&mut sender, &mut client), (&mut echo, &mut server)], LIMIT);
        assert_eq!(client.datagrams().received, sender.back.len() as u64);
        assert_eq!(client.datagrams().sent, u64::from(count));
        (sender, echo, world.mishaps())
    }

    #[test]
    fn without_faults_each_arrives_once_in_order_and_on_time() {
        let (client, echo, mishaps) = run(100, None);
        let expect = |i: u32| (Time(100_000) + Nanos(GAP.0 * u64::from(i) + 2 * DELAY.0), i);
        assert_eq!(client.back, (0..100).map(expect).collect::<Vec<_>>());
        assert_eq!((echo.accepted, echo.heard, mishaps), (1, 100, Mishaps::default()));
    }

    #[test]
    fn faults_lose_double_and_reorder_as_the_seed_says() {
        const COUNT: u32 = 2_000;
        let faults = |seed| Faults { loss: 0.1, duplication: 0.1, reordering: Nanos(10 * GAP.0), seed };
        let seed = 20_261_121;
        println!("seed {seed}");
        let (client, echo, mishaps) = run(COUNT, Some(faults(seed)));
        assert!(mishaps.lost > 0 && mishaps.duplicated > 0);
        // Every datagram is accounted for: the client's and the echoes.
        let sent = u64::from(COUNT) + echo.heard as u64;
        let arrived = echo.heard as u64 + client.back.len() as u64;
        assert_eq!(sent - mishaps.lost + mishaps.duplicated, arrived);
        assert!(client.back.windows(2).any(|pair| pair[0].1 > pair[1].1), "some overtake others");
        let late = |(at, i): &(Time, u32)| at.since(Time(100_000) + Nanos(GAP.0 * u64::from(*i)));
        assert!(client.back.iter().all(|back| late(back) <= Nanos(2 * DELAY.0 + 20 * GAP.0)));
        assert_eq!(run(COUNT, Some(faults(seed))).0.back, client.back, "one seed, one history");
        assert_ne!(run(COUNT, Some(faults(seed + 1))).0.back, client.back);
    }

    #[test]
    fn what_all_is_lost_ends_too() {
        let (client, echo, mishaps) =
            run(10, Some(Faults { loss: 1.0, duplication: 0.0, reordering: Nanos::ZERO, seed: 1 }));
        assert_eq!((client.back.len(), echo.accepted, mishaps.lost), (0, 0, 10));
    }

    #[test]
    fn the_first_datagram_tells_that_no_server_listens() {
        let mut world = World::new(DELAY);
        let mut machine = world.machine(Costs::default());
        machine.connect(&Address::Udp("10.0.0.1:1".parse().unwrap())).unwrap();
        let mut client = Client { count: 1, ..Client::default() };
        world.run(&mut [(&mut client, &mut machine)], LIMIT);
        assert_eq!(client.closed, Some(io::ErrorKind::ConnectionRefused));
        assert_eq!(machine.now(), Time(100_000) + Nanos(2 * DELAY.0), "after a round trip");
    }
}
