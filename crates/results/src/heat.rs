use hist::Windows;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Maximum number of columns: the pixels of a wide figure.
const COLUMNS: usize = 600;

/// The response times over time as a heat map: the count in each cell for each stretch of time.
///
/// Shape: time runs over the columns, the response time over the cells of a column. With `n` cells to each
/// factor of two, cell `k` starts at 2^⌊k/n⌋ × (1 + (k mod n)/n) ns and ends at the start of the next cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Heat {
    /// The length of time of one column, by intended time.
    pub column_ms: u64,
    /// Cells per factor of two.
    pub cells_per_octave: u32,
    /// Columns, from the start of the trial's window.
    pub columns: Vec<HeatColumn>,
}

/// The counts of one column from its lowest cell on.
///
/// On disk a text, `FIRST:COUNT COUNT …`, or empty: with each number on its own line, results would be three
/// times as long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^([0-9]+:[0-9]+( [0-9]+)*)?$"))]
pub struct HeatColumn {
    /// The cell of the first count.
    pub first: u32,
    /// The counts, without gaps.
    pub counts: Vec<u64>,
}

impl Heat {
    /// The heat map of `windows`; neighbouring windows share a column if there are more than 600.
    pub fn of(windows: &Windows) -> Heat {
        let cells = windows.heat();
        let each = cells.len().div_ceil(COLUMNS).max(1);
        let columns = cells.chunks(each).map(|group| HeatColumn::of(group.iter().flatten().copied()));
        Heat {
            column_ms: each as u64 * windows.length().0 / 1_000_000,
            cells_per_octave: hist::HEAT_CELLS_PER_OCTAVE,
            columns: columns.collect(),
        }
    }

    /// The time at which `cell` starts. Units: µs.
    pub fn start_us(&self, cell: u32) -> f64 {
        let n = self.cells_per_octave.max(1);
        let octave = 2f64.powi((cell / n).min(1_000) as i32);
        octave * (1.0 + f64::from(cell % n) / f64::from(n)) / Nanos::from_micros(1).0 as f64
    }
}

impl HeatColumn {
    fn of(cells: impl Iterator<Item = (u32, u64)>) -> HeatColumn {
        let mut cells: Vec<(u32, u64)> = cells.collect();
        cells.sort_unstable();
        let Some(&(first, _)) = cells.first() else { return HeatColumn::default() };
        let mut counts = Vec::new();
        for (cell, count) in cells {
            counts.resize(counts.len().max((cell - first) as usize + 1), 0);
            counts[(cell - first) as usize] += count;
        }
        HeatColumn { first, counts }
    }

    /// Each cell with its count, including empty cells.
    pub fn cells(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let first = self.first;
        // A damaged file may have any first cell.
        self.counts.iter().enumerate().map(move |(i, count)| (first.saturating_add(i as u32), *count))
    }
}

impl From<HeatColumn> for String {
    fn from(HeatColumn { first, counts }: HeatColumn) -> String {
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        if counts.is_empty() { String::new() } else { format!("{first}:{}", counts.join(" ")) }
    }
}

impl TryFrom<String> for HeatColumn {
    type Error = String;

    fn try_from(text: String) -> Result<HeatColumn, String> {
        if text.is_empty() {
            return Ok(HeatColumn::default());
        }
        let error =
            || format!("the column of heat '{text:.40}' is not FIRST:COUNT COUNT …, such as 68:1 20 7");
        let (first, counts) = text.split_once(':').ok_or_else(error)?;
        let counts: Result<Vec<u64>, _> = counts.split(' ').map(str::parse).collect();
        Ok(HeatColumn { first: first.parse().map_err(|_| error())?, counts: counts.map_err(|_| error())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_sample_stands_in_the_cell_of_its_time() {
        let mut windows = Windows::new(Nanos::from_millis(300));
        for (offset_ms, us) in [(0, 20), (10, 21), (10, 900), (250, 35)] {
            windows.record(Nanos::from_millis(offset_ms), Nanos::from_micros(us));
        }
        let heat = Heat::of(&windows);
        assert_eq!((heat.column_ms, heat.columns.len()), (100, 3));
        let hit = |column: usize| -> Vec<(f64, f64, u64)> {
            let cells = heat.columns[column].cells().filter(|(_, count)| *count > 0);
            cells.map(|(cell, count)| (heat.start_us(cell), heat.start_us(cell + 1), count)).collect()
        };
        assert_eq!(hit(0), [(16.384, 20.48, 1), (20.48, 24.576, 1), (786.432, 917.504, 1)]);
        assert_eq!(hit(1), []);
        assert_eq!(hit(2), [(32.768, 40.96, 1)]);
    }

    #[test]
    fn a_long_trial_keeps_few_columns() {
        let mut windows = Windows::new(Nanos::from_secs(120));
        (0..1_200).for_each(|i| windows.record(Nanos::from_millis(100 * i), Nanos::from_micros(50)));
        let heat = Heat::of(&windows);
        assert_eq!((heat.column_ms, heat.columns.len()), (200, 600));
        assert!(heat.columns.iter().all(|column| column.counts == [2]));
    }

    #[test]
    fn a_damaged_column_is_refused() {
        for text in ["1", ":", "1:", "1:2 ", "1:2  3", "a:1", "1:-2", "99999999999:1"] {
            let error = HeatColumn::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains("FIRST:COUNT"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_column_survives_the_disk(first in any::<u32>(), counts in prop::collection::vec(any::<u64>(), 1..20)) {
            let column = HeatColumn { first, counts };
            let json = serde_json::to_string(&column).unwrap();
            prop_assert_eq!(serde_json::from_str::<HeatColumn>(&json).unwrap(), column);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9: a]{0,30}") {
            let _ = HeatColumn::try_from(text);
        }
    }
}
