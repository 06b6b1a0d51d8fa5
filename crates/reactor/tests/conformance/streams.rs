use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::thread;

use reactor::{Address, Epoll, Reactor, Wait, Waker};
use units::Nanos;

use crate::Backend;
pub(crate) use crate::loans::*;
use crate::peer::{self, Listener, Net, Place};
use crate::witness::{PATIENCE, Witness};

/// The tests of byte streams on one backend and one kind of address.
#[macro_export]
macro_rules! streams {
    ($name:ident, $backend:ty, $net:expr $(, $before:expr)?) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use $crate::peer::Net;

            $crate::streams!(@ $backend, $net, { $($before)? },
                echoes_and_notices_the_end
                connects_sends_and_receives
                what_comes_goes_where_the_handler_says
                output_larger_than_the_socket_drains_in_time
                output_given_before_the_connection_stands_follows
                a_flush_of_nothing_sends_nothing
                a_refused_connection_is_closed_with_the_reason
                a_close_is_seen_by_the_peer_and_makes_no_event
                a_reset_is_told_to_the_peer_where_it_can_be
                what_was_flushed_leaves_before_the_end
                a_paused_connection_is_not_read
                a_half_closed_connection_is_answered_when_asked_for
                the_end_of_a_paused_connection_waits_its_turn
                a_half_closed_connection_that_breaks_is_closed
                many_connections_keep_their_bytes_apart
                another_thread_ends_the_sleep
                a_sleep_ends_at_its_time
                a_stale_connection_touches_no_other
                reactors_share_an_address
                listeners_are_told_apart_and_can_stop
                what_is_lent_leaves_in_its_place
                many_loans_leave_together
                what_a_peer_does_not_take_stays_lent
                what_is_lent_to_a_connection_that_goes_is_given_back
            );
        }
    };
    (@ $backend:ty, $net:expr, $before:tt, $($test:ident)*) => {
        $(#[test]
        fn $test() {
            $before
            $crate::streams::$test::<$backend>($net);
        })*
    };
}

/// The tests of what only Unix sockets have.
#[macro_export]
macro_rules! full_queue {
    ($name:ident, $backend:ty) => {
        #[test]
        fn $name() {
            $crate::streams::a_full_queue_is_waited_for::<$backend>();
        }
    };
}

/// A reactor that listens, and where.
pub(crate) fn server<R: Backend>(net: Net) -> Option<(R, Address, Place)> {
    let mut reactor = R::start()?;
    let place = net.place();
    let address = reactor.listen(&place.address).unwrap();
    Some((reactor, address, place))
}

/// A byte that tells where in a long stream it was.
pub(crate) fn pattern(i: usize) -> u8 {
    (i % 251) as u8
}

/// No byte is lost or shown twice. `epoll` asks each time, `io_uring` if it is worth it.
pub(crate) fn what_comes_goes_where_the_handler_says<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let sent: Vec<u8> = (0..3_000_000).map(pattern).collect();
    let client = thread::spawn({
        let sent = sent.clone();
        move || peer::connect(&address).write_all(&sent).unwrap()
    });
    let places = [900_000, 1, 10, 0, 70_000, 0, 1_000_000];
    let mut witness = Witness { places: places.into(), ..Witness::default() };
    witness.until(&mut reactor, |w| !w.closed.is_empty());
    client.join().unwrap();
    assert!(witness.bytes() == sent, "all of it, in order");
    let all = places.iter().sum();
    assert!(witness.placed == all || R::NAME != Epoll::NAME && (1..all).contains(&witness.placed));
}

pub(crate) fn echoes_and_notices_the_end<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let client = thread::spawn(move || {
        let mut stream = peer::connect(&address);
        stream.write_all(b"hello").unwrap();
        let mut back = [0; 5];
        stream.read_exact(&mut back).unwrap();
        back
    });
    let mut witness = Witness::echoing();
    witness.until(&mut reactor, |w| !w.closed.is_empty());
    assert_eq!(&client.join().unwrap(), b"hello");
    assert_eq!(witness.bytes(), b"hello");
    assert_eq!(witness.closed, [(witness.accepted[0], None)]);
}

pub(crate) fn a_half_closed_connection_is_answered_when_asked_for<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    reactor.tell_half_closes();
    let client = thread::spawn(move || {
        let mut stream = peer::connect(&address);
        stream.write_all(b"question").unwrap();
        stream.end_sending();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    });
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| !w.read_closed.is_empty());
    let conn = witness.accepted[0];
    assert_eq!((witness.bytes(), &witness.read_closed[..]), (b"question".to_vec(), &[conn][..]));
    // The event comes once, and the connection stays open.
    witness.look(&mut reactor);
    assert_eq!((witness.read_closed.len(), witness.closed.len()), (1, 0));
    // More than the socket takes at once, so that it has to drain without being read from.
    let answer: Vec<u8> = (0..5_000_000).map(pattern).collect();
    reactor.output(conn).extend_from_slice(&answer);
    reactor.flush(conn);
    let deadline = reactor.now() + PATIENCE;
    while reactor.unsent(conn) > 0 {
        assert!(reactor.now() < deadline, "it does not leave");
        witness.look(&mut reactor);
    }
    reactor.close(conn);
    // On io_uring it takes a poll to hand the close over.
    witness.look(&mut reactor);
    assert!(client.join().unwrap() == answer);
    assert_eq!((witness.read_closed.len(), witness.closed.len()), (1, 0));
}

pub(crate) fn the_end_of_a_paused_connection_waits_its_turn<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    reactor.tell_half_closes();
    let mut client = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| !w.accepted.is_empty());
    let conn = witness.accepted[0];
    reactor.pause_reading(conn, true);
    client.write_all(b"last words").unwrap();
    client.end_sending();
    witness.look(&mut reactor);
    assert_eq!((witness.data.len(), witness.read_closed.len(), witness.closed.len()), (0, 0, 0));
    reactor.pause_reading(conn, false);
    witness.until(&mut reactor, |w| !w.read_closed.is_empty());
    assert_eq!((witness.bytes(), witness.closed.len()), (b"last words".to_vec(), 0));
    // These calls do not show the end again.
    reactor.pause_reading(conn, true);
    reactor.pause_reading(conn, false);
    witness.look(&mut reactor);
    assert_eq!((witness.read_closed.len(), witness.closed.len()), (1, 0));
}

pub(crate) fn a_half_closed_connection_that_breaks_is_closed<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    reactor.tell_half_closes();
    let client = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| !w.accepted.is_empty());
    client.end_sending();
    witness.until(&mut reactor, |w| !w.read_closed.is_empty());
    drop(client);
    let conn = witness.accepted[0];
    let deadline = reactor.now() + PATIENCE;
    // A write shows that the peer closed; Unix sockets tell without one.
    while witness.closed.is_empty() {
        assert!(reactor.now() < deadline, "no event said that the peer closed");
        reactor.output(conn).extend_from_slice(b"is a server there?");
        reactor.flush(conn);
        witness.look(&mut reactor);
    }
    assert_eq!(witness.closed[0].0, conn);
}

pub(crate) fn connects_sends_and_receives<R: Backend>(net: Net) {
    let Some(mut reactor) = R::start() else { return };
    let place = net.place();
    let (listener, address) = Listener::at(&place);
    let server = thread::spawn(move || {
        let mut stream = listener.accept();
        let mut got = [0; 4];
        stream.read_exact(&mut got).unwrap();
        stream.write_all(b"pong").unwrap();
        got
    });
    let conn = reactor.connect(&address).unwrap();
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| !w.connected.is_empty());
    assert_eq!(witness.connected, [conn]);
    let before = reactor.now();
    reactor.output(conn).extend_from_slice(b"ping");
    let sent = reactor.flush(conn);
    assert!(before <= sent && sent <= reactor.now(), "the moment of sending is within the call");
    witness.until(&mut reactor, |w| !w.closed.is_empty());
    assert_eq!(&server.join().unwrap(), b"ping");
    assert_eq!(witness.bytes(), b"pong");
    assert_eq!(witness.closed, [(conn, None)]);
}

pub(crate) fn output_larger_than_the_socket_drains_in_time<R: Backend>(net: Net) {
    const SIZE: usize = 8 << 20;
    let Some(mut reactor) = R::start() else { return };
    let place = net.place();
    let (listener, address) = Listener::at(&place);
    let conn = reactor.connect(&address).unwrap();
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.connected.len() == 1);
    let mut peer = listener.accept();
    reactor.output(conn).extend((0..SIZE).map(pattern));
    reactor.flush(conn);
    assert!(reactor.unsent(conn) > 0, "8 MiB cannot fit into a socket's buffer");
    let reader = thread::spawn(move || {
        let mut got = vec![0; SIZE];
        peer.read_exact(&mut got).unwrap();
        got.iter().enumerate().all(|(i, &b)| b == pattern(i))
    });
    witness.until(&mut reactor, |w| w.drained == 1);
    assert_eq!(reactor.unsent(conn), 0);
    assert!(reader.join().unwrap(), "the bytes arrive in order");
}

pub(crate) fn output_given_before_the_connection_stands_follows<R: Backend>(net: Net) {
    let Some(mut reactor) = R::start() else { return };
    let place = net.place();
    let (listener, address) = Listener::at(&place);
    let conn = reactor.connect(&address).unwrap();
    reactor.output(conn).extend_from_slice(b"early");
    reactor.flush(conn);
    let server = thread::spawn(move || {
        let mut got = [0; 5];
        listener.accept().read_exact(&mut got).unwrap();
        got
    });
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| !w.closed.is_empty());
    assert_eq!(&server.join().unwrap(), b"early");
}

pub(crate) fn a_flush_of_nothing_sends_nothing<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let mut client = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.accepted.len() == 1);
    let conn = witness.accepted[0];
    reactor.flush(conn);
    reactor.output(conn).extend_from_slice(b"one");
    reactor.flush(conn);
    reactor.flush(conn);
    witness.look(&mut reactor);
    assert_eq!(reactor.unsent(conn), 0);
    reactor.close(conn);
    let mut got = Vec::new();
    client.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"one");
}

pub(crate) fn a_refused_connection_is_closed_with_the_reason<R: Backend>(net: Net) {
    let Some(mut reactor) = R::start() else { return };
    let place = net.place();
    // The listener is dropped at once; a Unix socket leaves its file, which no server listens at.
    let (_, unserved) = Listener::at(&place);
    let conn = reactor.connect(&unserved).unwrap();
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| !w.closed.is_empty());
    assert_eq!(witness.closed, [(conn, Some(io::ErrorKind::ConnectionRefused))]);
    assert!(witness.connected.is_empty());
}

pub(crate) fn a_close_is_seen_by_the_peer_and_makes_no_event<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let mut client = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.accepted.len() == 1);
    reactor.close(witness.accepted[0]);
    // A backend that submits its work with the next poll is given one.
    witness.look(&mut reactor);
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    assert!(witness.closed.is_empty());
}

pub(crate) fn a_reset_is_told_to_the_peer_where_it_can_be<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let mut client = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.accepted.len() == 1);
    reactor.reset(witness.accepted[0]);
    witness.look(&mut reactor);
    let outcome = client.read(&mut [0; 1]).map_err(|error| error.kind());
    let told = net == Net::Tcp && R::NAME == Epoll::NAME;
    assert_eq!(outcome, if told { Err(io::ErrorKind::ConnectionReset) } else { Ok(0) });
    assert!(witness.closed.is_empty());
    // One that is gone is left alone.
    reactor.reset(witness.accepted[0]);
}

pub(crate) fn what_was_flushed_leaves_before_the_end<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let mut client = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.accepted.len() == 1);
    let conn = witness.accepted[0];
    reactor.output(conn).extend_from_slice(b"last words");
    reactor.flush(conn);
    reactor.close(conn);
    witness.look(&mut reactor);
    let mut got = Vec::new();
    client.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"last words");
}

pub(crate) fn a_paused_connection_is_not_read<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let mut client = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.accepted.len() == 1);
    let conn = witness.accepted[0];
    reactor.pause_reading(conn, true);
    client.write_all(b"x").unwrap();
    witness.look(&mut reactor);
    assert!(witness.data.is_empty());
    reactor.pause_reading(conn, false);
    witness.until(&mut reactor, |w| w.bytes() == b"x");
    client.write_all(b"y").unwrap();
    witness.until(&mut reactor, |w| w.bytes() == b"xy");
}

pub(crate) fn many_connections_keep_their_bytes_apart<R: Backend>(net: Net) {
    const CLIENTS: usize = 100;
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| peer::connect(&address)).collect();
    let mut witness = Witness::echoing();
    witness.until(&mut reactor, |w| w.accepted.len() == CLIENTS);
    for (i, client) in clients.iter_mut().enumerate() {
        client.write_all(&[i as u8; 3]).unwrap();
    }
    witness.until(&mut reactor, |w| w.bytes().len() == 3 * CLIENTS);
    witness.look(&mut reactor);
    for (i, client) in clients.iter_mut().enumerate() {
        let mut back = [0; 3];
        client.read_exact(&mut back).unwrap();
        assert_eq!(back, [i as u8; 3]);
    }
    let distinct: HashSet<_> = witness.accepted.iter().map(|conn| conn.slot).collect();
    assert_eq!(distinct.len(), CLIENTS);
    assert!(distinct.iter().all(|&slot| (slot as usize) < CLIENTS), "slots are dense");
}

pub(crate) fn another_thread_ends_the_sleep<R: Backend>(_: Net) {
    let Some(mut reactor) = R::start() else { return };
    let waker = reactor.waker();
    let mut witness = Witness::default();
    for times in 1..=3 {
        let waker = waker.clone();
        let ringer = thread::spawn(move || waker.wake());
        witness.until(&mut reactor, |w| w.woken == times);
        ringer.join().unwrap();
    }
}

pub(crate) fn a_sleep_ends_at_its_time<R: Backend>(_: Net) {
    let Some(mut reactor) = R::start() else { return };
    let mut witness = Witness::default();
    let until = reactor.now() + Nanos(2_000_000);
    while reactor.now() < until {
        assert_eq!(reactor.poll(Wait::Sleep(until), &mut witness).unwrap(), 0);
        assert!(reactor.waited() <= Nanos(2_000_000), "it never counts more than it was asked to wait");
    }
    assert_eq!(reactor.poll(Wait::Spin(until), &mut witness).unwrap(), 0);
    assert_eq!(reactor.waited(), Nanos::ZERO);
}

pub(crate) fn a_stale_connection_touches_no_other<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let first = peer::connect(&address);
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.accepted.len() == 1);
    let stale = witness.accepted[0];
    reactor.close(stale);
    drop(first);
    // A backend may need a few turns before it uses the slot again.
    for clients in 2..100 {
        let mut client = peer::connect(&address);
        witness.until(&mut reactor, |w| w.accepted.len() == clients);
        let fresh = *witness.accepted.last().unwrap();
        reactor.output(stale).extend_from_slice(b"wrong");
        reactor.flush(stale);
        reactor.close(stale);
        reactor.output(fresh).extend_from_slice(b"right");
        reactor.flush(fresh);
        assert_eq!(reactor.unsent(stale), 0);
        witness.look(&mut reactor);
        let mut got = [0; 5];
        client.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"right");
        if fresh.slot == stale.slot {
            assert_ne!(fresh.generation, stale.generation);
            return;
        }
        reactor.close(fresh);
    }
    panic!("the slot is never used again");
}

pub(crate) fn reactors_share_an_address<R: Backend>(net: Net) {
    const CLIENTS: usize = 20;
    let Some((mut first, address, place)) = server::<R>(net) else { return };
    let Some(mut second) = R::start() else { return };
    assert_eq!(second.listen(&address).unwrap(), address);
    let clients: Vec<_> = (0..CLIENTS).map(|_| peer::connect(&address)).collect();
    let (mut one, mut other) = (Witness::default(), Witness::default());
    let deadline = first.now() + PATIENCE;
    while one.accepted.len() + other.accepted.len() < CLIENTS {
        assert!(first.now() < deadline, "some clients reach neither reactor");
        one.look(&mut first);
        other.look(&mut second);
    }
    drop((clients, first, second));
    if let Address::Unix(path) = &place.address {
        assert!(!path.exists(), "the socket's file goes with the reactors");
    }
}

pub(crate) fn listeners_are_told_apart_and_can_stop<R: Backend>(net: Net) {
    let Some((mut reactor, address, _place)) = server::<R>(net) else { return };
    let other = net.place();
    let second = reactor.listen(&other.address).unwrap();
    let mut witness = Witness::echoing();
    let mut stays = None;
    for (place, number) in [(&second, 1), (&address, 0)] {
        let client = peer::connect(place);
        let count = witness.accepted.len() + 1;
        witness.until(&mut reactor, |w| w.accepted.len() == count);
        assert_eq!(reactor.listener(witness.accepted[count - 1]), number);
        stays = Some(client);
    }
    reactor.stop_accepting();
    witness.look(&mut reactor);
    for place in [&address, &second] {
        let outcome = match place {
            Address::Unix(path) => std::os::unix::net::UnixStream::connect(path).map(drop),
            place => std::net::TcpStream::connect(place.socket().unwrap()).map(drop),
        };
        let kind = outcome.unwrap_err().kind();
        // A Unix socket's file may have been removed with it.
        assert!(matches!(kind, io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound), "{kind}");
    }
    // A client that connected before is still served.
    let mut client = stays.unwrap();
    client.write_all(b"hello").unwrap();
    witness.until(&mut reactor, |w| w.bytes() == b"hello");
    witness.look(&mut reactor);
    let mut back = [0; 5];
    client.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hello");
}

/// TCP waits by itself, for seconds; a Unix socket answers that its server's queue is full.
pub(crate) fn a_full_queue_is_waited_for<R: Backend>() {
    const CLIENTS: usize = 10;
    let Some(mut reactor) = R::start() else { return };
    let place = Net::Unix.place();
    let (listener, address) = Listener::with_room_for_one(&place);
    let conns: HashSet<_> = (0..CLIENTS).map(|_| reactor.connect(&address).unwrap()).collect();
    let mut witness = Witness::default();
    witness.look(&mut reactor);
    assert!(witness.connected.len() < CLIENTS, "the queue takes one or two");
    let server = thread::spawn(move || (0..CLIENTS).map(|_| listener.accept()).collect::<Vec<_>>());
    witness.until(&mut reactor, |w| w.connected.len() == CLIENTS);
    assert_eq!(server.join().unwrap().len(), CLIENTS);
    assert_eq!(witness.connected.iter().copied().collect::<HashSet<_>>(), conns);
    assert!(witness.closed.is_empty());
}
