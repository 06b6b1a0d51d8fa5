//! From received bytes to requests.

use proto_memcache::Reply;
use proto_memcache::server::{BINARY_KEY_MAX, Parse, Refusal, Request, reply};
use reactor::{Conn, Reactor};

use super::Core;
use crate::budget::FREE;
use crate::client::{Client, Lookup, State};
use crate::foreign::may_be_foreign;
use crate::message::Work;
use crate::operation::Operation;
use crate::replies::Finish;
use crate::service::Class;

/// New output after which the kernel is offered it before more is made, in the midst of a long receive. Units: bytes.
const OUTPUT_STEP: usize = 64 << 10;

/// What to do with the rest of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
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
        if client.frames.is_some() {
            return self.receive_datagram(reactor, client, bytes);
        }
        client.heard = self.now;
        if client.is_new && client.input.is_empty() {
            client.is_new = may_be_foreign(bytes);
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
    pub(super) fn work_off(&mut self, reactor: &mut R, client: &mut Client) {
        let mut input = std::mem::take(&mut client.input);
        let used = self.requests(reactor, client, &input);
        self.large_inputs.trim(&mut input, used);
        client.input = input;
        self.grant_input(client);
    }

    /// Reads requests until the bytes are used up or the connection has to wait; returns how many are done with.
    pub(super) fn requests(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
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
        loop {
            if requests == self.common.config.requests_per_event && requests > 0 && used < bytes.len() {
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
                Parse::NeedMore { .. } if self.begin_value(client, &bytes[used..]) => return bytes.len(),
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
        }
        if client.replies.copied() > FREE {
            // They wait for others, so that no flush has counted them.
            self.charge_output(reactor, client);
        }
        let may = client.has_room(unsent, || self.account.may_grow());
        self.stats.output_waits += u64::from(!may);
        may
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
                self.everywhere(reactor, client, reply, Finish::Ok, || Work::Flush { delay })
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
            Request::Watch => self.answer(reactor, client, Reply::Wanted, Refusal::NoWatch.line()),
            Request::RefreshCertificates { reply } => {
                let line = self.refresh_certificates();
                self.answer(reactor, client, reply, &line)
            }
            Request::MemoryLimit { megabytes, reply } => {
                let line = self.memory_limit(megabytes);
                self.answer(reactor, client, reply, line)
            }
            Request::Shutdown { how, reply } => self.shutdown(reactor, client, how, reply),
            Request::NoEffect { reply } => self.answer(reactor, client, reply, reply::OK),
            Request::Version => {
                self.make(reactor, client, |out| reply::version(out, crate::VERSION));
                Flow::Next
            }
            Request::Quit => Flow::Close,
        }
    }
}
