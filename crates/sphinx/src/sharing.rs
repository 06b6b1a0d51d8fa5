use std::fmt;
use std::str::FromStr;

use units::ParseError;

/// Which threads work on which keys: the design space of ANCS'19 §III-A, and a way between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Each operation is done by the thread that owns the key; others ask it by a message.
    #[default]
    Nothing,
    /// Any thread reads any key, without a lock and without a message; writes are the owner's, or any thread's while the owner
    /// sleeps.
    Read,
    /// Threads in groups of this size execute each other's operations under short locks, and send messages to other
    /// groups.
    Something(usize),
    /// Any thread does any operation, under short locks.
    Everything,
}

/// Threads in a group of [`Sharing::Something`], by default: two hardware threads of a core share its caches.
const GROUP: usize = 2;

/// Partitions per thread if threads share them. With 4 threads that spend a tenth of their time under a lock, one
/// operation in 100 meets another one in its partition, and with one per thread one in 13.
const PARTITIONS_PER_THREAD: usize = 8;

/// Less memory than this is not divided further: each partition has a partly filled segment in use, and reclaims whole
/// segments. 8 of them. Units: bytes.
const PARTITION_MIN: u64 = 16 << 20;

/// Memory up to which a lone thread has one partition, since no other thread contends for it. A quarter of the largest
/// partition. Units: bytes.
const PARTITION_OF_ONE: u64 = 64 << 30;

/// Most partitions that [`cache_store::KeyHash`] can distinguish.
const PARTITIONS_MAX: usize = 256;

impl Sharing {
    /// The same with groups of `group` threads. `None` for modes without groups.
    pub(crate) fn with_group(self, group: usize) -> Option<Sharing> {
        matches!(self, Sharing::Something(_)).then_some(Sharing::Something(group))
    }

    /// Partitions that each of `threads` has, of `memory` bytes in all.
    pub(crate) fn partitions_per_thread(self, threads: usize, memory: u64) -> usize {
        match self {
            Sharing::Nothing | Sharing::Read => 1,
            _ if threads == 1 && memory <= PARTITION_OF_ONE => 1,
            Sharing::Something(_) | Sharing::Everything => {
                let fit = (memory / PARTITION_MIN) as usize / threads;
                PARTITIONS_PER_THREAD.min(fit).min(PARTITIONS_MAX / threads).max(1)
            }
        }
    }

    /// The group of a thread, if threads share their partitions.
    pub(crate) fn group(self, thread: usize) -> Option<usize> {
        match self {
            Sharing::Nothing | Sharing::Read => None,
            Sharing::Something(group) => Some(thread / group),
            Sharing::Everything => Some(0),
        }
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Sharing::Nothing => "nothing",
            Sharing::Read => "read",
            Sharing::Something(_) => "something",
            Sharing::Everything => "everything",
        })
    }
}

impl FromStr for Sharing {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Sharing, ParseError> {
        match text {
            "nothing" => Ok(Sharing::Nothing),
            "read" => Ok(Sharing::Read),
            "something" => Ok(Sharing::Something(GROUP)),
            "everything" => Ok(Sharing::Everything),
            _ => Err(ParseError {
                what: "sharing",
                given: text.into(),
                problem: "there is no such mode".into(),
                hint: "write nothing, read, something or everything",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_its_names() {
        for sharing in [Sharing::Nothing, Sharing::Read, Sharing::Something(GROUP), Sharing::Everything] {
            assert_eq!(sharing.to_string().parse(), Ok(sharing));
        }
        let error = "all".parse::<Sharing>().unwrap_err();
        assert!(error.to_string().contains("nothing, read, something or everything"), "{error}");
    }

    #[test]
    fn groups_are_neighbours() {
        let check = |sharing: Sharing, expect: [Option<usize>; 4]| {
            assert_eq!([0, 1, 2, 3].map(|thread| sharing.group(thread)), expect);
        };
        check(Sharing::Nothing, [None; 4]);
        check(Sharing::Read, [None; 4]);
        check(Sharing::Everything, [Some(0); 4]);
        check(Sharing::Something(2), [Some(0), Some(0), Some(1), Some(1)]);
        check(Sharing::Something(3), [Some(0), Some(0), Some(0), Some(1)]);
        assert_eq!(Sharing::Something(2).with_group(3), Some(Sharing::Something(3)));
        assert_eq!(Sharing::Read.with_group(3), None);
    }

    #[test]
    fn shared_partitions_are_many_where_there_is_memory() {
        let check = |sharing: Sharing, threads, mebibytes: u64, expect| {
            assert_eq!(sharing.partitions_per_thread(threads, mebibytes << 20), expect);
        };
        check(Sharing::Nothing, 4, 1 << 20, 1);
        check(Sharing::Read, 4, 1 << 20, 1);
        check(Sharing::Everything, 1, 1024, 1);
        check(Sharing::Everything, 1, 1 << 20, 8);
        check(Sharing::Everything, 2, 64, 2);
        check(Sharing::Everything, 4, 64, 1);
        check(Sharing::Something(2), 4, 16, 1);
        check(Sharing::Everything, 4, 1024, 8);
        check(Sharing::Everything, 64, 1 << 20, 4);
        check(Sharing::Everything, 256, 1 << 20, 1);
    }
}
