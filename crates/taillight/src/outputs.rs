//! Output of a result for other tools: tables and metrics in addition to the page for people.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use export::Metrics;
use results::{Experiment, ResultFolder};

/// Output files in addition to `result.json`, the histograms and the report.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OutputArgs {
    /// Write trials.csv and windows.csv into the result's folder.
    #[arg(long)]
    csv: bool,
    /// Write trials.parquet and windows.parquet into the result's folder.
    #[cfg(feature = "parquet")]
    #[arg(long)]
    parquet: bool,
    /// Write the last trial's figures as OpenMetrics text to a file, or push them to an http:// address.
    #[arg(long, value_name = "FILE|URL", value_parser = file_or_address)]
    openmetrics: Option<String>,
    /// Push the last trial's figures to an OpenTelemetry collector's HTTP address, such as http://127.0.0.1:4318.
    #[arg(long, value_name = "URL", value_parser = http_address)]
    otlp: Option<String>,
}

impl OutputArgs {
    /// Whether it can be written or sent, as far as this is known before the measurement.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(to) = self.openmetrics.as_ref().filter(|to| !is_address(to)) else { return Ok(()) };
        let folder = Path::new(to).parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            anyhow::bail!(
                "--openmetrics {to}: there is no folder {}; make it, or give another file",
                folder.display()
            );
        }
        Ok(())
    }

    pub(crate) fn write(&self, experiment: &Experiment, folder: &ResultFolder) -> Result<()> {
        if self.csv {
            folder.write("trials.csv", export::trials(experiment).csv().as_bytes())?;
            folder.write("windows.csv", export::windows(experiment).csv().as_bytes())?;
        }
        #[cfg(feature = "parquet")]
        if self.parquet {
            folder.write("trials.parquet", &export::trials(experiment).parquet()?)?;
            folder.write("windows.parquet", &export::windows(experiment).parquet()?)?;
        }
        let Some(trial) = experiment.trials.last() else { return Ok(()) };
        let metrics = Metrics::of_trial(&experiment.name, trial);
        if let Some(to) = &self.openmetrics {
            openmetrics(&metrics, to)?;
        }
        if let Some(to) = &self.otlp {
            let (from, until) = span(experiment);
            sinks::push_otlp(&metrics, to, from, until)?;
        }
        Ok(())
    }
}

fn openmetrics(metrics: &Metrics, to: &str) -> Result<()> {
    if is_address(to) {
        return Ok(sinks::push_openmetrics(metrics, to)?);
    }
    fs::write(Path::new(to), metrics.openmetrics())
        .with_context(|| format!("cannot write {to}; choose a file in a folder that you may write to"))
}

/// Whether metrics are pushed there, rather than written to a file of this name.
fn is_address(to: &str) -> bool {
    to.starts_with("http://") || to.starts_with("https://")
}

/// Reads an option, the address of a receiver of metrics, so that one that cannot be used is found before the run.
pub(crate) fn http_address(text: &str) -> Result<String, String> {
    if text.starts_with("http://") {
        Ok(text.into())
    } else {
        Err("give the address of a receiver that listens, as http://HOST:PORT".into())
    }
}

fn file_or_address(text: &str) -> Result<String, String> {
    if is_address(text) { http_address(text) } else { Ok(text.into()) }
}

/// From the start of the experiment to now, in ns since the Unix epoch.
fn span(experiment: &Experiment) -> (u64, u64) {
    let now = u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0);
    let from = experiment.created.parse::<jiff::Timestamp>().ok();
    let from = from.and_then(|from| u64::try_from(from.as_nanosecond()).ok()).unwrap_or(now);
    (from, now)
}
