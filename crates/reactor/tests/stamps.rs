//! The exchange of `Epoll::with_timestamps` agrees with the kernel's stamps of the same exchange.
//!
//! Try it: `cargo test -p reactor --test stamps`.

use reactor::{Address, Epoll, Event, Exchange, Handler, Reactor, Wait, WallClock};
use units::{Nanos, Time};

/// Answers each piece that it gets with the same.
struct Echo;

impl Handler<Epoll> for Echo {
    fn event(&mut self, reactor: &mut Epoll, event: Event<'_>) {
        if let Event::Data { conn, bytes, .. } = event {
            reactor.output(conn).extend_from_slice(bytes);
            reactor.flush(conn);
        }
    }
}

/// Sends `at_once` pieces at once on a connection, and as many again after each answer.
struct Client {
    at_once: usize,
    answers: usize,
}

impl Handler<Epoll> for Client {
    fn event(&mut self, reactor: &mut Epoll, event: Event<'_>) {
        let conn = match event {
            Event::Connected { conn } => conn,
            Event::Data { conn, .. } => {
                self.answers += 1;
                conn
            }
            other => panic!("{other:?}"),
        };
        for _ in 0..self.at_once {
            reactor.output(conn).extend_from_slice(b"ping");
            reactor.flush(conn);
        }
    }
}

/// A client with timestamps and its server, in one thread.
struct Pair {
    server: Epoll,
    reactor: Epoll,
    client: Client,
    deadline: Time,
}

impl Pair {
    fn new(connections: usize, at_once: usize, room: usize, one_in: usize) -> Pair {
        let mut server = Epoll::new().unwrap();
        let address = server.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
        let mut reactor = Epoll::with_timestamps(room, one_in).unwrap();
        for _ in 0..connections {
            reactor.connect(&address).unwrap();
        }
        let deadline = reactor.now() + Nanos::from_secs(60);
        Pair { server, reactor, client: Client { at_once, answers: 0 }, deadline }
    }

    fn turn(&mut self) {
        assert!(self.reactor.now() < self.deadline, "{} answers in 60 s", self.client.answers);
        self.server.poll(Wait::Spin(self.deadline), &mut Echo).unwrap();
        self.reactor.poll(Wait::Spin(self.deadline), &mut self.client).unwrap();
    }

    /// Runs until `wanted` exchanges were stamped. The kernel begins to stamp a while after stamps are enabled.
    fn stamped(&mut self, wanted: usize) -> Vec<Exchange> {
        let mut exchanges = Vec::new();
        while exchanges.len() < wanted {
            self.turn();
            exchanges.extend(self.reactor.take_exchanges());
        }
        exchanges
    }

    fn answered(&mut self, wanted: usize) -> Vec<Exchange> {
        while self.client.answers < wanted {
            self.turn();
        }
        self.reactor.take_exchanges()
    }
}

#[test]
fn the_kernel_stamps_each_exchange() {
    let clock = WallClock::sample();
    let exchanges = Pair::new(3, 1, 1_000, 1).stamped(300);
    for exchange in &exchanges {
        let (left, came) = (clock.monotonic(exchange.left), clock.monotonic(exchange.came));
        // A clock that is being adjusted runs by at most 1/2000 faster or slower: 30 ms in a run of 60 s.
        let slack = Nanos::from_millis(30);
        assert!(exchange.sent < exchange.done, "{exchange:?}");
        assert!(exchange.left < exchange.came, "{exchange:?}");
        assert!(exchange.sent < left + slack, "{exchange:?} {left:?}");
        assert!(came < exchange.done + slack, "{exchange:?} {came:?}");
    }
    for slot in 0..3 {
        let of_it: Vec<_> = exchanges.iter().filter(|e| e.conn.slot == slot).collect();
        assert!(of_it.len() > 50, "all connections are stamped");
        assert!(of_it.windows(2).all(|pair| pair[0].came < pair[1].left), "of another request: {of_it:?}");
    }
}

#[test]
fn what_cannot_be_told_apart_or_has_no_room_is_left_out() {
    // As long as one socket is stamped, the kernel stamps for all.
    let mut stamped = Pair::new(1, 1, 1_000, 1);
    stamped.stamped(1);
    assert_eq!(Pair::new(1, 1, 5, 1).answered(50).len(), 5);
    // The second piece leaves before the first is answered.
    assert_eq!(Pair::new(1, 2, 1_000, 1).answered(1).len(), 0);
    assert!(!stamped.stamped(1).is_empty());
}

#[test]
fn one_connection_in_so_many_is_watched() {
    let exchanges = Pair::new(6, 1, 1_000, 3).stamped(100);
    let mut slots: Vec<u32> = exchanges.iter().map(|e| e.conn.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), 2, "of six connections, one in three: {slots:?}");
}
