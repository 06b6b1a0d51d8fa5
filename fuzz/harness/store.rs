//! Harness of fuzzers and property tests: runs operations on a small store and on a plain map, and compares them.
//!
//! The store may forget an item only once it counts evictions. Every value that it returns must be equal to the map's.
//! Try it: `cargo test -p cache-store --test it model`.

mod op;

use std::collections::{HashMap, VecDeque};

use proto_memcache::{StoreVerb, server};

use cache_store::{
    Claim, Claimed, Config, Counted, Epochs, Expiry, KeyHasher, Lookup, Pinned, Policy, Reader, Reservation,
    Store, Stored,
};

pub(crate) use op::Op;

/// Segment length of the store under test. Units: bytes.
const SEGMENT: usize = 2048;
/// Segments that a store here may get. Source: more than any test begins with.
const SEGMENTS_MAX: usize = 64;
/// The largest item that lies in a segment here, as the protocol counts. Units: bytes.
const ITEM_MAX: usize = SEGMENT;
/// The largest of all. Units: bytes.
const LARGE_MAX: usize = 5 * SEGMENT;
/// Maximum of large values announced at one time.
const CLAIMS: usize = 3;
/// Size of the index before it grows; it counts against the memory. Units: bytes.
const INDEX: usize = 64 << 10;

#[derive(Clone, Debug)]
struct Entry {
    value: Vec<u8>,
    flags: u32,
    expiry: Expiry,
    cas: u64,
}

struct Model {
    store: Store,
    /// A reader of the store, which sometimes holds its read section open.
    reader: Reader,
    map: HashMap<u8, Entry>,
    /// Pinned values, with their expected contents.
    pinned: VecDeque<(Pinned, Vec<u8>)>,
    /// Values being received, with the commands that store them and the expected contents.
    reservations: VecDeque<(Reservation, StoreVerb, u8, Entry)>,
    /// Large values waiting for their segments.
    claims: VecDeque<(Claim, StoreVerb, u8, Entry)>,
    /// Whether evictions are disabled.
    keeps_all: bool,
    flush_at: Option<u32>,
    now: u32,
    last_cas: u64,
}

/// Runs operations on a store of `segments` segments and panics if it differs from a map.
///
/// With `collide` all keys have one hash.
pub(crate) fn operations(segments: usize, policy: Policy, collide: bool, ops: &[Op]) {
    let config = Config {
        memory: INDEX + segments * SEGMENT,
        reach: INDEX + SEGMENTS_MAX * SEGMENT,
        segment: SEGMENT,
        item_max: LARGE_MAX,
        policy,
        ..Config::new(0, 1)
    };
    let hasher = if collide { KeyHasher::with_function(1, |_, _| 0xdead_beef) } else { KeyHasher::new(1) };
    let epochs = Epochs::new(1, || ());
    let store = Store::with_readers_and_hasher(config, epochs, hasher).expect("the configuration is legal");
    let reader = Reader::new(vec![store.view()]).expect("it is the first");
    let mut model = Model {
        store,
        reader,
        map: HashMap::new(),
        pinned: VecDeque::new(),
        reservations: VecDeque::new(),
        claims: VecDeque::new(),
        keeps_all: policy == Policy::Never,
        flush_at: None,
        now: 1_700_000_000,
        last_cas: 0,
    };
    for op in ops {
        model.step(op);
        for (pinned, value) in &model.pinned {
            assert_eq!(pinned.as_ref(), value, "a value that was pinned has changed");
        }
    }
    model.store.audit();
    for key in 0..=u8::MAX {
        model.check_get(key);
    }
    model.claims.drain(..).for_each(|(claim, ..)| model.store.give_up_claim(claim));
    model.store.audit();
}

/// Reads operations from `bytes`, as a fuzzer makes them, and runs them.
pub(crate) fn operations_from_bytes(bytes: &[u8]) {
    let [shape, rest @ ..] = bytes else { return };
    let ops: Vec<Op> = rest.chunks_exact(6).map(op::decode).collect();
    let policies = [Policy::TwoQueues, Policy::Fifo, Policy::SecondChance, Policy::Never];
    let policy = policies[usize::from(shape >> 3) % policies.len()];
    operations(2 + usize::from(shape % 8) * 2, policy, shape & 0x80 != 0, &ops);
}

fn key_bytes(key: u8) -> Vec<u8> {
    // Lengths from 1 to 251 less 1, so that records have every padding.
    let mut bytes = vec![b'k'; usize::from(key % 100) * 2 + 1];
    bytes.push(key.wrapping_add(b'0'));
    bytes
}

fn value_of(seed: u8, length: u16) -> Vec<u8> {
    (0..length).map(|i| seed.wrapping_add((i % 251) as u8)).collect()
}

impl Model {
    fn step(&mut self, op: &Op) {
        match *op {
            Op::Get(key) => self.check_get(key),
            Op::Store { verb, key, seed, length, exptime } => {
                self.store_value(verb, key, u32::from(seed) << 8, exptime, value_of(seed, length));
            }
            Op::SetNumber(key, number) => {
                self.store_value(StoreVerb::Set, key, 3, 0, number.to_string().into_bytes());
            }
            Op::Delete(key) => {
                let bytes = key_bytes(key);
                let deleted = self.store.delete(self.store.hasher().key(&bytes), self.now);
                self.agree_on_presence(key, deleted);
                self.map.remove(&key);
            }
            Op::Count(key, up, delta) => self.count(key, up, delta),
            Op::Touch(key, exptime) => {
                let expiry = Expiry::from_exptime(exptime, self.now);
                let bytes = key_bytes(key);
                let touched = self.store.touch(self.store.hasher().key(&bytes), expiry, self.now);
                self.agree_on_presence(key, touched);
                if let Some(entry) = self.map.get_mut(&key) {
                    entry.expiry = expiry;
                }
            }
            Op::Wait(seconds) => {
                self.reader.leave();
                self.now += u32::from(seconds);
                if self.flush_at.is_some_and(|at| at <= self.now) {
                    self.flush_at = None;
                    self.map.clear();
                }
            }
            Op::Flush(delay) => {
                self.store.flush_all(delay, self.now);
                self.flush_at = (delay > 0).then(|| self.now + delay as u32);
                if delay <= 0 {
                    self.map.clear();
                }
            }
            Op::Tend => _ = self.store.tend(self.now),
            Op::Memory(more) => {
                let segments = 2 + usize::from(more) % (SEGMENTS_MAX - 2);
                assert!(self.store.set_memory(INDEX + segments * SEGMENT));
            }
            Op::Pin(key) => {
                let bytes = key_bytes(key);
                if let Some(item) = self.store.get(self.store.hasher().key(&bytes), self.now)
                    && let Some(pinned) = item.pin()
                {
                    self.pinned.push_back((pinned, item.value.to_vec()));
                }
            }
            Op::Unpin => _ = self.pinned.pop_front(),
            Op::Reserve { key, seed, length, exptime } => self.reserve(key, seed, length, exptime),
            Op::Commit(piece) => self.commit(usize::from(piece) + 1),
            Op::Abandon => {
                if let Some((reservation, _, key, entry)) = self.reservations.pop_front() {
                    let key = key_bytes(key).len();
                    match self.store.is_large(key, entry.flags, entry.value.len()) && entry.flags & 0x100 == 0
                    {
                        // The store finds out by itself.
                        true => drop(reservation),
                        false => self.store.abandon(reservation),
                    }
                }
            }
            Op::Claim { key, seed, length, exptime } => self.claim(key, seed, length, exptime),
            Op::GoOn => self.go_on(),
            Op::GiveUp => {
                if let Some((claim, ..)) = self.claims.pop_front() {
                    self.store.give_up_claim(claim);
                }
            }
        }
    }

    fn reserve(&mut self, key: u8, seed: u8, length: u16, exptime: i32) {
        let (flags, expiry) = (u32::from(seed) << 8, Expiry::from_exptime(exptime, self.now));
        let bytes = key_bytes(key);
        let key_and_hash = self.store.hasher().key(&bytes);
        if let Some(mut reservation) =
            self.store.reserve(key_and_hash, flags, expiry, usize::from(length), self.now)
        {
            assert!(proto_memcache::limits::item_size(bytes.len(), flags, length.into()) <= ITEM_MAX);
            let entry = Entry { value: value_of(seed, length), flags, expiry, cas: 0 };
            let half = &entry.value[..entry.value.len() / 2];
            reservation.rest()[..half.len()].copy_from_slice(half);
            reservation.fill(half.len());
            self.reservations.push_back((reservation, StoreVerb::Set, key, entry));
        }
        // An incomplete value is not visible.
        self.check_get(key);
    }

    fn claim(&mut self, key: u8, seed: u8, length: u16, exptime: i32) {
        if self.claims.len() == CLAIMS {
            return;
        }
        let (flags, expiry) = (u32::from(seed) << 8, Expiry::from_exptime(exptime, self.now));
        let bytes = key_bytes(key);
        let key_and_hash = self.store.hasher().key(&bytes);
        let size = proto_memcache::limits::item_size(bytes.len(), flags, length.into());
        let verb = match seed % 8 {
            5 => StoreVerb::Add,
            6 => StoreVerb::Replace,
            7 => StoreVerb::Cas(self.map.get(&key).map_or(1, |entry| entry.cas)),
            _ => StoreVerb::Set,
        };
        let evictions = self.store.stats().evictions;
        if let Some(why) = self.store.refuses(verb, key_and_hash, self.now) {
            self.agree_on_refusal(verb, key, why);
            assert_eq!(self.store.stats().evictions, evictions, "a command that is refused evicts nothing");
            return self.check_get(key);
        }
        let replaces = verb == StoreVerb::Set;
        match self.store.claim(key_and_hash, flags, expiry, length.into(), replaces, self.now) {
            Ok(claim) => {
                assert!(size <= LARGE_MAX, "an item over the limit may come");
                let entry = Entry { value: value_of(seed, length), flags, expiry, cas: 0 };
                self.claims.push_back((claim, verb, key, entry));
            }
            Err(why) => assert!(why == Stored::TooLarge && size > LARGE_MAX, "{size} B: {why:?}"),
        }
    }

    fn go_on(&mut self) {
        let Some((claim, verb, key, entry)) = self.claims.pop_front() else { return };
        match self.store.go_on(claim, self.now) {
            Claimed::Whole(mut reservation) => {
                let half = &entry.value[..entry.value.len() / 2];
                reservation.rest()[..half.len()].copy_from_slice(half);
                reservation.fill(half.len());
                self.reservations.push_back((reservation, verb, key, entry));
            }
            // Claims behind this one do not progress until it is ready.
            Claimed::NotYet(claim) => self.claims.push_back((claim, verb, key, entry)),
            Claimed::Refused => self.has_no_memory(verb, key),
        }
        self.check_get(key);
    }

    /// There was no memory for the new value of a command: only `set` removes the old item.
    fn has_no_memory(&mut self, verb: StoreVerb, key: u8) {
        if verb == StoreVerb::Set {
            self.map.remove(&key);
        } else if self.keeps_all {
            let bytes = key_bytes(key);
            let is_there = self.store.peek(self.store.hasher().key(&bytes), self.now).is_some();
            assert_eq!(is_there, self.lives(key), "key {key} after {verb:?} without memory");
        }
    }

    /// A condition failed, which shows whether the store had the item.
    fn agree_on_refusal(&mut self, verb: StoreVerb, key: u8, why: Stored) {
        match why {
            Stored::NotStored => self.agree_on_presence(key, verb == StoreVerb::Add),
            Stored::NotFound => self.agree_on_presence(key, false),
            Stored::Exists => assert!(self.lives(key), "key {key} came back from the dead"),
            other => panic!("{verb:?} of key {key} on a condition: {other:?}"),
        }
    }

    fn commit(&mut self, piece: usize) {
        let Some((mut reservation, verb, key, entry)) = self.reservations.pop_front() else { return };
        for bytes in entry.value[entry.value.len() / 2..].chunks(piece) {
            reservation.rest()[..bytes.len()].copy_from_slice(bytes);
            reservation.fill(bytes.len());
        }
        match self.store.commit_as(verb, reservation, self.now) {
            Stored::Stored => {
                if let StoreVerb::Cas(unique) = verb {
                    assert_eq!(
                        self.map.get(&key).map(|old| old.cas),
                        Some(unique),
                        "another value of key {key}"
                    );
                }
                self.remember(key, entry);
            }
            Stored::NoMemory => self.has_no_memory(verb, key),
            why => self.agree_on_refusal(verb, key, why),
        }
    }

    /// Whether the map has a live item.
    fn lives(&mut self, key: u8) -> bool {
        if self.map.get(&key).is_some_and(|entry| entry.expiry.is_over(self.now)) {
            self.map.remove(&key);
        }
        self.map.contains_key(&key)
    }

    /// The store reports whether it has an item. It may have evicted an item of the map, but must not have one that
    /// the map lacks. Evicted items are removed from the map.
    fn agree_on_presence(&mut self, key: u8, present: bool) {
        let expected = self.lives(key);
        assert!(expected || !present, "key {key} came back from the dead");
        if expected && !present {
            assert!(self.store.stats().evictions > 0, "key {key} was lost without an eviction");
            self.map.remove(&key);
        }
    }

    fn check_get(&mut self, key: u8) {
        let bytes = key_bytes(key);
        let key_and_hash = self.store.hasher().key(&bytes);
        let own = |value: &[u8], flags, cas| (value.to_vec(), flags, cas);
        let seen = match self.reader.get(0, key_and_hash, self.now) {
            Lookup::Found(item) => Some(Some(own(item.value, item.flags, item.cas))),
            Lookup::Missing => Some(None),
            Lookup::AskOwner => None,
        };
        let item = self.store.get(key_and_hash, self.now).map(|item| own(item.value, item.flags, item.cas));
        if let Some(seen) = seen {
            assert_eq!(seen, item, "key {key} as another thread sees it");
        }
        self.agree_on_presence(key, item.is_some());
        if let Some((value, flags, cas)) = item {
            let entry = &self.map[&key];
            assert_eq!((&value, flags, cas), (&entry.value, entry.flags, entry.cas), "key {key}");
        }
    }

    fn store_value(&mut self, verb: StoreVerb, key: u8, flags: u32, exptime: i32, value: Vec<u8>) {
        let expiry = Expiry::from_exptime(exptime, self.now);
        let lived = self.lives(key);
        let before = self.map.get(&key).cloned();
        let verb = match verb {
            StoreVerb::Cas(n) => StoreVerb::Cas(before.as_ref().map_or(n, |entry| entry.cas + n)),
            verb => verb,
        };
        let bytes = key_bytes(key);
        let key_and_hash = self.store.hasher().key(&bytes);
        let stored = self.store.store(verb, key_and_hash, flags, expiry, &value, self.now);
        // Whether the store had the item, according to the answer.
        match (verb, stored) {
            (_, Stored::TooLarge | Stored::NoMemory) | (StoreVerb::Set, _) => {}
            (StoreVerb::Add, Stored::Stored) | (_, Stored::NotFound) => self.agree_on_presence(key, false),
            (StoreVerb::Add, _) => self.agree_on_presence(key, true),
            (_, Stored::NotStored) => self.agree_on_presence(key, false),
            _ => assert!(lived, "{verb:?} of key {key} found an item"),
        }
        let entry = match (verb, &before) {
            (StoreVerb::Append, Some(old)) => {
                Entry { value: [&old.value[..], &value].concat(), ..old.clone() }
            }
            (StoreVerb::Prepend, Some(old)) => {
                Entry { value: [&value[..], &old.value].concat(), ..old.clone() }
            }
            _ => Entry { value, flags, expiry, cas: 0 },
        };
        let fits =
            proto_memcache::limits::item_size(bytes.len(), entry.flags, entry.value.len()) <= LARGE_MAX;
        match stored {
            Stored::Stored => {
                assert!(fits, "an item over the limit was stored");
                assert!(!matches!((verb, &before), (StoreVerb::Cas(n), Some(old)) if old.cas != n));
                self.remember(key, entry);
            }
            Stored::Exists => {
                assert!(matches!((verb, &before), (StoreVerb::Cas(n), Some(old)) if old.cas != n));
            }
            Stored::TooLarge => {
                assert!(!fits, "an item within the limit was refused");
                if verb == StoreVerb::Set {
                    self.map.remove(&key);
                }
                self.check_get(key);
            }
            Stored::NoMemory => {
                self.has_no_memory(verb, key);
                self.check_get(key);
            }
            Stored::NotStored | Stored::NotFound => {}
        }
    }

    fn count(&mut self, key: u8, up: bool, delta: u64) {
        let bytes = key_bytes(key);
        let key_and_hash = self.store.hasher().key(&bytes);
        let counted = self.store.count(key_and_hash, up, delta, self.now);
        // Growing by a digit can evict even the old value, but only after it was read.
        if counted == Counted::NotFound {
            self.agree_on_presence(key, false);
            return;
        }
        assert!(self.lives(key), "key {key} came back from the dead");
        let old = self.map[&key].clone();
        let Some(number) = server::read_counter(&old.value) else {
            assert_eq!(counted, Counted::NonNumeric);
            return;
        };
        if counted == Counted::NoMemory {
            self.has_no_memory(StoreVerb::Append, key);
            return self.check_get(key);
        }
        let new = if up { number.wrapping_add(delta) } else { number.saturating_sub(delta) };
        assert_eq!(counted, Counted::Now(new));
        let mut value = new.to_string().into_bytes();
        value.resize(value.len().max(old.value.len()), b' ');
        self.remember(key, Entry { value, ..old });
    }

    /// A value was just written, so it must be there, with a number that no value had before.
    fn remember(&mut self, key: u8, mut entry: Entry) {
        let bytes = key_bytes(key);
        let key_and_hash = self.store.hasher().key(&bytes);
        match self.store.get(key_and_hash, self.now) {
            Some(item) => {
                assert!(item.cas > self.last_cas, "unique numbers grow");
                self.last_cas = item.cas;
                entry.cas = item.cas;
                self.map.insert(key, entry);
            }
            None => {
                assert!(entry.expiry.is_over(self.now), "key {key} is missing right after it was stored");
                self.map.remove(&key);
            }
        }
        self.check_get(key);
    }
}
