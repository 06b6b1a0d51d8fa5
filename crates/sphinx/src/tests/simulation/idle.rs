//! A server without requests: expired items free their memory all the same.

use dist::{Purpose, Streams};
use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::servers;

/// Stores items that expire after a second, waits half a minute, and checks that they are gone.
struct Visitor {
    server: Address,
    conn: Option<Conn>,
    asked: bool,
    answer: String,
}

const ITEMS: usize = 2000;
const WAIT: Nanos = Nanos::from_secs(30);

impl Handler<SimReactor> for Visitor {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } => {
                for i in 0..ITEMS {
                    let line = format!("set key-{i} 0 1 5 noreply\r\nvalue\r\n");
                    reactor.output(conn).extend_from_slice(line.as_bytes());
                }
                reactor.output(conn).extend_from_slice(b"set stays 0 0 5\r\nvalue\r\n");
                reactor.flush(conn);
            }
            Event::Data { bytes, .. } => self.answer.push_str(std::str::from_utf8(bytes).expect("text")),
            _ => {}
        }
    }
}

impl Program for Visitor {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let conn = *self.conn.get_or_insert_with(|| reactor.connect(&self.server).expect("a network"));
        let until = Time(0) + WAIT;
        if reactor.now() >= until && !self.asked {
            self.asked = true;
            reactor.output(conn).extend_from_slice(b"stats\r\n");
            reactor.flush(conn);
        }
        let until = if self.asked { Time::NEVER } else { until };
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        !self.answer.ends_with("END\r\n")
    }
}

#[test]
fn an_idle_server_gives_back_what_has_ended() {
    for args in ["-t 1", "-t 3 --sharing nothing", "-t 3 --sharing read", "-t 2 --sharing everything"] {
        let mut world = World::new(Nanos::from_micros(10));
        let mut rng = Streams::new(1).stream(Purpose::Other(1), 0);
        let mut visitor_machine = world.machine(Costs::default());
        let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, 1, |_| Costs::default());
        let server = servers::addresses(1).remove(0);
        let mut visitor = Visitor { server, conn: None, asked: false, answer: String::new() };
        servers::run(&mut world, vec![(&mut visitor, &mut visitor_machine)], &mut cores, &mut machines);
        let stat = |name: &str| {
            let line = visitor.answer.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
            line.and_then(|number| number.parse::<usize>().ok()).unwrap_or_else(|| panic!("no {name}"))
        };
        assert_eq!((stat("total_items"), stat("curr_items")), (ITEMS + 1, 1), "{args}");
        // It wakes once a second, and 50 times a second while there is work.
        assert!(stat("sleeps") < 400, "{args}: {} sleeps", stat("sleeps"));
    }
}
