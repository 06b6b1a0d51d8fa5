//! Requests of the binary protocol: operations, messages and order of replies are the same as for the text protocol.

use std::borrow::Cow;

use cache_store::Expiry;
use proto_memcache::Reply;
use proto_memcache::binary::{BinaryParse, BinaryRequest, Command, Echo, Status, reply};
use reactor::Reactor;
use tracing::warn;

use super::Core;
use super::arrival::LARGE;
use super::operator::Statistics;
use super::requests::Flow;
use crate::arriving;
use crate::auth::ATTEMPTS_MAX;
use crate::binary::{MECHANISM, plain};
use crate::client::{Client, State};
use crate::draft::Draft;
use crate::message::Task;
use crate::operation::Operation;
use crate::operation::binary::{BinaryOperation, marks};
use crate::replies::Finish;
use crate::service::Class;

/// Bytes of a user's name that the log shows: RESP's `AUTH` takes one as long as a value.
const SHOWN: usize = 64;

impl<R: Reactor> Core<R> {
    /// Reads requests until the bytes are used up or the connection has to wait; returns how many are done with.
    pub(super) fn binary_requests(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        let (mut used, mut requests, most) = (0, 0, self.requests_per_step());
        if client.arriving.is_some() {
            used += self.go_on_with_value(reactor, client, bytes);
            if client.arriving.is_some() {
                return used;
            }
        }
        loop {
            if used < bytes.len() && (requests == most || self.is_step_over()) {
                self.stats.yields += 1;
                client.state = State::Held;
                return used;
            }
            if !self.may_go_on(reactor, client) {
                client.state = State::Held;
                return used;
            }
            let known = client.is_known;
            let Some(binary) = &mut client.binary else { return used };
            let (consumed, request) = match binary.parser.parse(&bytes[used..], known) {
                BinaryParse::NeedMore { .. } if binary.parser.needed() < LARGE => return used,
                BinaryParse::NeedMore { .. } => {
                    return used + self.begin_binary_value(client, &bytes[used..]);
                }
                BinaryParse::Skipped { consumed } => {
                    used += consumed;
                    continue;
                }
                BinaryParse::Done { consumed, request } => (consumed, request),
                BinaryParse::Close => {
                    client.close_for_error();
                    return bytes.len();
                }
            };
            binary.echo = request.echo;
            let class = self.service.is_some().then(|| Class::of_binary(&request.command));
            match self.binary_request(reactor, client, &request) {
                Flow::Next => {
                    used += consumed;
                    requests += 1;
                    if let Some(class) = class {
                        client.batch.add(class, self.received);
                    }
                }
                Flow::Hold => {
                    client.put_back();
                    client.state = State::Held;
                    return used;
                }
                Flow::Close => {
                    client.state = State::Closing;
                    return bytes.len();
                }
                // The binary protocol has no command for it.
                Flow::Watch => return bytes.len(),
            }
        }
    }

    /// Takes a `set` of which `bytes` are all that was received, as [`Core::begin_value`]; returns the number of bytes
    /// taken.
    #[cold]
    fn begin_binary_value(&mut self, client: &mut Client, bytes: &[u8]) -> usize {
        let awaited = client.binary.as_ref().and_then(|binary| binary.parser.awaited(bytes));
        let Some((set, value)) = awaited.filter(|_| client.frames.is_none()) else { return 0 };
        let expiry = Expiry::from_unsigned(set.exptime, self.now);
        let command = arriving::Command::Binary(set.echo, marks(self.hasher.key(set.key)));
        self.begin(client, set.key, (set.flags, expiry, set.length), command, (bytes, value))
    }

    fn binary_request(&mut self, reactor: &mut R, client: &mut Client, request: &BinaryRequest) -> Flow {
        let BinaryRequest { echo, command } = *request;
        let mut room = [0; 16];
        if let Some((operation, key, value)) = BinaryOperation::of(echo, &command, &mut room) {
            return self.operate(reactor, client, Operation::Binary(operation), key, value);
        }
        match command {
            Command::NoOp | Command::Verbosity => {
                self.respond(reactor, client, |out| reply::done(out, echo, 0))
            }
            Command::Version => {
                self.respond(reactor, client, |out| reply::text(out, echo, crate::VERSION.as_bytes()))
            }
            Command::Quit { quiet } => {
                if !quiet {
                    self.make(reactor, client, |out| reply::done(out, echo, 0));
                }
                Flow::Close
            }
            Command::Flush { .. } if !self.common.config.flush_all => {
                self.respond(reactor, client, |out| reply::error(out, echo, Status::AuthError))
            }
            Command::Flush { delay, quiet } => {
                // A date that far ahead is as good as any that is further.
                let delay = i32::try_from(delay).unwrap_or(i32::MAX);
                let reply = if quiet { Reply::Suppressed } else { Reply::Wanted };
                self.everywhere(reactor, client, reply, Finish::Ok, Task::Flush { delay })
            }
            Command::Stats { group } => self.binary_stats(reactor, client, echo, group),
            Command::SaslMechanisms if self.common.users.is_some() => {
                self.respond(reactor, client, |out| reply::text(out, echo, MECHANISM))
            }
            Command::Sasl { goes_on, mechanism, data } if self.common.users.is_some() => {
                self.sasl(reactor, client, request, goes_on, mechanism, data)
            }
            // As memcached without -S: clients then continue.
            Command::SaslMechanisms | Command::Sasl { .. } => {
                self.respond(reactor, client, |out| reply::error(out, echo, Status::Unknown))
            }
            Command::Refused { status, closes } => {
                self.make(reactor, client, |out| reply::error(out, echo, status));
                if closes {
                    client.ends = "error";
                    return Flow::Close;
                }
                Flow::Next
            }
            Command::Get { .. }
            | Command::GetAndTouch { .. }
            | Command::Touch { .. }
            | Command::Store { .. }
            | Command::TooLarge { .. }
            | Command::Delete { .. }
            | Command::Count { .. } => unreachable!("they have a key"),
        }
    }

    /// Makes a response after the waiting ones.
    fn respond(&mut self, reactor: &mut R, client: &mut Client, write: impl FnOnce(&mut Draft)) -> Flow {
        self.make(reactor, client, write);
        Flow::Next
    }

    /// `stat`: the lines of the text protocol's `stats`, a response for each.
    fn binary_stats(&mut self, reactor: &mut R, client: &mut Client, echo: Echo, group: &[u8]) -> Flow {
        let (group, detail) = match group.strip_prefix(b"detail ") {
            Some(verb) => (&b"detail"[..], Some(verb)),
            None => (group, None),
        };
        match self.statistics(group, detail) {
            Ok(Statistics::Here(text)) => self.respond(reactor, client, |out| reply::stats(out, echo, &text)),
            Ok(Statistics::OfAll(finish, task)) => {
                self.everywhere(reactor, client, Reply::Wanted, finish, task)
            }
            Err(_) => self.respond(reactor, client, |out| reply::error(out, echo, Status::NotFound)),
        }
    }

    /// A step of SASL. Whom the client was before does not count any more.
    #[cold]
    fn sasl(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        request: &BinaryRequest,
        goes_on: bool,
        mechanism: &[u8],
        data: &[u8],
    ) -> Flow {
        let echo = request.echo;
        let began = client.binary.as_mut().is_some_and(|binary| std::mem::take(&mut binary.awaits_words));
        client.is_known = false;
        // In a step, the mechanism begun counts, not the name given.
        let is_plain = if goes_on { began } else { mechanism.eq_ignore_ascii_case(MECHANISM) };
        if is_plain && !goes_on && data.is_empty() {
            if let Some(binary) = &mut client.binary {
                binary.awaits_words = true;
            }
            return self.respond(reactor, client, |out| reply::error(out, echo, Status::AuthContinue));
        }
        let words = plain(data).filter(|_| is_plain);
        self.stats.auth_cmds += 1;
        let users = self.common.users.as_ref();
        client.is_known =
            words.is_some_and(|(user, password)| users.is_some_and(|users| users.know(user, password)));
        if client.is_known {
            client.failures = 0;
            return self.respond(reactor, client, |out| reply::text(out, echo, b"Authenticated"));
        }
        self.make(reactor, client, |out| reply::error(out, echo, Status::AuthError));
        if self.refuse_words(client, words.map(|(user, _)| user)) {
            client.ends = "error";
            return Flow::Close;
        }
        Flow::Next
    }

    /// Counts a client that could not say who it is; returns whether it has tried too often.
    pub(super) fn refuse_words(&mut self, client: &mut Client, user: Option<&[u8]>) -> bool {
        self.stats.auth_errors += 1;
        client.failures = client.failures.saturating_add(1);
        if self.rounds.may_warn(self.now) {
            let user = user.map(|user| &user[..user.len().min(SHOWN)]);
            let user: Cow<str> = user.map_or("unknown".into(), |user| user.escape_ascii().to_string().into());
            warn!(%user, failures = client.failures, "a client could not authenticate");
        }
        client.failures >= ATTEMPTS_MAX
    }
}
