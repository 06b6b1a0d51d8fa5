//! Loans: their order in the output, that they are not copied, and that they are given back once sent.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use reactor::{Conn, Loan};

use crate::Backend;
use crate::peer::{self, Net, Stream};
use crate::streams::{pattern, server};
use crate::witness::Witness;

/// Bytes that overwrite themselves when they are given back, as memory that is written again does.
struct Lent {
    bytes: Box<[u8]>,
    back: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.bytes.fill(0xff);
        self.back.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection of a reactor, its output, and counts of bytes lent and given back.
struct Lender<R> {
    reactor: R,
    conn: Conn,
    witness: Witness,
    sent: Vec<u8>,
    lent: usize,
    back: Arc<AtomicUsize>,
}

impl<R: Backend> Lender<R> {
    fn start(net: Net) -> Option<(Lender<R>, Box<dyn Stream>)> {
        let (mut reactor, address, _place) = server::<R>(net)?;
        let client = peer::connect(&address);
        let mut witness = Witness::default();
        witness.until(&mut reactor, |w| w.accepted.len() == 1);
        let conn = witness.accepted[0];
        Some((Lender { reactor, conn, witness, sent: Vec::new(), lent: 0, back: Arc::default() }, client))
    }

    fn next(&self, length: usize) -> Vec<u8> {
        (self.sent.len()..self.sent.len() + length).map(pattern).collect()
    }

    fn write(&mut self, length: usize) {
        let text = self.next(length);
        self.reactor.output(self.conn).extend_from_slice(&text);
        self.sent.extend_from_slice(&text);
    }

    fn lend(&mut self, lengths: &[usize]) {
        let mut loans = Vec::new();
        for &length in lengths {
            let bytes = self.next(length);
            self.sent.extend_from_slice(&bytes);
            let bytes = Lent { bytes: bytes.into(), back: Arc::clone(&self.back) };
            let at = self.reactor.output(self.conn).len();
            loans.push(Loan { at, bytes: Bytes::from_owner(bytes) });
        }
        self.lent += loans.len();
        self.reactor.lend(self.conn, &mut loans);
        assert!(loans.is_empty());
    }

    /// Bytes lent and not given back.
    fn out(&self) -> usize {
        self.lent - self.back.load(Ordering::Relaxed)
    }

    /// Has it all sent, and compares; the peer reads only from here on.
    fn finish(mut self, mut client: Box<dyn Stream>) {
        let length = self.sent.len();
        let reader = thread::spawn(move || {
            let mut got = vec![0; length];
            client.read_exact(&mut got).unwrap();
            got
        });
        while self.reactor.unsent(self.conn) > 0 {
            let drained = self.witness.drained;
            self.witness.until(&mut self.reactor, |w| w.drained > drained);
        }
        assert_eq!(self.out(), 0);
        assert!(reader.join().unwrap() == self.sent, "the bytes arrive in order and as they were");
        assert!(self.witness.closed.is_empty());
    }
}

pub(crate) fn what_is_lent_leaves_in_its_place<R: Backend>(net: Net) {
    let Some((mut lender, client)) = Lender::<R>::start(net) else { return };
    for lengths in [&[5000][..], &[0, 1, 20_000], &[4096, 4096]] {
        lender.lend(lengths);
        lender.write(7);
        lender.lend(lengths);
        lender.reactor.flush(lender.conn);
        lender.write(3);
        lender.reactor.flush(lender.conn);
    }
    lender.witness.look(&mut lender.reactor);
    assert_eq!(lender.out(), 0, "all of it has left");
    lender.finish(client);
}

pub(crate) fn many_loans_leave_together<R: Backend>(net: Net) {
    let Some((mut lender, client)) = Lender::<R>::start(net) else { return };
    // More than one system call takes, and more than one operation of a ring.
    for _ in 0..1500 {
        lender.lend(&[50]);
        lender.write(1);
    }
    lender.reactor.flush(lender.conn);
    lender.witness.look(&mut lender.reactor);
    assert_eq!(lender.out(), 0);
    lender.finish(client);
}

pub(crate) fn what_a_peer_does_not_take_stays_lent<R: Backend>(net: Net) {
    let Some((mut lender, client)) = Lender::<R>::start(net) else { return };
    assert!(lender.reactor.lends(lender.conn));
    for _ in 0..3 {
        lender.write(10);
        // Together more than a socket's buffer, so that the first is cut and the others find it full.
        lender.lend(&[3 << 20, 3 << 20, 3 << 20]);
        lender.write(10);
        assert!(lender.reactor.unsent(lender.conn) >= 20 + (9 << 20));
        lender.reactor.flush(lender.conn);
        lender.witness.look(&mut lender.reactor);
        let (out, unsent) = (lender.out(), lender.reactor.unsent(lender.conn));
        assert!(
            out > 0 && unsent > 0,
            "{out} loans are out and {unsent} B unsent, and the peer has read nothing"
        );
        let copied = lender.reactor.memory(lender.conn);
        assert!(copied < 1 << 10, "{copied} B of buffers for 60 B of text");
    }
    lender.finish(client);
}

pub(crate) fn what_is_lent_to_a_connection_that_goes_is_given_back<R: Backend>(net: Net) {
    let Some((mut lender, client)) = Lender::<R>::start(net) else { return };
    // Lent and not flushed; lent and flushed; lent to a connection that was closed.
    lender.lend(&[20 << 20]);
    lender.reactor.flush(lender.conn);
    lender.lend(&[100_000]);
    lender.reactor.close(lender.conn);
    lender.lend(&[100_000]);
    // Its place was right when the text was written.
    let mut loans = vec![Loan { at: 4, bytes: Bytes::from_static(b"lent") }];
    lender.reactor.output(lender.conn).extend_from_slice(b"text");
    lender.reactor.lend(lender.conn, &mut loans);
    assert!(loans.is_empty());
    lender.witness.look(&mut lender.reactor);
    assert_eq!((lender.out(), lender.witness.closed.len()), (0, 0));
    drop(client);
}
