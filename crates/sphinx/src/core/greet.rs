//! The first bytes of a connection, where they may be another protocol's.

use reactor::{Conn, Reactor};
use tracing::warn;

use super::Core;
use crate::client::{Client, State};
use crate::foreign::{self, BINARY_HEADER, BINARY_REQUEST, Protocol, Start};

impl<R: Reactor> Core<R> {
    /// Takes bytes of a connection of which no request was read yet. One of another protocol is refused in that protocol
    /// and closes, and nothing that it sends is read as a request.
    #[cold]
    pub(super) fn greet(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) {
        client.input.extend_from_slice(bytes);
        match foreign::read(&client.input) {
            Start::NeedMore => {}
            Start::Text => {
                client.is_new = false;
                self.work_off(reactor, client);
            }
            Start::Foreign(protocol) => {
                let input = std::mem::take(&mut client.input);
                self.make(reactor, client, |out| protocol.refuse(&input, out));
                client.state = State::Closing;
                self.count_refused(reactor, client.conn, protocol);
            }
        }
    }

    /// Refuses a datagram of the binary protocol; returns whether it is one.
    pub(super) fn refuse_binary(&mut self, reactor: &mut R, client: &mut Client, text: &[u8]) -> bool {
        if text.first() != Some(&BINARY_REQUEST) {
            return false;
        }
        if text.len() >= BINARY_HEADER {
            self.make(reactor, client, |out| Protocol::Binary.refuse(text, out));
        }
        self.count_refused(reactor, client.conn, Protocol::Binary);
        true
    }

    fn count_refused(&mut self, reactor: &R, conn: Conn, protocol: Protocol) {
        let count = match protocol {
            Protocol::Binary => &mut self.stats.refused_binary,
            Protocol::Tls => &mut self.stats.refused_tls,
            Protocol::Http => &mut self.stats.refused_http,
        };
        *count += 1;
        let peer = reactor.addresses(conn).map(|(peer, _)| peer);
        let ip = peer.as_ref().and_then(|peer| peer.socket()).map(|socket| socket.ip());
        if !self.warned.has(ip, protocol) && self.rounds.may_warn(self.now) {
            self.warned.add(ip, protocol);
            let client = match (peer, reactor.is_datagram(conn)) {
                (Some(peer), _) => peer.to_string(),
                (None, true) => "unknown, by UDP".into(),
                (None, false) => "unknown".into(),
            };
            let protocol = protocol.name();
            warn!(client, protocol, "refused a client: this server speaks memcached's text protocol here");
        }
    }
}
