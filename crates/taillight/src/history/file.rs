//! The file: a JSON object for each result, one a line, the oldest first.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use results::{Experiment, LoadPoint, Metric, Purpose, Trial, machine, write_whole};
use serde::{Deserialize, Serialize};

/// The version of the lines that this program writes.
const SCHEMA: u32 = 1;
/// A longer history is refused: 10 000 results of 20 figures have 20 MB.
const LONGEST: u64 = 256 << 20;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    pub(super) entries: Vec<HistoryEntry>,
}

/// The figures of one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct HistoryEntry {
    pub(super) schema: u32,
    /// The measured commit.
    pub(super) commit: String,
    /// The name of the result's folder.
    pub(super) result: String,
    /// When it was measured: RFC 3339, UTC.
    pub(super) created: String,
    /// The machine, in a line.
    pub(super) machine: String,
    /// By name.
    pub(super) figures: BTreeMap<String, Kept>,
}

/// A figure with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether the bounds are close enough for one number.
    pub(super) usable: bool,
    /// Trials.
    pub(super) n: u32,
    pub(super) unit: Unit,
}

/// Unit of a figure, and the direction for the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Unit {
    /// Response times: more is worse.
    #[serde(rename = "µs")]
    Micros,
    /// Throughput: less is worse.
    #[serde(rename = "rps")]
    Rps,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Micros => "µs",
            Unit::Rps => "rps",
        }
    }
}

impl History {
    /// Errors: the file cannot be read, a line is damaged or of a later version.
    pub(super) fn read(path: &Path) -> Result<History> {
        let size = fs::metadata(path)
            .with_context(|| format!("cannot read {}; taillight history add makes it", path.display()))?
            .len();
        if size > LONGEST {
            bail!("{} is no history: it has {size} bytes, the limit is {LONGEST}", path.display());
        }
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        History::parse(&text).with_context(|| format!("{} is no history of taillight", path.display()))
    }

    pub(super) fn parse(text: &str) -> Result<History> {
        let mut entries = Vec::new();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let entry: HistoryEntry =
                serde_json::from_str(line).with_context(|| format!("line {}", i + 1))?;
            if entry.schema > SCHEMA {
                bail!(
                    "line {} has schema {}; this program reads up to {SCHEMA}: use a newer taillight",
                    i + 1,
                    entry.schema
                );
            }
            entries.push(entry);
        }
        Ok(History { entries })
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let lines: Result<Vec<String>, _> = self.entries.iter().map(serde_json::to_string).collect();
        write_whole(path, (lines?.join("\n") + "\n").as_bytes())?;
        Ok(())
    }
}

/// The figures of a result: of each target its maximum and its peak, and at each load the median and the 99th
/// percentile, also windowed.
pub(super) fn entry_of(experiment: &Experiment, commit: &str) -> HistoryEntry {
    let mut figures = BTreeMap::new();
    let mut keep = |name: String, unit, usable, n: usize, (value, low, high): (f64, f64, f64)| {
        if value.is_finite() && low.is_finite() && high.is_finite() {
            let n = u32::try_from(n).unwrap_or(u32::MAX);
            figures.insert(name, Kept { value, low, high, usable, n, unit });
        }
    };
    for target in &experiment.targets {
        let name = &target.name;
        let spread = results::spread(target.max_throughput.iter().map(|max| max.reference_rps()));
        let steps = results::spread(target.max_throughput.iter().map(|max| max.high_rps));
        if let Some((low, high)) = spread.zip(steps) {
            let figure = (low.median, low.low, high.high);
            keep(format!("{name} maximum"), Unit::Rps, true, target.max_throughput.len(), figure);
        }
        if let Some(peak) = &target.peak {
            let figure = (peak.low_rps, peak.low_rps, peak.high_rps.unwrap_or(peak.low_rps));
            keep(format!("{name} peak"), Unit::Rps, true, peak.trials as usize, figure);
        }
        let trials: Vec<&Trial> =
            experiment.trials_of(name).filter(|trial| trial.purpose != Purpose::MaxSearch).collect();
        for point in LoadPoint::gather(&trials) {
            let load = match point.share {
                Some(share) => format!("{:.0} %", 100.0 * share),
                None => format!("{:.0} rps", point.offered_rps),
            };
            for metric in [Metric::P50, Metric::P99, Metric::WindowedP99] {
                let Some(spread) = point.spread(|trial| metric.of(trial)) else { continue };
                let bounds = point.bounds(metric);
                let (low, high) =
                    bounds.map_or((spread.low, spread.high), |bounds| (bounds.low_us, bounds.high_us));
                let usable = bounds.is_none_or(|bounds| bounds.is_usable());
                let figure = (spread.median, low.min(spread.median), high.max(spread.median));
                let name = format!("{name} at {load} {}", metric.words());
                keep(name, Unit::Micros, usable, point.usable().count(), figure);
            }
        }
    }
    HistoryEntry {
        schema: SCHEMA,
        commit: commit.to_owned(),
        result: experiment.name.clone(),
        created: experiment.created.clone(),
        machine: machine(&experiment.host),
        figures,
    }
}

#[cfg(test)]
mod tests {
    use results::{LatencySummary, Operation, Target, Verdict};

    use super::*;

    #[test]
    fn a_result_has_its_figures_and_a_file_keeps_them() {
        let times =
            LatencySummary { count: 9, p50_us: Some(20.0), p99_us: Some(90.0), ..LatencySummary::default() };
        let trial = Trial {
            target: "sphinx".into(),
            offered_rps: 3e3,
            all: Operation { response_time: times, ..Operation::default() },
            verdict: Verdict::Valid,
            ..Trial::default()
        };
        let mut experiment: Experiment =
            serde_json::from_str(include_str!("../../../results/tests/fixtures/v1-experiment.json")).unwrap();
        experiment.targets = vec![Target { name: "sphinx".into(), ..Target::default() }];
        experiment.trials = vec![trial];
        let entry = entry_of(&experiment, "abc");
        let names: Vec<&str> = entry.figures.keys().map(String::as_str).collect();
        assert_eq!(names, ["sphinx at 3000 rps p50", "sphinx at 3000 rps p99"]);
        assert_eq!(entry.figures["sphinx at 3000 rps p99"].value, 90.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        let history = History { entries: vec![entry.clone(), entry] };
        history.write(&path).unwrap();
        assert_eq!(History::read(&path).unwrap(), history);
    }

    #[test]
    fn damaged_lines_are_named() {
        let check = |text: &str, says: &str| {
            let error = format!("{:#}", History::parse(text).unwrap_err());
            assert!(error.contains(says), "{error}");
        };
        let line = r#"{"schema":1,"commit":"a","result":"r","created":"","machine":"","figures":{}}"#;
        check(&format!("{line}\n{{\n"), "line 2");
        check(&line.replace(":1", ":9"), "schema 9; this program reads up to 1");
        check("latency 3", "line 1");
        assert_eq!(History::parse(&format!("{line}\n\n")).unwrap().entries.len(), 1);
    }
}
