//! Requests and answers by RESP, the protocol of Redis, on one server or on the nodes of a Redis Cluster.

use openloop::{Fault, Parsed, Then};
use proto_memcache::client::ErrorKind;
use proto_resp::client::cluster::{Redirect, asking};
use proto_resp::client::{self, Condition, Elements, Parse, Reply, SetOptions};

use crate::cache::answer::{Answer, Result, refused};
use crate::cache::items::PIECE;
use crate::cache::job::Step;
use crate::cache::requests::kind;
use crate::cache::{Cache, Job, Kind, OnMiss, Wire};
use crate::peer::excerpt;

/// How many nodes may send a request on before it counts as an error. Source: redis-py-cluster's default of 16, as each
/// redirection is at most one slot's move.
const REDIRECTIONS: u8 = 16;
/// In a multi-get to a Redis Cluster: the keys to ask for. The missing ones are above.
const TO_ASK: u64 = u32::MAX as u64;

/// The answers to several requests that were sent at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    /// Number of answers read.
    answers: u32,
    /// The missing keys, and those that another node has; one bit each.
    missing: u64,
    moved: u64,
    /// Destination of the first of the latter.
    to: Option<Destination>,
    fault: Option<Fault>,
}

/// The server that a request is sent to again.
#[derive(Clone, Copy, Debug)]
struct Destination {
    server: u16,
    asking: bool,
}

// Requests.
impl Cache {
    pub(super) fn write_resp(&mut self, job: &mut Job, out: &mut Vec<u8>) {
        if job.asking {
            asking(out);
        }
        match job.step {
            Step::MultiGet if !self.in_cluster() => {
                self.list_keys(job);
                job.extra = self.numbers.len() as u64;
                client::head(out, 1 + self.numbers.len());
                client::word(out, b"MGET");
                for i in 0..self.numbers.len() {
                    self.write_key(Kind::Data, self.numbers[i]);
                    client::word(out, &self.key);
                }
            }
            Step::MultiGet | Step::SetAllMissing => {
                let step = if job.step == Step::MultiGet { Step::Get } else { Step::SetMissing };
                let asked = self.asked_in(job);
                self.list_keys(job);
                for i in 0..self.numbers.len().min(64) {
                    if asked >> i & 1 == 1 {
                        let n = self.numbers[i];
                        self.write_key(Kind::Data, n);
                        self.write_command(&Job { n, step, ..*job }, out);
                    }
                }
            }
            step => {
                self.write_key(kind(step), job.n);
                self.write_command(job, out);
            }
        }
    }

    /// The command of a job with one key, which is in `self.key`.
    #[inline]
    fn write_command(&self, job: &Job, out: &mut Vec<u8>) {
        let (key, seconds) = (&self.key, || self.expiry(job) as u64);
        match job.step {
            Step::Get => client::get(out, key),
            Step::Gat => client::get_and_expire(out, key, seconds()),
            Step::Set | Step::SetMissing | Step::Reset => self.write_set(None, job, out),
            Step::Add | Step::Insert => self.write_set(Some(Condition::Missing), job, out),
            Step::Replace => self.write_set(Some(Condition::Present), job, out),
            Step::Append => client::append(out, key, PIECE),
            Step::Delete => client::del(out, key),
            Step::Incr => client::incr(out, key),
            Step::Decr => client::decr(out, key),
            // Items that never expire are touched to be the most recently used.
            Step::Touch => match seconds() {
                0 => client::touch(out, key),
                seconds => client::expire(out, key, seconds),
            },
            Step::Gets | Step::CasRead | Step::CasStore | Step::Prepend => {
                unreachable!("the configuration was checked")
            }
            Step::MultiGet | Step::SetAllMissing => unreachable!("written as several keys"),
        }
    }

    #[inline]
    fn write_set(&self, condition: Option<Condition>, job: &Job, out: &mut Vec<u8>) {
        let kind = kind(job.step);
        let size = self.items.stored_size(kind, job.n);
        let options = SetOptions { condition, seconds: self.expiry(job) as u64 };
        // 96 B hold the lines around key and value.
        out.reserve(self.key.len() + size + 96);
        client::set_header(out, &self.key, size, options);
        self.items.append_value(kind, job.n, &self.key, job.version, out);
        client::set_end(out, options);
    }

    /// The keys of a job that are sent at once, one bit each. After a redirection they are sent one by one.
    fn asked_in(&self, job: &Job) -> u64 {
        if !self.in_cluster() {
            return job.extra;
        }
        let all = job.extra & TO_ASK;
        if job.tries > 0 { all & all.wrapping_neg() } else { all }
    }
}

// Answers.
impl Cache {
    /// Reads the answer of a server of RESP to the oldest request.
    #[inline]
    pub(super) fn reply(&mut self, job: &mut Job, wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
        loop {
            let rest = &bytes[wire.offset..];
            let (consumed, reply) = match wire.replies.parse(rest) {
                Parse::NeedMore { .. } => return Parsed::Partial,
                Parse::Malformed { at, reason } => {
                    return Parsed::Garbage(format!("{reason}: '{}'", excerpt(&rest[at..])));
                }
                Parse::Done { consumed, reply } => (consumed, reply),
            };
            wire.offset += consumed;
            if self.config.login.is_some() && !wire.greeted {
                wire.greeted = true;
                match reply {
                    Reply::Error(text) => return Parsed::Refused(refused(ErrorKind::Client, text)),
                    _ => continue,
                }
            }
            if job.asking && !wire.asked {
                wire.asked = true;
                continue;
            }
            self.counts.of_cluster += u64::from(self.in_cluster());
            if job.step == Step::SetAllMissing || job.step == Step::MultiGet && self.in_cluster() {
                let wanted = self.asked_in(job).count_ones();
                self.one_of_series(job, &mut wire.series, reply, &rest[..consumed]);
                if wire.series.answers < wanted {
                    continue;
                }
                let series = std::mem::take(&mut wire.series);
                return self.series_is_read(job, wire.end(), series);
            }
            return self.single_reply(job, wire.end(), reply, &rest[..consumed]);
        }
    }

    /// Judges the answer, whose bytes are `said`, to a job with one answer.
    #[inline]
    fn single_reply(&mut self, job: &mut Job, used: usize, reply: Reply<'_>, said: &[u8]) -> Parsed<Job> {
        if let Reply::Error(text) = reply
            && let Some(redirect) = self.redirect_of(text)
        {
            let destination = self.destination(job, redirect);
            return match destination.and_then(|to| self.once_more(job).map(|()| to)) {
                Err(fault) => Parsed::done(used, Err(fault)),
                Ok(to) => self.again(job, used, to),
            };
        }
        if let (Step::MultiGet, Reply::Array(values)) = (job.step, reply)
            && values.len() as u64 == job.extra
        {
            return self.values(job, used, values, said);
        }
        match answer_of(job.step, reply) {
            Some(answer) => self.answer(job, used, answer),
            None => Parsed::done(used, Err(unexpected(said))),
        }
    }

    /// The values of a multi-get, one for each of its keys.
    fn values(&mut self, job: &mut Job, used: usize, values: Elements<'_>, said: &[u8]) -> Parsed<Job> {
        if self.items.is_verified() {
            self.list_keys(job);
        }
        let (mut outcome, mut missing, mut hits) = (Ok(()), 0u64, 0);
        for (i, value) in values.iter().enumerate() {
            let checked = match value {
                Reply::Bulk(value) => {
                    hits += 1;
                    self.check_listed(i, value)
                }
                Reply::Null => {
                    missing |= 1u64.checked_shl(i as u32).unwrap_or(0);
                    Ok(())
                }
                _ => Err(unexpected(said)),
            };
            outcome = outcome.and(checked);
        }
        self.counts.gets += values.len() as u64;
        self.counts.hits += hits;
        if self.config.options.on_miss == OnMiss::Set && missing != 0 && outcome.is_ok() {
            return self.then_set(used, Job { step: Step::SetAllMissing, extra: missing, ..*job });
        }
        Parsed::done(used, outcome)
    }

    /// Checks the value of the key at this place of `self.numbers`, if values are verified.
    fn check_listed(&mut self, at: usize, value: &[u8]) -> Result {
        if !self.items.is_verified() {
            return Ok(());
        }
        let n = self.numbers[at];
        self.write_key(Kind::Data, n);
        self.check_in(n, value)
    }

    /// Enters one answer of a series, whose bytes are `said`.
    fn one_of_series(&mut self, job: &Job, series: &mut Series, reply: Reply<'_>, said: &[u8]) {
        let asked = self.asked_in(job);
        let at = (0..64).filter(|i| asked >> i & 1 == 1).nth(series.answers as usize).unwrap_or(0);
        series.answers += 1;
        let redirect = if let Reply::Error(text) = reply { self.redirect_of(text) } else { None };
        let entered = match (job.step, reply) {
            (_, Reply::Error(_)) if redirect.is_some() => redirect.map_or(Ok(()), |redirect| {
                let to = self.destination(job, redirect)?;
                series.moved |= 1 << at;
                series.to.get_or_insert(to);
                Ok(())
            }),
            (_, Reply::Error(text)) => Err(refused(error_kind(text), text)),
            (Step::MultiGet, Reply::Bulk(value)) => {
                self.counts.gets += 1;
                self.counts.hits += 1;
                if self.items.is_verified() {
                    self.list_keys(job);
                }
                self.check_listed(at, value)
            }
            (Step::MultiGet, Reply::Null) => {
                self.counts.gets += 1;
                series.missing |= 1 << at;
                Ok(())
            }
            (Step::SetAllMissing, Reply::Simple(b"OK")) => {
                self.counts.misses_to_set += 1;
                self.counts.sets_on_miss += 1;
                Ok(())
            }
            _ => Err(unexpected(said)),
        };
        if let Err(fault) = entered {
            self.counts.misses_to_set += u64::from(job.step == Step::SetAllMissing);
            series.fault.get_or_insert(fault);
        }
    }

    /// Goes on after the last answer of a series: with keys that have moved, or with those that are missing.
    fn series_is_read(&mut self, job: &mut Job, used: usize, series: Series) -> Parsed<Job> {
        if let Some(fault) = series.fault {
            return Parsed::done(used, Err(fault));
        }
        if !self.in_cluster() {
            return Parsed::done(used, Ok(()));
        }
        let left = job.extra & TO_ASK & !self.asked_in(job) | series.moved;
        let missing = job.extra >> 32 | series.missing;
        if left != 0 {
            if series.moved == 0 {
                // A key was found, so that the next one has all its tries.
                job.tries = 0;
            }
            if let Err(fault) = self.once_more(job) {
                return Parsed::done(used, Err(fault));
            }
            job.extra = missing << 32 | left;
            let to = match series.to {
                Some(to) => to,
                None => Destination { server: self.owner_of(job, left), asking: false },
            };
            return self.again(job, used, to);
        }
        if job.step == Step::MultiGet && self.config.options.on_miss == OnMiss::Set && missing != 0 {
            let server = self.owner_of(job, missing);
            let next =
                Job { step: Step::SetAllMissing, extra: missing, server, tries: 0, asking: false, ..*job };
            return self.then_set(used, next);
        }
        Parsed::done(used, Ok(()))
    }

    /// The server of the first of these keys of a multi-get.
    fn owner_of(&mut self, job: &Job, keys: u64) -> u16 {
        self.list_keys(job);
        self.write_key(Kind::Data, self.numbers[keys.trailing_zeros() as usize]);
        self.items.server(&self.key).unwrap_or(0) as u16
    }

    fn redirect_of<'b>(&self, error: &'b [u8]) -> Option<Redirect<'b>> {
        Redirect::of(error).filter(|_| self.in_cluster())
    }

    /// The server that a redirection names. A slot that has moved for good is noted for all later requests.
    ///
    /// Errors: the node was not in the cluster when the load began.
    fn destination(&mut self, job: &Job, redirect: Redirect<'_>) -> std::result::Result<Destination, Fault> {
        let servers = &self.config.cluster.servers;
        let host = match redirect.node.host {
            b"" => servers[usize::from(job.server)].host.as_bytes(),
            host => host,
        };
        let is_it = |server: &crate::cache::Server| {
            server.host.as_bytes() == host && server.port == redirect.node.port
        };
        let Some(server) = servers.iter().position(is_it) else {
            let place = format!("{}:{}", host.escape_ascii(), redirect.node.port);
            let detail =
                format!("slot {} is at {place}, which took no writes when the load began", redirect.slot);
            return Err(Fault::new("unknown node", detail));
        };
        if redirect.ask {
            self.counts.asked += 1;
        } else {
            self.counts.moved += 1;
            if let Some(slots) = self.items.slots() {
                slots.give(redirect.slot..=redirect.slot, server);
            }
        }
        Ok(Destination { server: server as u16, asking: redirect.ask })
    }

    /// Counts one more redirection. Errors: there were too many.
    fn once_more(&mut self, job: &mut Job) -> Result {
        job.tries += 1;
        if job.tries <= REDIRECTIONS {
            return Ok(());
        }
        Err(Fault::new("redirected too often", format!("{REDIRECTIONS} nodes sent the request on")))
    }

    fn again(&mut self, job: &mut Job, used: usize, to: Destination) -> Parsed<Job> {
        (job.server, job.asking) = (to.server, to.asking);
        Parsed::Done { used, outcome: Ok(()), then: Then::Again { endpoint: self.endpoint(job) } }
    }
}

impl Wire {
    /// Ends an answer; returns its length.
    #[inline]
    fn end(&mut self) -> usize {
        self.asked = false;
        std::mem::take(&mut self.offset)
    }
}

/// The meaning of a reply to a step with one key; `None` for a reply of another kind.
#[inline]
fn answer_of<'b>(step: Step, reply: Reply<'b>) -> Option<Answer<'b>> {
    Some(match (step, reply) {
        (_, Reply::Error(text)) => {
            Answer::Error { kind: error_kind(text), text: &text[..text.len().min(ErrorKind::TEXT_MAX)] }
        }
        (Step::Get | Step::Gat, Reply::Bulk(value)) => Answer::Hit { value, cas: None },
        (Step::Get | Step::Gat, Reply::Null) => Answer::Missing,
        (
            Step::Set | Step::SetMissing | Step::Reset | Step::Add | Step::Insert | Step::Replace,
            Reply::Simple(b"OK"),
        ) => Answer::Done,
        (Step::Add | Step::Insert | Step::Replace, Reply::Null) => Answer::NotStored,
        (Step::Append | Step::Incr | Step::Decr, Reply::Integer(_)) => Answer::Done,
        (Step::Delete | Step::Touch, Reply::Integer(1)) => Answer::Done,
        (Step::Delete | Step::Touch, Reply::Integer(0)) => Answer::Missing,
        _ => return None,
    })
}

/// The side at fault, by the first word of an error.
#[cold]
fn error_kind(text: &[u8]) -> ErrorKind {
    match text {
        _ if text.starts_with(b"ERR unknown") => ErrorKind::Unknown,
        _ if text.starts_with(b"ERR ") || text.starts_with(b"WRONG") || text.starts_with(b"NO") => {
            ErrorKind::Client
        }
        // Such as OOM, LOADING, BUSY, CLUSTERDOWN, READONLY.
        _ => ErrorKind::Server,
    }
}

#[cold]
fn unexpected(said: &[u8]) -> Fault {
    Fault::new("unexpected answer", format!("unexpected answer: '{}'", excerpt(said)))
}

#[cfg(test)]
mod tests;
