//! Connections that watch, and the lines sent to them about this thread.

use std::sync::Arc;

use proto_memcache::Reply;
use proto_memcache::server::{Refusal, Watched, reply};
use reactor::{Conn, Reactor};

use super::Core;
use super::requests::Flow;
use crate::client::Client;
use crate::telling::{OPERATIONS, Telling};

/// Output of a watcher, above which no lines are added until it has left. Units: bytes.
const OUTPUT: usize = 64 << 10;

impl<R: Reactor> Core<R> {
    /// `watch`: from now on the connection receives lines, and its input is ignored.
    pub(super) fn watch(&mut self, reactor: &mut R, client: &mut Client, kinds: Watched) -> Flow {
        let refusal = if client.frames.is_some() {
            // A stream has no end, and a datagram has.
            Some(Refusal::Unknown)
        } else if !self.common.config.watch {
            Some(Refusal::NoWatch)
        } else if !client.replies.is_empty() {
            // Lines come after the answers to earlier requests.
            return Flow::Hold;
        } else {
            let doorbell = self.doorbell.clone();
            let wake = Arc::new(move || _ = doorbell.ring());
            let is_added = self.common.watchers.add(self.number, client.conn, kinds, wake);
            (!is_added).then_some(Refusal::TooManyWatchers)
        };
        if let Some(refusal) = refusal {
            return self.answer(reactor, client, Reply::Wanted, refusal.line());
        }
        client.watches = true;
        self.answer(reactor, client, Reply::Wanted, reply::OK);
        Flow::Watch
    }

    /// Sends the buffered lines to watching connections; returns whether there were any.
    #[inline]
    pub(super) fn tell_watchers(&mut self, reactor: &mut R) -> bool {
        self.common.watchers.has_news(self.number) && self.tell_watchers_news(reactor)
    }

    #[cold]
    fn tell_watchers_news(&mut self, reactor: &mut R) -> bool {
        let mut told = Vec::new();
        self.common.watchers.deliver(self.number, |conn, lines| {
            let has_room = reactor.unsent(conn) < OUTPUT;
            if has_room {
                reactor.output(conn).extend_from_slice(lines);
                told.push(conn);
            }
            has_room
        });
        for conn in told {
            if let Some(client) = self.take_client(conn) {
                self.put_back(reactor, client);
            }
        }
        true
    }

    /// The reporter for operations of a thread's connection, if any are watched.
    #[inline]
    pub(super) fn telling(&self, conn: Conn, thread: usize) -> Option<Telling> {
        let kinds = OPERATIONS.into_iter().fold(Watched::NONE, Watched::with);
        self.common.watchers.want(kinds).then(|| Telling {
            watchers: Arc::clone(&self.common.watchers),
            number: self.number_of(conn, thread),
        })
    }

    /// A number that identifies a connection of a thread among the open ones.
    pub(super) fn number_of(&self, conn: Conn, thread: usize) -> usize {
        let config = &self.common.config;
        let listeners = config.listen.len() + config.tls.as_ref().map_or(0, |tls| tls.listen.len());
        listeners + conn.slot as usize * self.links.len() + thread
    }

    /// Tells that a connection began, if that is watched; its peer is kept for the end.
    #[inline]
    pub(super) fn tell_begin(&self, reactor: &R, client: &mut Client) {
        if self.common.watchers.want(Watched::CONNECTIONS) {
            client.peer = reactor.addresses(client.conn).map(|(peer, _)| Box::new(peer));
            let number = self.number_of(client.conn, self.number);
            self.common.watchers.connection(client.peer.as_deref(), None, number);
        }
    }

    /// Tells that a connection ended, if that is watched.
    #[inline]
    pub(super) fn tell_end(&self, client: &Client, reason: &'static str) {
        if self.common.watchers.want(Watched::CONNECTIONS) && client.frames.is_none() {
            let number = self.number_of(client.conn, self.number);
            self.common.watchers.connection(client.peer.as_deref(), Some(reason), number);
        }
    }
}
