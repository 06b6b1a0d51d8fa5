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
    /// How many of them belong to the window: requests that were due in it, and others that happened in it.
    #[serde(default)]
    pub in_window: u64,
    /// Requests among those. The others are attempts to connect, and bytes without a request.
    #[serde(default)]
    pub requests: u64,
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

    /// Counts a failed request, due in the window or not; `detail` is called for the first of its kind only.
    pub(crate) fn add(&mut self, kind: &str, in_window: bool, detail: impl FnOnce() -> String) {
        let n = u64::from(in_window);
        self.count(kind, [1, n, n], detail);
    }

    /// Counts a failure that is not a request, in the window or not.
    pub(crate) fn note(&mut self, kind: &str, in_window: bool, detail: impl FnOnce() -> String) {
        self.count(kind, [1, u64::from(in_window), 0], detail);
    }

    fn count(&mut self, kind: &str, [count, in_window, requests]: [u64; 3], detail: impl FnOnce() -> String) {
        let room = self.kinds.len() < KINDS;
        let name = if room || self.kinds.iter().any(|known| known.kind == kind) { kind } else { "other" };
        match self.kinds.iter_mut().find(|known| known.kind == name) {
            Some(known) => {
                known.count += count;
                known.in_window += in_window;
                known.requests += requests;
            }
            None => {
                let (kind, first) = (name.to_owned(), detail());
                self.kinds.push(ErrorCount { kind, count, in_window, requests, first });
            }
        }
    }

    /// Each kind, in the order of its first appearance.
    pub fn iter(&self) -> impl Iterator<Item = &ErrorCount> {
        self.kinds.iter()
    }

    /// The detail of the first failure of a kind that the window has; without one, of the first failure.
    pub fn first(&self) -> Option<&str> {
        let in_window = self.kinds.iter().find(|kind| kind.in_window > 0);
        in_window.or(self.kinds.first()).map(|kind| kind.first.as_str())
    }

    /// How many there were of a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.kinds.iter().find(|known| known.kind == kind).map_or(0, |known| known.count)
    }

    pub(crate) fn merge(&mut self, other: &Errors) {
        for theirs in &other.kinds {
            let counts = [theirs.count, theirs.in_window, theirs.requests];
            self.count(&theirs.kind, counts, || theirs.first.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_and_bounded() {
        let mut errors = Errors::default();
        errors.add("closed", false, || "first".into());
        errors.add("closed", true, || "second".into());
        for i in 0..100 {
            errors.add(&format!("kind {i}"), i % 2 == 0, String::new);
        }
        assert_eq!((errors.of("closed"), errors.first()), (2, Some("first")));
        assert!(errors.iter().count() <= KINDS + 1);
        assert_eq!(errors.iter().map(|e| e.count).sum::<u64>(), 102);
        let mut other = errors.clone();
        other.merge(&errors);
        assert_eq!(other.iter().map(|e| e.count).sum::<u64>(), 204);
        assert_eq!(other.iter().map(|e| e.requests).sum::<u64>(), 102);
    }

    #[test]
    fn attempts_are_no_requests_and_the_first_is_one_of_the_window() {
        let mut errors = Errors::default();
        errors.note(Errors::CANNOT_CONNECT, false, || "refused".into());
        errors.add("503", false, || "of the warm-up".into());
        assert_eq!(errors.first(), Some("refused"), "the window has none");
        errors.note(Errors::CANNOT_CONNECT, true, || "refused again".into());
        errors.add("closed", true, || "of the window".into());
        assert_eq!(errors.first(), Some("refused"));
        let counts: Vec<_> = errors.iter().map(|kind| [kind.count, kind.in_window, kind.requests]).collect();
        assert_eq!(counts, [[2, 1, 0], [1, 0, 0], [1, 1, 1]]);
    }
}
