use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use super::*;
use crate::uring::token::{Op, Token};
use crate::{Event, Waker};
use io_uring::types;

/// Turns a hang into a failure.
const PATIENCE: Nanos = Nanos::from_secs(60);

#[derive(Default)]
struct Counter {
    accepted: Vec<Conn>,
    refused: usize,
    closed: usize,
    drained: usize,
    received: usize,
    woken: usize,
    /// Reply with this many bytes to each receive.
    reply: usize,
    close_on_data: bool,
}

impl Handler<Uring> for Counter {
    fn event(&mut self, reactor: &mut Uring, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.accepted.push(conn),
            Event::AcceptFailed { .. } => self.refused += 1,
            Event::Data { conn, bytes, .. } => {
                self.received += bytes.len();
                reactor.output(conn).extend(std::iter::repeat_n(b'x', self.reply));
                reactor.flush(conn);
                if self.close_on_data {
                    reactor.close(conn);
                }
            }
            Event::Drained { .. } => self.drained += 1,
            Event::Closed { .. } => self.closed += 1,
            Event::Woken => self.woken += 1,
            Event::Connected { .. } | Event::ReadClosed { .. } | Event::Filled { .. } => {}
        }
    }
}

fn until(reactor: &mut Uring, counter: &mut Counter, done: impl Fn(&Uring, &Counter) -> bool) {
    let deadline = monotonic_now() + PATIENCE;
    while !done(reactor, counter) {
        assert!(monotonic_now() < deadline, "nothing happened for {PATIENCE}");
        reactor.poll(Wait::Sleep(monotonic_now() + Nanos::from_millis(50)), counter).unwrap();
    }
}

/// Every kind of ring that this machine gives: as new kernels have it, as Linux 6.0 had it, submitting late.
fn rings() -> Vec<Uring> {
    let kinds = [(true, Submit::AtOnce), (false, Submit::AtOnce), (true, Submit::Together)];
    let made = kinds.map(|(deferring, submit)| {
        Ring::new(deferring).map_err(unavailable::explained).and_then(|ring| Uring::on(ring, submit))
    });
    made.into_iter().filter_map(|ring| ring.inspect_err(|error| println!("skipped: {error}")).ok()).collect()
}

fn listening(reactor: &mut Uring) -> SocketAddr {
    let any = Address::Tcp("127.0.0.1:0".parse().unwrap());
    reactor.listen(&any).unwrap().socket().unwrap()
}

/// The operations that a reactor always has under way: an accept, the wake-up's read.
const STANDING: usize = 2;

#[test]
fn nothing_is_left_of_closed_connections() {
    const ROUNDS: usize = 300;
    for mut reactor in rings() {
        let addr = listening(&mut reactor);
        let clients = thread::spawn(move || {
            for round in 0..ROUNDS {
                let mut stream = TcpStream::connect(addr).unwrap();
                match round % 3 {
                    // The client closes first, the server closes first, the client does not read to the end.
                    0 => {}
                    1 => {
                        stream.write_all(b"close").unwrap();
                        let _ = stream.read_to_end(&mut Vec::new());
                    }
                    _ => {
                        stream.write_all(b"close").unwrap();
                        let _ = stream.read(&mut [0; 10]);
                    }
                }
            }
        });
        // More than a socket takes, so that sends are under way when connections are closed.
        let mut counter = Counter { reply: 8 << 20, close_on_data: true, ..Counter::default() };
        until(&mut reactor, &mut counter, |reactor, counter| {
            counter.accepted.len() == ROUNDS && reactor.table.counts().in_use == 0
        });
        clients.join().unwrap();
        until(&mut reactor, &mut counter, |reactor, _| {
            reactor.table.counts().remains == 0 && reactor.ring.in_flight == STANDING
        });
        assert!(reactor.table.counts().slots < 20, "slots are used again");
    }
}

#[test]
fn buffers_that_run_out_only_delay() {
    // Each client sends more than all buffers together hold.
    const CLIENTS: usize = 3;
    const SIZE: usize = 2 * buffers::COUNT as usize * buffers::SIZE;
    for mut reactor in rings() {
        let addr = listening(&mut reactor);
        let clients = thread::spawn(move || {
            let mut streams: Vec<_> = (0..CLIENTS).map(|_| TcpStream::connect(addr).unwrap()).collect();
            let bytes = vec![b'v'; SIZE];
            thread::scope(|scope| {
                for stream in &mut streams {
                    scope.spawn(|| stream.write_all(&bytes).unwrap());
                }
            });
        });
        let mut counter = Counter::default();
        until(&mut reactor, &mut counter, |_, counter| counter.accepted.len() == CLIENTS);
        // No event reaches the handler, hence no buffer comes back, until a receive has found none.
        let deadline = monotonic_now() + PATIENCE;
        while !reactor.ring.ready.iter().any(|done| done.result == Err(Errno::NOBUFS)) {
            assert!(monotonic_now() < deadline, "the buffers never ran out");
            reactor.enter(1, Some(Nanos::from_millis(50))).unwrap();
        }
        until(&mut reactor, &mut counter, |_, counter| counter.received == CLIENTS * SIZE);
        clients.join().unwrap();
        until(&mut reactor, &mut counter, |_, counter| counter.closed == CLIENTS);
    }
}

#[test]
fn a_spin_with_nothing_to_do_stays_out_of_the_kernel() {
    for mut reactor in rings() {
        let addr = listening(&mut reactor);
        let mut client = TcpStream::connect(addr).unwrap();
        let mut counter = Counter::default();
        until(&mut reactor, &mut counter, |_, counter| counter.accepted.len() == 1);
        while reactor.ring.pending() {
            reactor.poll(Wait::Spin(Time::NEVER), &mut counter).unwrap();
        }
        let before = reactor.ring.entries;
        for _ in 0..1000 {
            reactor.poll(Wait::Spin(Time::NEVER), &mut counter).unwrap();
        }
        assert_eq!(reactor.ring.entries, before);
        client.write_all(b"now").unwrap();
        let deadline = monotonic_now() + PATIENCE;
        while counter.received < 3 {
            assert!(monotonic_now() < deadline, "the flag was never raised");
            reactor.poll(Wait::Spin(Time::NEVER), &mut counter).unwrap();
        }
    }
}

#[test]
fn replies_of_one_wake_up_leave_together_if_asked_to() {
    const CLIENTS: usize = 10;
    for (submit, entries) in [(Submit::AtOnce, 0), (Submit::Together, 1)] {
        let Ok(mut reactor) = Uring::new(submit) else { return println!("skipped: no io_uring") };
        let addr = listening(&mut reactor);
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| TcpStream::connect(addr).unwrap()).collect();
        let mut counter = Counter::default();
        until(&mut reactor, &mut counter, |_, counter| counter.accepted.len() == CLIENTS);
        reactor.poll(Wait::Spin(Time(0)), &mut counter).unwrap();
        let before = reactor.ring.entries;
        for &conn in &counter.accepted {
            reactor.output(conn).extend_from_slice(b"reply");
            reactor.flush(conn);
            assert_eq!(reactor.unsent(conn), if submit == Submit::AtOnce { 0 } else { 5 });
        }
        reactor.poll(Wait::Spin(Time(0)), &mut counter).unwrap();
        assert_eq!(reactor.ring.entries - before, entries);
        assert_eq!(counter.drained, if submit == Submit::AtOnce { 0 } else { CLIENTS });
        for client in &mut clients {
            let mut reply = [0; 5];
            client.read_exact(&mut reply).unwrap();
            assert_eq!(&reply, b"reply");
        }
    }
}

#[test]
fn a_paused_connection_that_breaks_is_closed() {
    for mut reactor in rings() {
        let addr = listening(&mut reactor);
        let client = TcpStream::connect(addr).unwrap();
        let mut counter = Counter::default();
        until(&mut reactor, &mut counter, |_, counter| counter.accepted.len() == 1);
        let conn = counter.accepted[0];
        reactor.pause_reading(conn, true);
        reactor.output(conn).extend_from_slice(b"never read");
        reactor.flush(conn);
        until(&mut reactor, &mut counter, |reactor, _| reactor.table.get(conn).is_some_and(|e| e.watched));
        let mut first = [0; 1];
        (&client).read_exact(&mut first).unwrap();
        // With bytes unread, this is a reset.
        drop(client);
        until(&mut reactor, &mut counter, |_, counter| counter.closed == 1);
    }
}

#[test]
fn a_drop_in_the_midst_of_everything_leaves_nothing() {
    for mut reactor in rings() {
        let addr = listening(&mut reactor);
        let deaf = TcpStream::connect(addr).unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut counter = Counter::default();
        until(&mut reactor, &mut counter, |_, counter| counter.accepted.len() == 1);
        let conn = counter.accepted[0];
        reactor.output(conn).resize(8 << 20, b'x');
        reactor.flush(conn);
        assert!(reactor.unsent(conn) > 0, "8 MiB cannot fit into a socket's buffer");
        reactor.connect(&silent.local_addr().unwrap().into()).unwrap();
        // Accepted by the kernel, never seen by the handler.
        let unseen = TcpStream::connect(addr).unwrap();
        assert!(reactor.quiesce().unwrap());
        assert_eq!(reactor.ring.in_flight, 0);
        drop(reactor);
        for mut stream in [deaf, unseen] {
            stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
            // The end, in whichever form: what matters is that no descriptor keeps the connection.
            match stream.read_to_end(&mut Vec::new()) {
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
            }
        }
    }
}

#[test]
fn a_client_is_turned_away_while_there_are_no_descriptors() {
    for mut reactor in rings() {
        let (fd, addr) = listener::listen("127.0.0.1:0".parse().unwrap(), 16, SOCKETS).unwrap();
        reactor.listeners.push(Listener::Tcp(fd));
        let mut counter = Counter::default();
        // No client waits: the kernel misses the descriptor before it misses a client.
        assert_eq!(reactor.not_accepted(0, Errno::MFILE, &mut counter).unwrap(), 0);
        let mut served = TcpStream::connect(addr).unwrap();
        until(&mut reactor, &mut counter, |_, counter| counter.accepted.len() == 1);
        served.write_all(b"hello").unwrap();
        until(&mut reactor, &mut counter, |_, counter| counter.received == 5);
        // An accept that the kernel refuses ends, as this one does.
        let accept = types::CancelBuilder::user_data(Token::indexed(Op::Accept, 0).pack());
        let cancel = opcode::AsyncCancel2::new(accept).build();
        // SAFETY: it points at nothing.
        unsafe { reactor.ring.push(cancel, Token::indexed(Op::Cancel, 0)) }.unwrap();
        reactor.ring.enter(0, None).unwrap();
        reactor.ring.ready.retain(|done| done.token.op != Op::Accept);
        let mut refused = TcpStream::connect(addr).unwrap();
        assert_eq!(reactor.not_accepted(0, Errno::MFILE, &mut counter).unwrap(), 1);
        assert_eq!((counter.refused, counter.accepted.len()), (1, 1));
        assert_eq!(refused.read(&mut [0; 1]).unwrap(), 0);
        let _later = TcpStream::connect(addr).unwrap();
        until(&mut reactor, &mut counter, |_, counter| counter.accepted.len() == 2);
    }
}

#[test]
fn a_thread_may_have_one_reactor_after_another() {
    // The kernel registers 16 rings per thread (IO_RINGFD_REG_MAX).
    for round in 0..40 {
        let Ok(mut ring) = Ring::new(true) else { return println!("skipped: no ring that defers") };
        let again = ring.register_again();
        assert_eq!(again.raw_os_error(), Some(Errno::EXIST.raw_os_error()), "round {round}");
    }
}

#[test]
fn wakes_count_once_each_time_and_outlive_the_reactor() {
    for mut reactor in rings() {
        let waker = reactor.waker();
        waker.wake();
        waker.wake();
        let mut counter = Counter::default();
        until(&mut reactor, &mut counter, |_, counter| counter.woken == 1);
        reactor.poll(Wait::Spin(Time(0)), &mut counter).unwrap();
        assert_eq!(counter.woken, 1);
        drop(reactor);
        waker.wake();
    }
}
