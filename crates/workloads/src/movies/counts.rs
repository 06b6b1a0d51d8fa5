use openloop::{Distribution, Traced};
use spec::workload::MovieQuery;
use units::Nanos;

/// A thread's counters and distributions over the window.
///
/// Figures of queries and segments belong to the moment at which they were due; figures of answers to the moment at
/// which they arrived.
#[derive(Clone, Debug)]
pub(super) struct MoviesCounts {
    pub(super) answers: Answers,
    queries: [u64; 5],
    pub(super) segments: Segments,
    startup: Distribution,
    /// The queries due in the window that were traced.
    pub(super) traced: Vec<Traced>,
}

/// Counters of answers that arrived in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) answered: u64,
    /// Pages of films, their bytes, and those that lacked a part.
    pub(super) pages: u64,
    pub(super) page_bytes: u64,
    pub(super) degraded: u64,
    /// Searches, and those that found the requested film among the first.
    pub(super) searches: u64,
    pub(super) found: u64,
    /// Right tickets, and those among them of films that the user had rented before.
    pub(super) rented: u64,
    pub(super) repeated: u64,
    /// Answers compared with the site's data, and wrong ones.
    pub(super) verified: u64,
    pub(super) wrong: u64,
    /// Connections that the server ended.
    pub(super) ended: u64,
}

/// Counters of film segments due in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Segments {
    pub(super) due: u64,
    /// Segments that arrived later than they would be shown.
    pub(super) missed: u64,
}

impl Default for MoviesCounts {
    fn default() -> MoviesCounts {
        MoviesCounts {
            answers: Answers::default(),
            queries: [0; 5],
            segments: Segments::default(),
            startup: Distribution::new("startup"),
            traced: Vec::new(),
        }
    }
}

impl MoviesCounts {
    /// A query that was due in the window has ended.
    pub(super) fn ended(&mut self, query: MovieQuery) {
        self.queries[query.place()] += 1;
    }

    /// A rented film started after this delay; for one that never did, at least the time waited.
    pub(super) fn started(&mut self, delay: Nanos) {
        self.startup.values.record(delay);
    }

    /// Name, count, and of how many; the same names in every thread.
    pub(super) fn list(&self) -> Vec<(String, u64, u64)> {
        let answers = &self.answers;
        let whole = [
            ("degraded", answers.degraded, answers.pages),
            ("page_bytes", answers.page_bytes, answers.pages),
            ("search_found", answers.found, answers.searches),
            ("rent_repeated", answers.repeated, answers.rented),
            ("verify_failures", answers.wrong, answers.verified),
            ("misses", self.segments.missed, self.segments.due),
            ("closed_by_server", answers.ended, answers.answered),
        ];
        let whole = whole.map(|(name, count, of)| (name.to_owned(), count, of));
        let all: u64 = self.queries.iter().sum();
        let mix =
            MovieQuery::ALL.map(|query| (format!("mix.{}", query.name()), self.queries[query.place()], all));
        whole.into_iter().chain(mix).collect()
    }

    /// The quantities by name.
    pub(super) fn distributions(&self) -> Vec<Distribution> {
        vec![self.startup.clone()]
    }

    /// The window opens. Figures of queries due in it cannot have been counted before.
    pub(super) fn window_opens(&mut self) {
        self.answers = Answers::default();
    }
}
