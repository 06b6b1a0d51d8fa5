//! `cargo xtask evidence`: measures the studies with missing or outdated results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::command::{as_by_hand, output};
use crate::docs::{self, Due};
use crate::repository::Repository;

/// The program that measures. Source: CONTRIBUTING.md, "Measured tables".
const BUILD: &str = "build --profile dist -p taillight -p sphinx --bins --features taillight/bpf --locked";
const PROGRAM: &str = "target/dist/taillight";
/// Results as they are measured. A study that was interrupted continues there.
const OUT: &str = "target/evidence";
/// What must be committed, since a result names the commit that it measures.
const MEASURED: [&str; 4] = ["crates", "apps", ":(glob)studies/*/*.toml", "Cargo.lock"];

#[derive(Debug, Default, PartialEq, Eq)]
struct EvidenceOptions {
    /// No study begins that is expected to end later.
    budget: Option<Duration>,
    /// Only these studies, by name; empty: all.
    names: Vec<String>,
}

impl EvidenceOptions {
    fn read(words: &[&str]) -> Result<EvidenceOptions, String> {
        let mut request = EvidenceOptions::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--budget" => {
                    let text = words.next().ok_or("--budget: write it with a time, such as 90m")?;
                    let minutes = text.strip_suffix('m').and_then(|text| text.parse::<u64>().ok());
                    let minutes =
                        minutes.ok_or_else(|| format!("--budget {text}: write minutes, such as 90m"))?;
                    request.budget = Some(Duration::from_secs(60 * minutes));
                }
                word if word.starts_with('-') => return Err(format!("evidence: there is no option {word}")),
                name => request.names.push(name.to_owned()),
            }
        }
        Ok(request)
    }
}

/// Measures, packs and publishes the studies that are due, the longest first; true if every study ended with a result.
///
/// Errors: files to measure are not committed, a name is unknown, or the program does not compile.
pub(crate) fn run(words: &[&str]) -> Result<bool, String> {
    let request = EvidenceOptions::read(words)?;
    let repository = Repository::read()?;
    let root = repository.root();
    let changed =
        output(Command::new("git").args(["status", "--porcelain", "--"]).args(MEASURED).current_dir(root))?;
    if !changed.is_empty() {
        return Err(format!(
            "commit these first, since a result names the commit that it measures:\n{changed}"
        ));
    }
    let due: Vec<Due> = docs::due(&repository).into_iter().filter(|due| due.study().is_some()).collect();
    let of_name = |due: &&Due| {
        request.names.is_empty()
            || due.study().is_some_and(|name| request.names.iter().any(|wanted| wanted == name))
    };
    let unknown = |name: &&String| !due.iter().any(|due| due.study() == Some(name.as_str()));
    if let Some(name) = request.names.iter().find(unknown) {
        return Err(format!("{name}: no study of this name is due; cargo xtask docs --due lists them"));
    }
    let mut build = Command::new("cargo");
    let built = as_by_hand(build.args(BUILD.split(' ')).current_dir(root)).status();
    if !built.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err("the program that measures does not compile".into());
    }
    let list = output(Command::new(root.join(PROGRAM)).args(["study", "list"]).current_dir(root))?;
    let mut planned: Vec<(Duration, &Due)> =
        due.iter().filter(of_name).map(|due| (expected(&list, due), due)).collect();
    planned.sort_by_key(|(expected, _)| std::cmp::Reverse(*expected));
    let (begun, mut well, mut left) = (Instant::now(), true, Vec::new());
    for (n, (expected, due)) in planned.iter().enumerate() {
        if request.budget.is_some_and(|budget| begun.elapsed() + *expected > budget) {
            left.push(due.path.as_str());
            continue;
        }
        println!(
            "\n== {} of {}: {} (about {:.0} min)",
            n + 1,
            planned.len(),
            due.path,
            expected.as_secs_f64() / 60.0
        );
        match measure(root, due) {
            Ok(()) => {
                docs::write(&Repository::read()?)?;
            }
            Err(why) => {
                println!("== {}: FAILED: {why}", due.path);
                well = false;
            }
        }
    }
    println!(
        "\nmeasured in {:.0} min; commit the results, and docs with them",
        begun.elapsed().as_secs_f64() / 60.0
    );
    left.iter().for_each(|path| println!("left for another time: {path}"));
    Ok(well)
}

/// Runs a study, or continues it, and puts its result into the tree.
fn measure(root: &Path, due: &Due) -> Result<(), String> {
    let study = due.study().ok_or("it is no study's")?;
    let out = root.join(OUT);
    let before = newest(&out, study);
    let run = Command::new(root.join(PROGRAM))
        .args(["study", "run", study, "--quick", "--out"])
        .arg(&out)
        .current_dir(root)
        .status();
    let status = run.map_err(|error| format!("cannot run {PROGRAM}: {error}"))?;
    // A study of which this machine can measure nothing ends with 75, and has a result with the reasons.
    let folder = newest(&out, study).filter(|folder| Some(folder) != before.as_ref());
    let folder = folder.ok_or_else(|| format!("it left no result ({status})"))?;
    let packed = root.join(&due.path);
    let fresh = packed.with_extension("new.tgz");
    let mut pack = Command::new(root.join(PROGRAM));
    let pack = pack.args(["pack", "--figures-only", "--out"]).arg(&fresh).arg(&folder).current_dir(root);
    output(pack)?;
    fs::rename(&fresh, &packed).map_err(|error| format!("cannot replace {}: {error}", packed.display()))
}

/// The newest complete result of a study: `20261128-170512-NAME-quick`.
fn newest(out: &Path, study: &str) -> Option<PathBuf> {
    let end = format!("-{study}-quick");
    let folders = fs::read_dir(out).ok()?.flatten().map(|entry| entry.path());
    let is_of_study = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The name of a study may end with that of another.
        name.strip_suffix(&end).is_some_and(|time| time.chars().all(|c| c.is_ascii_digit() || c == '-'))
    };
    folders.filter(is_of_study).max()
}

/// The duration of a quick run by `taillight study list`, whose first time in a line is that; 10 minutes if it is not listed.
fn expected(list: &str, due: &Due) -> Duration {
    let line = list.lines().find(|line| line.split_whitespace().next() == due.study());
    let time = line.and_then(|line| line.split_whitespace().find_map(seconds));
    Duration::from_secs(time.unwrap_or(600))
}

/// Reads `5:27` or `1:41:18`.
fn seconds(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_time = parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && part.len() <= 2);
    let read = |sum: Option<u64>, part: &&str| Some(60 * sum? + part.parse::<u64>().ok()?);
    is_time.then(|| parts.iter().fold(Some(0), read)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_is_asked_for() {
        let request = EvidenceOptions::read(&["--budget", "90m", "items"]).unwrap();
        assert_eq!(
            (request.budget, request.names),
            (Some(Duration::from_secs(5400)), vec!["items".to_owned()])
        );
        assert!(
            EvidenceOptions::read(&["--budget"]).is_err()
                && EvidenceOptions::read(&["--budget", "9"]).is_err()
        );
        assert!(EvidenceOptions::read(&["--bugdet"]).is_err());
    }

    #[test]
    fn a_study_takes_as_long_as_its_list_says() {
        let list =
            "study  reproduces  quick  full\nitems  IISWC'17 Fig. 5, §IV-C  6:45  1:02:03  Number of items\n";
        let of = |path: &str| Due { path: path.into(), why: String::new() };
        assert_eq!(expected(list, &of("studies/05-items/result.taillight.tgz")), Duration::from_secs(405));
        assert_eq!(expected(list, &of("studies/06-x/result.taillight.tgz")), Duration::from_secs(600));
        assert_eq!((seconds("1:02:03"), seconds("5:"), seconds("12")), (Some(3723), None, None));
    }

    #[test]
    fn a_run_that_fails_publishes_no_earlier_result() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join(PROGRAM);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/bin/false", program).unwrap();
        fs::create_dir_all(root.path().join(OUT).join("20261128-170512-items-quick")).unwrap();
        let due = Due { path: "studies/05-items/result.taillight.tgz".into(), why: String::new() };
        let error = measure(root.path(), &due).unwrap_err();
        assert!(error.starts_with("it left no result"), "{error}");
    }

    #[test]
    fn the_newest_result_of_a_study_is_published() {
        let out = tempfile::tempdir().unwrap();
        for name in
            ["20261128-170512-items-quick", "20261129-010000-items-quick", "20261130-010000-web-items-quick"]
        {
            fs::create_dir(out.path().join(name)).unwrap();
        }
        assert!(newest(out.path(), "items").unwrap().ends_with("20261129-010000-items-quick"));
        assert!(newest(out.path(), "web-items").is_some() && newest(out.path(), "tems").is_none());
    }
}
