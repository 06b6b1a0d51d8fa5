use std::fmt;
use std::str::FromStr;

/// Which items are evicted when memory is full. Segments are always reclaimed whole; policies differ in which segment
/// is reclaimed and which of its items are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The oldest segment is reclaimed with all items in it. Source: Sphinx, ANCS'19 §IV-A.
    Fifo,
    /// The oldest segment is reclaimed; items read since they were written are written again.
    SecondChance,
    /// New items pass through a queue of a tenth of the memory. Items read in that time, and items stored again soon
    /// after their eviction, are kept in a second queue, where each round is earned by another read. Items stored once
    /// and never read leave early.
    ///
    /// Source: S3-FIFO (Yang et al., SOSP'23), with segments in the place of items.
    #[default]
    TwoQueues,
    /// Evicts expired items only; writes that find no room are refused. Source: memcached's `-M`.
    Never,
}

const POLICIES: [(&str, Policy); 4] = [
    ("fifo", Policy::Fifo),
    ("second-chance", Policy::SecondChance),
    ("two-queues", Policy::TwoQueues),
    ("never", Policy::Never),
];

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Policy, String> {
        let found = POLICIES.iter().find(|(name, _)| *name == text);
        found.map(|(_, policy)| *policy).ok_or_else(|| {
            let names: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
            format!("'{text}' is not a policy; write one of {}", names.join(", "))
        })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = POLICIES.iter().find(|(_, policy)| policy == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (name, policy) in POLICIES {
            assert_eq!((name.parse(), policy.to_string().as_str()), (Ok(policy), name));
        }
        assert_eq!(
            "lru".parse::<Policy>(),
            Err("'lru' is not a policy; write one of fifo, second-chance, two-queues, never".into())
        );
    }
}
