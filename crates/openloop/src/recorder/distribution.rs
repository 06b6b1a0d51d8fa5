use hist::{Latency, Windows};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// A quantity that a workload measures by itself over the window, such as the start-up delay of sessions.
///
/// Units: times. Cost: 264 KiB, and what [`Windows`] takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// A few words by which the threads' are merged: `startup`.
    pub name: String,
    /// All values.
    pub values: Latency,
    /// The same by time of measurement, after the window's start; `None` if not kept.
    pub over_time: Option<Windows>,
}

impl Distribution {
    /// Nothing yet, of all values alone.
    pub fn new(name: &str) -> Distribution {
        Distribution { name: name.into(), values: Latency::new(), over_time: None }
    }

    /// Nothing yet, kept also by time, over a window of this length.
    pub fn over_time(name: &str, window: Nanos) -> Distribution {
        Distribution { over_time: Some(Windows::new(window)), ..Distribution::new(name) }
    }

    /// Enters a value that was measured `offset` after the window's start.
    #[inline]
    pub fn record(&mut self, offset: Nanos, value: Nanos) {
        self.values.record(value);
        if let Some(windows) = &mut self.over_time {
            windows.record(offset, value);
        }
    }

    /// Adds each of `others` to the one of its name, or behind all.
    pub(crate) fn merge_all(all: &mut Vec<Distribution>, others: &[Distribution]) {
        for theirs in others {
            let Some(mine) = all.iter_mut().find(|mine| mine.name == theirs.name) else {
                all.push(theirs.clone());
                continue;
            };
            mine.values.merge(&theirs.values);
            match (&mut mine.over_time, &theirs.over_time) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Nanos = Nanos::from_secs(1);

    fn of(name: &str, by_time: bool, values: &[(u64, u64)]) -> Distribution {
        let mut all = if by_time { Distribution::over_time(name, WINDOW) } else { Distribution::new(name) };
        values.iter().for_each(|&(ms, value)| all.record(Nanos::from_millis(ms), Nanos(value)));
        all
    }

    #[test]
    fn those_of_one_name_become_one() {
        let mut all = vec![of("startup", false, &[(0, 5)]), of("buffer", true, &[(50, 70)])];
        let others = [
            of("buffer", true, &[(950, 90)]),
            of("stall", false, &[(1, 2)]),
            of("startup", false, &[(9, 6)]),
        ];
        Distribution::merge_all(&mut all, &others);
        let expect = [
            of("startup", false, &[(0, 5), (0, 6)]),
            of("buffer", true, &[(50, 70), (950, 90)]),
            of("stall", false, &[(1, 2)]),
        ];
        assert_eq!(all, expect);
        let windows = all[1].over_time.as_ref().unwrap().series();
        assert_eq!((windows[0].count, windows[9].count), (1, 1));
    }

    #[test]
    fn what_one_thread_keeps_by_time_is_not_lost() {
        let mut all = vec![of("buffer", false, &[(0, 1)])];
        Distribution::merge_all(&mut all, &[of("buffer", true, &[(50, 70)])]);
        assert_eq!(all[0].values.count(), 2);
        assert_eq!(all[0].over_time.as_ref().unwrap().series()[0].count, 1);
    }

    #[test]
    fn it_is_read_back() {
        let all = vec![of("buffer", true, &[(50, 70)]), of("startup", false, &[])];
        let back: Vec<Distribution> = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(back, all);
    }
}
