/// Whether the server is to answer. `noreply` also silences most errors, so nothing can be counted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The server answers.
    Wanted,
    /// `noreply` is appended to the line.
    Suppressed,
}

/// The commands that carry a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreVerb {
    /// Stores always.
    Set,
    /// Stores only if the key has no item.
    Add,
    /// Stores only over an item.
    Replace,
    /// Appends the value to the item's.
    Append,
    /// Puts the value before the item's.
    Prepend,
    /// Stores only if the item still has this unique number, learnt by `gets`.
    Cas(u64),
}
