use std::sync::Arc;

use dist::{Place, Recorded, mixed};
use units::Nanos;

use crate::{Error, Record, Requests};

/// Which requests of a trace are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Select {
    /// The keys of one in this many; 1: all. Which ones follows from their numbers, so that each key has all of its
    /// requests or none.
    pub one_in: u32,
    /// From this moment on. Units: ns after the trace's start.
    pub from_ns: u64,
    /// Up to before this one; `None`: to its end.
    pub to_ns: Option<u64>,
    /// Whether it begins again at its end.
    pub loops: bool,
}

impl Default for Select {
    fn default() -> Select {
        Select { one_in: 1, from_ns: 0, to_ns: None, loops: false }
    }
}

/// The selected part of a trace: when its requests come, and which they are.
///
/// The first comes at 0, or as long after `from` as it did. Cost: without sampling a few ns for a request.
#[derive(Clone, Debug)]
pub struct Replay {
    requests: Arc<Requests>,
    /// The records of the selected time.
    first: u64,
    end: u64,
    one_in: u64,
    /// With sampling: how many are selected before each block of records.
    before: Vec<u64>,
    total: u64,
    loops: bool,
    /// Moment 0. Units: ns after the trace's start.
    origin_ns: u64,
    /// From one round to the next. Units: ns.
    period_ns: u64,
}

/// Where a reader of requests is, who asks for them in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// A selected request within its round, and its record.
    number: u64,
    index: u64,
}

/// Records of a block, whose selected ones are counted once: 8 B for each.
const BLOCK: u64 = 4096;
/// Sets the choice of keys apart from the hashes by which servers and tables place them. Source: the fraction of √7.
const CHOICE: u64 = 0xa54f_f53a_5f1d_36f1;

/// Whether a key is one of the selected.
#[inline]
pub(crate) fn is_chosen(key: u64, one_in: u64) -> bool {
    // The upper half of the product is uniform below `one_in`.
    one_in == 1 || (u128::from(mixed(key ^ CHOICE)) * u128::from(one_in)) >> 64 == 0
}

/// The least time after which a part of a trace begins again: a single request has no length of its own. Units: ns.
const LEAST_PERIOD: u64 = 1_000_000;

impl Replay {
    /// The selected part of a trace. Cost: with sampling, reads it once.
    ///
    /// Errors: no request is left.
    pub fn new(requests: Arc<Requests>, select: &Select) -> Result<Replay, Error> {
        let len = requests.len();
        let first = requests.first(0..len, |ns| ns >= select.from_ns);
        let end = select.to_ns.map_or(len, |to| requests.first(first..len, |ns| ns >= to));
        let (one_in, mut total, mut before) = (u64::from(select.one_in.max(1)), end - first, Vec::new());
        if one_in > 1 {
            total = 0;
            for index in first..end {
                requests.walk(index);
                if (index - first).is_multiple_of(BLOCK) {
                    before.push(total);
                }
                total += u64::from(is_chosen(requests.record(index).key, one_in));
            }
        }
        if total == 0 {
            let span = Nanos(requests.header().last_ns);
            return Err(Error::NothingSelected { path: requests.path().into(), requests: len, span });
        }
        let mut replay = Replay {
            requests,
            first,
            end,
            one_in,
            before,
            total,
            loops: select.loops,
            origin_ns: select.from_ns,
            period_ns: 0,
        };
        // The gap between the last and the first is the mean of the others.
        let span = replay.last_ns();
        replay.period_ns = (span + span / total.max(2).saturating_sub(1)).max(LEAST_PERIOD);
        Ok(replay)
    }

    /// The trace that it is a part of.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Selected requests, of one round.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether it begins again at its end.
    pub fn loops(&self) -> bool {
        self.loops
    }

    /// When the last request of a round comes. Units: ns.
    pub fn last_ns(&self) -> u64 {
        let last = (self.first..self.end).rev().find(|index| self.is_selected(*index)).unwrap_or(self.first);
        self.requests.at_ns(last).saturating_sub(self.origin_ns)
    }

    /// The mean rate of a round. Units: rps.
    pub fn mean_rps(&self) -> f64 {
        self.total as f64 / self.period_ns as f64 * 1e9
    }

    #[inline]
    fn is_selected(&self, index: u64) -> bool {
        self.one_in == 1 || is_chosen(self.requests.record(index).key, self.one_in)
    }

    /// The record of arrival `number`, which may be of any round. Cost: without sampling none; else the records since the
    /// cursor, at most a block for each call if it goes ahead by leaps.
    #[inline]
    pub fn find(&self, number: u64, cursor: &mut Cursor) -> u64 {
        let number = number % self.total;
        if self.one_in == 1 {
            return self.first + number;
        }
        if number < cursor.number || number - cursor.number > BLOCK / self.one_in || cursor.index < self.first
        {
            let block = self.before.partition_point(|before| *before <= number) - 1;
            *cursor = Cursor { number: self.before[block], index: self.first + block as u64 * BLOCK };
        }
        let mut index = cursor.index;
        let mut skipped = number - cursor.number;
        loop {
            if self.is_selected(index) {
                if skipped == 0 {
                    break;
                }
                skipped -= 1;
            }
            index += 1;
        }
        *cursor = Cursor { number, index };
        index
    }

    /// The request of a record that [`Replay::find`] returned.
    #[inline]
    pub fn record(&self, index: u64) -> Record {
        self.requests.record(index)
    }

    /// Selected records before `index`.
    fn selected_before(&self, index: u64) -> u64 {
        if self.one_in == 1 {
            return index - self.first;
        }
        let block = ((index - self.first) / BLOCK) as usize;
        let Some(before) = self.before.get(block) else { return self.total };
        let from = self.first + block as u64 * BLOCK;
        before + (from..index).filter(|index| self.is_selected(*index)).count() as u64
    }
}

impl Recorded for Replay {
    fn next(&self, place: &mut Place) -> Option<u64> {
        loop {
            let index = self.first + place.index;
            if index >= self.end {
                if !self.loops {
                    return None;
                }
                *place = Place { index: 0, round: place.round + 1 };
                continue;
            }
            self.requests.walk(index);
            place.index += 1;
            let record = self.requests.record(index);
            if is_chosen(record.key, self.one_in) {
                return Some(record.at_ns - self.origin_ns + place.round * self.period_ns);
            }
        }
    }

    fn until(&self, ns: u64, near: &Place) -> u64 {
        let round = if self.loops { ns / self.period_ns } else { 0 };
        let within = ns - round * self.period_ns;
        let is_later = |ns: u64| ns.saturating_sub(self.origin_ns) > within;
        // Looks at records near the place first, in steps that double: others would have to be read from the disk.
        let (mut low, mut high) = (self.first, self.end);
        let mut probe = (self.first + near.index).min(self.end - 1);
        let mut step = 64;
        while low < high && (low..high).contains(&probe) {
            if is_later(self.requests.at_ns(probe)) {
                high = probe;
                probe = probe.saturating_sub(step);
            } else {
                low = probe + 1;
                probe += step;
            }
            step *= 2;
        }
        let index = self.requests.first(low..high, is_later);
        round * self.total + self.selected_before(index)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::compile::tests::compiled;
    use proptest::prelude::*;

    /// One request each millisecond, of keys that come again and again.
    fn requests(count: u64) -> Arc<Requests> {
        let line = |i: u64| {
            let key = i * i % 97;
            format!(
                "ts={}.{:03}000 gid={i} type=item_get key=k{key} status=found size=9\n",
                5 + i / 1000,
                i % 1000
            )
        };
        Arc::new(compiled((0..count).map(line).collect::<String>().as_bytes(), None).unwrap())
    }

    fn arrivals(replay: &Replay, most: usize) -> Vec<u64> {
        let mut place = Place::default();
        std::iter::from_fn(|| replay.next(&mut place)).take(most).collect()
    }

    #[test]
    fn a_part_of_the_time_begins_at_its_start() {
        let select = Select { from_ns: 1_500_000_000, to_ns: Some(1_510_000_000), ..Select::default() };
        let replay = Replay::new(requests(3_000), &select).unwrap();
        assert_eq!(arrivals(&replay, 100), (0..10).map(|i| i * 1_000_000).collect::<Vec<_>>());
        assert_eq!((replay.total(), replay.last_ns()), (10, 9_000_000));
        assert_eq!(replay.find(0, &mut Cursor::default()), 1_500);
        let none = Select { from_ns: 9_000_000_000, ..select };
        let error = Replay::new(requests(3_000), &none).unwrap_err().to_string();
        assert!(error.contains("no request is left of 3000"), "{error}");
    }

    #[test]
    fn a_loop_goes_on_with_the_mean_gap() {
        let select = Select { loops: true, to_ns: Some(3_000_000), ..Select::default() };
        let replay = Replay::new(requests(10), &select).unwrap();
        assert_eq!(arrivals(&replay, 7), (0..7).map(|i| i * 1_000_000).collect::<Vec<_>>());
        assert_eq!(replay.mean_rps(), 1_000.0);
        assert_eq!(replay.find(7, &mut Cursor::default()), 1);
        assert_eq!(replay.until(6_500_000, &Place::default()), 7);
    }

    #[test]
    fn sampling_keeps_whole_keys() {
        let all = requests(20_000);
        let replay = Replay::new(Arc::clone(&all), &Select { one_in: 4, ..Select::default() }).unwrap();
        let chosen: Vec<u64> = (0..all.len()).filter(|index| is_chosen(all.record(*index).key, 4)).collect();
        let mut cursor = Cursor::default();
        let found: Vec<u64> = (0..replay.total()).map(|number| replay.find(number, &mut cursor)).collect();
        assert_eq!(found, chosen);
        assert_eq!(arrivals(&replay, 30_000), chosen.iter().map(|i| i * 1_000_000).collect::<Vec<_>>());
        let keys = |indices: &[u64]| {
            indices.iter().map(|index| all.record(*index).key).collect::<std::collections::HashSet<_>>().len()
        };
        // 49 keys; the standard deviation of their number is √(49 × 3/16), 3.
        assert!(keys(&chosen).abs_diff(12) < 12, "{}", keys(&chosen));
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_arrivals(
            one_in in 1u32..6, from in 0u64..4_000, length in 1u64..6_000, ns in 0u64..20_000_000_000, near in 0u64..9_000, loops: bool
        ) {
            let (from_ns, to_ns) = (from * 1_000_000, Some((from + length) * 1_000_000));
            let select = Select { one_in, from_ns, to_ns, loops };
            static NINE_SECONDS: LazyLock<Arc<Requests>> = LazyLock::new(|| requests(9_000));
            let Ok(replay) = Replay::new(Arc::clone(&NINE_SECONDS), &select) else { return Ok(()) };
            let mut place = Place::default();
            let counted = std::iter::from_fn(|| replay.next(&mut place)).take_while(|at| *at <= ns).count() as u64;
            prop_assert_eq!(replay.until(ns, &Place { index: near, round: 0 }), counted);
            // A cursor that leaps finds the same as one that walks.
            let (mut walk, mut leap) = (Cursor::default(), Cursor::default());
            for number in (0..2 * replay.total()).step_by(7) {
                let walked = replay.find(number, &mut walk);
                if number % 5 == 0 {
                    prop_assert_eq!(replay.find(number, &mut leap), walked);
                }
            }
        }
    }
}
