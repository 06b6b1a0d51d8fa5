use serde::{Deserialize, Serialize};

/// Number of distinct kinds; further ones count as "other".
const KINDS: usize = 24;

/// The failures of a run by kind, with the detail of the first of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Errors {
    kinds: Vec<ErrorCount>,
}

/// The failures of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// A few words: `connection closed`.
    pub kind: String,
    /// How many there were, warm-up and drain included.
    pub count: u64,
    /// What happened the first time.
    pub first: String,
}

impl Errors {
    /// Requests in flight on a connection whose oldest had no answer within the time-out.
    pub const NO_ANSWER: &str = "no answer in time";
    /// Failed attempts to re-establish a connection.
    pub const CANNOT_CONNECT: &str = "cannot connect again";
    /// Failed attempts to establish a session's first connection.
    pub const NEVER_CONNECTED: &str = "cannot connect";
    /// Requests that were never sent, as no connection could be established.
    pub const NO_CONNECTION: &str = "no connection";
    /// Sessions whose connection could not be opened: no such source address, no descriptors left.
    pub const NOT_OPENED: &str = "no socket";
    /// Sessions that arrived when there was no room for another connection.
    pub const NO_SESSION: &str = "too many sessions";
    /// Requests in flight on a connection that ended with an error.
    pub const LOST: &str = "connection lost";
    /// Requests in flight on a connection that the server closed cleanly.
    pub const CLOSED: &str = "connection closed";

    /// Counts `n` failures; `detail` is called for the first of its kind only.
    pub(crate) fn add(&mut self, kind: &str, n: u64, detail: impl FnOnce() -> String) {
        let room = self.kinds.len() < KINDS;
        let name = if room || self.kinds.iter().any(|known| known.kind == kind) { kind } else { "other" };
        match self.kinds.iter_mut().find(|known| known.kind == name) {
            Some(known) => known.count += n,
            None => self.kinds.push(ErrorCount { kind: name.into(), count: n, first: detail() }),
        }
    }

    /// Each kind, in the order of its first appearance.
    pub fn iter(&self) -> impl Iterator<Item = &ErrorCount> {
        self.kinds.iter()
    }

    /// The detail of the first failure.
    pub fn first(&self) -> Option<&str> {
        self.kinds.first().map(|kind| kind.first.as_str())
    }

    /// How many there were of a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.kinds.iter().find(|known| known.kind == kind).map_or(0, |known| known.count)
    }

    pub(crate) fn merge(&mut self, other: &Errors) {
        for theirs in &other.kinds {
            self.add(&theirs.kind, theirs.count, || theirs.first.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_and_bounded() {
        let mut errors = Errors::default();
        errors.add("closed", 1, || "first".into());
        errors.add("closed", 2, || "second".into());
        for i in 0..100 {
            errors.add(&format!("kind {i}"), 1, String::new);
        }
        assert_eq!((errors.of("closed"), errors.first()), (3, Some("first")));
        assert!(errors.iter().count() <= KINDS + 1);
        assert_eq!(errors.iter().map(|e| e.count).sum::<u64>(), 103);
        let mut other = errors.clone();
        other.merge(&errors);
        assert_eq!(other.iter().map(|e| e.count).sum::<u64>(), 206);
    }
}
