//! Whether the code that a result measures has changed since.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::output;

/// The list of changes of the generator that can move a figure.
const GENERATOR: &str = "crates/openloop/REVISIONS.md";
/// The same of the targets that come with this program: a list of changes, or the sources.
const SERVERS: [(&str, &[&str]); 3] = [
    ("sphinx", &["crates/sphinx/REVISIONS.md"]),
    ("null", &["crates/reference-servers/src/null"]),
    ("video-server", &["crates/reference-servers/src/video", "crates/datasets/src/videos"]),
];
/// The description of a study's measurements, in its folder. Changed claims take no measurement:
/// `taillight study check --write`.
const STUDY: &str = "study.toml";
/// Its keys that explain a study or draw its result: `taillight study check --write` draws a result again.
const WORDS: [&str; 8] = ["title", "question", "source", "method", "deviations", "limits", "figure", "table"];
/// The same of a parameter.
const WORDS_OF_PARAMETER: [&str; 2] = ["about", "published"];

/// The existing paths whose change makes a result outdated: the generator, the targets, and the study of the folder.
pub(super) fn measured(folder: &str, targets: &[String], exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut paths = vec![GENERATOR.to_owned()];
    for target in targets {
        let crates = SERVERS.iter().filter(|(name, _)| name == target).flat_map(|(_, paths)| *paths);
        paths.extend(crates.map(|path| (*path).to_owned()));
        paths.push(format!("apps/{target}"));
    }
    paths.push(format!("{folder}/{STUDY}"));
    paths.retain(|path| exists(path));
    paths.sort();
    paths.dedup();
    paths
}

/// When each path last changed, as git knows.
pub(super) struct History<'a> {
    root: &'a Path,
    pub(super) known: BTreeMap<String, Change>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// At this time, `2026-11-23T03:14:08` in UTC.
    At(String),
    /// It is being changed, and not committed.
    Now,
    /// No history exists.
    Unknown,
}

impl<'a> History<'a> {
    pub(super) fn of(root: &'a Path) -> History<'a> {
        History { root, known: BTreeMap::new() }
    }

    /// The paths of `paths` that changed after `commit`, or, if the history lacks that commit, after `time` (RFC 3339
    /// in UTC). `None` if a path has no history.
    pub(super) fn changed_since(
        &mut self,
        commit: Option<&str>,
        time: &str,
        paths: &[String],
    ) -> Option<Vec<String>> {
        let is_known =
            |commit: &&str| git(self.root, &["merge-base", "--is-ancestor", commit, "HEAD"]).is_some();
        let commit = commit.filter(is_known);
        let mut changed = Vec::new();
        for path in paths {
            let is_changed = match commit {
                Some(commit) => {
                    let since = format!("{commit}..HEAD");
                    let commits = git(self.root, &["log", "-1", "--format=%h", &since, "--", path])?;
                    (!commits.is_empty() || is_being_changed(self.root, path))
                        && !is_measured_alike(self.root, commit, path)
                }
                None => {
                    let change = self.known.entry(path.clone()).or_insert_with(|| change(self.root, path));
                    is_after(change, time)?
                }
            };
            if is_changed {
                changed.push(path.clone());
            }
        }
        Some(changed)
    }
}

/// Whether `change` came after `time`; `None` if unknown.
fn is_after(change: &Change, time: &str) -> Option<bool> {
    match change {
        // Up to the second, both are written alike.
        Change::At(at) => Some(at.as_str() > time.get(..at.len())?),
        Change::Now => Some(true),
        Change::Unknown => None,
    }
}

fn change(root: &Path, path: &str) -> Change {
    if is_being_changed(root, path) {
        return Change::Now;
    }
    let format = ["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%S", "--format=%cd %P", "--", path];
    match git(root, &format).as_deref().and_then(|line| line.split_once(' ')) {
        Some((time, _parents)) => Change::At(time.to_owned()),
        // No commit, or one without parents: a history's first commit, or its cut, does not tell a path's age.
        None => Change::Unknown,
    }
}

/// Whether a study measures the same as at `commit`; false of any other path.
fn is_measured_alike(root: &Path, commit: &str, path: &str) -> bool {
    if path.rsplit('/').next() != Some(STUDY) {
        return false;
    }
    let then = git(root, &["show", &format!("{commit}:{path}")]).and_then(|text| measured_part(&text));
    let now = fs::read_to_string(root.join(path)).ok().and_then(|text| measured_part(&text));
    then.is_some() && then == now
}

/// A study without its words, figures and tables; `None` if it is not TOML.
fn measured_part(text: &str) -> Option<toml::Table> {
    let mut study: toml::Table = toml::from_str(text).ok()?;
    for key in WORDS {
        study.remove(key);
    }
    let parameters = study.get_mut("parameter").and_then(toml::Value::as_array_mut).into_iter().flatten();
    for parameter in parameters.filter_map(toml::Value::as_table_mut) {
        for key in WORDS_OF_PARAMETER {
            parameter.remove(key);
        }
    }
    Some(study)
}

fn is_being_changed(root: &Path, path: &str) -> bool {
    git(root, &["status", "--porcelain", "--", path]).is_some_and(|lines| !lines.is_empty())
}

/// Output of git; `None` if git fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    output(Command::new("git").args(arguments).current_dir(root).env("TZ", "UTC")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_older_than_a_later_change() {
        let check = |change: Change, expect| assert_eq!(is_after(&change, "2026-11-23T03:14:08Z"), expect);
        let at = |time: &str| Change::At(time.into());
        check(at("2026-11-23T03:14:08"), Some(false));
        check(at("2026-11-23T03:14:09"), Some(true));
        check(at("2025-12-31T23:59:59"), Some(false));
        check(Change::Now, Some(true));
        check(Change::Unknown, None);
    }

    #[test]
    fn history_is_read_from_git() {
        let folder = std::env::temp_dir().join(format!("taillight-age-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false"]);
            let git = git
                .args(arguments)
                .current_dir(&folder)
                .env("GIT_COMMITTER_DATE", "2026-01-02T04:04:05+01:00");
            assert!(git.output().unwrap().status.success(), "{arguments:?}");
        };
        assert_eq!(change(&folder, "a"), Change::Unknown, "not a repository");
        git(&["init", "-q"]);
        std::fs::write(folder.join("a"), "1").unwrap();
        assert_eq!(change(&folder, "a"), Change::Now);
        git(&["add", "a"]);
        git(&["commit", "-qm", "one"]);
        assert_eq!(change(&folder, "a"), Change::Unknown, "the history begins here");
        std::fs::write(folder.join("a"), "2").unwrap();
        git(&["commit", "-qam", "two"]);
        assert_eq!(change(&folder, "a"), Change::At("2026-01-02T03:04:05".into()));

        let commit = |at: &str| super::git(&folder, &["rev-parse", "--short", at]).unwrap();
        let (one, two) = (commit("HEAD~"), commit("HEAD"));
        let check = |since: Option<&str>, expect: Option<&[&str]>| {
            let expect = expect.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect());
            let found = History::of(&folder).changed_since(since, "2025-12-31T00:00:00Z", &["a".into()]);
            assert_eq!(found, expect, "{since:?}");
        };
        check(Some(&one), Some(&["a"]));
        check(Some(&two), Some(&[]));
        // Its time decides if the commit is not in the history, as after a rebase.
        check(Some("0123456"), Some(&["a"]));
        check(None, Some(&["a"]));
        std::fs::write(folder.join("a"), "3").unwrap();
        check(Some(&two), Some(&["a"]));

        std::fs::write(folder.join(STUDY), "title = 'one'\nblocks = 7\n").unwrap();
        git(&["add", STUDY]);
        git(&["commit", "-qm", "three"]);
        let three = commit("HEAD");
        let check = |text: &str, expect: &[&str]| {
            std::fs::write(folder.join(STUDY), text).unwrap();
            let paths = [STUDY.to_owned()];
            let found = History::of(&folder).changed_since(Some(&three), "2025-12-31T00:00:00Z", &paths);
            assert_eq!(found.unwrap(), expect, "{text}");
        };
        check("title = 'another'\nblocks = 7\n", &[]);
        check("title = 'one'\nblocks = 9\n", &[STUDY]);
        check("title = 'one\n", &[STUDY]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_words_of_a_study_measure_nothing() {
        let study = "title = 'a'\n[x]\nlabel = 'l'\n[[parameter]]\nname = 'n'\nabout = 'b'\nvalue = '1'\n\
                     [[figure]]\nid = 'f'\n";
        let same = |from: &str, to: &str| measured_part(study) == measured_part(&study.replace(from, to));
        assert!(same("'a'", "'c'") && same("'b'", "'c'") && same("'f'", "'c'"));
        assert!(!same("'1'", "'2'") && !same("'l'", "'c'") && !same("'n'", "'c'"));
    }

    #[test]
    fn a_study_measures_its_targets_and_itself() {
        let targets = ["sphinx".to_owned(), "nginx".to_owned()];
        let exists = |path: &str| path != "apps/sphinx";
        let expect = ["apps/nginx", GENERATOR, "crates/sphinx/REVISIONS.md", "studies/x/study.toml"];
        assert_eq!(measured("studies/x", &targets, &exists), expect);
    }
}
