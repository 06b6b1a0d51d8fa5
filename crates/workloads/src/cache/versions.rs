use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The versions that values may have by now; shared by the threads of a generator.
///
/// An arrival stores version `first` + its number + 1, so that no arrival has version 0, which is the fill's. `first`
/// grows from run to run ([`Versions::begin`]), which distinguishes an earlier run's values from values not yet
/// written.
#[derive(Debug, Default)]
pub struct Versions {
    first: AtomicU64,
    /// The highest that any thread has sent.
    highest: AtomicU64,
    /// Whether other processes write too, so that the highest is not known here.
    shared: AtomicBool,
}

/// Versions of one run: 2⁴⁰ arrivals, ten days at 1 Mrps; 2²⁴ runs fit.
const RUN: u64 = 1 << 40;

impl Versions {
    /// Begins run number `run` of this data set, counted from 1.
    ///
    /// `alone`: all writers are threads of this process. Otherwise a value from the future of this run cannot be
    /// distinguished from one that another process wrote; everything else is checked in the same way.
    pub fn begin(&self, run: u64, alone: bool) {
        let first = run.min(u64::MAX / RUN) * RUN;
        self.first.store(first, Ordering::Relaxed);
        self.highest.store(first, Ordering::Relaxed);
        self.shared.store(!alone, Ordering::Relaxed);
    }

    /// The version that arrival `seq` stores.
    #[inline]
    pub(super) fn of(&self, seq: u64) -> u64 {
        self.first.load(Ordering::Relaxed) + seq + 1
    }

    /// Says that `version` is about to be sent.
    #[inline]
    pub(super) fn issue(&self, version: u64) {
        // Released before the bytes leave, so that any thread that reads them back knows of it.
        self.highest.fetch_max(version, Ordering::AcqRel);
    }

    /// Whether a value may have this version.
    #[inline]
    pub(super) fn is_possible(&self, version: u64) -> bool {
        version <= self.highest.load(Ordering::Acquire)
            || self.shared.load(Ordering::Relaxed)
                && version / RUN == self.first.load(Ordering::Relaxed) / RUN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_is_not_possible() {
        let versions = Versions::default();
        versions.begin(1, true);
        let check = |version, expect| assert_eq!(versions.is_possible(version), expect, "{version}");
        check(0, true);
        check(RUN, true);
        assert_eq!(versions.of(0), RUN + 1);
        check(RUN + 1, false);
        versions.issue(versions.of(9));
        check(RUN + 10, true);
        check(RUN + 11, false);
        versions.issue(versions.of(3));
        check(RUN + 10, true);
        versions.begin(2, true);
        check(RUN + 11, true);
        check(2 * RUN + 1, false);
    }

    #[test]
    fn other_writers_of_the_same_run_are_believed() {
        let versions = Versions::default();
        versions.begin(3, false);
        assert!(versions.is_possible(3 * RUN + 77));
        assert!(!versions.is_possible(4 * RUN));
    }
}
