//! Scenarios in a real browser, for the tests of any crate: `#[path = "../../../taillight/tests/browser/run.rs"] mod browser;`
//!
//! `Browser::find()` reports a missing program. `scenario("video", &url, &[])` runs `video.mjs` of this folder to its end and returns its
//! result. `cargo xtask tools` installs the browser driver.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use launch::{Process, Spec, find_program};
use serde_json::Value;

/// Where `cargo xtask tools` installs what drives the browser.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/browser");
/// Where the scenarios are.
const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../taillight/tests/browser");
/// A bound on waiting: each step of a scenario may take a minute on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A browser and what drives it.
pub(crate) struct Browser {
    node: PathBuf,
    chromium: PathBuf,
}

impl Browser {
    /// Errors: the missing program and how to install it, for a line `skipped: REASON`.
    pub(crate) fn find() -> Result<Browser, String> {
        let program = |name: &str, package: &str| {
            find_program(name).ok_or_else(|| format!("there is no {name} here (apt-get install {package})"))
        };
        let (node, chromium) = (program("node", "nodejs")?, program("chromium", "chromium")?);
        if !Path::new(TOOLS).join("node_modules/playwright-core").is_dir() {
            return Err("playwright-core is not installed (cargo xtask tools)".into());
        }
        Ok(Browser { node, chromium })
    }

    /// Runs a scenario on the page at `url` and returns its result.
    ///
    /// Panics if the scenario fails or the page sends a request to another host.
    #[track_caller]
    pub(crate) fn scenario(&self, name: &str, url: &str, words: &[&str]) -> Value {
        let spec = Spec::new("browser", &self.node)
            .args(["run.mjs", name, url])
            .args(words.iter().copied())
            .dir(SCENARIOS)
            .env("TAILLIGHT_BROWSER_MODULES", TOOLS)
            .env("CHROMIUM", self.chromium.display().to_string());
        let mut process = Process::spawn(spec).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut said = String::new();
        while let Some(line) = process.next_line(deadline.saturating_duration_since(Instant::now())) {
            said = line;
        }
        let status = process.wait(deadline.saturating_duration_since(Instant::now()));
        let end = format!("{name} at {url}: {status:?}: {said}\n{}", process.stderr_tail().join("\n"));
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {end}"));
        assert_eq!(said["ok"], true, "{end}");
        assert_eq!(said["elsewhere"], Value::Array(Vec::new()), "it asked other hosts: {end}");
        said["result"].clone()
    }
}
