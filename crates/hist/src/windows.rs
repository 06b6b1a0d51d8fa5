//! Response times by the window of 10 ms or more in which the requests were intended, for the windowed p99.
//!
//! On a shared machine the raw tail is mostly the host's: one pause of 200 ms in a trial of 10 s hits 2 % of all
//! requests and so *is* the p99. A median over windows is the p99 without such pauses; both figures are shown. The
//! shorter the windows, the fewer of them a stall touches. Windows are keyed by the intended time, since by the time
//! of completion a stall would move its victims into the window after it.
//!
//! Try it: `cargo test -p hist windows`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Latency;
use crate::sparse::Sparse;

units::limits! {
    /// The length of one window over time, in measurements of up to 100 s: what plots show.
    pub const WINDOW: Nanos = Nanos::from_millis(100), Span,
        "ours, because it has 1000 requests from 10 krps on, and a trial of seconds has tens of them";

    /// The most windows of one measurement. In one of more than 100 s each window is twice as long, or four times, and so
    /// on, so that memory does not grow with the length.
    const MOST: u64 = 1_000, Count,
        "ours, because memory must not grow with the length of a measurement";

    /// Windows are merged until they hold this many samples, which puts
    /// [`MIN_BEYOND`](crate::MIN_BEYOND) of them beyond the p99.
    const MIN_SAMPLES: u64 = 1_000, Count,
        "ours, because that puts 10 of them beyond the p99";

    /// The fewest windows whose median is better than a single window.
    const MIN_GROUPS: usize = 3, Count,
        "ours, because the median of fewer is one of them";
}

/// Windows of the windowed p99 are shorter by the first of these factors that leaves no more than [`MOST`]: 10, 20 or 50 ms.
const SHORTER: [u64; 3] = [10, 5, 2];

/// Response times in consecutive windows, of 100 ms or less up to 100 s, longer ones beyond, keyed by intended time.
///
/// Bounds: times to three significant digits, at most 1 hour, as in [`Latency`].
/// Cost: 300 bytes for each window, and 4 KiB for each factor of two among its response times: 20 to 30 KiB
/// usually, so 3 MiB for a trial of 10 s and at most 30 MiB for any. Recording takes 4 ns; the first time of an octave in a window
/// allocates its 4 KiB, about 1 µs.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    length: Nanos,
    windows: Vec<Sparse>,
    marks: Vec<bool>,
}

/// The windows that a figure uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSelection {
    /// Every one.
    All,
    /// Those that are not marked.
    Unmarked,
}

/// The figures of one window, for a plot over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The window's start, from the start of the measurement.
    pub start: Nanos,
    /// The number of samples.
    pub count: u64,
    /// The median; `None` under 10 samples beyond it.
    pub p50: Option<Nanos>,
    /// The 99th percentile; `None` under 10 samples beyond it.
    pub p99: Option<Nanos>,
    /// The longest; `None` without samples.
    pub max: Option<Nanos>,
    /// Whether the host disturbed it.
    pub marked: bool,
}

impl Windows {
    /// Empty windows for a measurement of length `span`; a last incomplete window counts as one.
    pub fn new(span: Nanos) -> Windows {
        Windows::of_length(span, Windows::length_for(span))
    }

    /// The same with the shortest windows that a measurement of this length allows: 10, 20, 50 or 100 ms. The shorter
    /// the windows, the more of them are free of stalls; windows of few samples are merged for the windowed p99.
    pub fn shortest(span: Nanos) -> Windows {
        let longest = Windows::length_for(span);
        let fit = |length: &Nanos| span.0.div_ceil(length.0) <= MOST;
        let shorter = SHORTER.iter().map(|times| Nanos(longest.0 / times)).find(fit);
        Windows::of_length(span, shorter.unwrap_or(longest))
    }

    fn of_length(span: Nanos, length: Nanos) -> Windows {
        let n = span.0.div_ceil(length.0).max(1) as usize;
        Windows { length, windows: vec![Sparse::new(); n], marks: vec![false; n] }
    }

    /// The length of the windows of a measurement of length `span`: [`WINDOW`], or that doubled until there are at most
    /// 1 000 of them.
    pub fn length_for(span: Nanos) -> Nanos {
        std::iter::successors(Some(WINDOW), |length| Some(Nanos(length.0 * 2)))
            .find(|length| span.0.div_ceil(length.0) <= MOST)
            .expect("a doubled length suffices before it overflows")
    }

    /// The same samples, restricted to kept windows, in windows of the length that plots have
    /// ([`Windows::length_for`]). A long window is marked if any of its parts is marked; with unmarked windows only,
    /// if all of its parts are marked.
    pub fn over_time(&self, kept: WindowSelection) -> Windows {
        // Only windows of 100 ms have shorter ones: longer ones are so many that half as long ones would be too many.
        let group = (WINDOW.0 / self.length.0).max(1) as usize;
        let mut all = Windows {
            length: Nanos(self.length.0 * group as u64),
            windows: vec![Sparse::new(); self.windows.len().div_ceil(group)],
            marks: vec![kept == WindowSelection::Unmarked; self.windows.len().div_ceil(group)],
        };
        for (i, (window, mark)) in self.windows.iter().zip(&self.marks).enumerate() {
            match kept {
                WindowSelection::All => all.marks[i / group] |= mark,
                WindowSelection::Unmarked => all.marks[i / group] &= mark,
            }
            if kept == WindowSelection::All || !mark {
                all.windows[i / group].merge(window);
            }
        }
        all
    }

    /// Drops the windows beyond a shorter measurement of length `span`, with their samples.
    pub fn shorten(&mut self, span: Nanos) {
        let n = span.0.div_ceil(self.length.0).max(1) as usize;
        self.windows.truncate(n);
        self.marks.truncate(n);
    }

    /// The length of each window.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// Counts the response time of a request intended `offset` after the start.
    ///
    /// An offset beyond the span counts in the last window, so that no sample is lost.
    #[inline]
    pub fn record(&mut self, offset: Nanos, response: Nanos) {
        let i = self.index(offset).min(self.windows.len() - 1);
        self.windows[i].record(response);
    }

    /// Adds the samples and marks of `other`, which counts from the same start in windows of the same length.
    pub fn merge(&mut self, other: &Windows) {
        assert_eq!(self.length, other.length, "of measurements of one length");
        if other.windows.len() > self.windows.len() {
            self.windows.resize(other.windows.len(), Sparse::new());
            self.marks.resize(other.marks.len(), false);
        }
        for (mine, theirs) in self.windows.iter_mut().zip(&other.windows) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.marks.iter_mut().zip(&other.marks) {
            *mine |= theirs;
        }
    }

    /// Marks the windows that a disturbance of the host from `from` to `to` touched; times outside of the span are
    /// ignored.
    pub fn mark(&mut self, from: Nanos, to: Nanos) {
        // The end is exclusive, but a disturbance without length still happened in a window.
        let last = self.index(Nanos(to.0.saturating_sub(1)).max(from));
        let first = self.index(from);
        self.marks.iter_mut().take(last.saturating_add(1)).skip(first).for_each(|mark| *mark = true);
    }

    /// The number of windows that are marked.
    pub fn marked(&self) -> usize {
        self.marks.iter().filter(|&&mark| mark).count()
    }

    /// The number of windows, the empty ones too.
    pub fn count(&self) -> usize {
        self.windows.len()
    }

    /// Marks the windows whose p99 is higher, by more than `allowed` of it, than the one with the samples of `out` left out and
    /// those of `by` in their place.
    ///
    /// In windows of fewer than 100 samples it is the longest. Returns how many such windows there are, those among them that
    /// were marked before.
    pub fn mark_moved(&mut self, out: &Windows, by: &Windows, allowed: impl Fn(Nanos) -> Nanos) -> usize {
        let mut found = 0;
        for i in 0..self.windows.len() {
            if out.windows.get(i).is_none_or(|window| window.count() == 0) {
                continue;
            }
            let measured = latency(self.values_at(i));
            let without = replaced(self.values_at(i), out.values_at(i), by.values_at(i));
            if let Some((p99, without)) = measured.value_at(99.0).zip(without.value_at(99.0)) {
                let moved = p99 - without > allowed(without);
                self.marks[i] |= moved;
                found += usize::from(moved);
            }
        }
        found
    }

    /// All samples of the windows that are kept.
    pub fn samples(&self, kept: WindowSelection) -> Latency {
        latency(self.kept(self, kept).flat_map(Sparse::values))
    }

    /// All samples of the kept windows, with the samples of `out` removed and the samples of `by` added; the marks of
    /// `self` apply.
    ///
    /// Samples in `out` that are missing here are ignored.
    pub fn replaced(&self, kept: WindowSelection, out: &Windows, by: &Windows) -> Latency {
        let [all, out, by] = [self, out, by].map(|of| self.kept(of, kept).flat_map(Sparse::values));
        replaced(all, out, by)
    }

    /// The samples of window `i`, none beyond the last.
    fn values_at(&self, i: usize) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.windows.get(i).into_iter().flat_map(Sparse::values)
    }

    /// For each kept window, in order: the number of samples, and how many are longer than `limit`.
    pub fn beyond(&self, kept: WindowSelection, limit: Nanos) -> Vec<(u64, u64)> {
        let beyond =
            |window: &Sparse| window.values().filter(|(time, _)| *time > limit).map(|(_, n)| n).sum();
        self.kept(self, kept).map(|window| (window.count(), beyond(window))).collect()
    }

    /// All samples of a range of the windows that are kept, counted among those from 0.
    pub fn samples_in(&self, kept: WindowSelection, range: Range<usize>) -> Latency {
        latency(self.kept(self, kept).take(range.end).skip(range.start).flat_map(Sparse::values))
    }

    /// The windows of `of` that the marks of `self` select.
    fn kept<'a>(&'a self, of: &'a Windows, kept: WindowSelection) -> impl Iterator<Item = &'a Sparse> {
        let marked = of.windows.iter().zip(&self.marks);
        marked.filter(move |(_, mark)| kept == WindowSelection::All || !**mark).map(|(window, _)| window)
    }

    /// The median, over windows of at least 1 000 samples, of each window's p99.
    ///
    /// Consecutive kept windows are merged until they hold 1 000 samples; the remaining ones join the last of them.
    /// `None` with fewer than 3 such windows.
    pub fn windowed_p99(&self, kept: WindowSelection) -> Option<Nanos> {
        self.median_p99(kept, |p99, _| p99)
    }

    /// The least that the windowed p99 of all windows would be, had the marked windows had any lower p99: the median withstands
    /// that up to half of the windows are wrong.
    pub fn windowed_p99_at_least(&self) -> Option<Nanos> {
        self.median_p99(WindowSelection::All, |p99, marked| if marked { Nanos::ZERO } else { p99 })
    }

    /// The median over the groups of windows of what `of` makes of a group's p99, and of whether a window in it is marked.
    fn median_p99(&self, kept: WindowSelection, of: impl Fn(Nanos, bool) -> Nanos) -> Option<Nanos> {
        let mut groups: Vec<(Sparse, bool)> = Vec::new();
        let marked = self.windows.iter().zip(&self.marks);
        for (window, mark) in marked.filter(|(_, mark)| kept == WindowSelection::All || !**mark) {
            match groups.last_mut() {
                Some((group, marked)) if group.count() < MIN_SAMPLES => {
                    group.merge(window);
                    *marked |= mark;
                }
                _ => groups.push((window.clone(), *mark)),
            }
        }
        if let Some((rest, mark)) = groups.pop_if(|(group, _)| group.count() < MIN_SAMPLES) {
            let (last, marked) = groups.last_mut()?;
            last.merge(&rest);
            *marked |= mark;
        }
        if groups.len() < MIN_GROUPS {
            return None;
        }
        let p99s = groups.iter().map(|(group, marked)| Some(of(group.percentile(99.0)?, *marked)));
        let mut p99s = p99s.collect::<Option<Vec<Nanos>>>()?;
        p99s.sort_unstable();
        let (low, high) = (p99s[(p99s.len() - 1) / 2], p99s[p99s.len() / 2]);
        Some(Nanos(low.0.midpoint(high.0)))
    }

    /// The figures of each window in order, the empty ones too.
    pub fn series(&self) -> Vec<Window> {
        (0..self.windows.len()).filter_map(|i| self.at(i)).collect()
    }

    /// The figures of window `i`, from 0; `None` beyond the last.
    pub fn at(&self, i: usize) -> Option<Window> {
        let window = self.windows.get(i)?;
        Some(Window {
            start: Nanos(i as u64 * self.length.0),
            count: window.count(),
            p50: window.percentile(50.0),
            p99: window.percentile(99.0),
            max: window.max(),
            marked: self.marks[i],
        })
    }

    /// What fell into each cell of [`heat_cell`](crate::heat_cell) in each window, rising, without the empty ones.
    pub fn heat(&self) -> Vec<Vec<(u32, u64)>> {
        self.windows.iter().map(|window| crate::heat::gather(window.values())).collect()
    }

    fn index(&self, offset: Nanos) -> usize {
        (offset.0 / self.length.0) as usize
    }
}

impl std::fmt::Debug for Windows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} windows of {}, {} marked", self.count(), self.length, self.marked())
    }
}

fn latency(samples: impl Iterator<Item = (Nanos, u64)>) -> Latency {
    let mut all = Latency::new();
    samples.for_each(|(time, n)| all.record_n(time, n));
    all
}

/// `samples` with `by` in the place of `out`; samples in `out` alone are ignored.
fn replaced(
    samples: impl Iterator<Item = (Nanos, u64)>,
    out: impl Iterator<Item = (Nanos, u64)>,
    by: impl Iterator<Item = (Nanos, u64)>,
) -> Latency {
    let mut counts: BTreeMap<Nanos, u64> = BTreeMap::new();
    samples.for_each(|(time, n)| *counts.entry(time).or_default() += n);
    for (time, n) in out {
        if let Some(count) = counts.get_mut(&time) {
            *count = count.saturating_sub(n);
        }
    }
    by.for_each(|(time, n)| *counts.entry(time).or_default() += n);
    latency(counts.into_iter())
}

#[cfg(test)]
mod tests;
