use std::sync::atomic::{AtomicU64, Ordering};

use host::Limits;
use proto_memcache::server::Refusal;
use units::Bytes;

use crate::config::Config;
use crate::group_limits;

/// memcached's minimum. Units: MiB.
const LEAST: u32 = 8;
/// From here on memcached takes a number for bytes. Units: MiB.
const MOST: u32 = 1_000_000_000;

/// The memory limit of items and their index, which `cache_memlimit` changes.
///
/// Shape: one for the server; a thread notified of a change reads it here, so that of several changes the last one
/// counts.
pub(crate) struct MemoryLimit {
    /// Units: bytes.
    now: AtomicU64,
    /// The bounds of the memory. Units: bytes.
    least: u64,
    most: AtomicU64,
    /// Whether it may change at all.
    is_fixed: bool,
}

impl MemoryLimit {
    pub(crate) fn new(config: &Config) -> MemoryLimit {
        MemoryLimit {
            now: AtomicU64::new(config.memory.0),
            least: (config.store(0, 0).shrunk_min() * config.partitions()) as u64,
            most: AtomicU64::new(group_limits::most(config, &Limits::here()).unwrap_or(u64::MAX)),
            is_fixed: config.memory_file.is_some(),
        }
    }

    /// Units: bytes.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.now.load(Ordering::Relaxed))
    }

    /// Lowers the upper bound on behalf of one thread. Units: bytes.
    pub(crate) fn cap(&self, most: u64) {
        self.most.fetch_min(most, Ordering::Relaxed);
    }

    /// Sets it, if it can be that.
    ///
    /// Errors: memcached's answer to a limit out of bounds.
    pub(crate) fn set(&self, megabytes: u32) -> Result<Bytes, Refusal> {
        let limit = u64::from(megabytes) << 20;
        let most = self.most.load(Ordering::Relaxed);
        match megabytes {
            ..LEAST => return Err(Refusal::MemoryTooSmall),
            _ if megabytes > MOST => return Err(Refusal::MemoryInBytes),
            _ if limit == self.bytes().0 => {}
            _ if self.is_fixed || limit < self.least || limit > most => {
                return Err(Refusal::MemoryOutOfBounds);
            }
            _ => self.now.store(limit, Ordering::Relaxed),
        }
        Ok(Bytes(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_partitions_can_be() {
        let limit = MemoryLimit::new(&Config { memory: Bytes(64 << 20), ..Config::for_tests() });
        limit.cap(1 << 40);
        limit.cap(256 << 20);
        let check = |megabytes, expect: Result<u64, Refusal>| {
            assert_eq!(limit.set(megabytes), expect.map(|mebibytes| Bytes(mebibytes << 20)), "{megabytes}");
        };
        check(7, Err(Refusal::MemoryTooSmall));
        check(8, Ok(8));
        check(256, Ok(256));
        check(257, Err(Refusal::MemoryOutOfBounds));
        check(1_000_000_001, Err(Refusal::MemoryInBytes));
        assert_eq!(limit.bytes(), Bytes(256 << 20), "what is refused changes nothing");
        let many = Config { cpus: vec![0; 8], ..Config::for_tests() };
        let limit = MemoryLimit::new(&many);
        assert_eq!(limit.set(15), Err(Refusal::MemoryOutOfBounds), "twice the largest item each");
        assert_eq!(limit.set(16), Ok(Bytes(16 << 20)));
        // Items that lie in several segments need them all.
        let large = Config { item_max: 20 << 20, memory: Bytes(64 << 20), ..Config::for_tests() };
        let limit = MemoryLimit::new(&large);
        assert_eq!(limit.set(39), Err(Refusal::MemoryOutOfBounds), "twice the largest item");
        assert_eq!(limit.set(40), Ok(Bytes(40 << 20)));
        // The initial memory can be set again: half of an odd number of segments.
        let mut odd = Config { item_max: 32 << 20, memory: Bytes(63 << 20), ..Config::for_tests() };
        odd.fit_items();
        let limit = MemoryLimit::new(&odd);
        assert_eq!((limit.set(128), limit.set(63)), (Ok(Bytes(128 << 20)), Ok(Bytes(63 << 20))));
    }
}
