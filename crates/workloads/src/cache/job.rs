/// The state of a request from its draw to its answer. Bounds: 32 B; up to a million exist at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The number of the item; for several keys, the seed of their draw.
    pub(super) n: u64,
    /// The version stored, if any.
    pub(super) version: u64,
    /// By step: the unique number that `cas` compares with; for several keys, the number requested from this server; or
    /// which of them are missing, one bit each. In a Redis Cluster the lower 32 bits of a multi-get are the keys to ask
    /// for, and the upper ones those that are missing.
    pub(super) extra: u64,
    /// How many keys were drawn, before they were shared out among servers.
    pub(super) keys: u16,
    /// The server that takes it.
    pub(super) server: u16,
    pub(super) step: Step,
    /// Attempts of `cas`, or redirections by nodes of a Redis Cluster.
    pub(super) tries: u8,
    /// Whether the node of a Redis Cluster is to be told that another one sent this request.
    pub(super) asking: bool,
}

/// The action of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Get,
    MultiGet,
    Gets,
    Gat,
    /// The first half of a cas, and the second.
    CasRead,
    CasStore,
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// The set that takes the place of an append when the item has grown enough.
    Reset,
    Insert,
    Delete,
    Incr,
    Decr,
    Touch,
    /// Stores the key of a get that missed, or those keys of a multi-get.
    SetMissing,
    SetAllMissing,
}

impl Step {
    /// Whether a replica is enough.
    pub(super) fn is_read(self) -> bool {
        matches!(self, Step::Get | Step::MultiGet | Step::Gets)
    }

    /// Whether it goes over UDP, if requested.
    pub(super) fn is_for_datagrams(self) -> bool {
        matches!(self, Step::Get | Step::MultiGet)
    }

    /// Whether it brings a version of an item into the world.
    pub(super) fn stores(self) -> bool {
        matches!(
            self,
            Step::CasStore
                | Step::Set
                | Step::Add
                | Step::Replace
                | Step::Insert
                | Step::SetMissing
                | Step::SetAllMissing
        )
    }
}

const _: () = assert!(size_of::<Job>() <= 32);
