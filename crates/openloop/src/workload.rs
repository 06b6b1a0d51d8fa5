/// Turns arrivals into bytes and bytes into outcomes.
///
/// Each generator thread has one. It draws keys and sizes from streams of its own and never reads a clock:
/// time belongs to the engine.
pub trait Workload {
    /// What must be remembered about a request in flight to understand its answer.
    type Job;
    /// The state of parsing on one connection, carried over partial receives.
    type Wire: Default;

    /// The names of the operations; [`Workload::request`] returns an index into it.
    fn operations(&self) -> Vec<String>;

    /// Draws the job of arrival `seq` and appends its request to `out`.
    fn request(&mut self, seq: u64, out: &mut Vec<u8>) -> (usize, Self::Job);

    /// Looks for the answer to `job` at the front of `bytes`.
    ///
    /// Called again with a longer `bytes` after [`Parsed::Partial`], with the same `wire`.
    fn response(&mut self, job: &Self::Job, wire: &mut Self::Wire, bytes: &[u8]) -> Parsed;

    /// Figures of the workload over the window, such as its hit ratio: name with unit, count, and of how many.
    fn counters(&self) -> Vec<(String, u64, u64)> {
        Vec::new()
    }

    /// The window opens: what [`Workload::counters`] counts starts at 0 again.
    fn window_opens(&mut self) {}
}

/// What [`Workload::response`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The answer is not whole yet.
    Partial,
    /// The answer is whole.
    Done {
        /// Its length; the next answer starts there.
        used: usize,
        /// `Err` with a short reason where the server refused or the content is wrong.
        outcome: Result<(), String>,
    },
    /// The bytes are no answer at all; the connection is given up.
    Garbage(String),
}
