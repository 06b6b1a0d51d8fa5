use spec::workload::SocialOperation;

/// The tiers of a site whose time `Server-Timing` says: the wait for a program, the programs, the database and the cache.
pub const TIERS: [&str; 4] = ["queue", "php", "db", "cache"];

/// A thread's counters over the window.
///
/// Figures of operations belong to the moment at which they were due, so that an operation due in the window counts at
/// any end; figures of answers belong to the moment at which they arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct SocialCounts {
    pub(super) answers: Answers,
    operations: [Operation; SocialOperation::COUNT],
    ajax: u64,
}

/// Counters of answers that arrived in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) answered: u64,
    /// That led elsewhere.
    pub(super) redirects: u64,
    /// Users who were found to be logged out, of all operations that ended.
    pub(super) lost: u64,
    /// Cookies that were not kept.
    pub(super) crumbs: u64,
    /// Connections that the server ended.
    pub(super) ended: u64,
}

/// Counters of one kind of operation due in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Operation {
    due: u64,
    within: u64,
    tiers: [Tier; TIERS.len()],
}

/// A tier's work for an operation, or for several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tier {
    /// Operations with an answer that reports it.
    told: u64,
    us: u64,
    calls: u64,
}

/// The tiers' work for one operation, as reported by its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tiers([Tier; TIERS.len()]);

/// The name of a counter of one operation: `within.home`, `db_us.home`.
pub fn of_operation(counter: &str, operation: &str) -> String {
    format!("{counter}.{operation}")
}

impl SocialCounts {
    /// An operation due in the window has ended, well or not, this long after it was due.
    pub(super) fn ended(&mut self, operation: SocialOperation, is_ajax: bool, within: bool, tiers: &Tiers) {
        let counted = &mut self.operations[operation.place()];
        counted.due += 1;
        counted.within += u64::from(within);
        self.ajax += u64::from(is_ajax);
        for (sum, tier) in counted.tiers.iter_mut().zip(&tiers.0) {
            sum.told += tier.told;
            sum.us += tier.us;
            sum.calls += tier.calls;
        }
    }

    /// Name, count, and of how many, of the operations that `has` says yes to; the same names in every thread.
    pub(super) fn list(&self, has: impl Fn(SocialOperation) -> bool) -> Vec<(String, u64, u64)> {
        let all: u64 = self.operations.iter().map(|operation| operation.due).sum();
        let within: u64 = self.operations.iter().map(|operation| operation.within).sum();
        let answers = &self.answers;
        let whole = [
            ("within", within, all),
            ("ajax", self.ajax, all),
            ("requests_per_operation", answers.answered, all),
            ("redirects", answers.redirects, answers.answered),
            ("sessions_lost", answers.lost, all),
            ("cookies_refused", answers.crumbs, answers.answered),
            ("closed_by_server", answers.ended, answers.answered),
        ];
        let whole = whole.map(|(name, count, of)| (name.to_owned(), count, of));
        let counted = SocialOperation::ALL.into_iter().zip(&self.operations);
        let each = counted.filter(|(operation, _)| has(*operation)).flat_map(|(operation, counted)| {
            let named = |counter: &str| of_operation(counter, operation.name());
            let Operation { due, within, tiers } = *counted;
            let mut rows = vec![(named("within"), within, due), (named("mix"), due, all)];
            for (name, Tier { told, us, calls }) in TIERS.iter().zip(tiers) {
                rows.push((named(&format!("{name}_us")), us, told));
                rows.push((named(&format!("{name}_calls")), calls, told));
            }
            rows
        });
        whole.into_iter().chain(each).collect()
    }

    /// The window opens. Figures of operations due in it cannot have been counted before.
    pub(super) fn window_opens(&mut self) {
        self.answers = Answers::default();
    }
}

impl Tiers {
    /// Adds the figures of an answer's tiers, from its `Server-Timing`.
    pub(super) fn add(&mut self, value: &[u8]) {
        for metric in proto_http::timings(value) {
            let Some(place) = TIERS.iter().position(|tier| tier.as_bytes() == metric.name) else { continue };
            let Some(ms) = metric.dur else { continue };
            let tier = &mut self.0[place];
            tier.told = 1;
            tier.us = tier.us.saturating_add((ms * 1e3).round() as u64);
            let calls = std::str::from_utf8(metric.desc).ok().and_then(|text| text.parse::<u32>().ok());
            tier.calls = tier.calls.saturating_add(calls.unwrap_or(0).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_was_due() {
        let mut counts = SocialCounts::default();
        let mut tiers = Tiers::default();
        tiers.add(b"php;dur=1.5, db;dur=2;desc=\"12\", cache;dur=0.25;desc=\"3\", total;dur=9");
        tiers.add(b"db;dur=1;desc=\"x\", php;dur=-1");
        let mut queued = Tiers::default();
        queued.add(b"queue;dur=0.5, php;dur=1");
        counts.ended(SocialOperation::Home, false, true, &tiers);
        counts.ended(SocialOperation::Home, false, false, &Tiers::default());
        counts.ended(SocialOperation::LiveFeed, true, true, &Tiers::default());
        counts.ended(SocialOperation::Login, false, true, &queued);
        let list = counts.list(|operation| operation != SocialOperation::Edit);
        let check = |name: &str, count: u64, of: u64| {
            assert!(list.contains(&(name.to_owned(), count, of)), "{name}: {list:?}");
        };
        check("within", 3, 4);
        check("within.home", 1, 2);
        check("within.logout", 0, 0);
        check("ajax", 1, 4);
        check("mix.live-feed", 1, 4);
        check("queue_us.login", 500, 1);
        check("php_us.home", 1_500, 1);
        check("db_us.home", 3_000, 1);
        check("db_calls.home", 12, 1);
        check("cache_us.home", 250, 1);
        check("php_us.live-feed", 0, 0);
        // A figure that no answer reports is not 0.
        check("queue_us.home", 0, 0);
        let names: std::collections::BTreeSet<&String> = list.iter().map(|(name, _, _)| name).collect();
        assert_eq!(names.len(), list.len());
        assert!(!names.iter().any(|name| name.ends_with(".edit")));
    }
}
