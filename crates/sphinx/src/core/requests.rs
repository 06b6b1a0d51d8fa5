//! From received bytes to operations, here or at the key's owner.

use proto_memcache::Reply;
use proto_memcache::server::{Keys, Parse, Refusal, Request, reply};
use reactor::{Conn, Reactor};

use super::Core;
use crate::client::{Client, RestOfGet, State};
use crate::message::{Ask, Ticket, Work};
use crate::operation::Operation;
use crate::replies::{Finish, Gathering};

/// Output that waits for a slow reader before its next request is read; one value comes on top. Units: bytes.
/// Twice the kernel's default send buffer at its largest (`tcp_wmem`, 4 MiB) would gain nothing: what the
/// kernel takes does not count here.
const OUTPUT_MAX: usize = 1 << 20;
/// Output that is offered to the kernel before more is made, in the midst of a long receive. Units: bytes.
const OUTPUT_STEP: usize = 64 << 10;
/// Answers of other threads that one connection may wait for: with the largest values they are memory.
const ASKS_MAX: usize = 64;

/// What to do with the rest of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// The request is done with.
    Next,
    /// It cannot be done now, or only in part.
    Hold,
    /// Nothing more is to be read.
    Close,
}

impl<R: Reactor> Core<R> {
    /// Takes received bytes.
    pub(super) fn receive(&mut self, reactor: &mut R, conn: Conn, bytes: &[u8]) {
        let Some(mut client) = self.take_client(conn) else { return };
        match client.state {
            // Most receives are whole requests, and their bytes are never copied.
            State::Open if client.input.is_empty() => {
                let used = self.requests(reactor, &mut client, bytes);
                client.input.extend_from_slice(&bytes[used..]);
            }
            State::Open => {
                client.input.extend_from_slice(bytes);
                self.work_off(reactor, &mut client);
            }
            State::Held => client.input.extend_from_slice(bytes),
            State::Closing => {}
        }
        self.put_back(reactor, client);
    }

    /// Goes on with a connection whose replies have left, or for which there may be room again.
    pub(super) fn go_on(&mut self, reactor: &mut R, conn: Conn) {
        let Some(mut client) = self.take_client(conn) else { return };
        if client.state == State::Held {
            client.state = State::Open;
            self.work_off(reactor, &mut client);
        }
        self.put_back(reactor, client);
    }

    /// Reads requests from the input buffer.
    fn work_off(&mut self, reactor: &mut R, client: &mut Client) {
        let mut input = std::mem::take(&mut client.input);
        let used = self.requests(reactor, client, &input);
        Client::trim(&mut input, used);
        client.input = input;
    }

    /// Reads requests until the bytes are used up or the connection has to wait; returns how many are done with.
    fn requests(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        let mut used = 0;
        loop {
            if !self.may_go_on(reactor, client) || !self.finish_get(reactor, client) {
                client.state = State::Held;
                return used;
            }
            let (consumed, request) = match client.parser.parse(&bytes[used..]) {
                Parse::NeedMore { .. } => return used,
                Parse::Skipped { consumed } => {
                    used += consumed;
                    continue;
                }
                Parse::Done { consumed, request } => (consumed, request),
                Parse::Close(_) => {
                    client.state = State::Closing;
                    return bytes.len();
                }
            };
            match self.request(reactor, client, request) {
                Flow::Next => used += consumed,
                // The parser will read it again from its start.
                Flow::Hold => {
                    client.state = State::Held;
                    return used;
                }
                Flow::Close => {
                    client.state = State::Closing;
                    return bytes.len();
                }
            }
        }
    }

    /// Whether the connection's replies leave fast enough to make more.
    #[inline]
    fn may_go_on(&mut self, reactor: &mut R, client: &Client) -> bool {
        if client.replies.waiting() >= ASKS_MAX {
            return false;
        }
        let unsent = reactor.unsent(client.conn);
        if unsent + client.replies.bytes() < OUTPUT_STEP {
            return true;
        }
        if unsent >= OUTPUT_STEP {
            reactor.flush(client.conn);
        }
        let fits = reactor.unsent(client.conn) + client.replies.bytes() < OUTPUT_MAX;
        self.stats.output_waits += u64::from(!fits);
        fits
    }

    fn request(&mut self, reactor: &mut R, client: &mut Client, request: Request) -> Flow {
        match request {
            Request::Get { keys, with_cas } => self.get(reactor, client, keys, with_cas),
            Request::Store { verb, key, flags, exptime, data, reply } => {
                let operation = Operation::Store { verb, flags, exptime, reply };
                self.operate(reactor, client, operation, key, data)
            }
            Request::Delete { key, reply } => {
                self.operate(reactor, client, Operation::Delete { reply }, key, b"")
            }
            Request::Count { key, up, delta, reply } => {
                self.operate(reactor, client, Operation::Count { up, delta, reply }, key, b"")
            }
            Request::Touch { key, exptime, reply } => {
                self.operate(reactor, client, Operation::Touch { exptime, reply }, key, b"")
            }
            Request::Refused { reply, unlink: Some(key), .. } => {
                self.operate(reactor, client, Operation::RefuseTooLarge { reply }, key, b"")
            }
            Request::Refused { refusal, reply, unlink: None } => {
                if refusal == Refusal::TooLarge {
                    self.store.refuse_too_large(None, self.now);
                }
                self.answer(reactor, client, reply, refusal.line())
            }
            Request::FlushAll { delay, reply } => {
                self.everywhere(reactor, client, reply, Finish::Ok, || Work::Flush { delay })
            }
            Request::Stats { group: b"" } => {
                self.everywhere(reactor, client, Reply::Wanted, Finish::Stats, || Work::Report)
            }
            Request::Stats { group: b"reset" } => {
                self.everywhere(reactor, client, Reply::Wanted, Finish::Reset, || Work::Reset)
            }
            Request::Stats { .. } => self.answer(reactor, client, Reply::Wanted, Refusal::Unknown.line()),
            Request::Verbosity { reply } => self.answer(reactor, client, reply, reply::OK),
            Request::Version => {
                self.make(reactor, client, |out| reply::version(out, crate::VERSION));
                Flow::Next
            }
            Request::Quit => Flow::Close,
        }
    }

    /// Looks up the keys of a `get`; what cannot be done now is kept for [`Core::finish_get`].
    #[inline]
    fn get(&mut self, reactor: &mut R, client: &mut Client, keys: Keys, with_cas: bool) -> Flow {
        let rest = self.look_up(reactor, client, keys, with_cas);
        if let Some((words, count)) = rest {
            client.get = Some(RestOfGet { words: words.to_vec(), at: 0, count, with_cas });
        }
        Flow::Next
    }

    /// Goes on with a `get` that had to stop; returns whether none is left.
    #[inline]
    fn finish_get(&mut self, reactor: &mut R, client: &mut Client) -> bool {
        let Some(mut get) = client.get.take() else { return true };
        let keys = Keys::resume(&get.words[get.at..], get.count);
        let rest =
            self.look_up(reactor, client, keys, get.with_cas).map(|(words, count)| (words.len(), count));
        if let Some((length, count)) = rest {
            (get.at, get.count) = (get.words.len() - length, count);
            client.get = Some(get);
        }
        rest.is_none()
    }

    /// Looks up one key after the other; returns the rest where the connection has to wait.
    #[inline]
    fn look_up<'b>(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        mut keys: Keys<'b>,
        with_cas: bool,
    ) -> Option<(&'b [u8], usize)> {
        loop {
            let rest = keys.rest();
            let key = keys.next()?;
            let operation = Operation::Get { with_cas, last: keys.len() == 0 };
            if self.operate(reactor, client, operation, key, b"") == Flow::Hold {
                return Some(rest);
            }
            if keys.len() > 0 && !self.may_go_on(reactor, client) {
                return Some(keys.rest());
            }
        }
    }

    /// Does something to a key, here or at its owner.
    #[inline]
    fn operate(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        operation: Operation,
        key: &[u8],
        value: &[u8],
    ) -> Flow {
        let key = self.hasher.key(key);
        let owner = key.hash.partition(self.links.len());
        if owner == self.number {
            let (output, store, now) = (reactor.output(client.conn), &mut self.store, self.now);
            let before = output.len();
            client.replies.make(output, &mut self.buffers, |out| {
                operation.execute(store, key, value, now, out);
            });
            self.stats.bytes_written += (output.len() - before) as u64;
            return Flow::Next;
        }
        let link = self.links[owner].as_mut().expect("there is a link to every other thread");
        if !link.has_room() {
            return self.wait_for_room(client);
        }
        let mut buffer = self.buffers.take();
        buffer.extend_from_slice(key.bytes);
        buffer.extend_from_slice(value);
        let reply = (operation.reply() == Reply::Wanted).then(|| client.replies.expect());
        let ticket = Ticket { conn: client.conn, reply };
        let work = Work::Key { hash: key.hash.to_u64(), key_len: key.bytes.len(), operation };
        link.ask(Ask { ticket, work, buffer });
        self.stats.asks += 1;
        Flow::Next
    }

    /// Does something on every thread, and answers when all have done it.
    fn everywhere(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        reply: Reply,
        finish: Finish,
        work: impl Fn() -> Work,
    ) -> Flow {
        if !self.links.iter().flatten().all(|link| link.has_room()) {
            return self.wait_for_room(client);
        }
        let part = self.do_everywhere(&work());
        let left = self.links.len() - 1;
        if left == 0 {
            if reply == Reply::Wanted {
                self.finish(reactor, client, finish, &part);
            }
            return Flow::Next;
        }
        let gathering = Gathering { left, stats: part, finish };
        let ticket = Ticket {
            conn: client.conn,
            reply: (reply == Reply::Wanted).then(|| client.replies.gather(gathering)),
        };
        for link in self.links.iter_mut().flatten() {
            link.ask(Ask { ticket, work: work(), buffer: self.buffers.take() });
            self.stats.asks += 1;
        }
        Flow::Next
    }

    #[cold]
    fn wait_for_room(&mut self, client: &mut Client) -> Flow {
        self.stats.queue_waits += 1;
        if !client.waits {
            client.waits = true;
            self.waiting.push_back(client.conn);
        }
        Flow::Hold
    }

    fn finish(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        finish: Finish,
        stats: &crate::stats::CoreStats,
    ) {
        let text = self.finished(finish, stats);
        self.make(reactor, client, |out| out.extend_from_slice(&text));
        self.buffers.give(text);
    }

    fn answer(&mut self, reactor: &mut R, client: &mut Client, reply: Reply, line: &[u8]) -> Flow {
        if reply == Reply::Wanted {
            self.make(reactor, client, |out| out.extend_from_slice(line));
        }
        Flow::Next
    }

    /// Makes a reply that comes after those that wait.
    fn make(&mut self, reactor: &mut R, client: &mut Client, write: impl FnOnce(&mut Vec<u8>)) {
        let output = reactor.output(client.conn);
        let before = output.len();
        client.replies.make(output, &mut self.buffers, write);
        self.stats.bytes_written += (output.len() - before) as u64;
    }
}
