//! Measured tables in documents, made from results in the same folder.
//!
//! A region of a Markdown file names its result and its tables:
//!
//! ```text
//! <!-- generated: quick.taillight.tgz claims, throughput -->
//! (tables that `cargo xtask docs` writes)
//! <!-- end generated -->
//! ```
//!
//! The result is the output of `taillight pack --figures-only`, or the JSON of `--tables` or of a bench; its path
//! counts from the document's folder. Results hold the tables as words, so that no crate of the workspace must be
//! compiled here, and `tidy` takes about a second in a tree that does not compile. After the tables a region may name
//! the paths that they measure, as in `hit-ratios; of crates/sphinx/src, crates/cache-store/src`; the default is the
//! generator, the targets and the study.
//!
//! A region of `studies` instead of a result, `<!-- generated: ../../studies claims -->`, holds the figures of
//! the papers, which `docs/reference/papers.toml` lists, and below them the claims of all studies.
//!
//! A region whose result is not in the tree holds the commands that measure it and no figure; `findings` rejects any
//! other content. Each study's README has a region.

mod age;
mod claims;
mod figures;
mod region;
mod tables;
mod unmeasured;

use std::collections::BTreeMap;
use std::fs;

use age::History;
use region::Region;
use tables::Tables;

use crate::finding::Finding;
use crate::markdown::resolve;
use crate::repository::Repository;

/// Extension of a packed result. Source: `results::pack::EXTENSION`.
const PACKED: &str = ".taillight.tgz";
/// The largest packed result, of which a tree may hold some tens. Units: bytes.
const LARGEST: u64 = 400_000;
const REMEDY: &str = "run cargo xtask docs, and measure again to change a figure";

#[derive(Debug, Default, PartialEq, Eq)]
struct Made {
    text: String,
    findings: Vec<Finding>,
}

/// Rewrites the regions that differ from their results. Returns the findings that a person must fix.
pub(crate) fn write(repository: &Repository) -> Result<Vec<Finding>, String> {
    let mut source = Tree::new(repository);
    let mut left = [sizes(repository), without_region(repository), figures::findings(repository)].concat();
    for (file, text) in repository.ending(".md") {
        let made = document(file, text, &mut source);
        if made.text != text {
            let written = fs::write(repository.root().join(file), made.text);
            written.map_err(|error| format!("cannot write {file}: {error}"))?;
            println!("{file}: written");
        }
        left.extend(made.findings.into_iter().filter(|finding| finding.remedy != REMEDY));
    }
    Ok(left)
}

/// Regions that differ from their results, results that are too large for a tree, and figures that nothing shows.
pub(crate) fn findings(repository: &Repository) -> Vec<Finding> {
    let mut source = Tree::new(repository);
    let documents = repository.ending(".md");
    let differ = documents.flat_map(|(file, text)| document(file, text, &mut source).findings);
    let others = [sizes(repository), without_region(repository), figures::findings(repository)].concat();
    differ.chain(others).collect()
}

/// Studies whose README has neither a measured result nor the commands for one.
fn without_region(repository: &Repository) -> Vec<Finding> {
    let of_study = |file: &str| file.starts_with("studies/") && file.matches('/').count() == 2;
    let readmes = repository.ending("/README.md").filter(|(file, _)| of_study(file));
    let without = readmes.filter(|(_, text)| region::all(text).is_empty());
    let remedy = "end it with <!-- generated: result.taillight.tgz claims --> and <!-- end generated -->";
    without.map(|(file, _)| Finding::file(file, "has no region for its result", remedy)).collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// From the root.
    pub(crate) path: String,
    /// Why it is due, in words.
    pub(crate) why: String,
}

impl Due {
    /// The name of the study that measures it; `None` of another result.
    pub(crate) fn study(&self) -> Option<&str> {
        unmeasured::study(&self.path)
    }

    pub(crate) fn commands(&self) -> Vec<String> {
        unmeasured::commands(&self.path).unwrap_or_default()
    }
}

/// The results that regions name and that are due, in the order of the documents.
pub(crate) fn due(repository: &Repository) -> Vec<Due> {
    let mut source = Tree::new(repository);
    let mut due: Vec<Due> = Vec::new();
    for (file, text) in repository.ending(".md") {
        for region in region::all(text).into_iter().flatten() {
            let Some(path) = resolve(file, region.result).filter(|path| path != claims::STUDIES) else {
                continue;
            };
            let why = if source.exists(&path) {
                let made = content(file, &region, &[], &mut source);
                let older = made.into_iter().flatten().find(|line| line.starts_with(tables::OLDER));
                older
                    .map(|line| line.trim_start_matches(tables::OLDER).trim_end_matches('.').replace('`', ""))
            } else {
                Some(" not in the tree".to_owned())
            };
            if let Some(why) = why.filter(|_| due.iter().all(|known| known.path != path)) {
                due.push(Due { path, why });
            }
        }
    }
    due
}

/// Packed results that are too large for a tree.
fn sizes(repository: &Repository) -> Vec<Finding> {
    let large = |(file, _): (&str, &str)| {
        let bytes = fs::metadata(repository.root().join(file)).map_or(0, |file| file.len());
        (bytes > LARGEST).then(|| {
            let problem = format!("takes {bytes} bytes, over {LARGEST}");
            Finding::file(file, problem, "pack it with --figures-only")
        })
    };
    repository.ending(PACKED).filter_map(large).collect()
}

/// Regenerates the regions of one document, and finds the differences.
fn document(file: &str, text: &str, source: &mut Tree<'_>) -> Made {
    let mut made = Made::default();
    let mut copied = 0;
    let lines: Vec<&str> = text.lines().collect();
    for region in region::all(text) {
        let found = |line, problem, remedy: &str| Finding::line(file, line, problem, remedy);
        let region = match region {
            Ok(region) => region,
            Err((line, problem)) => {
                made.findings.push(found(line, problem, "see the head of xtask/src/docs.rs"));
                continue;
            }
        };
        let old = &lines[region.first..region.last];
        match content(file, &region, old, source) {
            Ok(new) => {
                if let Some((line, problem)) = difference(&region, old, &new) {
                    made.findings.push(found(line, problem, REMEDY));
                }
                lines[copied..region.first].iter().for_each(|line| push(&mut made.text, line));
                new.iter().for_each(|line| push(&mut made.text, line));
                copied = region.last;
            }
            Err(problem) => made.findings.push(found(
                region.first,
                problem,
                "name a result beside the document, and tables that it has",
            )),
        }
    }
    lines[copied..].iter().for_each(|line| push(&mut made.text, line));
    made
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn content(file: &str, region: &Region, old: &[&str], source: &mut Tree<'_>) -> Result<Vec<String>, String> {
    let path = resolve(file, region.result).ok_or_else(|| format!("{} is no file", region.result))?;
    if path == claims::STUDIES {
        return claims::lines(file.matches('/').count(), source);
    }
    if let Some(gone) = region.of.iter().find(|path| !source.exists(path)) {
        return Err(format!("there is no {gone} for its tables to measure"));
    }
    if !source.exists(&path) {
        return unmeasured::lines(&path);
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let tables = source.tables(&path)?;
    let measured = if region.of.is_empty() {
        age::measured(folder, &tables.targets, &|path| source.exists(path))
    } else {
        region.of.iter().map(|path| (*path).to_owned()).collect()
    };
    let older = match source.changed_since(&tables, &measured) {
        Some(changed) => tables::older(&changed),
        None => old.iter().find(|line| line.starts_with(tables::OLDER)).map(|line| (*line).to_owned()),
    };
    tables.lines(&region.tables, older)
}

/// The first line of a region that differs from the expected one, from 1 in the document.
///
/// The line about an outdated result is not compared: each commit may change it, and commits get new times when they
/// are rebased. `cargo xtask docs` writes it.
fn difference(region: &Region, old: &[&str], new: &[String]) -> Option<(usize, String)> {
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let (old, new) = (without_age(old), without_age(&new));
    let at = (0..old.len().max(new.len())).find(|&i| old.get(i) != new.get(i))?;
    let shown = |line: Option<&str>| line.map_or("nothing".into(), |line| format!("'{line}'"));
    let (has, gives) = (shown(old.get(at).copied()), shown(new.get(at).copied()));
    Some((region.first + at + 1, format!("has {has}, but {} gives {gives}", region.result)))
}

/// `lines` without that about the age, and the empty one before it.
fn without_age<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let is_age = |at: usize| lines.get(at).is_some_and(|line| line.starts_with(tables::OLDER));
    (0..lines.len()).filter(|&at| !is_age(at) && !is_age(at + 1)).map(|at| lines[at]).collect()
}

/// The results and the history of a repository.
struct Tree<'a> {
    repository: &'a Repository,
    history: History<'a>,
    known: BTreeMap<String, Result<Tables, String>>,
}

impl<'a> Tree<'a> {
    fn new(repository: &'a Repository) -> Tree<'a> {
        Tree { repository, history: History::of(repository.root()), known: BTreeMap::new() }
    }

    /// The tables in the file at `path`, from the root.
    fn tables(&mut self, path: &str) -> Result<Tables, String> {
        let read = || Tables::read(&self.repository.root().join(path), path);
        self.known.entry(path.to_owned()).or_insert_with(read).clone()
    }

    /// The tables of the study in `folder`; `None` if the tree does not have its result.
    fn tables_of_study(&mut self, folder: &str) -> Result<Option<Tables>, String> {
        let result = format!("{folder}/{}", unmeasured::STUDY_RESULT);
        self.exists(&result).then(|| self.tables(&result)).transpose()
    }

    /// The paths of `paths` that changed after `tables` were measured; `None` if unknown.
    fn changed_since(&mut self, tables: &Tables, paths: &[String]) -> Option<Vec<String>> {
        self.history.changed_since(tables.commit.as_deref(), &tables.created, paths)
    }

    fn exists(&self, path: &str) -> bool {
        self.repository.exists(path)
    }

    /// The `claims.toml` of every study: path from the root, and text.
    fn claims(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.repository.ending("/claims.toml").filter(|(file, _)| file.starts_with("studies/"))
    }
}

#[cfg(test)]
mod tests;
