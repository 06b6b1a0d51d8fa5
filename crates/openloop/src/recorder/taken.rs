use serde::{Deserialize, Serialize};

/// Processor time that others took from server and generator during the window, as the host's observer saw it; `None`
/// if unknown.
///
/// Units: shares of the time of a thread that works, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// In which a thread of the server waited for a processor that another program had, or the hypervisor.
    pub server: Option<f64>,
    /// In which a thread of the generator waited.
    pub generator: Option<f64>,
}

impl Taken {
    /// Merges the figures of a generator with other threads, on the same server.
    pub(crate) fn merge(&mut self, threads: u32, other: Taken, others: u32) {
        let larger = |a: f64, b: f64| a.max(b);
        self.server = either(self.server, other.server, larger);
        let (mine, theirs) = (f64::from(threads.max(1)), f64::from(others.max(1)));
        self.generator =
            either(self.generator, other.generator, |a, b| (a * mine + b * theirs) / (mine + theirs));
    }
}

/// Both together, or the only known one.
fn either(a: Option<f64>, b: Option<f64>, both: impl Fn(f64, f64) -> f64) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_share_is_that_of_all_its_threads() {
        let taken = |server, generator| Taken { server, generator };
        let mut whole = taken(Some(0.1), Some(0.0));
        whole.merge(3, taken(Some(0.2), Some(0.4)), 1);
        assert_eq!(whole, taken(Some(0.2), Some(0.1)));
        whole.merge(4, Taken::default(), 4);
        assert_eq!(whole, taken(Some(0.2), Some(0.1)), "what is not known is not 0");
        let mut unknown = Taken::default();
        unknown.merge(1, whole, 1);
        assert_eq!(unknown, whole);
    }
}
