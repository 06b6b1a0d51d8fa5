//! Puts the counters there, waits for the customers, and adds up.

use std::cell::RefCell;
use std::rc::Rc;

use reactor::sim::{Program, SimReactor};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::Nanos;

use super::model::COUNTERS;
use super::{Board, Scene};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The counters are being put there.
    Adding,
    /// The customers have their turn.
    Waiting,
    /// The counters are being read.
    Reading,
    Satisfied,
}

pub(super) struct Judge {
    server: Address,
    scene: Scene,
    customers: usize,
    board: Rc<RefCell<Board>>,
    phase: Phase,
    conn: Option<Conn>,
    input: String,
}

impl Judge {
    pub(super) fn new(server: Address, scene: Scene, customers: usize, board: Rc<RefCell<Board>>) -> Judge {
        Judge { server, scene, customers, board, phase: Phase::Adding, conn: None, input: String::new() }
    }

    pub(super) fn is_satisfied(&self) -> bool {
        self.phase == Phase::Satisfied
    }

    fn ask(&self, reactor: &mut SimReactor, conn: Conn) {
        for counter in 0..COUNTERS {
            let line = match self.phase {
                // After a reset it may be there already.
                Phase::Adding => format!("add counter-{counter} 0 0 1\r\n0\r\n"),
                _ => format!("get counter-{counter}\r\n"),
            };
            reactor.output(conn).extend_from_slice(line.as_bytes());
        }
        reactor.flush(conn);
    }

    /// Looks at the answers once they are whole.
    fn read(&mut self, reactor: &mut SimReactor, conn: Conn) {
        let end = if self.phase == Phase::Adding { "STORED\r\n" } else { "END\r\n" };
        if self.input.matches(end).count() < COUNTERS {
            return;
        }
        if self.phase == Phase::Adding {
            self.board.borrow_mut().open = true;
            self.phase = Phase::Waiting;
        } else {
            self.add_up();
            self.phase = Phase::Satisfied;
        }
        self.conn = None;
        reactor.close(conn);
    }

    /// Every counter must lie between the acknowledged and the requested counts. Eviction may have removed it.
    fn add_up(&self) {
        let board = self.board.borrow();
        for (counter, answer) in self.input.split_inclusive("END\r\n").enumerate() {
            let Some(value) = answer.lines().nth(1) else {
                assert!(self.scene.may_forget, "counter {counter} is lost");
                continue;
            };
            let value: u64 = value.trim_end().parse().expect("a counter is a number");
            let (least, most) = (board.counted[counter], board.asked[counter]);
            assert!((least..=most).contains(&value), "counter {counter}: {value}, not {least} to {most}");
        }
    }
}

impl Handler<SimReactor> for Judge {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } if self.conn == Some(conn) => self.ask(reactor, conn),
            Event::Data { conn, bytes, .. } if self.conn == Some(conn) => {
                self.input.push_str(std::str::from_utf8(bytes).expect("counters are text"));
                self.read(reactor, conn);
            }
            Event::Closed { conn, .. } if self.conn == Some(conn) => self.conn = None,
            _ => {}
        }
    }
}

impl Program for Judge {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.phase == Phase::Waiting && self.board.borrow().done == self.customers {
            self.phase = Phase::Reading;
        }
        if self.conn.is_none() && matches!(self.phase, Phase::Adding | Phase::Reading) {
            self.input.clear();
            self.conn = Some(reactor.connect(&self.server).expect("there is a network"));
        }
        let until = reactor.now() + Nanos::from_millis(10);
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        self.phase != Phase::Satisfied
    }
}
