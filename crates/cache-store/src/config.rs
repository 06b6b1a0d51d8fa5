use std::os::fd::BorrowedFd;

use proto_memcache::limits;
use thiserror::Error;
use units::Bytes;

use crate::hash::KeyHasher;
use crate::policy::Policy;
use crate::record;
use crate::records::Location;

/// How a [`Store`](crate::Store) is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Memory of segments and index together. Units: bytes. Bounds: at least [`Config::memory_min`]; if it is less than
    /// two segments plus the index, the index comes on top.
    pub memory: usize,
    /// The limit for [`Store::set_memory`](crate::Store::set_memory); less than the memory means the memory.
    /// Units: bytes. Cost: addresses, and 12 B for each segment.
    pub reach: usize,
    /// Makes the hashes of two servers differ, so that a client cannot prepare keys that collide.
    pub seed: u64,
    /// Whether clients can compute a key's partition
    /// ([`KeyHasher::with_known_partitions`](crate::KeyHasher::with_known_partitions)).
    pub known_partitions: bool,
    /// The length of a segment. Units: bytes. Bounds: a power of two, at most 2 MiB.
    pub segment: usize,
    /// The largest item, as [`limits::item_size`] counts it. Units: bytes. Bounds: it must fit in a segment, or in half of
    /// all segments.
    pub item_max: usize,
    /// When the system is to provide the memory.
    pub provide: Provide,
    /// Which items go when memory is full.
    pub policy: Policy,
    /// Which of the server's partitions it is, and how many there are: no two give out the same unique number.
    pub partition: (u32, u32),
}

/// When the system provides the memory of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provide {
    /// All of it before the store is used. Some GiB take a second, on a virtual machine several.
    AtOnce,
    /// All of it while the store is used, by [`Provision`](crate::Provision); for a store in a file at once.
    Behind,
    /// With the first write to each huge page, which waits while the system clears it: up to some ms on a virtual machine,
    /// which delays one `set` in 8 000 as long as memory fills.
    AsWritten,
}

/// Where the segments of a store lie that is to outlive its process: in a file that is memory, as on tmpfs.
#[derive(Clone, Copy, Debug)]
pub struct InFile<'f> {
    /// The file; must be long enough for the given range.
    pub file: BorrowedFd<'f>,
    /// From where on there are [`Config::log_length`] bytes for this store alone. Units: bytes. Bounds: whole pages.
    pub offset: u64,
}

/// 2 MiB, a huge page on x86-64, and the most that a record can say of its length. Source: ANCS'19 §IV-A.
const SEGMENT: usize = 2 << 20;

/// One segment to write and one to reclaim.
pub(crate) const SEGMENTS_MIN: usize = 2;

impl Config {
    /// Segments of 2 MiB and items of at most 1 MiB in `memory` bytes, which are provided as they are used.
    pub fn new(memory: usize, seed: u64) -> Config {
        Config {
            memory,
            reach: memory,
            seed,
            known_partitions: false,
            segment: SEGMENT,
            item_max: limits::ITEM_MAX,
            provide: Provide::AsWritten,
            policy: Policy::default(),
            partition: (0, 1),
        }
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        if self.known_partitions {
            KeyHasher::with_known_partitions(self.seed)
        } else {
            KeyHasher::new(self.seed)
        }
    }

    /// The least memory that works: two segments, and two of the largest items, or two of 2 MiB if that is more.
    /// Units: bytes.
    pub fn memory_min(&self) -> usize {
        self.item_max.clamp(1, SEGMENT).next_multiple_of(self.segment) * SEGMENTS_MIN
    }

    /// The least memory that still fits the largest item, a lower limit for
    /// [`Store::set_memory`](crate::Store::set_memory): [`Config::memory_min`], and twice that item if it is larger
    /// than 2 MiB. Units: bytes.
    pub fn shrunk_min(&self) -> usize {
        // As `check` has it at the start: half of all segments, of which there may be an odd number.
        self.memory_min().max((self.item_max * 2).next_multiple_of(self.segment))
    }

    /// Size of all segments. Units: bytes.
    pub fn log_length(&self) -> usize {
        self.memory / self.segment * self.segment
    }

    /// The most that the memory may become. Units: bytes.
    pub(crate) fn most(&self) -> usize {
        self.reach.max(self.memory)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        // An item's record is never longer than `item_size` says, see `record`.
        let fits = || self.item_max <= self.segment.max(self.log_length() / 2);
        if !self.segment.is_power_of_two() || self.segment > SEGMENT || !fits() {
            return Err(ConfigError::Segment {
                segment: Bytes(self.segment as u64),
                item_max: Bytes(self.item_max as u64),
            });
        }
        if self.most() / record::ALIGN >= Location::END {
            return Err(ConfigError::TooMuch { memory: Bytes(self.most() as u64) });
        }
        if self.memory < self.memory_min() {
            return Err(ConfigError::TooLittle {
                memory: Bytes(self.memory as u64),
                least: Bytes(self.memory_min() as u64),
            });
        }
        Ok(())
    }
}

/// Why a store cannot be made.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error(
        "{memory} of memory is too little for a partition; the least is {least}, two segments or two of the largest items"
    )]
    TooLittle { memory: Bytes, least: Bytes },
    #[error("{memory} of memory is too much for one partition; the most is 256 GiB, so use more of them")]
    TooMuch { memory: Bytes },
    #[error(
        "a segment of {segment} cannot be used: it must be a power of two of at most 2 MiB and hold an item of {item_max}, or \
         half of the memory must"
    )]
    Segment { segment: Bytes, item_max: Bytes },
    #[error("the system does not give {memory} of memory")]
    Refused { memory: Bytes },
}
