//! Opens the pages in a real browser: the script must run and know every trial.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use report::{Sides, comparison_html, experiment_html, study_html};

/// A browser that takes longer than this is stuck; it takes about 1 s here.
const PATIENCE: Duration = Duration::from_secs(60);

fn chromium() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file())
}

/// The page at `file` after its script ran.
fn opened(chromium: &Path, file: &Path, folder: &Path) -> String {
    let out = folder.join("dom.html");
    let mut browser = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let step = Duration::from_millis(50);
    let mut waited = Duration::ZERO;
    while browser.try_wait().unwrap().is_none() {
        if waited > PATIENCE {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("chromium did not finish within {PATIENCE:?}");
        }
        thread::sleep(step);
        waited += step;
    }
    fs::read_to_string(out).unwrap()
}

/// The value of the root's attribute `name`, which the script sets.
fn root_attribute<'a>(dom: &'a str, name: &str) -> Option<&'a str> {
    let root = &dom[dom.find("<html")?..];
    let root = &root[..root.find('>')?];
    root.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

#[test]
fn the_script_runs_and_knows_every_trial() {
    let Some(chromium) = chromium() else {
        println!("skipped: chromium not found on PATH; install the package chromium to run this test");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, page: String, trials: Option<usize>| {
        let file = folder.path().join("page.html");
        fs::write(&file, page).unwrap();
        let dom = opened(&chromium, &file, folder.path());
        assert_eq!(root_attribute(&dom, "data-script"), Some("ok"), "{name}");
        if let Some(trials) = trials {
            let trials = trials.to_string();
            assert_eq!(root_attribute(&dom, "data-trials"), Some(trials.as_str()), "{name}");
            assert_eq!(root_attribute(&dom, "data-trials-drawn"), Some(trials.as_str()), "{name}");
        }
    };
    let (sweep, live) = (crate::sample::sweep(), crate::sample::live(3));
    check("sweep", experiment_html(&sweep), Some(sweep.trials.len()));
    check(
        "comparison",
        comparison_html(&crate::sample::comparison(&live), Sides::Results(&live, &live)),
        Some(live.trials.len()),
    );
    let traced = crate::sample::traced();
    check("traced", experiment_html(&traced), Some(traced.trials.len()));
    check("study", study_html(&crate::sample::study()), Some(0));
    for (name, study) in crate::sample::studies_in_trouble() {
        check(name, study_html(&study), None);
    }
    for (name, experiment) in crate::sample::degenerate().into_iter().take(2) {
        check(name, experiment_html(&experiment), None);
    }
}
