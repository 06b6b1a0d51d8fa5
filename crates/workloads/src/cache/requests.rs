use std::sync::Arc;

use dist::{Draw, Purpose, Rng, Streams, mixed};
use proto_memcache::client::{self, MetaFlag, MetaMode, udp};
use proto_memcache::{Reply, StoreVerb};
use rand::{RngExt, SeedableRng};
use replay::{Action, Cursor};

use crate::cache::counts::CacheCounts;
use crate::cache::items::PIECE;
use crate::cache::job::Step;
use crate::cache::picker::Picker;
use crate::cache::{
    CacheConfig, ConfigError, Items, Job, Kind, OnMiss, Operation, Placement, Protocol, expiry,
};
use openloop::Parts;

/// One generator thread's requests to a cache.
///
/// Shape: this file draws them and writes them, `answers.rs` reads the answers.
/// Cost: no allocation for a request, once the buffers have grown.
pub struct Cache {
    pub(super) items: Arc<Items>,
    pub(super) config: CacheConfig,
    pub(super) counts: CacheCounts,
    /// The operations, and up to which share of the draws each is meant.
    pub(super) operations: Vec<(Operation, f64)>,
    pub(super) picker: Picker,
    key_rng: Rng,
    operation_rng: Rng,
    server_rng: Rng,
    /// Where this thread is in a trace.
    cursor: Cursor,
    /// The piece that this thread has appended to each growing item, since it last set it.
    pieces: Vec<u8>,
    pub(super) key: Vec<u8>,
    /// The keys of a multi-get.
    pub(super) numbers: Vec<u64>,
    /// Which of them each server holds, one bit for each of the first 64.
    asked: Vec<u64>,
}

/// Which generator thread, of how many; over all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// From 0 on.
    pub thread: u32,
    /// In all.
    pub threads: u32,
}

impl Seat {
    /// The only thread.
    pub const ONLY: Seat = Seat { thread: 0, threads: 1 };
}

/// How much a thread appends to an item before it sets it again.
const PIECES: u8 = 64;
/// The purpose of the stream that picks replicas.
const SERVERS: Purpose = Purpose::Other(2);

impl Cache {
    /// The requests of one thread. The configuration was checked, and `items` made from it.
    ///
    /// Errors: a configuration that cannot be.
    pub fn new(config: &CacheConfig, items: Arc<Items>, seat: Seat) -> Result<Cache, ConfigError> {
        config.check()?;
        let streams = Streams::new(config.seed);
        let stream = |purpose| streams.stream(purpose, u64::from(seat.thread));
        let mut sum = 0.0;
        let drawn = config.options.mix.shares().iter().map(|share| {
            sum += share.percent / 100.0;
            (share.operation.clone(), sum)
        });
        let operations = match &config.replay {
            None => drawn.collect(),
            Some(replay) => recorded_operations(replay.requests().header()),
        };
        Ok(Cache {
            counts: CacheCounts::default(),
            operations,
            cursor: Cursor::default(),
            picker: Picker::new(config, seat)?,
            key_rng: stream(Purpose::Keys),
            operation_rng: stream(Purpose::Operations),
            server_rng: stream(SERVERS),
            pieces: vec![0; items.grown()],
            key: Vec::with_capacity(256),
            numbers: Vec::new(),
            asked: vec![0; items.servers()],
            config: config.clone(),
            items,
        })
    }

    /// The names of the operations; last the sets on a miss.
    pub(super) fn names(&self) -> Vec<String> {
        let drawn = self.operations.iter().map(|(operation, _)| operation.to_string());
        drawn.chain((self.config.options.on_miss == OnMiss::Set).then(|| "set on miss".into())).collect()
    }

    /// Draws an arrival: its operation, and a request for each server that it concerns.
    #[inline]
    pub(super) fn draw_parts(&mut self, seq: u64, parts: &mut Parts<Job>) -> usize {
        let mut job = Job {
            n: 0,
            version: self.items.versions().of(seq),
            extra: 0,
            keys: 1,
            server: 0,
            step: Step::Get,
            tries: 0,
            asking: false,
        };
        if self.items.replay().is_some() {
            return self.draw_recorded(seq, job, parts);
        }
        let at = self.draw_operation();
        job.step = match &self.operations[at].0 {
            Operation::MultiGet(keys) => {
                job.keys = keys.sample(&mut self.operation_rng) as u16;
                job.n = self.picker.seed(&mut self.key_rng);
                job.step = Step::MultiGet;
                self.share_out(job, parts);
                return at;
            }
            Operation::Get => Step::Get,
            Operation::Gets => Step::Gets,
            Operation::Set => Step::Set,
            Operation::Add => Step::Add,
            Operation::Replace => Step::Replace,
            Operation::Append => Step::Append,
            Operation::Prepend => Step::Prepend,
            Operation::Delete => Step::Delete,
            Operation::Incr => Step::Incr,
            Operation::Decr => Step::Decr,
            Operation::Touch => Step::Touch,
            Operation::Gat => Step::Gat,
            Operation::Cas => Step::CasRead,
            Operation::Insert => Step::Insert,
        };
        job.n = match job.step {
            Step::Insert => self.picker.next_insert(),
            _ => self.picker.pick(&mut self.key_rng),
        };
        job.n = self.items.fold(kind(job.step), job.n);
        if matches!(job.step, Step::Append | Step::Prepend) {
            let pieces = &mut self.pieces[job.n as usize];
            *pieces += 1;
            if *pieces > PIECES {
                *pieces = 0;
                job.step = Step::Reset;
            }
        }
        self.send_out(job, parts);
        at
    }

    /// Takes request `seq` of the trace.
    fn draw_recorded(&mut self, seq: u64, mut job: Job, parts: &mut Parts<Job>) -> usize {
        let items = Arc::clone(&self.items);
        let Some(replay) = items.replay() else { unreachable!("the caller has looked") };
        job.n = replay.find(seq, &mut self.cursor);
        let op = replay.record(job.n).op;
        let (step, operation) = match op.action() {
            Action::Get => (Step::Get, Operation::Get),
            Action::Set => (Step::Set, Operation::Set),
            Action::Delete => (Step::Delete, Operation::Delete),
        };
        self.counts.recorded += 1;
        self.counts.stand_ins += u64::from(op.has_stand_in());
        job.step = step;
        self.send_out(job, parts);
        // Every operation of the trace is in the list.
        self.operations.iter().position(|(known, _)| *known == operation).unwrap_or(0)
    }

    #[inline]
    fn draw_operation(&mut self) -> usize {
        if self.operations.len() == 1 {
            return 0;
        }
        let drawn: f64 = self.operation_rng.random();
        // The last operation takes the remainder of rounding.
        self.operations.iter().position(|(_, up_to)| drawn < *up_to).unwrap_or(self.operations.len() - 1)
    }

    /// One part for each server that must know of a job with one key.
    #[inline]
    fn send_out(&mut self, mut job: Job, parts: &mut Parts<Job>) {
        if self.items.servers() == 1 {
            return parts.push(self.endpoint(&job), job);
        }
        self.write_key(kind(job.step), job.n);
        match self.items.server(&self.key) {
            Some(server) => {
                job.server = server as u16;
                parts.push(self.endpoint(&job), job);
            }
            None if job.step.is_read() => {
                job.server = self.any_replica();
                parts.push(self.endpoint(&job), job);
            }
            None => {
                for server in 0..self.items.servers() {
                    job.server = server as u16;
                    parts.push(self.endpoint(&job), job);
                }
            }
        }
    }

    /// One part for each server that holds some of the keys.
    fn share_out(&mut self, mut job: Job, parts: &mut Parts<Job>) {
        if !self.config.cluster.is_sharded() {
            if self.items.servers() > 1 {
                job.server = self.any_replica();
            }
            return parts.push(self.endpoint(&job), job);
        }
        self.picker.expand(job.n, usize::from(job.keys), &mut self.numbers);
        for i in 0..self.numbers.len() {
            self.write_key(Kind::Data, self.numbers[i]);
            if let Some(server) = self.items.server(&self.key) {
                self.asked[server] |= 1 << (i % 64);
            }
        }
        for server in 0..self.items.servers() {
            let keys = std::mem::take(&mut self.asked[server]);
            if keys != 0 {
                // In a Redis Cluster keys move, so that who has which is decided once.
                job.extra = keys;
                job.server = server as u16;
                parts.push(self.endpoint(&job), job);
            }
        }
    }

    fn any_replica(&mut self) -> u16 {
        self.server_rng.random_range(0..self.items.servers()) as u16
    }

    /// Servers' streams come first, then their UDP ports.
    #[inline]
    pub(super) fn endpoint(&self, job: &Job) -> usize {
        let over_udp = self.config.options.udp && job.step.is_for_datagrams();
        usize::from(job.server) + if over_udp { self.items.servers() } else { 0 }
    }

    /// Whether the servers are the nodes of a Redis Cluster.
    #[inline]
    pub(super) fn in_cluster(&self) -> bool {
        self.config.cluster.placement == Placement::Cluster
    }

    /// Puts into `numbers` the keys of a multi-get that belong to its server, in the order of the request; in a Redis
    /// Cluster all of its keys.
    pub(super) fn list_keys(&mut self, job: &Job) {
        self.picker.expand(job.n, usize::from(job.keys), &mut self.numbers);
        if self.config.cluster.is_sharded() && !self.in_cluster() {
            let mut numbers = std::mem::take(&mut self.numbers);
            numbers.retain(|&n| {
                self.write_key(Kind::Data, n);
                self.items.server(&self.key) == Some(usize::from(job.server))
            });
            self.numbers = numbers;
        }
    }

    #[inline]
    pub(super) fn write_key(&mut self, kind: Kind, n: u64) {
        self.key.clear();
        self.items.append_key(kind, n, &mut self.key);
    }

    /// Appends the request of a job.
    #[inline]
    pub(super) fn write(&mut self, job: &mut Job, tag: u16, out: &mut Vec<u8>) {
        if self.config.options.udp && job.step.is_for_datagrams() {
            udp::Header::of_request(tag).append(out);
        }
        if job.step.stores() && self.items.is_verified() {
            self.items.versions().issue(job.version);
        }
        if self.config.options.protocol == Protocol::Resp {
            return self.write_resp(job, out);
        }
        match job.step {
            Step::MultiGet => return self.write_multi_get(job, out),
            Step::SetAllMissing => return self.write_missing(job, out),
            _ => self.write_key(kind(job.step), job.n),
        }
        match self.config.options.protocol {
            Protocol::Meta => self.write_meta(job, out),
            _ => self.write_ascii(job, out),
        }
    }

    #[inline]
    fn write_ascii(&self, job: &Job, out: &mut Vec<u8>) {
        let key = &self.key;
        match job.step {
            Step::Get => client::get(out, key),
            Step::Gets | Step::CasRead => client::gets(out, key),
            Step::Gat => client::gat(out, self.expiry(job), key),
            Step::Set | Step::SetMissing | Step::Reset => self.store(StoreVerb::Set, job, out),
            Step::Add | Step::Insert => self.store(StoreVerb::Add, job, out),
            Step::Replace => self.store(StoreVerb::Replace, job, out),
            Step::CasStore => self.store(StoreVerb::Cas(job.extra), job, out),
            Step::Append => client::store(out, StoreVerb::Append, key, 0, 0, PIECE, Reply::Wanted),
            Step::Prepend => client::store(out, StoreVerb::Prepend, key, 0, 0, PIECE, Reply::Wanted),
            Step::Delete => client::delete(out, key, Reply::Wanted),
            Step::Incr => client::incr(out, key, 1, Reply::Wanted),
            Step::Decr => client::decr(out, key, 1, Reply::Wanted),
            Step::Touch => client::touch(out, key, self.expiry(job), Reply::Wanted),
            Step::MultiGet | Step::SetAllMissing => unreachable!("written as several keys"),
        }
    }

    #[inline]
    fn store(&self, verb: StoreVerb, job: &Job, out: &mut Vec<u8>) {
        let kind = kind(job.step);
        let size = self.items.stored_size(kind, job.n);
        out.reserve(self.key.len() + size + 72);
        client::store_header(out, verb, &self.key, 0, self.expiry(job), size, Reply::Wanted);
        self.items.append_value(kind, job.n, &self.key, job.version, out);
        out.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn write_meta(&self, job: &Job, out: &mut Vec<u8>) {
        use MetaFlag as F;
        let key = &self.key;
        match job.step {
            Step::Get => client::meta_get(out, key, &[F::ReturnValue]),
            Step::Gets | Step::CasRead => client::meta_get(out, key, &[F::ReturnValue, F::ReturnCas]),
            Step::Gat => client::meta_get(out, key, &[F::ReturnValue, F::Ttl(self.expiry(job))]),
            Step::Set | Step::SetMissing | Step::Reset => self.meta_store(None, job, out),
            Step::Add | Step::Insert => self.meta_store(Some(F::Mode(MetaMode::Add)), job, out),
            Step::Replace => self.meta_store(Some(F::Mode(MetaMode::Replace)), job, out),
            Step::CasStore => self.meta_store(Some(F::CompareCas(job.extra)), job, out),
            Step::Append => client::meta_set(out, key, &[F::Mode(MetaMode::Append)], PIECE),
            Step::Prepend => client::meta_set(out, key, &[F::Mode(MetaMode::Prepend)], PIECE),
            Step::Delete => client::meta_delete(out, key, &[]),
            Step::Incr => client::meta_count(out, key, &[F::ReturnValue]),
            Step::Decr => client::meta_count(out, key, &[F::ReturnValue, F::Mode(MetaMode::Decrement)]),
            Step::Touch => client::meta_get(out, key, &[F::Ttl(self.expiry(job))]),
            Step::MultiGet | Step::SetAllMissing => unreachable!("written as several keys"),
        }
    }

    #[inline]
    fn meta_store(&self, mode: Option<MetaFlag<'_>>, job: &Job, out: &mut Vec<u8>) {
        let kind = kind(job.step);
        let size = self.items.stored_size(kind, job.n);
        out.reserve(self.key.len() + size + 72);
        let expiry = match self.expiry(job) {
            0 => None,
            seconds => Some(MetaFlag::Ttl(seconds)),
        };
        match (expiry, mode) {
            (None, None) => client::meta_set_header(out, &self.key, &[], size),
            (Some(flag), None) | (None, Some(flag)) => client::meta_set_header(out, &self.key, &[flag], size),
            (Some(expiry), Some(mode)) => client::meta_set_header(out, &self.key, &[expiry, mode], size),
        }
        self.items.append_value(kind, job.n, &self.key, job.version, out);
        out.extend_from_slice(b"\r\n");
    }

    fn write_multi_get(&mut self, job: &mut Job, out: &mut Vec<u8>) {
        self.list_keys(job);
        job.extra = self.numbers.len() as u64;
        let meta = self.config.options.protocol == Protocol::Meta;
        if !meta {
            out.extend_from_slice(b"get");
        }
        for &n in &self.numbers {
            if meta {
                self.key.clear();
                self.items.append_key(Kind::Data, n, &mut self.key);
                client::meta_get_quietly(out, &self.key, &[]);
            } else {
                out.push(b' ');
                self.items.append_key(Kind::Data, n, out);
            }
        }
        if meta {
            client::meta_no_op(out);
        } else {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// A sequence of sets, for the keys that a multi-get found missing.
    fn write_missing(&mut self, job: &Job, out: &mut Vec<u8>) {
        self.list_keys(job);
        for i in 0..self.numbers.len().min(64) {
            if job.extra >> i & 1 == 1 {
                let n = self.numbers[i];
                self.write_key(Kind::Data, n);
                let one = Job { n, step: Step::SetMissing, ..*job };
                match self.config.options.protocol {
                    Protocol::Meta => self.write_meta(&one, out),
                    _ => self.write_ascii(&one, out),
                }
            }
        }
    }

    /// The expiry time of a job; the same on every call.
    #[inline]
    pub(super) fn expiry(&self, job: &Job) -> i32 {
        if let Some(replay) = self.items.replay() {
            return expiry::replayed(replay.record(job.n).ttl_s, self.config.replay_speed);
        }
        expiry::draw(&self.config.options.expiry, || {
            Rng::seed_from_u64(mixed(self.config.seed ^ mixed(job.version)))
        })
    }
}

/// The operations that replay a trace, the most frequent first, and the share of the requests up to each.
fn recorded_operations(header: &replay::Header) -> Vec<(Operation, f64)> {
    let count = |action: Action| {
        let of = replay::Op::ALL.into_iter().filter(|op| op.action() == action);
        of.map(|op| header.count(op)).sum::<u64>()
    };
    let all = [
        (Operation::Get, count(Action::Get)),
        (Operation::Set, count(Action::Set)),
        (Operation::Delete, count(Action::Delete)),
    ];
    let mut found: Vec<_> = all.into_iter().filter(|(_, count)| *count > 0).collect();
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut sum = 0;
    let share = |(operation, count)| {
        sum += count;
        (operation, sum as f64 / header.requests as f64)
    };
    found.into_iter().map(share).collect()
}

/// The items that a step works on.
#[inline]
pub(super) fn kind(step: Step) -> Kind {
    match step {
        Step::Incr | Step::Decr => Kind::Counter,
        Step::Append | Step::Prepend | Step::Reset => Kind::Grown,
        _ => Kind::Data,
    }
}

#[cfg(test)]
pub(in crate::cache) mod tests;
