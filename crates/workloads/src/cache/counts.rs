/// A thread's counters over the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheCounts {
    pub(super) hits: u64,
    /// Keys requested.
    pub(super) gets: u64,
    /// Answers that the item does not exist, and operations that could have found it.
    pub(super) not_found: u64,
    pub(super) changes: u64,
    /// Answers that the condition did not hold, and operations with one.
    pub(super) not_stored: u64,
    pub(super) conditional: u64,
    pub(super) cas_retries: u64,
    pub(super) cas: u64,
    pub(super) append_resets: u64,
    pub(super) appends: u64,
    /// Keys that were stored because they were missing, and those that were to be.
    pub(super) sets_on_miss: u64,
    pub(super) misses_to_set: u64,
    /// Wrong values, and values checked.
    pub(super) verify_failures: u64,
    pub(super) verified: u64,
    /// Answers of a Redis Cluster that a key is elsewhere, for good or for this request, and all its answers.
    pub(super) moved: u64,
    pub(super) asked: u64,
    pub(super) of_cluster: u64,
    /// Requests of a trace that a set stands in for, and all of its requests.
    pub(super) stand_ins: u64,
    pub(super) recorded: u64,
    pub(super) udp: Udp,
}

/// Counters of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Udp {
    pub(super) datagrams: u64,
    /// Came after one with a higher number.
    pub(super) reordered: u64,
    pub(super) duplicates: u64,
    /// Matched no outstanding request: late replies to requests that had timed out.
    pub(super) strays: u64,
    pub(super) replies: u64,
    /// Replies of more than one datagram.
    pub(super) multi: u64,
}

impl CacheCounts {
    /// Name, count, and of how many; those that the load never touched are left out.
    pub(super) fn list(&self) -> Vec<(String, u64, u64)> {
        let udp = &self.udp;
        let all = [
            ("hit_ratio", self.hits, self.gets),
            ("not_found", self.not_found, self.changes),
            ("not_stored", self.not_stored, self.conditional),
            ("cas_retries", self.cas_retries, self.cas),
            ("append_resets", self.append_resets, self.appends),
            ("sets_on_miss", self.sets_on_miss, self.misses_to_set),
            ("verify_failures", self.verify_failures, self.verified),
            ("sets_in_place_of_others", self.stand_ins, self.recorded),
            ("cluster_moved", self.moved, self.of_cluster),
            ("cluster_ask", self.asked, self.of_cluster),
            ("udp_reordered_datagrams", udp.reordered, udp.datagrams),
            ("udp_duplicate_datagrams", udp.duplicates, udp.datagrams),
            ("udp_stray_datagrams", udp.strays, udp.datagrams),
            ("udp_multi_datagram_replies", udp.multi, udp.replies),
        ];
        let touched = all.into_iter().filter(|&(name, _, of)| of > 0 || name == "hit_ratio");
        touched.map(|(name, count, of)| (name.into(), count, of)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_touched_is_listed() {
        let names =
            |counts: CacheCounts| counts.list().into_iter().map(|(name, _, _)| name).collect::<Vec<_>>();
        assert_eq!(names(CacheCounts::default()), ["hit_ratio"]);
        let counts = CacheCounts { verified: 3, verify_failures: 1, ..CacheCounts::default() };
        assert_eq!(names(counts), ["hit_ratio", "verify_failures"]);
        assert_eq!(counts.list()[1], ("verify_failures".into(), 1, 3));
    }
}
