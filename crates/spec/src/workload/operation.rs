use std::fmt;

use crate::Size;

/// The operation of an arrival, and its successful answers. Any other answer is an error.
///
/// An answer that depends on the cache's content is never an error, since a cache may forget: it is counted.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// One key. Success: the value, or a miss (`hit_ratio`).
    Get,
    /// Several different keys at once; on a sharded cluster one request to each server that holds some of them.
    /// Success: any of the values (`hit_ratio` counts keys).
    MultiGet(Size),
    /// One key with its unique number. Success: as of `get`.
    Gets,
    /// Stores. Success: stored.
    Set,
    /// Stores an absent key of the data set. Success: stored, or it is there (`not_stored`).
    Add,
    /// Stores over an existing item. Success: stored, or it is absent (`not_stored`).
    Replace,
    /// Appends 8 B to an item. Success: stored, or it is absent (`not_stored`).
    ///
    /// The items are `Kind::Grown` ones of their own, which no operation reads. Each thread counts its appends to each
    /// item; instead of the 65th it sets the item again (`append_resets`), which costs nearly the same time and bytes,
    /// so that no item grows by more than 64 × 8 B for each thread.
    Append,
    /// As `append`, before the item's value.
    Prepend,
    /// Removes. Success: deleted, or it is absent (`not_found`).
    Delete,
    /// Adds 1 to a `Kind::Counter`. Success: a number, or it is absent (`not_found`).
    Incr,
    /// Takes 1 away. Success: as of `incr`.
    Decr,
    /// Sets the expiry time. Success: touched, or it is absent (`not_found`).
    Touch,
    /// Gets and touches. Success: as of `get`.
    Gat,
    /// Read-modify-write: `gets`, then `cas` with the unique number; retried when another client was faster
    /// (`cas_retries`), up to 16 times. Success: stored, or the item is absent at either step (`not_found`). The
    /// response time covers all steps.
    Cas,
    /// Adds a key that was not added in this run: numbers from the size of the data set on, different ones in each
    /// thread. Success: stored, or an earlier run left it (`not_stored`).
    Insert,
}

impl Operation {
    /// Each operation: its syntax, itself if it has no parameters, and its description, for people.
    pub const EXPLAINED: [(&str, Option<Operation>, &str); 15] = [
        ("get", Some(Self::Get), "one key"),
        (
            "mget(KEYS)",
            None,
            "several keys in one request: a number or a size distribution, mget(uniform:1..100)",
        ),
        ("gets", Some(Self::Gets), "one key with its unique number"),
        ("set", Some(Self::Set), "store"),
        (
            "add",
            Some(Self::Add),
            "store a key of the data set if it is absent; a present key is not an error",
        ),
        ("replace", Some(Self::Replace), "store if the item exists; an absent key is not an error"),
        (
            "append",
            Some(Self::Append),
            "put 8 B behind an item of its own key space, set anew after 64 times",
        ),
        ("prepend", Some(Self::Prepend), "put 8 B before such an item"),
        ("delete", Some(Self::Delete), "remove; an absent key is not an error"),
        ("incr", Some(Self::Incr), "add 1 to a counter of its own key space"),
        ("decr", Some(Self::Decr), "take 1 away from one"),
        ("touch", Some(Self::Touch), "set the expiry time"),
        ("gat", Some(Self::Gat), "get and touch"),
        ("cas", Some(Self::Cas), "gets, then cas, retried when another client was faster: one response time"),
        ("insert", Some(Self::Insert), "add a key that was not added yet"),
    ];

    /// The operation of a name without parameters; `None` if unknown, and for `mget`.
    pub fn plain(name: &str) -> Option<Operation> {
        Operation::EXPLAINED.into_iter().find(|(known, ..)| *known == name)?.1
    }

    /// Whether it changes the server's content.
    pub fn writes(&self) -> bool {
        !matches!(self, Operation::Get | Operation::MultiGet(_) | Operation::Gets)
    }

    /// Whether it works on counters.
    pub fn counts(&self) -> bool {
        matches!(self, Operation::Incr | Operation::Decr)
    }

    /// Whether it lets items grow.
    pub fn grows(&self) -> bool {
        matches!(self, Operation::Append | Operation::Prepend)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::MultiGet(keys) if keys.min() == keys.max() => {
                f.pad(&format!("mget({})", keys.min().0))
            }
            Operation::MultiGet(keys) => f.pad(&format!("mget({keys})")),
            plain => {
                let all = Operation::EXPLAINED;
                let found = all.iter().find(|(_, operation, _)| operation.as_ref() == Some(plain));
                f.pad(found.map_or("", |(name, ..)| *name))
            }
        }
    }
}
