//! Commands of RESP: operations on keys here, [`scan`], and the server's own in [`admin`].

mod admin;
mod scan;

use std::borrow::Cow;

use cache_store::Expiry;
use proto_memcache::limits::{KEY_MAX, item_size};
use proto_resp::server::{Args, RequestParse, Version, read_i64, reply};
use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use super::turn::REQUESTS;
use crate::client::{Client, State};
use crate::message::Work;
use crate::operation::Operation;
use crate::operation::resp::{Condition, Presence, RespOperation, Set, StoreReply, TOO_LARGE, Verb};
use crate::partitions::Place;
use crate::resp::commands::{Command, Row, Step, Unit, unknown};
use crate::resp::{Resp, Sum, Talk};
use crate::service::Class;

/// The text of an error.
type Error = Cow<'static, [u8]>;

const SYNTAX: &[u8] = b"ERR syntax error";
const NO_INTEGER: &[u8] = b"ERR value is not an integer or out of range";

/// Words of an HTTP request after which the connection is closed, before commands that a page put into its body are executed.
/// Source: Redis' `securityWarningCommand`.
const HTTP: [&[u8]; 2] = [b"post", b"host:"];

/// The longest pattern. To compare one with a text takes up to the product of their lengths: with a value's length it would
/// be minutes for a part of `SCAN`. Units: bytes.
const PATTERN_MAX: usize = 1 << 10;

impl<R: Reactor> Core<R> {
    /// Reads commands until the bytes are used up or the connection has to wait; returns how many are done with.
    pub(super) fn resp_requests(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        // Taken out of the client, so that both can be borrowed.
        let Some(mut resp) = client.resp.take() else { return 0 };
        let used = self.read_resp(reactor, client, &mut resp, bytes);
        client.resp = Some(resp);
        used
    }

    fn read_resp(&mut self, reactor: &mut R, client: &mut Client, resp: &mut Resp, bytes: &[u8]) -> usize {
        let Resp { parser, talk } = resp;
        let (mut used, mut requests, most) = (0, 0, self.requests_per_step());
        loop {
            if used < bytes.len() && (requests >= most || self.is_step_over()) {
                self.stats.yields += 1;
                client.state = State::Held;
                return used;
            }
            if !self.may_go_on(reactor, client) {
                client.state = State::Held;
                return used;
            }
            requests += 1;
            let consumed = match parser.parse(&bytes[used..], client.is_known) {
                RequestParse::NeedMore { .. } => return used,
                RequestParse::Skipped { consumed } => {
                    used += consumed;
                    continue;
                }
                RequestParse::TooLong { consumed } => {
                    used += consumed;
                    let (partition, now) = (self.partitions.any(), self.now);
                    self.partitions.with(partition, |store| store.refuse_too_large(None, now));
                    _ = self.refuse_resp(reactor, client, TOO_LARGE);
                    continue;
                }
                RequestParse::Malformed(malformed) => {
                    let text = format!("ERR Protocol error: {malformed}");
                    _ = self.refuse_resp(reactor, client, text.as_bytes());
                    client.close_for_error();
                    return bytes.len();
                }
                RequestParse::Done { consumed } => consumed,
            };
            let args = parser.args(&bytes[used..]);
            let row = Row::find(args.get(0).unwrap_or_default());
            match self.resp_request(reactor, client, talk, row, args) {
                Flow::Next => {
                    parser.next();
                    used += consumed;
                    self.stats.resp_commands += 1;
                    if self.service.is_some() {
                        client.batch.add(row.map_or(Class::Other, |row| row.class), self.received);
                    }
                }
                Flow::Hold => {
                    client.state = State::Held;
                    return used;
                }
                Flow::Close | Flow::Watch => {
                    client.state = State::Closing;
                    return bytes.len();
                }
            }
        }
    }

    fn resp_request(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        talk: &mut Talk,
        row: Option<&Row>,
        args: Args<'_>,
    ) -> Flow {
        let arg = |number: usize| args.get(number).unwrap_or_default();
        let Some(row) = row else {
            if HTTP.iter().any(|word| arg(0).eq_ignore_ascii_case(word)) {
                client.ends = "error";
                return Flow::Close;
            }
            return self.refuse_resp(reactor, client, &unknown(arg(0), args.iter().skip(1)));
        };
        if !row.takes(args.len()) {
            return self.refuse_resp(reactor, client, &wrong_count(row.name));
        }
        if !client.is_known && !row.is_open() {
            return self.refuse_resp(reactor, client, b"NOAUTH Authentication required.");
        }
        if row.key_step() > 0
            && talk.next == 0
            && let Some(error) = self.unfit(row, args)
        {
            return self.refuse_resp(reactor, client, &error);
        }
        let plain = |verb: Verb| RespOperation::new(verb, talk.version);
        let set = |condition, keeps_expiry, answer| Verb::Set(Set { condition, keeps_expiry, answer });
        let (verb, value): (Verb, &[u8]) = match row.command {
            Command::Get => (Verb::Get, b""),
            Command::Set => return self.resp_set(reactor, client, talk.version, args),
            Command::SetEx(unit) => {
                let Some(number) = read_i64(arg(2)) else {
                    return self.refuse_resp(reactor, client, NO_INTEGER);
                };
                let Some(expiry) = self.expiry(reactor, unit, number, false) else {
                    return self.refuse_expiry(reactor, client, row.name);
                };
                let operation = RespOperation { expiry, ..plain(set(Presence::Any, false, StoreReply::Ok)) };
                return self.resp_operate(reactor, client, operation, arg(1), arg(3));
            }
            Command::SetNx => (set(Presence::Absent, false, StoreReply::Number), arg(2)),
            Command::GetSet => (set(Presence::Any, false, StoreReply::Old), arg(2)),
            Command::GetDel => (Verb::GetAndDelete, b""),
            Command::GetEx | Command::Expire(_) => {
                let made = match row.command {
                    Command::Expire(unit) => self.resp_expire(reactor, (row, unit), talk.version, args),
                    _ => self.resp_get_ex(reactor, talk.version, args),
                };
                return match made {
                    Ok(operation) => self.resp_operate(reactor, client, operation, arg(1), b""),
                    Err(error) => self.refuse_resp(reactor, client, &error),
                };
            }
            Command::MGet => return self.resp_get_all(reactor, client, talk, args),
            Command::MSet => {
                let operation = plain(set(Presence::Any, false, StoreReply::Number));
                return self.resp_sum(reactor, client, talk, args, (operation, 2));
            }
            Command::Delete | Command::Exists | Command::Touch => {
                let verb = match row.command {
                    Command::Delete => Verb::Delete,
                    Command::Exists => Verb::Exists,
                    _ => Verb::Touch,
                };
                if args.len() > 2 {
                    return self.resp_sum(reactor, client, talk, args, (plain(verb), 1));
                }
                (verb, b"")
            }
            Command::Append => (Verb::Append, arg(2)),
            Command::StrLen => (Verb::Length, b""),
            Command::Count(step) => {
                let by = match step {
                    Step::Up => Some(1),
                    Step::Down => Some(-1),
                    Step::UpBy | Step::DownBy => read_i64(arg(2)),
                };
                let Some(by) = by else { return self.refuse_resp(reactor, client, NO_INTEGER) };
                let number = if step == Step::DownBy { by.checked_neg() } else { Some(by) };
                let Some(number) = number else {
                    return self.refuse_resp(reactor, client, b"ERR decrement would overflow");
                };
                let operation = RespOperation { number, ..plain(Verb::Add) };
                return self.resp_operate(reactor, client, operation, arg(1), b"");
            }
            Command::Persist => (Verb::Persist, b""),
            Command::Ends(ends) => {
                let number = self.milliseconds(reactor);
                let operation = RespOperation { number, ..plain(Verb::Ends(ends)) };
                return self.resp_operate(reactor, client, operation, arg(1), b"");
            }
            Command::Type => (Verb::Type, b""),
            Command::Scan => {
                let scanned = self.resp_scan(reactor, client, args);
                return scanned.unwrap_or_else(|error| self.refuse_resp(reactor, client, &error));
            }
            _ => return self.resp_admin(reactor, client, talk, row.command, args),
        };
        self.resp_operate(reactor, client, plain(verb), arg(1), value)
    }

    /// The error of a command with a key or a value that no item has.
    fn unfit(&self, row: &Row, args: Args<'_>) -> Option<Vec<u8>> {
        let step = row.key_step();
        if row.command == Command::MSet && args.len().is_multiple_of(2) {
            return Some(wrong_count(row.name));
        }
        for at in (1..row.keys_end(args.len())).step_by(step) {
            let key = args.get(at).unwrap_or_default();
            if let Some(error) = unfit_key(key) {
                return Some(error);
            }
            let value = match row.command {
                Command::Set | Command::SetNx | Command::GetSet | Command::Append | Command::MSet => at + 1,
                Command::SetEx(_) => at + 2,
                _ => continue,
            };
            let value = args.get(value).map_or(0, <[u8]>::len);
            if item_size(key.len(), 0, value) > self.common.config.gathered_max() {
                return Some(TOO_LARGE.to_vec());
            }
        }
        None
    }

    /// Does something to a key, here or at its owner.
    fn resp_operate(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        operation: RespOperation,
        key: &[u8],
        value: &[u8],
    ) -> Flow {
        self.operate(reactor, client, Operation::Resp(operation), key, value)
    }

    /// `SET` with its options.
    fn resp_set(&mut self, reactor: &mut R, client: &mut Client, version: Version, args: Args<'_>) -> Flow {
        let mut set = Set { condition: Presence::Any, keeps_expiry: false, answer: StoreReply::Ok };
        let mut expiry = None;
        let mut at = 3;
        while let Some(word) = args.get(at) {
            let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
            let has_end = set.keeps_expiry || expiry.is_some();
            if is(b"nx") && set.condition != Presence::Present {
                set.condition = Presence::Absent;
            } else if is(b"xx") && set.condition != Presence::Absent {
                set.condition = Presence::Present;
            } else if is(b"get") {
                set.answer = StoreReply::Old;
            } else if is(b"keepttl") && expiry.is_none() {
                set.keeps_expiry = true;
            } else if let Some(unit) = Unit::of(word)
                && let Some(number) = args.get(at + 1)
                && !has_end
            {
                expiry = Some((unit, number));
                at += 1;
            } else {
                return self.refuse_resp(reactor, client, SYNTAX);
            }
            at += 1;
        }
        let mut operation = RespOperation::new(Verb::Set(set), version);
        if let Some((unit, number)) = expiry {
            let Some(number) = read_i64(number) else { return self.refuse_resp(reactor, client, NO_INTEGER) };
            let Some(expiry) = self.expiry(reactor, unit, number, false) else {
                return self.refuse_expiry(reactor, client, "set");
            };
            operation.expiry = expiry;
        }
        let (key, value) = (args.get(1).unwrap_or_default(), args.get(2).unwrap_or_default());
        self.resp_operate(reactor, client, operation, key, value)
    }

    /// The operation of `GETEX` with its option.
    fn resp_get_ex(&self, reactor: &R, version: Version, args: Args<'_>) -> Result<RespOperation, Error> {
        let option = args.get(2);
        Ok(match (option, option.and_then(Unit::of), args.get(3)) {
            (None, ..) => RespOperation::new(Verb::Get, version),
            (Some(word), _, None) if word.eq_ignore_ascii_case(b"persist") => {
                RespOperation::new(Verb::GetAndExpire, version)
            }
            (Some(_), Some(unit), Some(number)) if args.len() == 4 => {
                let number = read_i64(number).ok_or(NO_INTEGER)?;
                let expiry = self.expiry(reactor, unit, number, false).ok_or_else(|| bad_expiry("getex"))?;
                RespOperation { expiry, ..RespOperation::new(Verb::GetAndExpire, version) }
            }
            _ => return Err(SYNTAX.into()),
        })
    }

    /// The operation of `EXPIRE` and its kind.
    fn resp_expire(
        &self,
        reactor: &R,
        (row, unit): (&Row, Unit),
        version: Version,
        args: Args<'_>,
    ) -> Result<RespOperation, Error> {
        let mut condition = Condition::Always;
        for word in args.iter().skip(3) {
            let named = [
                (&b"nx"[..], Condition::Never),
                (b"xx", Condition::Ending),
                (b"gt", Condition::Later),
                (b"lt", Condition::Earlier),
            ];
            let found = named.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
            let (_, found) = found.ok_or_else(|| [b"ERR Unsupported option ", word].concat())?;
            let both = [condition, found];
            condition = match (condition, found) {
                (Condition::Always, found) => found,
                (before, found) if before == found => found,
                // An item without an expiry is never before another's.
                (Condition::Ending, Condition::Later) | (Condition::Later, Condition::Ending) => {
                    Condition::Later
                }
                (Condition::Ending, Condition::Earlier) | (Condition::Earlier, Condition::Ending) => {
                    Condition::EndingEarlier
                }
                _ if both.contains(&Condition::Never) => {
                    let text = b"ERR NX and XX, GT or LT options at the same time are not compatible";
                    return Err(text.into());
                }
                _ => {
                    return Err(b"ERR GT and LT options at the same time are not compatible".into());
                }
            };
        }
        let number = read_i64(args.get(2).unwrap_or_default()).ok_or(NO_INTEGER)?;
        let expiry = self.expiry(reactor, unit, number, true).ok_or_else(|| bad_expiry(row.name))?;
        Ok(RespOperation { expiry, ..RespOperation::new(Verb::Expire(condition), version) })
    }

    /// The present moment. Units: ms of Unix time.
    fn milliseconds(&self, reactor: &R) -> i64 {
        self.common.clock.micros(reactor.now()) / 1000
    }

    /// The expiry that a command asks for. The clock of items has seconds, so that one ends with the first that is not
    /// before the moment asked for. `may_be_past`: also one that is over; `None` for others, and beyond 64 bits.
    fn expiry(&self, reactor: &R, unit: Unit, number: i64, may_be_past: bool) -> Option<Expiry> {
        if number <= 0 && !may_be_past {
            return None;
        }
        let milliseconds = match unit {
            Unit::Seconds | Unit::AtSecond => number.checked_mul(1000)?,
            Unit::Milliseconds | Unit::AtMillisecond => number,
        };
        let now = self.milliseconds(reactor);
        let at = match unit {
            Unit::Seconds | Unit::Milliseconds => now.checked_add(milliseconds)?,
            Unit::AtSecond | Unit::AtMillisecond => milliseconds,
        };
        let second = at.div_euclid(1000) + i64::from(at.rem_euclid(1000) > 0);
        if at <= now || second <= i64::from(self.now) {
            return Some(Expiry::PAST);
        }
        Some(Expiry::from_unsigned(u32::try_from(second).unwrap_or(u32::MAX), self.now))
    }

    /// `MGET`: one value after the other.
    fn resp_get_all(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        talk: &mut Talk,
        args: Args<'_>,
    ) -> Flow {
        if talk.next == 0 {
            self.make(reactor, client, |out| reply::array(out, args.len() - 1));
            talk.next = 1;
        }
        let operation = RespOperation::new(Verb::Get, talk.version);
        for done in 0.. {
            let Some(key) = args.get(talk.next) else { break };
            if done > 0 && !self.takes_another(reactor, client, done) {
                return Flow::Hold;
            }
            if self.resp_operate(reactor, client, operation, key, b"") == Flow::Hold {
                return Flow::Hold;
            }
            talk.next += 1;
        }
        talk.next = 0;
        Flow::Next
    }

    /// A command for several keys, `step` arguments apart, whose replies are summed up.
    fn resp_sum(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        talk: &mut Talk,
        args: Args<'_>,
        (operation, step): (RespOperation, usize),
    ) -> Flow {
        let sum = *talk.sum.get_or_insert_with(|| client.replies.sum_up(Sum::new(step == 2)));
        talk.next = talk.next.max(1);
        for done in 0.. {
            let Some(key) = args.get(talk.next) else { break };
            if done > 0 && !self.takes_another(reactor, client, done) {
                return Flow::Hold;
            }
            let value = if step == 2 { args.get(talk.next + 1).unwrap_or_default() } else { b"" };
            if self.add_up(client, sum, Operation::Resp(operation), key, value) == Flow::Hold {
                return Flow::Hold;
            }
            talk.next += step;
        }
        (talk.next, talk.sum) = (0, None);
        client.replies.add_summand(sum, b"");
        self.release(reactor, client);
        Flow::Next
    }

    /// Whether the connection may go on with another key of its command, after `done` of them in this step.
    fn takes_another(&mut self, reactor: &mut R, client: &mut Client, done: u32) -> bool {
        done < REQUESTS && !self.is_step_over() && self.may_go_on(reactor, client)
    }

    /// Does something to one of the keys of a command.
    fn add_up(
        &mut self,
        client: &mut Client,
        sum: u64,
        operation: Operation,
        key: &[u8],
        value: &[u8],
    ) -> Flow {
        let key = self.hasher.key(key);
        match self.partitions.place(key.hash) {
            Place::Here(_) => {
                // As before every write.
                self.partitions.leave();
                let mut text = self.buffers.take();
                self.do_to_key((self.number, client.conn), &operation, key, value, &mut text);
                client.replies.expect_summand(sum);
                client.replies.add_summand(sum, &text);
                self.buffers.give(text);
            }
            Place::At(owner) => {
                if !self.may_ask(client, owner, key.bytes.len() + value.len()) {
                    return self.wait_for_room(client);
                }
                client.replies.expect_summand(sum);
                let work = Work::Summand { hash: key.hash.to_u64(), key_len: key.bytes.len(), operation };
                self.ask_for(client, owner, work, (key.bytes, value), sum);
            }
        }
        Flow::Next
    }

    fn refuse_resp(&mut self, reactor: &mut R, client: &mut Client, text: &[u8]) -> Flow {
        self.make(reactor, client, |out| reply::error(out, text));
        Flow::Next
    }

    #[cold]
    fn refuse_expiry(&mut self, reactor: &mut R, client: &mut Client, name: &str) -> Flow {
        self.refuse_resp(reactor, client, &bad_expiry(name))
    }
}

/// The error of a key that no item has.
fn unfit_key(key: &[u8]) -> Option<Vec<u8>> {
    let length = key.len();
    let fits = (1..=KEY_MAX).contains(&length);
    (!fits).then(|| format!("ERR a key has 1 to {KEY_MAX} bytes, and this one {length}").into_bytes())
}

fn bad_expiry(name: &str) -> Vec<u8> {
    format!("ERR invalid expire time in '{name}' command").into_bytes()
}

#[cold]
fn wrong_count(name: &str) -> Vec<u8> {
    format!("ERR wrong number of arguments for '{name}' command").into_bytes()
}
