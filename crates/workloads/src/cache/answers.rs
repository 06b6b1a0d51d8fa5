use proto_memcache::client::udp::{Arrived, Header};
use proto_memcache::client::{Expect, Outcome, Parse, Values};

use crate::cache::answer::{Answer, Result, expect_done, refused, unexpected};
use crate::cache::counts::CacheCounts;
use crate::cache::job::Step;
use crate::cache::{Cache, Job, Kind, OnMiss, Protocol, Wire};
use openloop::{Fault, Parsed, Parts, Then, Workload};

/// How often a cas is tried before the arrival counts as an error. With as many as 16 clients at the same key, each
/// round lets one of them through.
pub(super) const CAS_TRIES: u8 = 16;
/// The longest reply that datagrams are put together to: memcached's count has 16 bits. Units: bytes.
const UDP_REPLY_MAX: usize = Header::DATAGRAM_MAX << 16;

impl Workload for Cache {
    type Job = Job;
    type Wire = Wire;

    fn operations(&self) -> Vec<String> {
        self.names()
    }

    fn follow_ups(&self) -> usize {
        usize::from(self.config.options.on_miss == OnMiss::Set)
    }

    #[inline]
    fn draw(&mut self, seq: u64, parts: &mut Parts<Job>) -> usize {
        self.draw_parts(seq, parts)
    }

    fn greeting(&mut self, out: &mut Vec<u8>) {
        match &self.config.login {
            Some(login) if self.config.options.protocol == Protocol::Resp => login.append(out),
            Some(login) => login.append_set(out),
            None => {}
        }
    }

    #[inline]
    fn request(&mut self, job: &mut Job, tag: u16, out: &mut Vec<u8>) {
        self.write(job, tag, out);
    }

    #[inline]
    fn response(&mut self, job: &mut Job, wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
        if self.config.options.protocol == Protocol::Resp {
            return self.reply(job, wire, bytes);
        }
        if self.config.login.is_some() && !wire.greeted {
            return login_answered(wire, bytes);
        }
        if job.step == Step::SetAllMissing {
            return self.answers(job, wire, bytes);
        }
        match wire.parser.parse(self.expect(job), bytes) {
            Parse::NeedMore { .. } => Parsed::Partial,
            Parse::Malformed(reason) => Parsed::Garbage(reason.to_string()),
            Parse::Done { consumed, outcome } => self.answer(job, consumed, Answer::of(outcome)),
        }
    }

    fn tag(&self, datagram: &[u8]) -> Option<u16> {
        Header::read(datagram).map(|(header, _)| header.request)
    }

    /// memcached 1.6 numbers datagrams from 0 for each *key's* answer, so that a multi-get is answered by many short
    /// messages; its protocol says one, and other servers do that. Both are read: messages are put together until
    /// the answer is complete. Where the network lets the last of them overtake others, those come too late and their
    /// keys count as missing.
    fn datagram(&mut self, job: &mut Job, wire: &mut Wire, datagram: &[u8]) -> Parsed<Job> {
        let counts = &mut self.counts.udp;
        counts.datagrams += 1;
        let several = job.step == Step::MultiGet;
        let arrived = match Header::read(datagram) {
            // A message of its own, also between the datagrams of another.
            Some((Header { sequence: 0, count: 1, .. }, reply)) if several => {
                Arrived::Whole { reply, late: false }
            }
            // memcached's reply to a quiet miss: an empty datagram.
            Some((Header { sequence: 0, count: 0, .. }, [])) if several => return Parsed::Partial,
            _ => wire.reassembly.push(datagram, UDP_REPLY_MAX),
        };
        let message = match arrived {
            Arrived::Whole { reply, late } => {
                counts.reordered += u64::from(late);
                reply
            }
            Arrived::Partial { late } => {
                counts.reordered += u64::from(late);
                return Parsed::Partial;
            }
            Arrived::Duplicate => {
                counts.duplicates += 1;
                return Parsed::Partial;
            }
            // It has the request's number by chance, or is of an earlier request that had it.
            Arrived::Broken(_) => {
                counts.strays += 1;
                return Parsed::Partial;
            }
        };
        if several && !Wire::add_message(&mut wire.messages, &mut wire.ends, message) {
            counts.duplicates += 1;
            return Parsed::Partial;
        }
        let reply = if several { &wire.messages } else { message };
        let parsed = wire.parser.parse(self.expect(job), reply);
        match parsed {
            Parse::NeedMore { .. } if several => return Parsed::Partial,
            Parse::Done { outcome, .. } if self.is_for_others(job, &outcome) => {
                self.counts.udp.strays += 1;
                wire.messages.clear();
                wire.ends.clear();
                return Parsed::Partial;
            }
            _ => {}
        }
        let many = wire.ends.len() > 1 || Header::read(datagram).is_some_and(|(header, _)| header.count > 1);
        self.counts.udp.replies += 1;
        self.counts.udp.multi += u64::from(many);
        let malformed = |detail: String| Parsed::done(0, Err(Fault::new("malformed reply", detail)));
        match parsed {
            Parse::Done { outcome, .. } => self.answer(job, reply.len(), Answer::of(outcome)),
            Parse::Malformed(reason) => malformed(reason.to_string()),
            Parse::NeedMore { .. } => {
                malformed(format!("a reply over UDP ends after {} B, within a value", reply.len()))
            }
        }
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        self.counts.list()
    }

    fn hits(&self) -> (u64, u64) {
        (self.counts.hits, self.counts.gets)
    }

    fn window_opens(&mut self) {
        self.counts = CacheCounts::default();
    }
}

/// Reads memcached's answer to the login, which comes before that to the first request.
#[cold]
fn login_answered(wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
    match wire.parser.parse(Expect::Stored, bytes) {
        Parse::NeedMore { .. } => Parsed::Partial,
        Parse::Malformed(reason) => Parsed::Garbage(reason.to_string()),
        Parse::Done { consumed, outcome } => match expect_done(Answer::of(outcome)) {
            Ok(()) => {
                wire.greeted = true;
                Parsed::Used(consumed)
            }
            Err(fault) => Parsed::Refused(fault),
        },
    }
}

impl Cache {
    #[inline]
    fn expect(&self, job: &Job) -> Expect {
        let keys = u32::from(job.keys);
        if self.config.options.protocol == Protocol::Meta {
            return if job.step == Step::MultiGet { Expect::MetaValues { keys } } else { Expect::Meta };
        }
        match job.step {
            Step::Get | Step::MultiGet | Step::Gets | Step::Gat | Step::CasRead => Expect::Values { keys },
            Step::Delete => Expect::Deleted,
            Step::Incr | Step::Decr => Expect::Counter,
            Step::Touch => Expect::Touched,
            _ => Expect::Stored,
        }
    }

    /// Whether a reply over UDP is to an earlier request for another key, which had the same number of 16 bits.
    fn is_for_others(&mut self, job: &Job, outcome: &Outcome<'_>) -> bool {
        let Outcome::Values(values) = outcome else { return false };
        let Some(first) = values.iter().next() else { return false };
        if job.step == Step::MultiGet {
            self.list_keys(job);
            let numbers = std::mem::take(&mut self.numbers);
            let ours = numbers.iter().any(|&n| {
                self.write_key(Kind::Data, n);
                self.key == first.key
            });
            self.numbers = numbers;
            return !ours;
        }
        self.write_key(Kind::Data, job.n);
        self.key != first.key
    }

    /// Judges an answer of `used` bytes for its job, and counts it.
    #[inline]
    pub(super) fn answer(&mut self, job: &mut Job, used: usize, answer: Answer<'_>) -> Parsed<Job> {
        if let Answer::Error { kind, text } = answer {
            return Parsed::done(used, Err(refused(kind, text)));
        }
        let counts = &mut self.counts;
        let outcome = match job.step {
            Step::Get | Step::Gets | Step::Gat => return self.read(job, used, answer.single()),
            Step::MultiGet => return self.multi_get(job, used, answer),
            Step::CasRead => return self.cas_read(job, used, answer.single()),
            Step::CasStore => return self.cas_store(job, used, answer),
            Step::Set => expect_done(answer),
            Step::SetMissing => {
                let outcome = expect_done(answer);
                counts.misses_to_set += 1;
                counts.sets_on_miss += u64::from(outcome.is_ok());
                outcome
            }
            Step::Reset => {
                counts.append_resets += 1;
                counts.appends += 1;
                expect_done(answer)
            }
            Step::Append | Step::Prepend => {
                counts.appends += 1;
                self.conditional(answer)
            }
            Step::Insert => {
                // Replicas each get it; it is one insert.
                let is_first = job.server == 0 || self.config.cluster.is_sharded();
                if is_first && matches!(answer, Answer::Done | Answer::NotStored) {
                    self.picker.insert_is_done();
                }
                self.conditional(answer)
            }
            Step::Add | Step::Replace => self.conditional(answer),
            Step::Delete | Step::Touch | Step::Incr | Step::Decr => {
                counts.changes += 1;
                match answer {
                    // A counter comes back as a value in the meta protocol.
                    Answer::Done | Answer::Hit { .. } => Ok(()),
                    Answer::Missing => {
                        counts.not_found += 1;
                        Ok(())
                    }
                    other => unexpected(other),
                }
            }
            Step::SetAllMissing => unreachable!("its answers are read one by one"),
        };
        Parsed::done(used, outcome)
    }

    fn conditional(&mut self, answer: Answer<'_>) -> Result {
        self.counts.conditional += 1;
        match answer {
            Answer::Done => Ok(()),
            Answer::NotStored => {
                self.counts.not_stored += 1;
                Ok(())
            }
            other => unexpected(other),
        }
    }

    #[inline]
    fn read(&mut self, job: &mut Job, used: usize, answer: Answer<'_>) -> Parsed<Job> {
        self.counts.gets += 1;
        match answer {
            Answer::Hit { value, .. } => {
                self.counts.hits += 1;
                Parsed::done(used, self.check(job.n, value))
            }
            Answer::Missing if self.config.options.on_miss == OnMiss::Set => {
                self.then_set(used, Job { step: Step::SetMissing, ..*job })
            }
            Answer::Missing => Parsed::done(used, Ok(())),
            other => Parsed::done(used, unexpected(other)),
        }
    }

    /// The part is done; missing items are stored next.
    pub(super) fn then_set(&mut self, used: usize, job: Job) -> Parsed<Job> {
        let then = Then::Also { operation: self.operations.len(), endpoint: self.endpoint(&job), job };
        Parsed::Done { used, outcome: Ok(()), then }
    }

    /// Checks a value of the data set. Leaves its key in `self.key` if contents are verified.
    #[inline]
    fn check(&mut self, n: u64, value: &[u8]) -> Result {
        if !self.items.is_verified() {
            return self.items.check(n, &[], value).map_err(|detail| Fault::new("wrong size", detail));
        }
        self.write_key(Kind::Data, n);
        self.check_content(n, value)
    }

    /// As [`Cache::check`], with the key in `self.key`.
    pub(super) fn check_in(&mut self, n: u64, value: &[u8]) -> Result {
        if self.items.is_verified() { self.check_content(n, value) } else { self.check(n, value) }
    }

    fn check_content(&mut self, n: u64, value: &[u8]) -> Result {
        self.counts.verified += 1;
        self.items.check(n, &self.key, value).map_err(|detail| {
            self.counts.verify_failures += 1;
            Fault::new("wrong value", detail)
        })
    }

    fn multi_get(&mut self, job: &mut Job, used: usize, answer: Answer<'_>) -> Parsed<Job> {
        let Answer::Values(values) = answer else { return Parsed::done(used, unexpected(answer)) };
        let (asked, hits) = (job.extra, u64::from(values.hits()));
        self.counts.gets += asked;
        self.counts.hits += hits;
        let stores = self.config.options.on_miss == OnMiss::Set && hits < asked;
        if !self.items.is_verified() && !stores {
            return Parsed::done(used, Ok(()));
        }
        let (outcome, missing) = self.match_values(job, values);
        if stores && missing != 0 && outcome.is_ok() {
            return self.then_set(used, Job { step: Step::SetAllMissing, extra: missing, ..*job });
        }
        Parsed::done(used, outcome)
    }

    /// Checks each value of a multi-get; also returns which keys are missing, one bit for each of the first 64.
    fn match_values(&mut self, job: &Job, values: Values<'_>) -> (Result, u64) {
        self.list_keys(job);
        let numbers = std::mem::take(&mut self.numbers);
        // All of them, until their values are found.
        let mut missing = u64::MAX.checked_shr(64u32.saturating_sub(numbers.len() as u32)).unwrap_or(0);
        let (mut outcome, mut next) = (Ok(()), 0);
        for value in values.iter() {
            // Servers answer in the order of the keys; over UDP messages may overtake each other.
            let found = (next..numbers.len()).chain(0..next).find(|&i| {
                self.write_key(Kind::Data, numbers[i]);
                self.key == value.key
            });
            let checked = match found {
                Some(i) => {
                    missing &= !1u64.checked_shl(i as u32).unwrap_or(0);
                    next = i + 1;
                    self.check_in(numbers[i], value.data)
                }
                None => {
                    self.counts.verified += u64::from(self.items.is_verified());
                    self.counts.verify_failures += u64::from(self.items.is_verified());
                    let detail =
                        format!("a value came for '{}', which was not asked for", value.key.escape_ascii());
                    Err(Fault::new("wrong value", detail))
                }
            };
            outcome = outcome.and(checked);
        }
        self.numbers = numbers;
        (outcome, missing)
    }

    fn cas_read(&mut self, job: &mut Job, used: usize, answer: Answer<'_>) -> Parsed<Job> {
        match answer {
            Answer::Hit { value, cas: Some(cas) } => {
                if let Err(fault) = self.check(job.n, value) {
                    return Parsed::done(used, Err(fault));
                }
                job.extra = cas;
                job.step = Step::CasStore;
                Parsed::Done { used, outcome: Ok(()), then: Then::Again { endpoint: self.endpoint(job) } }
            }
            Answer::Hit { cas: None, .. } => {
                let detail = "the answer to gets has no unique number: does the server support cas?";
                Parsed::done(used, Err(Fault::new("no unique number", detail)))
            }
            answer => self.cas_ends(used, answer),
        }
    }

    fn cas_store(&mut self, job: &mut Job, used: usize, answer: Answer<'_>) -> Parsed<Job> {
        if !matches!(answer, Answer::Exists) {
            return self.cas_ends(used, answer);
        }
        job.tries += 1;
        if job.tries == CAS_TRIES {
            self.counts.cas += 1;
            let detail = format!("another client was faster {CAS_TRIES} times");
            return Parsed::done(used, Err(Fault::new("cas gave up", detail)));
        }
        self.counts.cas_retries += 1;
        job.step = Step::CasRead;
        Parsed::Done { used, outcome: Ok(()), then: Then::Again { endpoint: self.endpoint(job) } }
    }

    fn cas_ends(&mut self, used: usize, answer: Answer<'_>) -> Parsed<Job> {
        self.counts.cas += 1;
        self.counts.changes += 1;
        let outcome = match answer {
            Answer::Done => Ok(()),
            Answer::Missing => {
                self.counts.not_found += 1;
                Ok(())
            }
            other => unexpected(other),
        };
        Parsed::done(used, outcome)
    }

    /// Reads the answers to the sets of a [`Step::SetAllMissing`], as many as it has bits.
    fn answers(&mut self, job: &Job, wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
        let wanted = job.extra.count_ones();
        let expect =
            if self.config.options.protocol == Protocol::Meta { Expect::Meta } else { Expect::Stored };
        while wire.answers < wanted {
            match wire.parser.parse(expect, &bytes[wire.offset..]) {
                Parse::NeedMore { .. } => return Parsed::Partial,
                Parse::Malformed(reason) => return Parsed::Garbage(reason.to_string()),
                Parse::Done { consumed, outcome } => {
                    wire.offset += consumed;
                    wire.answers += 1;
                    match (Answer::of(outcome), &wire.fault) {
                        (Answer::Done, _) => wire.stored += 1,
                        (Answer::Error { kind, text }, None) => wire.fault = Some(refused(kind, text)),
                        (other, None) => wire.fault = unexpected(other).err(),
                        _ => {}
                    }
                }
            }
        }
        self.counts.misses_to_set += u64::from(wanted);
        self.counts.sets_on_miss += u64::from(wire.stored);
        let (used, fault) = (wire.offset, wire.fault.take());
        (wire.offset, wire.answers, wire.stored) = (0, 0, 0);
        Parsed::done(used, fault.map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests;
