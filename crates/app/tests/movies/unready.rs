//! A service that does not become ready is named, and the others are removed completely.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use app::Starting;

use crate::movies::site::{alone, planned, runs, until};

/// Starts the site with `script` as the program of plot; returns the error, after checking that nothing remains.
fn started_with(script: &str) -> Option<String> {
    let _alone = alone();
    let mut plan = planned(&[])?;
    let other = tempfile::tempdir().unwrap();
    let program = other.path().join("bin/movies-plot");
    fs::create_dir(other.path().join("bin")).unwrap();
    launch::testing::write_program(&program, script);
    for path in [other.path(), &other.path().join("bin")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    plan.built.insert(0, other.path().into());
    let (mut pids, mut folders) = (Vec::new(), Vec::<PathBuf>::new());
    let started = plan.start_telling(&mut |starting| {
        if let Starting::Ready { pid, .. } = starting {
            pids.push(*pid);
            folders.extend(fs::read_link(format!("/proc/{pid}/cwd")));
        }
        true
    });
    let said = match started {
        Ok(_) => panic!("it was started without plot"),
        Err(app::Error::Launch(error @ launch::Error::NotFound { .. })) => {
            println!("skipped: {error}");
            return None;
        }
        Err(error) => error.to_string(),
    };
    assert!(pids.len() >= 2, "its database and cache ran: {pids:?}");
    until("no process is left", || !pids.iter().any(|pid| runs(*pid)));
    // This crate's own folder, used by services without one, may also be below the temporary folder.
    let here = std::env::current_dir().unwrap();
    folders.retain(|folder| folder.starts_with(std::env::temp_dir()) && *folder != here);
    let left: Vec<&PathBuf> = folders.iter().filter(|folder| folder.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
    Some(said)
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_service_that_ends_before_it_is_ready_is_named_and_nothing_is_left() {
    let Some(said) = started_with("echo no luck today >&2; exit 7") else { return };
    assert!(
        said.contains("plot") && said.contains("exit status: 7") && said.contains("no luck today"),
        "{said}"
    );
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_service_that_is_never_ready_is_named_and_nothing_is_left() {
    let Some(said) = started_with("echo waiting >&2; exec sleep 600") else { return };
    assert!(said.contains("plot did not") && said.contains("waiting"), "{said}");
}
