use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use cache_store::{Policy, Provide};
use host::{Limit, Limits};
use proto_memcache::limits;
use reactor::tls::{Clients, Oldest};
use reactor::{Address, Backend, allowed_cpus, permitted_cpus};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use units::{Bytes, Nanos};

use crate::{LogFormat, Protocol, Sharing, Spin, UsersFormat, budget, group_limits};

/// The resolved configuration of a server, without open defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where to listen without TLS: TCP, UDP, Unix sockets. Port 0 takes a free one.
    pub listen: Vec<Address>,
    /// The mode of Unix sockets' files.
    pub unix_mask: u32,
    /// Where to listen for RESP without TLS. Port 0 takes a free one.
    pub resp: Vec<SocketAddr>,
    /// Where to listen with TLS, and with which certificate.
    pub tls: Option<Tls>,
    /// Clients that may wait to be accepted, per thread and address.
    pub backlog: u32,
    /// The processor of each thread; one that is listed twice carries two threads.
    pub cpus: Vec<usize>,
    /// Whether threads are pinned; not where the system refuses it.
    pub pinned: bool,
    /// The number of threads requested; more than the processors in `cpus` if the memory is too little for all.
    pub threads_wanted: usize,
    /// Memory of items and their index, over all threads.
    pub memory: Bytes,
    /// The file in which it lies, if items are to outlive the process.
    pub memory_file: Option<PathBuf>,
    /// When the system provides the memory.
    pub provide: Provide,
    /// Which items go when memory is full.
    pub policy: Policy,
    /// The largest item, as [`proto_memcache::limits::item_size`] counts it. Units: bytes.
    pub item_max: usize,
    /// Memory of connections' buffers beyond each connection's free allowance, over all threads. Units: bytes.
    pub connection_memory: usize,
    /// Connections at once, over all threads.
    pub connections: usize,
    /// Which threads work on which keys.
    pub sharing: Sharing,
    /// Whether the kernel steers each datagram to the owner of its key, if it can.
    pub steer_by_key: bool,
    /// Whether a thread gets the connections whose packets its processor receives.
    pub steer_by_cpu: bool,
    /// Whether segments and owners of keys are those of ANCS'19: 2 MiB, and MurmurHash3 without a secret.
    pub as_published: bool,
    /// Per-thread listeners for clients that know the owner of a key; empty without such ports. Port 0 takes a free
    /// one.
    pub partition_ports: Vec<Vec<SocketAddr>>,
    /// Requests of one connection before the others have their turn; 0 for as many as a receive brought.
    pub requests_per_event: u32,
    /// Requests that may be under way from one thread to another. Bounds: rounded up to a power of two.
    pub queue: usize,
    /// The event loop's way to the kernel.
    pub io: Backend,
    /// Why it is that one, as half a sentence.
    pub io_reason: String,
    /// How a thread waits before it sleeps.
    pub spin: Spin,
    /// The users that may use the server, if not every client may.
    pub auth_file: Option<PathBuf>,
    /// How that file is written.
    pub auth_format: UsersFormat,
    /// The protocols offered to clients.
    pub protocol: Protocol,
    /// Whether the command `shutdown` is obeyed.
    pub shutdown: bool,
    /// Whether the command `flush_all` is obeyed.
    pub flush_all: bool,
    /// Whether the commands that list keys are obeyed: `stats cachedump`, `stats detail`, `lru_crawler metadump`.
    pub dump: bool,
    /// Whether the command `watch` is obeyed.
    pub watch: bool,
    /// Buffer for a watcher that does not read. Units: bytes.
    pub watch_buffer: usize,
    /// The delimiter of a prefix in `stats detail`, which is then on from the start; `None` is ':', and off.
    pub prefix_delimiter: Option<u8>,
    /// Whether to continue in the background once the server answers.
    pub daemon: bool,
    /// Whether the limit of core files is raised.
    pub core_dumps: bool,
    /// Whether the memory is locked once it is taken.
    pub lock_memory: bool,
    /// Where to write the process's number.
    pub pidfile: Option<PathBuf>,
    /// Where to write the ports.
    pub ports_file: Option<PathBuf>,
    /// Whom to become once all ports are open.
    pub user: Option<String>,
    /// After how long a silence a connection is closed; 0 never. Units: seconds.
    pub idle_timeout: u32,
    /// Time-out of a client that does not read its replies; 0 for no limit. Units: seconds.
    pub reader_timeout: u32,
    /// Where to answer requests for metrics.
    pub metrics: Option<SocketAddr>,
    /// Whether metrics have the hottest keys.
    pub metrics_hot_keys: bool,
    /// Whether requests are sampled, for the hit ratio by memory and for the hottest keys.
    pub sampling: bool,
    /// How long a stop lets replies leave.
    pub drain: Nanos,
    /// Log level: 0 warnings, 1 events, 2 and more everything.
    pub verbose: u8,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Warnings about options that have no effect, or another than in memcached. Each is logged once at the start.
    pub warnings: Vec<String>,
}

/// Where to listen with TLS, and who the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The addresses; port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// The addresses for RESP; as above.
    pub resp: Vec<SocketAddr>,
    /// PEM file of the certificate chain, the own certificate first.
    pub certificates: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
    /// Which clients it is spoken with.
    pub clients: Clients,
    /// The oldest version that is spoken.
    pub oldest: Oldest,
}

/// Descriptors of a thread in addition to its connections and listeners: epoll, wake-up, and one to turn clients away.
const DESCRIPTORS_PER_THREAD: usize = 3;
/// Descriptors of the process in addition to its threads': the standard ones, signals, metrics, and some to spare.
const DESCRIPTORS: usize = 20;

units::limits! {
    /// Least number of segments of a partition, if its memory allows; half as many if segments would be under 512 KiB.
    const SEGMENTS: usize = 64, Count,
        "ours, because two or three of them stand empty, and what goes, goes by the segment (docs/reference/memory.md)";
}

/// Little memory is divided into half as many segments if they are no larger than this: values over a segment's length
/// need several, and values of half of it waste its end. Units: bytes.
const SEGMENT_OF_LITTLE: usize = 512 << 10;

/// Most segments of a partition: their lists then take 800 KiB, 0.02 % of the smallest such memory.
const SEGMENTS_MAX: usize = 1 << 16;
/// Units: bytes. Bounds of a segment: below, taking one back would not be worth its bookkeeping; above, it is a huge page.
const SEGMENT: RangeInclusive<usize> = (64 << 10)..=(2 << 20);

/// The largest item that a connection may gather in its buffers: one that fits into the largest segment. A larger value
/// is received directly into its own segments. Units: bytes.
pub(crate) const GATHERED_MAX: usize = 2 << 20;

/// The length of the segments of a partition of `memory` bytes. Units: bytes.
pub fn segment_length(memory: usize) -> usize {
    let wanted = (memory / SEGMENTS).max((2 * memory / SEGMENTS).min(SEGMENT_OF_LITTLE));
    let wanted = (wanted.max(1) + 1).next_power_of_two() / 2;
    wanted.clamp(*SEGMENT.start(), *SEGMENT.end())
}

impl Config {
    pub(crate) fn partitions_per_thread(&self) -> usize {
        self.sharing.partitions_per_thread(self.cpus.len(), self.memory.0)
    }

    /// Partitions of all threads.
    pub(crate) fn partitions(&self) -> usize {
        self.partitions_per_thread() * self.cpus.len()
    }

    /// Whether others than the server have to know which partition a key belongs to.
    pub(crate) fn has_known_partitions(&self) -> bool {
        self.steer_by_key || self.as_published || !self.partition_ports.is_empty()
    }

    /// The largest item that a connection gathers. Units: bytes.
    pub(crate) fn gathered_max(&self) -> usize {
        self.item_max.min(GATHERED_MAX)
    }

    /// Whether an item gets its own segments. An item received before it could be claimed may have been gathered.
    pub(crate) fn is_claimed(&self, key: usize, flags: u32, length: usize) -> bool {
        limits::item_size(key, flags, length) > self.segment()
    }

    /// The length of a segment. Units: bytes.
    fn segment(&self) -> usize {
        if self.as_published {
            return *SEGMENT.end();
        }
        segment_length(self.memory.0 as usize / self.partitions())
    }

    /// The store configuration of a partition.
    pub(crate) fn store(&self, partition: usize, seed: u64) -> cache_store::Config {
        let partitions = self.partitions();
        let share = self.memory.0 as usize / partitions;
        let segment = self.segment();
        cache_store::Config {
            segment,
            reach: self.reach(partitions, segment),
            partition: (partition as u32, partitions as u32),
            provide: self.provide,
            policy: self.policy,
            item_max: self.item_max,
            known_partitions: self.has_known_partitions(),
            ..cache_store::Config::new(share, seed)
        }
    }

    /// The largest memory that a partition may grow to: its share of the machine's, limited so that the per-segment
    /// state stays small. With `-k` all usable memory is locked at the start, addresses included. Units: bytes.
    fn reach(&self, partitions: usize, segment: usize) -> usize {
        let machine = machine_memory() as usize;
        if self.lock_memory { 0 } else { (machine / partitions).min(SEGMENTS_MAX * segment) }
    }

    /// Leaves out threads until the memory is enough for those that remain, and reports that in [`Config::warnings`].
    ///
    /// Bounds: one thread remains, even if the memory is too little for it.
    pub(crate) fn fit_threads(&mut self) {
        let wanted = self.cpus.len();
        while self.cpus.len() > 1 && self.memory < self.memory_min() {
            self.cpus.pop();
        }
        let threads = self.cpus.len();
        if threads < wanted {
            self.warnings.push(format!(
                "{} of memory is too little for {wanted} threads, which need twice the largest item each (-I); {threads} start; give \
                 more with -m, or fewer threads with -t",
                self.memory,
            ));
        }
    }

    /// Lowers the largest item to half of a partition, since its segments are adjacent ones there, and reports that in
    /// [`Config::warnings`].
    pub(crate) fn fit_items(&mut self) {
        let half = (self.store(0, 0).log_length() / 2).max(GATHERED_MAX);
        if self.item_max > half {
            self.warnings.push(format!(
                "-I {} is lowered to {}, half of what each of {} partitions has; larger values are refused with \
                 'SERVER_ERROR object too large for cache'; give more memory with -m, or fewer threads with -t",
                Bytes(self.item_max as u64),
                Bytes(half as u64),
                self.partitions(),
            ));
            self.item_max = half;
        }
    }

    fn memory_min(&self) -> Bytes {
        Bytes((self.store(0, 0).memory_min() * self.cpus.len()) as u64)
    }

    /// Checks that the machine supports the configuration.
    ///
    /// Errors: a sentence that names the option to change.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_cpus()?;
        group_limits::check_memory(self, &self.limits())?;
        let threads = self.cpus.len();
        let least = self.memory_min();
        ensure!(
            self.memory >= least,
            "{} of memory is too little: {threads} thread{} at least {least}, twice the largest item each; give more with -m, or a \
             smaller -I",
            self.memory,
            if threads == 1 { " needs" } else { "s need" },
        );
        let least = budget::least(threads, self.item_max);
        ensure!(
            self.connection_memory >= least,
            "{} of memory for connections is too little: {threads} thread{} at least {}, two items and 256 KiB each; give more \
             with --connection-memory",
            Bytes(self.connection_memory as u64),
            if threads == 1 { " needs" } else { "s need" },
            Bytes(least as u64),
        );
        self.raise_descriptor_limit()
    }

    /// Checks the processors: those that the process inherited, or others that its control group allows.
    fn check_cpus(&self) -> Result<()> {
        let has_all = |allowed: &[usize]| self.cpus.iter().all(|cpu| allowed.contains(cpu));
        let cannot = "cannot read which processors may be used";
        if !self.pinned || has_all(&allowed_cpus().context(cannot)?) {
            return Ok(());
        }
        let allowed = permitted_cpus().context(cannot)?;
        for cpu in &self.cpus {
            ensure!(
                allowed.contains(cpu),
                "there is no cpu {cpu} to use; choose from {} with --cpus",
                list(&allowed)
            );
        }
        Ok(())
    }

    /// Whether all memory is taken before the first request; a file's memory always is, unless it is taken as it fills.
    pub(crate) fn takes_memory_first(&self) -> bool {
        match self.provide {
            Provide::AtOnce => true,
            Provide::Behind => self.memory_file.is_some(),
            Provide::AsWritten => false,
        }
    }

    /// The limits of the control groups, and of the machine unless memory is taken as it fills.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::here();
        let machine = machine_memory();
        if self.provide != Provide::AsWritten
            && limits.memory.as_ref().is_none_or(|limit| limit.most > machine)
        {
            limits.memory = Some(Limit { most: machine, file: "the machine".into() });
        }
        limits
    }

    /// The addresses on which it listens for RESP, and whether with TLS.
    pub(crate) fn resp_places(&self) -> impl Iterator<Item = (SocketAddr, bool)> {
        let encrypted = self.tls.iter().flat_map(|tls| &tls.resp).map(|at| (*at, true));
        self.resp.iter().map(|at| (*at, false)).chain(encrypted)
    }

    /// The listeners of a thread that are for RESP, as the reactor numbers those of streams: behind all others of TCP.
    pub(crate) fn resp_listeners(&self) -> Range<u32> {
        let plain = self.listen.iter().filter(|address| matches!(address, Address::Tcp(_))).count();
        let encrypted = self.tls.as_ref().map_or(0, |tls| tls.listen.len());
        let first = (plain + encrypted + self.partition_ports.first().map_or(0, Vec::len)) as u32;
        first..first + self.resp_places().count() as u32
    }

    /// Descriptors that are not connections.
    pub(crate) fn reserved_descriptors(&self) -> usize {
        let own = self.partition_ports.first().map_or(0, Vec::len);
        let encrypted = self.tls.as_ref().map_or(0, |tls| tls.listen.len() + tls.resp.len());
        let listeners = self.listen.len() + self.resp.len() + encrypted + own;
        (DESCRIPTORS_PER_THREAD + listeners) * self.cpus.len() + DESCRIPTORS
    }

    fn raise_descriptor_limit(&self) -> Result<()> {
        let needed = (self.connections + self.reserved_descriptors()) as u64;
        let limit = getrlimit(Resource::Nofile);
        if limit.current.is_none_or(|current| current >= needed) {
            return Ok(());
        }
        let maximum = limit.maximum.unwrap_or(u64::MAX);
        ensure!(
            needed <= maximum,
            "{} connections need {needed} descriptors, and {maximum} are allowed; ask for fewer with -c, \
             or allow more with 'ulimit -n'",
            self.connections,
        );
        setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum })
            .context("cannot raise the limit of open descriptors")
    }
}

/// All memory of the machine. Units: bytes.
fn machine_memory() -> u64 {
    let machine = rustix::system::sysinfo();
    machine.totalram * u64::from(machine.mem_unit)
}

/// `0,1,5`.
pub(crate) fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
impl Config {
    /// A small server for unit tests.
    pub(crate) fn for_tests() -> Config {
        Config {
            listen: vec![Address::Tcp("127.0.0.1:0".parse().unwrap())],
            unix_mask: 0o700,
            resp: Vec::new(),
            tls: None,
            backlog: 16,
            cpus: vec![allowed_cpus().unwrap()[0]],
            pinned: true,
            threads_wanted: 1,
            memory: Bytes(64 << 20),
            memory_file: None,
            provide: Provide::AsWritten,
            policy: Policy::default(),
            item_max: 1 << 20,
            connection_memory: 32 << 20,
            connections: 100,
            sharing: Sharing::Nothing,
            steer_by_key: false,
            as_published: false,
            steer_by_cpu: false,
            partition_ports: Vec::new(),
            requests_per_event: 0,
            queue: 16,
            io: Backend::Epoll,
            io_reason: "asked for".into(),
            spin: Spin::Off,
            auth_file: None,
            auth_format: UsersFormat::Words,
            protocol: Protocol::Auto,
            shutdown: false,
            flush_all: true,
            dump: true,
            watch: true,
            watch_buffer: 256 << 10,
            prefix_delimiter: None,
            daemon: false,
            core_dumps: false,
            lock_memory: false,
            pidfile: None,
            ports_file: None,
            user: None,
            idle_timeout: 0,
            reader_timeout: 0,
            metrics: None,
            metrics_hot_keys: false,
            sampling: true,
            drain: Nanos::from_secs(5),
            verbose: 0,
            log_format: LogFormat::Text,
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_the_machine_cannot_do() {
        let config = Config::for_tests;
        let check = |config: Config, expect: &str| {
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        config().check().unwrap();
        check(Config { cpus: vec![99_999], ..config() }, "no cpu 99999 to use; choose from");
        Config { cpus: vec![99_999], pinned: false, ..config() }.check().unwrap();
        let more = Bytes(machine_memory() + 1);
        check(
            Config { memory: more, provide: Provide::Behind, ..config() },
            "does not fit: the machine allows",
        );
        Config { memory: more, ..config() }.check().unwrap();
        let cpu = config().cpus[0];
        check(
            Config { memory: Bytes(3 << 20), cpus: vec![cpu; 2], ..config() },
            "3 MiB of memory is too little: 2 threads need at least 4 MiB, twice the largest item each; give more with -m, or a smaller -I",
        );
        check(
            Config { connection_memory: 2 << 20, ..config() },
            "2 MiB of memory for connections is too little: 1 thread needs at least 2.25 MiB",
        );
        check(Config { connections: 1 << 40, ..config() }, "ask for fewer with -c");
    }

    #[test]
    fn little_memory_has_small_segments() {
        let check = |memory: usize, expect: usize| assert_eq!(segment_length(memory), expect, "{memory} B");
        let mebibyte = 1 << 20;
        check(1024 * mebibyte, 2 * mebibyte);
        check(128 * mebibyte, 2 * mebibyte);
        check(127 * mebibyte, mebibyte);
        check(32 * mebibyte, 512 << 10);
        check(16 * mebibyte, 512 << 10);
        check(15 * mebibyte, 256 << 10);
        check(2 * mebibyte, 64 << 10);
        check(mebibyte, 64 << 10);
    }
}
