use std::io::{Read, Write};

use rustls::{Connection, Error};
use units::Time;

use crate::Conn;
use crate::epoll::KEEP_OUTPUT;

/// One connection's TLS.
pub(super) struct Session {
    pub(super) conn: Conn,
    tls: Connection,
    /// Plaintext to be sent.
    pub(super) out: Vec<u8>,
    /// The handshake is complete.
    pub(super) stands: bool,
    /// Output was flushed before the handshake was complete.
    pub(super) early: bool,
    pub(super) paused: bool,
    /// Decrypted while reading was paused, and when the first of it came.
    pub(super) held: Vec<u8>,
    pub(super) held_at: Time,
    /// The peer has ended its sending side.
    pub(super) read_closed: bool,
    /// The handler gets the end when it reads again.
    pub(super) held_end: bool,
    /// Bytes of a handshake that waits for its turn.
    pub(super) greeting: Vec<u8>,
}

/// Result of a receive.
pub(super) struct Fed {
    /// The handshake has just become complete.
    pub(super) completed: bool,
    /// The peer has ended its sending side.
    pub(super) ended: bool,
}

impl Session {
    pub(super) fn new(conn: Conn, tls: Connection) -> Session {
        Session {
            conn,
            tls,
            out: Vec::new(),
            stands: false,
            early: false,
            paused: false,
            held: Vec::new(),
            held_at: Time(0),
            read_closed: false,
            held_end: false,
            greeting: Vec::new(),
        }
    }

    /// Takes received bytes and appends the decrypted ones to `plain`.
    ///
    /// Bounds: `plain` grows by at most the received bytes, and an incomplete record that is kept has at most 16 KiB.
    pub(super) fn feed(&mut self, mut received: &[u8], plain: &mut Vec<u8>) -> Result<Fed, Error> {
        let mut ended = false;
        while !received.is_empty() && !ended {
            let taken = self.tls.read_tls(&mut received).map_err(|e| Error::General(e.to_string()))?;
            let state = self.tls.process_new_packets()?;
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut plain[start..]).map_err(|e| Error::General(e.to_string()))?;
            ended = state.peer_has_closed() || taken == 0;
        }
        let completed = !self.stands && !self.tls.is_handshaking();
        self.stands |= completed;
        Ok(Fed { completed, ended })
    }

    /// Appends to `wire` what TLS itself has to say. Returns whether there was anything.
    pub(super) fn speak(&mut self, wire: &mut Vec<u8>) -> bool {
        let before = wire.len();
        // Writing into a vector cannot fail, so an error means that there is nothing to be said.
        while self.tls.wants_write() && self.tls.write_tls(wire).is_ok() {}
        wire.len() > before
    }

    /// Encrypts all of the output into `wire`.
    pub(super) fn encrypt(&mut self, wire: &mut Vec<u8>) {
        let out = std::mem::take(&mut self.out);
        let mut left = &out[..];
        if out.len() > KEEP_OUTPUT {
            // Not by doubling: with the overhead of records, 22 B for 16 KiB each and one for the rest.
            wire.reserve_exact(out.len() + out.len() / 512 + 64);
        }
        while !left.is_empty() {
            // It takes 64 KiB at a time, which leave at once.
            let Ok(taken) = self.tls.writer().write(left) else { break };
            left = &left[taken..];
            if !self.speak(wire) && taken == 0 {
                break;
            }
        }
        if out.capacity() <= KEEP_OUTPUT {
            self.out = out;
            self.out.clear();
        }
    }

    /// The memory of its buffers. Units: bytes.
    pub(super) fn memory(&self) -> usize {
        self.out.capacity() + self.held.capacity() + self.greeting.capacity()
    }

    /// Whether the handler must not get received bytes yet: reading is paused, or earlier bytes are withheld.
    pub(super) fn withholds(&self) -> bool {
        self.paused || !self.held.is_empty()
    }

    /// Keeps bytes received at `at` while reading is paused.
    pub(super) fn hold(&mut self, at: Time, bytes: &[u8]) {
        if self.held.is_empty() {
            self.held_at = at;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Appends the farewell to `wire`.
    pub(super) fn end(&mut self, wire: &mut Vec<u8>) {
        self.tls.send_close_notify();
        self.speak(wire);
    }
}
