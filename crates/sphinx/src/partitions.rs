//! Which thread executes an operation: this one, alone or under a lock, or another one that is asked.
//!
//! ```text
//!   --sharing    read here                    write here                  by message
//!   nothing      own partition                own partition               all else, to the owner
//!   read         own; others' by a Reader     own; a sleeper's, parked    writes, to an owner that is awake
//!   something    the group's, under a lock    the group's, under a lock   other groups', to the thread that has it
//!   everything   all, under a lock            all, under a lock           –
//! ```
//!
//! In every mode all operations of one connection on one key take the same path, in order, so that it reads its own
//! writes. `read` has two paths, and takes the short one only while the connection waits for no answer of the owner
//! ([`Awaited`](crate::client::Awaited)).
//!
//! In `read` a thread that falls asleep parks its partition where the others can write to it, so that an update wakes no thread:
//! two wake-ups, of the owner and of the asker for the answer, would take longer than the update. The first use by the owner takes
//! the partition back.
//!
//! When a request is answered, every earlier request on its connection has taken effect for readers on all other connections: a
//! request with `noreply` keeps its place in [`Replies`](crate::replies::Replies) until its owner has executed it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use cache_store::{
    ConfigError, Entry, Epochs, Key, KeyHash, KeyHasher, Marks, Provision, Reader, Stats, Store, Unusable,
    View,
};
use reactor::monotonic_now;
use rustix::process::{Resource, getrlimit};
use tracing::{info, warn};
use units::Bytes;

use crate::clock::UnixClock;
use crate::config::Config;
use crate::draft::Draft;
use crate::memory_file::MemoryFile;
use crate::operation::Operation;
use crate::sampling::Footprint;
use crate::sharing::Sharing;
use crate::telling::Telling;

/// A partition under its lock, on cache lines of its own (128 B, since processors fetch them in pairs).
///
/// std's mutex is one word that is spun on for a moment and then slept on (futex); an uncontended one costs two atomic
/// instructions. It is locked for one operation, some 100 ns, and for the copy of a large value: 1 MiB is 0.1 ms at
/// 10 GB/s. Fairness, which makes other locks slower, would not help threads that wait this briefly.
#[repr(align(128))]
pub(crate) struct Locked(Mutex<Store>);

impl Locked {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Store> {
        // A panic in an operation ends the whole server.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a thread's partition while the thread sleeps, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Parking {
    /// The owner is awake and waits for the partition: other threads leave it alone.
    wanted: AtomicBool,
    /// The partition; `None` while its owner is awake.
    store: Mutex<Option<Box<Store>>>,
}

impl Parking {
    /// By the owner, before it sleeps.
    fn park(&self, store: Box<Store>) {
        *self.store.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
    }

    /// By the owner. It waits for at most one operation of another thread.
    #[cold]
    fn take_back(&self) -> Box<Store> {
        self.wanted.store(true, Ordering::Relaxed);
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.wanted.store(false, Ordering::Relaxed);
        store.expect("the owner has parked it")
    }

    /// By another thread; `None` if the owner is awake, or a third thread uses the partition.
    fn with<T>(&self, act: impl FnOnce(&mut Store) -> T) -> Option<T> {
        if self.wanted.load(Ordering::Relaxed) {
            return None;
        }
        self.store.try_lock().ok()?.as_deref_mut().map(act)
    }
}

/// The partitions made by a thread, near its core.
pub(crate) enum Own {
    /// For itself.
    Alone(Box<Store>),
    /// To be shared.
    Shared(Arc<[Locked]>),
}

/// The access that a thread gives others to its partitions.
#[derive(Clone)]
pub(crate) enum Offer {
    Nothing,
    /// A look at its partition, and the partition itself while the thread sleeps.
    View(View, Arc<Parking>),
    /// Its partitions, under their locks.
    Shared(Arc<[Locked]>),
}

/// The readers of a server whose threads read each other's partitions.
pub(crate) fn epochs(config: &Config) -> Arc<Epochs> {
    let readers = if config.sharing == Sharing::Read { config.cpus.len() } else { 0 };
    Epochs::new(readers, thread::yield_now)
}

/// A partition in a file, with its saved state.
fn restore(
    config: cache_store::Config,
    partition: usize,
    epochs: &Arc<Epochs>,
    file: &MemoryFile,
) -> Result<Store, ConfigError> {
    let (place, began) = (file.place(partition), Instant::now());
    if let (Some(saved), Some(now)) = (file.saved(partition), file.saved_at()) {
        let at = monotonic_now();
        let now = UnixClock::start(at).not_before(at, now).seconds(at);
        match Store::restored(config, Arc::clone(epochs), &place, saved, now) {
            Ok(store) => {
                let (items, ms) = (store.stats().items, began.elapsed().as_millis());
                info!(partition, items, ms, "items that were saved are there again");
                return Ok(store);
            }
            Err(Unusable::Config(error)) => return Err(error),
            Err(error) => {
                warn!(partition, %error, "what was saved of a partition is not used; it starts empty")
            }
        }
    }
    Store::in_file(config, Arc::clone(epochs), &place)
}

/// What to do where the system gives no memory: addresses are reserved beyond `-m`, so that a limit of these may be the reason.
fn less_memory() -> String {
    match getrlimit(Resource::As).current.or(getrlimit(Resource::Data).current) {
        Some(limit) => format!(
            "the process is limited to {} of address space; raise it with 'ulimit -v unlimited' and 'ulimit -d unlimited' \
             (LimitAS=, LimitDATA=), or give less memory with -m",
            Bytes(limit)
        ),
        None => "give less memory with -m".into(),
    }
}

impl Own {
    /// Makes the partitions of thread `thread`, which should be the calling thread.
    ///
    /// A partition in a file is restored from its saved state, unless that is damaged, which is logged.
    pub(crate) fn make(
        config: &Config,
        thread: usize,
        seed: u64,
        epochs: &Arc<Epochs>,
        file: Option<&MemoryFile>,
    ) -> Result<Own> {
        let per_thread = config.partitions_per_thread();
        let store = |number| {
            let partition = thread * per_thread + number;
            let config = config.store(partition, seed);
            match file {
                None => Store::with_readers(config, Arc::clone(epochs)).with_context(less_memory),
                Some(file) => restore(config, partition, epochs, file)
                    .context("give less memory with -m, or make the file system of -e larger"),
            }
        };
        if config.sharing.group(0).is_none() {
            return Ok(Own::Alone(Box::new(store(0)?)));
        }
        let stores = (0..per_thread).map(|number| Ok(Locked(Mutex::new(store(number)?))));
        Ok(Own::Shared(stores.collect::<Result<Vec<_>>>()?.into()))
    }

    /// The memory that its system may provide.
    pub(crate) fn provisions(&self) -> Vec<Provision> {
        match self {
            Own::Alone(store) => vec![store.provision()],
            Own::Shared(stores) => stores.iter().map(|store| store.lock().provision()).collect(),
        }
    }

    pub(crate) fn offer(&self, sharing: Sharing) -> Offer {
        match self {
            Own::Alone(store) if sharing == Sharing::Read => Offer::View(store.view(), Arc::default()),
            Own::Alone(_) => Offer::Nothing,
            Own::Shared(stores) => Offer::Shared(Arc::clone(stores)),
        }
    }
}

/// One thread's way to all partitions.
pub(crate) struct Partitions {
    hasher: KeyHasher,
    /// Partitions of all threads.
    count: usize,
    per_thread: usize,
    thread: usize,
    keep: Keep,
}

enum Keep {
    /// One partition that no other thread writes to while this one is awake.
    Alone(Box<Alone>),
    /// The partitions of the threads `first..` that share with this one.
    Shared { first: usize, stores: Vec<Arc<[Locked]>> },
}

struct Alone {
    /// `None` while it is parked.
    store: Option<Box<Store>>,
    /// The reader of other threads' partitions, in modes that use one.
    reader: Option<Reader>,
    /// By thread, in the same modes.
    parking: Vec<Arc<Parking>>,
    thread: usize,
}

impl Alone {
    #[inline]
    fn store(&mut self) -> &mut Store {
        self.store.get_or_insert_with(|| {
            // The thread that has the partition may wait until this thread leaves the segments that it reads.
            self.reader.iter_mut().for_each(Reader::leave);
            self.parking[self.thread].take_back()
        })
    }
}

/// Where an operation on a key is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// By this thread, in this partition.
    Here(usize),
    /// By the thread of this number.
    At(usize),
}

impl Partitions {
    /// For thread `thread`, with the offers of all threads.
    pub(crate) fn new(config: &Config, thread: usize, own: Own, offers: &[Offer]) -> Partitions {
        let hasher = match &own {
            Own::Alone(store) => store.hasher(),
            Own::Shared(stores) => stores[0].lock().hasher(),
        };
        let keep = match own {
            Own::Alone(store) => {
                let offered = offers.iter().filter_map(|offer| match offer {
                    Offer::View(view, parking) => Some((view.clone(), Arc::clone(parking))),
                    _ => None,
                });
                let (views, parking) = offered.unzip();
                // `None` if no other thread offers a view of its store.
                let reader = Reader::new(views);
                Keep::Alone(Box::new(Alone { store: Some(store), reader, parking, thread }))
            }
            Own::Shared(_) => {
                let group = |thread| config.sharing.group(thread);
                let mine = |other: &usize| group(*other) == group(thread);
                let members: Vec<usize> = (0..offers.len()).filter(mine).collect();
                let stores = members.iter().filter_map(|&member| match &offers[member] {
                    Offer::Shared(stores) => Some(Arc::clone(stores)),
                    _ => None,
                });
                Keep::Shared { first: members[0], stores: stores.collect() }
            }
        };
        let per_thread = config.partitions_per_thread();
        Partitions { hasher, count: per_thread * offers.len(), per_thread, thread, keep }
    }

    #[inline]
    pub(crate) fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Where an operation on a key is done, unless it can be [read](Partitions::read) here.
    #[inline]
    pub(crate) fn place(&self, hash: KeyHash) -> Place {
        self.place_of(hash.partition(self.count))
    }

    /// How many there are, over all threads.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where work on a partition is done.
    #[inline]
    pub(crate) fn place_of(&self, partition: usize) -> Place {
        let owner = partition / self.per_thread;
        let here = match &self.keep {
            Keep::Alone(_) => owner == self.thread,
            Keep::Shared { first, stores } => (*first..first + stores.len()).contains(&owner),
        };
        if here { Place::Here(partition) } else { Place::At(owner) }
    }

    /// Does something to a partition that [`Partitions::place`] has said is here.
    #[inline]
    pub(crate) fn with<T>(&mut self, partition: usize, act: impl FnOnce(&mut Store) -> T) -> T {
        match &mut self.keep {
            Keep::Alone(alone) => act(alone.store()),
            Keep::Shared { first, stores } => {
                let (owner, number) = (partition / self.per_thread, partition % self.per_thread);
                act(&mut stores[owner - *first][number].lock())
            }
        }
    }

    /// Whether this thread reads partitions of others.
    #[inline]
    pub(crate) fn reads_others(&self) -> bool {
        matches!(&self.keep, Keep::Alone(alone) if alone.reader.is_some())
    }

    /// Carries out an operation that only reads on a partition of another thread; returns whether it could.
    #[inline]
    pub(crate) fn read(
        &mut self,
        operation: &Operation,
        telling: Option<&Telling>,
        key: Key,
        value: &[u8],
        now: u32,
        out: &mut Draft,
    ) -> bool {
        let partition = key.hash.partition(self.count);
        self.reader().is_some_and(|reader| match telling {
            None => operation.read(reader, partition, key, value, now, out),
            Some(telling) => telling.read(operation, (reader, partition), key, value, now, out),
        })
    }

    /// Carries out an operation that writes on a partition whose owner sleeps; returns whether it could.
    #[inline]
    pub(crate) fn write_for_sleeper(
        &mut self,
        operation: &Operation,
        telling: Option<&Telling>,
        key: Key,
        value: &[u8],
        now: u32,
        out: &mut Draft,
    ) -> bool {
        // A write may need memory that this thread itself still references.
        self.leave();
        let owner = key.hash.partition(self.count) / self.per_thread;
        let Keep::Alone(alone) = &self.keep else { return false };
        let parking = alone.parking.get(owner);
        let done = parking.and_then(|parking| {
            parking.with(|store| execute(operation, telling, store, key, value, now, out))
        });
        done.is_some()
    }

    /// Lets other threads write to this thread's partition until it is used here again; before the thread sleeps.
    #[inline]
    pub(crate) fn park(&mut self) {
        if let Keep::Alone(alone) = &mut self.keep
            && alone.reader.is_some()
            && let Some(store) = alone.store.take()
        {
            alone.parking[alone.thread].park(store);
        }
    }

    /// The length of the value of a key, here or where this thread reads, and whether it would have to be copied into a
    /// reply, as it cannot be kept in place or may not be (`lends`).
    #[cold]
    pub(crate) fn value(&mut self, place: Place, key: Key, lends: bool, now: u32) -> Option<(usize, bool)> {
        let value =
            |entry: Option<Entry>| entry.map(|entry| (entry.value.len(), !(lends && entry.pin().is_some())));
        let partition = key.hash.partition(self.count);
        match (place, self.reader()) {
            (Place::Here(partition), _) => self.with(partition, |store| value(store.peek(key, now))),
            (Place::At(_), Some(reader)) => value(reader.peek(partition, key, now)),
            (Place::At(_), None) => None,
        }
    }

    /// The memory that the item of a key takes, and when it ends, here or where this thread reads. An item without a value that
    /// a client has undertaken to store (`mg` with `N`) is none. Units: `now` in seconds.
    #[cold]
    pub(crate) fn footprint(&mut self, place: Place, key: Key, now: u32) -> Option<Footprint> {
        let of = |entry: Entry| {
            let footprint = Footprint {
                size: entry.footprint().try_into().unwrap_or(u32::MAX),
                ends: entry.expiry.left(now).map_or(u32::MAX, |left| now.saturating_add(left)),
            };
            let is_promised = entry.value.is_empty() && entry.marks.has(Marks::CLAIMED);
            (!is_promised).then_some(footprint)
        };
        let partition = key.hash.partition(self.count);
        match (place, self.reader()) {
            (Place::Here(partition), _) => self.with(partition, |store| store.peek(key, now).and_then(of)),
            (Place::At(_), Some(reader)) => reader.peek(partition, key, now).and_then(of),
            (Place::At(_), None) => None,
        }
    }

    /// Releases all references to memory read. Call it often: until then that memory cannot be reused.
    #[inline]
    pub(crate) fn leave(&mut self) {
        if let Some(reader) = self.reader() {
            reader.leave();
        }
    }

    #[inline]
    fn reader(&mut self) -> Option<&mut Reader> {
        match &mut self.keep {
            Keep::Alone(alone) => alone.reader.as_mut(),
            Keep::Shared { .. } => None,
        }
    }

    /// The partition for counts that belong to no key, such as a value that was not read.
    pub(crate) fn any(&self) -> usize {
        self.thread * self.per_thread
    }

    /// Does something to each of this thread's own partitions.
    pub(crate) fn for_own(&mut self, mut act: impl FnMut(&mut Store)) {
        let first = self.any();
        (first..first + self.per_thread).for_each(|partition| self.with(partition, &mut act));
    }

    /// The state to save of this thread's own partitions, in order; they must not be used afterwards.
    pub(crate) fn save(mut self, now: u32) -> Vec<Vec<u8>> {
        let mut saved = Vec::new();
        self.for_own(|store| saved.push(store.save(now)));
        saved
    }

    /// Does something to each partition here, on behalf of a client of thread `asker`.
    ///
    /// Requests pipelined behind it must find it done. So the asker executes it at once in all partitions that it can
    /// access, since it will execute the following requests there too; other threads handle their own, if the asker
    /// cannot access those.
    pub(crate) fn for_all_of(&mut self, asker: usize, mut act: impl FnMut(&mut Store)) {
        match &self.keep {
            Keep::Alone(_) => self.for_own(act),
            Keep::Shared { first, stores } => {
                let group = *first..first + stores.len();
                if asker == self.thread {
                    stores.iter().flat_map(|stores| stores.iter()).for_each(|store| act(&mut store.lock()));
                } else if !group.contains(&asker) {
                    self.for_own(act);
                }
            }
        }
    }

    /// Contents and counters of this thread's partitions, and the counters of its reads in others.
    pub(crate) fn stats(&mut self) -> Stats {
        let mut sum = Stats::default();
        self.for_own(|store| sum += store.stats());
        if let Some(reader) = self.reader() {
            sum += reader.stats();
        }
        sum
    }

    /// Sets the event counters to 0.
    pub(crate) fn reset_stats(&mut self) {
        self.for_own(Store::reset_stats);
        if let Some(reader) = self.reader() {
            reader.reset_stats();
        }
    }
}

/// Carries out an operation, and tells those who watch.
#[inline]
pub(crate) fn execute(
    operation: &Operation,
    telling: Option<&Telling>,
    store: &mut Store,
    key: Key,
    value: &[u8],
    now: u32,
    out: &mut Draft,
) {
    match telling {
        None => operation.execute(store, key, value, now, out),
        Some(telling) => telling.execute(operation, store, key, value, now, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The partitions as each of `threads` has them.
    fn make(sharing: Sharing, threads: usize) -> Vec<Partitions> {
        let cpus = vec![Config::for_tests().cpus[0]; threads];
        let config = Config { sharing, cpus, memory: Bytes(64 << 20), ..Config::for_tests() };
        let epochs = epochs(&config);
        let own: Vec<_> =
            (0..threads).map(|thread| Own::make(&config, thread, 1, &epochs, None).unwrap()).collect();
        let offers: Vec<_> = own.iter().map(|own| own.offer(sharing)).collect();
        own.into_iter().enumerate().map(|(n, own)| Partitions::new(&config, n, own, &offers)).collect()
    }

    const GET: Operation = Operation::Get { with_cas: false, last: true };
    const SET: Operation = Operation::Store {
        verb: proto_memcache::StoreVerb::Set,
        flags: 0,
        exptime: 0,
        reply: proto_memcache::Reply::Wanted,
    };

    #[test]
    fn each_key_has_its_place() {
        // The threads that do it themselves, given the owner.
        let check = |sharing: Sharing, threads: usize, here: &dyn Fn(usize, usize) -> bool| {
            let partitions = make(sharing, threads);
            let mut owners = vec![0; threads];
            for i in 0..200 {
                let hash = partitions[0].hasher().hash(format!("key-{i}").as_bytes());
                let owner = hash.partition(partitions[0].count) / partitions[0].per_thread;
                owners[owner] += 1;
                for (thread, partitions) in partitions.iter().enumerate() {
                    match partitions.place(hash) {
                        Place::Here(_) => assert!(here(thread, owner), "{sharing} {thread} {owner}"),
                        Place::At(at) => assert!(!here(thread, owner) && at == owner, "{sharing} {thread}"),
                    }
                }
            }
            assert!(owners.iter().all(|&n| n > 10), "{owners:?}");
        };
        check(Sharing::Nothing, 4, &|thread, owner| thread == owner);
        check(Sharing::Read, 4, &|thread, owner| thread == owner);
        check(Sharing::Everything, 4, &|_, _| true);
        check(Sharing::Something(2), 4, &|thread, owner| thread / 2 == owner / 2);
        check(Sharing::Something(2), 3, &|thread, owner| thread / 2 == owner / 2);
        check(Sharing::Everything, 1, &|_, _| true);
    }

    /// Stores a value in its partition.
    fn set(partitions: &mut [Partitions], key: &str) {
        let hasher = partitions[0].hasher();
        let key = hasher.key(key.as_bytes());
        let here = |partitions: &Partitions| match partitions.place(key.hash) {
            Place::Here(partition) => Some(partition),
            Place::At(_) => None,
        };
        let (thread, partition) =
            partitions.iter().enumerate().find_map(|(n, p)| Some((n, here(p)?))).expect("one has it");
        let (mut text, mut loans) = (Vec::new(), Vec::new());
        let mut out = Draft::new(&mut text, &mut loans);
        partitions[thread].with(partition, |store| SET.execute(store, key, b"v", 1_700_000_000, &mut out));
    }

    #[test]
    fn only_gets_are_read_elsewhere() {
        let read = |partitions: &mut Partitions, operation: Operation, key: &str| {
            let key = partitions.hasher().key(key.as_bytes());
            let (mut text, mut loans) = (Vec::new(), Vec::new());
            let mut out = Draft::new(&mut text, &mut loans);
            let could = partitions.read(&operation, None, key, b"", 1_700_000_000, &mut out);
            could.then(|| String::from_utf8(text).unwrap())
        };
        let mut partitions = make(Sharing::Read, 2);
        for i in 0..20 {
            let key = format!("key-{i}");
            assert_eq!(read(&mut partitions[0], GET, &key).as_deref(), Some("END\r\n"));
            set(&mut partitions, &key);
            for thread in &mut partitions {
                let expect = format!("VALUE {key} 0 1\r\nv\r\nEND\r\n");
                assert_eq!(read(thread, GET, &key), Some(expect));
                let delete = Operation::Delete { reply: proto_memcache::Reply::Wanted };
                assert_eq!(read(thread, delete, &key), None);
                thread.leave();
            }
        }
        let stats: Vec<_> = partitions.iter_mut().map(Partitions::stats).collect();
        assert_eq!((stats[0].get_hits, stats[0].get_misses, stats[1].get_hits), (20, 20, 20));
        for sharing in [Sharing::Nothing, Sharing::Everything] {
            assert_eq!(read(&mut make(sharing, 2)[0], GET, "key"), None);
        }
    }

    #[test]
    fn a_sleepers_partition_is_written_by_others_until_it_is_awake() {
        let mut partitions = make(Sharing::Read, 2);
        let hasher = partitions[0].hasher();
        let names = (0..100).map(|i| format!("key-{i}"));
        let theirs =
            names.filter(|name| partitions[0].place(hasher.hash(name.as_bytes())) == Place::At(1)).take(2);
        let [name, other] = theirs.collect::<Vec<_>>().try_into().unwrap();
        let now = 1_700_000_000;
        let write = |partitions: &mut Partitions, name: &str| {
            let (mut text, mut loans) = (Vec::new(), Vec::new());
            let mut out = Draft::new(&mut text, &mut loans);
            partitions.write_for_sleeper(&SET, None, hasher.key(name.as_bytes()), b"v", now, &mut out)
        };
        assert!(!write(&mut partitions[0], &name), "its owner is awake");
        partitions[1].park();
        assert!(write(&mut partitions[0], &name));
        // Its first use by the owner takes it back.
        assert!(partitions[1].with(1, |store| store.get(hasher.key(name.as_bytes()), now).is_some()));
        assert!(!write(&mut partitions[0], &other));
        partitions[1].park();
        partitions[1].park();
        assert!(write(&mut partitions[0], &other));
        assert_eq!(partitions[1].stats().cmd_set, 2);
        // Other modes park nothing.
        for sharing in [Sharing::Nothing, Sharing::Everything] {
            let mut partitions = make(sharing, 2);
            partitions[1].park();
            assert!(!write(&mut partitions[0], &name), "{sharing}");
        }
    }

    #[test]
    fn a_flush_is_done_once_everywhere_and_first_by_the_asker() {
        for sharing in [Sharing::Nothing, Sharing::Read, Sharing::Something(2), Sharing::Everything] {
            let mut partitions = make(sharing, 4);
            for i in 0..100 {
                set(&mut partitions, &format!("key-{i}"));
            }
            let asker = 2;
            for thread in [2, 0, 1, 3] {
                partitions[thread].for_all_of(asker, |store| store.flush_all(0, 1_700_000_000));
                // Any operation by the thread itself after the flush finds it done.
                for i in 0..100 {
                    let partitions = &mut partitions[thread];
                    let key = format!("key-{i}");
                    let key = partitions.hasher().key(key.as_bytes());
                    if let Place::Here(partition) = partitions.place(key.hash) {
                        let lives =
                            partitions.with(partition, |store| store.get(key, 1_700_000_000).is_some());
                        assert!(!lives || thread == 0, "{sharing} {thread}");
                    }
                }
            }
            let flushes: u64 = partitions.iter_mut().map(|partitions| partitions.stats().cmd_flush).sum();
            assert_eq!(flushes as usize, partitions[0].count, "{sharing}");
        }
    }
}
