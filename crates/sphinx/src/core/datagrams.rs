//! Requests in datagrams: the text of each is served as if it came over a connection, and its replies are sent
//! together, when the last of them is ready.

use proto_memcache::limits::LINE_MAX;
use proto_memcache::server::RequestParser;
use reactor::Reactor;

use super::Core;
use crate::binary::{self, Binary};
use crate::client::{Client, OUTPUT_MAX, State};
use crate::foreign::BINARY_REQUEST;
use crate::frames::datagrams;
use crate::operation::NO_MEMORY;

impl<R: Reactor> Core<R> {
    /// Takes one datagram.
    pub(super) fn receive_datagram(&mut self, reactor: &mut R, mut client: Box<Client>, bytes: &[u8]) {
        client.received = client.received.wrapping_add(bytes.len() as u32);
        if let Some(frames) = &mut client.frames {
            // Parts of a larger request take memory before the request is known.
            let limit =
                if self.account.may_grow() { self.common.config.gathered_max() + LINE_MAX } else { 0 };
            let had_part = frames.partial_heard().is_some();
            let taken = frames.take(bytes, limit, self.now);
            self.rounds.partial += usize::from(frames.partial_heard().is_some());
            self.rounds.partial -= usize::from(had_part);
            match taken {
                Ok(Some(text)) => self.serve_text(reactor, &mut client, &text),
                Ok(None) => {}
                Err(()) => self.stats.datagrams_dropped += 1,
            }
        }
        self.put_back_datagrams(reactor, client);
    }

    fn serve_text(&mut self, reactor: &mut R, client: &mut Client, text: &[u8]) {
        let is_binary = text.first() == Some(&BINARY_REQUEST);
        let protocol = self.common.config.protocol;
        if is_binary && !protocol.has_binary() {
            return self.refuse_binary(reactor, client, text);
        }
        if !is_binary && !protocol.has_text() {
            return;
        }
        let output = reactor.output(client.conn);
        if output.capacity() == 0 {
            *output = self.buffers.take();
        }
        client.binary = is_binary.then(|| Box::new(Binary::new(&self.common.config)));
        let used = self.requests(reactor, client, text);
        // An incomplete request gets no answer, unless it only had to stop for a while.
        if client.state == State::Held {
            client.input.extend_from_slice(&text[used..]);
        }
    }

    /// Whether more replies may be made to a datagram; they are not sent before the last is ready.
    #[cold]
    pub(super) fn may_answer_on(&mut self, client: &mut Client, unsent: usize) -> bool {
        if let Some(frames) = client.frames.as_mut().filter(|_| unsent >= OUTPUT_MAX) {
            frames.too_long = true;
        }
        client.has_room(unsent, || self.account.may_grow())
    }

    /// Stores the peer's state again, and sends its replies if they are whole.
    pub(super) fn put_back_datagrams(&mut self, reactor: &mut R, mut client: Box<Client>) {
        let conn = client.conn;
        loop {
            // No output leaves before the last reply is ready, so no event would ever report room.
            let stuck = client.state == State::Held
                && !client.waits
                && !client.hungry
                && client.replies.waiting() == 0
                && !client.has_room(reactor.unsent(conn), || self.account.may_grow());
            let too_long = client.frames.as_mut().is_some_and(|frames| {
                frames.too_long |= stuck;
                frames.too_long
            });
            if too_long {
                // The rest of the datagram is not looked at any more.
                self.forget_text(&mut client);
            }
            if client.state == State::Held {
                let goes_on = !client.waits && !client.hungry;
                if goes_on && client.has_room(reactor.unsent(conn), || self.account.may_grow()) {
                    self.ready.push_back(conn);
                }
                break;
            }
            if !client.replies.is_empty() {
                break;
            }
            if too_long {
                let output = reactor.output(conn);
                output.clear();
                // Replies too long for the datagrams that one request may cause are answered as out of memory.
                match &client.binary {
                    Some(binary) => binary::no_memory(output, binary.echo),
                    None => output.extend_from_slice(NO_MEMORY),
                }
            }
            self.send_datagrams(reactor, &mut client);
            // There are many peers, most of which are never heard again: none keeps a buffer, answered or not.
            let output = reactor.output(conn);
            if output.is_empty() {
                self.buffers.give(std::mem::take(output));
            }
            // `quit` and overlong lines close nothing: datagrams have no connection.
            self.forget_text(&mut client);
            let Some(text) = client.frames.as_mut().and_then(|frames| frames.next()) else { break };
            self.serve_text(reactor, &mut client, &text);
        }
        self.charge(reactor, &mut client);
        self.clients[conn.slot as usize] = Some(client);
    }

    fn forget_text(&self, client: &mut Client) {
        client.state = State::Open;
        client.get = None;
        client.input = Vec::new();
        let config = &self.common.config;
        client.parser = RequestParser::with_limits(config.item_max, config.gathered_max());
    }

    fn send_datagrams(&mut self, reactor: &mut R, client: &mut Client) {
        let conn = client.conn;
        let request = client.frames.as_ref().and_then(|frames| frames.answers());
        let Some(request) = request.filter(|_| reactor.unsent(conn) > 0) else {
            return self.note_times(reactor, client, None);
        };
        let mut text = self.buffers.take();
        std::mem::swap(&mut text, reactor.output(conn));
        let mut at = self.received;
        for (header, part) in datagrams(request, &text) {
            let output = reactor.output(conn);
            header.append(output);
            output.extend_from_slice(part);
            at = reactor.flush(conn);
        }
        self.buffers.give(text);
        self.note_times(reactor, client, Some(at));
    }
}
