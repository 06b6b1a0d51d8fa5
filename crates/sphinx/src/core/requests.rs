//! From received bytes to requests, and from requests to operations: here or at the key's owner.
//!
//! `get` and `gat` take one key after the other, with a rest for later if the connection has to wait in between. A meta
//! command for a key goes to its owner in one piece.

use proto_memcache::Reply;
use proto_memcache::server::{BINARY_KEY_MAX, Keys, Meta, MetaVerb, Refusal, Request, RequestParse, reply};
use reactor::{Conn, Reactor};

use super::Core;
use super::turn::REQUESTS;
use crate::budget::FREE;
use crate::client::{Client, Lookup, RestOfGet, State};
use crate::draft::{Draft, lent};
use crate::foreign::may_be_foreign;
use crate::link;
use crate::message::{Ask, Task, Ticket, Work};
use crate::operation::Operation;
use crate::operation::meta::MetaOperation;
use crate::partitions::{Partitions, Place, execute};
use crate::replies::{self, Finish};
use crate::service::Class;

/// New output after which the kernel is offered it before more is made, during a long receive. Units: bytes.
const OUTPUT_STEP: usize = 64 << 10;

/// How to proceed with the rest of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The request is done with.
    Next,
    /// It cannot be done now, or only in part.
    Hold,
    /// Nothing more is to be read.
    Close,
    /// Input from now on is ignored.
    Watch,
}

impl<R: Reactor> Core<R> {
    pub(super) fn receive(&mut self, reactor: &mut R, conn: Conn, bytes: &[u8]) {
        let Some(mut client) = self.take_client(conn) else { return };
        if client.frames.is_some() {
            return self.receive_datagram(reactor, client, bytes);
        }
        if client.watches {
            return self.put_back(reactor, client);
        }
        client.heard = self.now;
        client.received = client.received.wrapping_add(bytes.len() as u32);
        self.begin_step();
        if client.is_new && client.input.is_empty() {
            client.is_new = may_be_foreign(bytes) || !self.common.config.protocol.has_text();
        }
        match client.state {
            State::Open if client.is_new => self.greet(reactor, &mut client, bytes),
            // Most receives are whole requests, and their bytes are never copied.
            State::Open if client.input.is_empty() => {
                let used = self.requests(reactor, &mut client, bytes);
                self.grant_input(&mut client);
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

    /// Continues a connection whose replies have left, or for which there may be room again.
    pub(super) fn go_on(&mut self, reactor: &mut R, conn: Conn) {
        let Some(mut client) = self.take_client(conn) else { return };
        self.begin_step();
        if client.replies.is_stepping() {
            self.release(reactor, &mut client);
        }
        if client.wanted.is_some() {
            self.take_up_claimed(reactor, &mut client);
        }
        if client.state == State::Held && client.wanted.is_none() && !client.replies.is_stepping() {
            client.state = State::Open;
            self.work_off(reactor, &mut client);
        }
        self.put_back(reactor, client);
    }

    /// Puts replies into the output that need not wait any more: of a large value a step, and the next when that has left.
    pub(super) fn release(&mut self, reactor: &mut R, client: &mut Client) {
        if client.replies.is_stepping() && reactor.unsent(client.conn) > 0 {
            return;
        }
        let room = self.room_for_release(reactor, client);
        let output = reactor.output(client.conn);
        let before = output.len();
        client.replies.release(output, &mut self.loans, &mut self.buffers, room);
        self.stats.bytes_written += (output.len() - before + lent(&self.loans)) as u64;
        if !self.loans.is_empty() {
            self.stats.values_lent += self.loans.len() as u64;
            reactor.lend(client.conn, &mut self.loans);
        }
        if client.replies.is_stepping() {
            self.go_on_in_steps(client);
        }
    }

    /// A part of a large value has still to leave: reading is paused until then.
    #[cold]
    fn go_on_in_steps(&mut self, client: &mut Client) {
        if let Some(frames) = &mut client.frames {
            // No number of datagrams carries it.
            frames.too_long = true;
            client.replies.drop_steps();
        } else if client.state == State::Open {
            client.state = State::Held;
        }
    }

    /// Reads requests from the input buffer.
    pub(super) fn work_off(&mut self, reactor: &mut R, client: &mut Client) {
        let mut input = std::mem::take(&mut client.input);
        let used = self.requests(reactor, client, &input);
        self.large_inputs.trim(&mut input, used);
        client.input = input;
        self.grant_input(client);
    }

    /// Reads requests until the bytes are used up or the connection has to wait; returns how many are done with.
    pub(super) fn requests(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        if client.binary.is_some() {
            return self.binary_requests(reactor, client, bytes);
        }
        if client.resp.is_some() {
            return self.resp_requests(reactor, client, bytes);
        }
        let mut used = 0;
        if !client.is_known {
            used = self.authenticate(reactor, client, bytes);
            if !client.is_known {
                return used;
            }
        }
        if client.arriving.is_some() {
            used += self.go_on_with_value(reactor, client, &bytes[used..]);
            if client.arriving.is_some() {
                return used;
            }
        }
        let mut requests = 0;
        let most = self.requests_per_step();
        loop {
            let has_more = used < bytes.len() || client.get.is_some() || client.dump.is_some();
            if has_more && (requests == most || self.is_step_over()) {
                self.stats.yields += 1;
                client.state = State::Held;
                return used;
            }
            let goes_on = self.may_go_on(reactor, client)
                && self.finish_get(reactor, client)
                && self.finish_dump(reactor, client);
            if !goes_on {
                client.state = State::Held;
                return used;
            }
            let (consumed, request) = match client.parser.parse(&bytes[used..]) {
                RequestParse::NeedMore { .. } => return used + self.begin_value(client, &bytes[used..]),
                RequestParse::Skipped { consumed } => {
                    used += consumed;
                    continue;
                }
                RequestParse::Done { consumed, request } => (consumed, request),
                RequestParse::Close(_) => {
                    client.close_for_error();
                    return bytes.len();
                }
            };
            let class = self.service.is_some().then(|| Class::of(&request));
            match self.request(reactor, client, request) {
                Flow::Next => {
                    used += consumed;
                    requests += 1;
                    if let Some(class) = class {
                        client.batch.add(class, self.received);
                    }
                }
                Flow::Hold => {
                    client.parser.put_back();
                    client.state = State::Held;
                    return used;
                }
                Flow::Close => {
                    client.state = State::Closing;
                    return bytes.len();
                }
                Flow::Watch => return bytes.len(),
            }
        }
    }

    /// Whether the connection's replies leave fast enough to make more.
    #[inline]
    pub(super) fn may_go_on(&mut self, reactor: &mut R, client: &mut Client) -> bool {
        let mut unsent = reactor.unsent(client.conn);
        if unsent >= client.offered + OUTPUT_STEP {
            if client.frames.is_some() {
                return self.may_answer_on(client, unsent);
            }
            client.batch.offered = Some(reactor.flush(client.conn));
            self.charge_output(reactor, client);
            unsent = reactor.unsent(client.conn);
            client.offered = unsent;
            if unsent == 0 && reactor.is_broken(client.conn) {
                return false;
            }
        }
        if client.replies.copied() > FREE {
            // They wait for others, so that no flush has counted them.
            self.charge_output(reactor, client);
        }
        client.has_room(unsent, || self.account.may_grow())
    }

    fn request(&mut self, reactor: &mut R, client: &mut Client, request: Request) -> Flow {
        match request {
            Request::Get { keys, with_cas } => {
                self.get(reactor, client, keys, Lookup { with_cas, exptime: None })
            }
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
                    let (partition, now) = (self.partitions.any(), self.now);
                    self.partitions.with(partition, |store| store.refuse_too_large(None, now));
                }
                self.answer(reactor, client, reply, refusal.line())
            }
            Request::FlushAll { reply, .. } if !self.common.config.flush_all => {
                self.answer(reactor, client, reply, b"CLIENT_ERROR flush_all not allowed\r\n")
            }
            Request::FlushAll { delay, reply } => {
                self.everywhere(reactor, client, reply, Finish::Ok, Task::Flush { delay })
            }
            Request::Meta(meta) => self.meta(reactor, client, &meta),
            Request::NoOp => self.answer(reactor, client, Reply::Wanted, reply::meta::NO_OP),
            Request::MetaTooLarge { key } => {
                let operation = Operation::RefuseTooLarge { reply: Reply::Wanted };
                self.operate(reactor, client, operation, key.read(&mut [0; BINARY_KEY_MAX]), b"")
            }
            Request::GetAndTouch { exptime, keys, with_cas } => {
                self.get_and_touch(reactor, client, keys, exptime, with_cas)
            }
            Request::Stats { group, arguments } => self.stats(reactor, client, group, arguments),
            Request::Dump { kind, classes, reply } => self.crawl(reactor, client, kind, classes, reply),
            Request::Watch { kinds } => self.watch(reactor, client, kinds),
            Request::RefreshCertificates { reply } => {
                let line = self.refresh_certificates();
                let flow = self.answer(reactor, client, reply, &line);
                self.end_step();
                flow
            }
            Request::MemoryLimit { megabytes, reply } => self.memory_limit(reactor, client, megabytes, reply),
            Request::Shutdown { how, reply } => self.shutdown(reactor, client, how, reply),
            Request::NoEffect { reply } => self.answer(reactor, client, reply, reply::OK),
            Request::Version => {
                self.make(reactor, client, |out| reply::version(out, crate::VERSION));
                Flow::Next
            }
            Request::Quit => Flow::Close,
        }
    }

    /// Does something to a key, here or at its owner.
    #[inline]
    pub(super) fn operate(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        operation: Operation,
        key: &[u8],
        value: &[u8],
    ) -> Flow {
        let key = self.hasher.key(key);
        let place = self.partitions.place(key.hash);
        if operation.shows_value()
            && (self.is_turn_over() || !self.may_grow(client))
            && let Some((length, copied)) =
                self.partitions.value(place, key, reactor.lends(client.conn), self.now)
            && let Some(flow) = self.put_off(client, length, copied)
        {
            return flow;
        }
        let telling = self.telling(client.conn, self.number);
        let owner = match place {
            Place::Here(partition) => {
                if !operation.only_reads() {
                    // A write may need memory that this thread itself still references, and would wait for forever.
                    self.partitions.leave();
                }
                let (now, counts) = (self.now, self.prefixes.on);
                let detail = self.make_with(reactor, client, |partitions, out| {
                    let before = out.len();
                    partitions.with(partition, |store| {
                        execute(&operation, telling.as_ref(), store, key, value, now, out);
                    });
                    counts.then(|| operation.detail(&out[before..])).flatten()
                });
                self.count_detail(detail, key.bytes);
                if self.sampler.wants(key.hash) {
                    self.note(&operation, place, key);
                }
                return Flow::Next;
            }
            Place::At(owner) => owner,
        };
        // Operations sent to the owner may not be done yet, so later ones have to queue behind them.
        if self.partitions.reads_others() && !client.awaited.is_awaited(owner) {
            let writes = !operation.only_reads();
            let (now, counts, telling) = (self.now, self.prefixes.on, telling.as_ref());
            let done = self.make_with(reactor, client, |partitions, out| {
                let before = out.len();
                let done = partitions.read(&operation, telling, key, value, now, out)
                    || writes && partitions.write_for_sleeper(&operation, telling, key, value, now, out);
                done.then(|| counts.then(|| operation.detail(&out[before..])).flatten())
            });
            if let Some(detail) = done {
                self.count_detail(detail, key.bytes);
                if self.sampler.wants(key.hash) {
                    self.note(&operation, place, key);
                }
                return Flow::Next;
            }
        }
        if !self.may_ask(client, owner, key.bytes.len() + value.len()) {
            return self.wait_for_room(client);
        }
        let work = Work::Key { hash: key.hash.to_u64(), key_len: key.bytes.len(), operation };
        // Also without a reply: a later reply must not overtake it.
        let reply = client.replies.expect();
        self.ask_for(client, owner, work, (key.bytes, value), reply);
        Flow::Next
    }

    /// Whether another thread may be asked with a key and a value of this length.
    #[inline]
    pub(super) fn may_ask(&mut self, client: &Client, owner: usize, length: usize) -> bool {
        let link = self.links[owner].as_mut().expect("there is a link to every other thread");
        link.has_room() && (length < link::LARGE || self.may_ask_large(client, length))
    }

    /// Asks another thread for work on a key, which it [may](Self::may_ask).
    #[inline]
    pub(super) fn ask_for(
        &mut self,
        client: &mut Client,
        owner: usize,
        work: Work,
        (key, value): (&[u8], &[u8]),
        reply: u64,
    ) {
        let mut buffer = self.buffers.take();
        buffer.extend_from_slice(key);
        buffer.extend_from_slice(value);
        let ticket = Ticket { conn: client.conn, reply: Some(reply) };
        let link = self.links[owner].as_mut().expect("there is a link to every other thread");
        let before = link.large_bytes();
        link.ask(Ask { ticket, work, buffer });
        self.account.charge(link.large_bytes() - before);
        if self.partitions.reads_others() {
            client.awaited.asked(owner);
        }
        self.stats.asks += 1;
    }

    /// Whether there is memory for a large value on its way to another thread. One is always allowed, since the
    /// receiving thread waits for nothing.
    #[cold]
    fn may_ask_large(&mut self, client: &Client, length: usize) -> bool {
        self.may_grow_by(client, length) || self.links.iter().flatten().all(|link| link.large_bytes() == 0)
    }

    #[cold]
    pub(super) fn wait_for_room(&mut self, client: &mut Client) -> Flow {
        self.stats.queue_waits += 1;
        if !client.waits {
            client.waits = true;
            self.waiting.push_back(client.conn);
        }
        Flow::Hold
    }

    /// Answers with a line, if an answer is wanted.
    pub(super) fn answer(&mut self, reactor: &mut R, client: &mut Client, reply: Reply, line: &[u8]) -> Flow {
        if reply == Reply::Wanted {
            self.make(reactor, client, |out| out.extend_from_slice(line));
        }
        Flow::Next
    }

    /// Makes a reply after the waiting ones.
    pub(super) fn make(&mut self, reactor: &mut R, client: &mut Client, write: impl FnOnce(&mut Draft)) {
        self.make_with(reactor, client, |_, out| write(out));
    }

    /// Makes a reply from the partitions' contents.
    #[inline]
    pub(super) fn make_with<T>(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        write: impl FnOnce(&mut Partitions, &mut Draft) -> T,
    ) -> T {
        let output = reactor.output(client.conn);
        let before = output.len();
        let partitions = &mut self.partitions;
        let made =
            client.replies.make(output, &mut self.loans, &mut self.buffers, |out| write(partitions, out));
        let mut written = output.len() - before;
        if !self.loans.is_empty() {
            if replies::has_long(&self.loans) {
                client.replies.take_back(output, before, &mut self.loans);
                self.release(reactor, client);
                return made;
            }
            written += lent(&self.loans);
            self.stats.values_lent += self.loans.len() as u64;
            reactor.lend(client.conn, &mut self.loans);
        }
        self.stats.bytes_written += written as u64;
        made
    }

    /// Looks up the keys of a `get`; keys that must wait are kept for [`Core::finish_get`].
    #[inline]
    pub(super) fn get(&mut self, reactor: &mut R, client: &mut Client, keys: Keys, how: Lookup) -> Flow {
        let rest = self.look_up(reactor, client, keys, how);
        if let Some((words, count)) = rest {
            client.get = Some(RestOfGet { words: words.to_vec(), at: 0, count, how });
        }
        Flow::Next
    }

    /// Looks up the keys of a `gat` and gives their items another expiry.
    pub(super) fn get_and_touch(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        keys: Keys,
        exptime: i32,
        with_cas: bool,
    ) -> Flow {
        if keys.len() == 0 {
            return self.answer(reactor, client, Reply::Wanted, reply::END);
        }
        self.get(reactor, client, keys, Lookup { with_cas, exptime: Some(exptime) })
    }

    /// Resumes a `get` that had to stop; returns whether it is complete, and room is left for the next requests.
    #[inline]
    pub(super) fn finish_get(&mut self, reactor: &mut R, client: &mut Client) -> bool {
        let Some(mut get) = client.get.take() else { return true };
        let keys = Keys::resume(&get.words[get.at..], get.count);
        let rest = self.look_up(reactor, client, keys, get.how).map(|(words, count)| (words.len(), count));
        if let Some((length, count)) = rest {
            (get.at, get.count) = (get.words.len() - length, count);
            client.get = Some(get);
        }
        // The replies just made may have used up the room.
        rest.is_none() && self.may_go_on(reactor, client)
    }

    /// Looks up one key after the other; returns the rest if the connection has to wait.
    #[inline]
    fn look_up<'b>(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        mut keys: Keys<'b>,
        how: Lookup,
    ) -> Option<(&'b [u8], usize)> {
        let mut left = REQUESTS;
        loop {
            let rest = keys.rest();
            let key = keys.next()?;
            left -= 1;
            let (with_cas, last) = (how.with_cas, keys.len() == 0);
            let operation = match how.exptime {
                None => Operation::Get { with_cas, last },
                Some(exptime) => Operation::GetAndTouch { exptime, with_cas, last },
            };
            if self.operate(reactor, client, operation, key, b"") == Flow::Hold {
                return Some(rest);
            }
            if keys.len() > 0 && (left == 0 || self.is_step_over() || !self.may_go_on(reactor, client)) {
                return Some(keys.rest());
            }
        }
    }

    pub(super) fn meta(&mut self, reactor: &mut R, client: &mut Client, meta: &Meta) -> Flow {
        let operation = Operation::Meta(MetaOperation {
            verb: meta.verb,
            binary: meta.key.is_binary(),
            // A line is at most 2 KiB and a value at most an item, so the casts are lossless.
            flags_len: meta.flags_len as u16,
            data_len: meta.data_len as u32,
        });
        let mut room = [0; BINARY_KEY_MAX];
        let flow = self.operate(reactor, client, operation, meta.key.read(&mut room), meta.arguments);
        // memcached counts no other meta command as one.
        if flow == Flow::Next && meta.verb == MetaVerb::Debug {
            self.stats.cmd_meta += 1;
        }
        flow
    }
}
