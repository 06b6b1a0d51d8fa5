use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::output;

/// The files of this repository: tracked ones, and untracked ones that git does not ignore.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    root: PathBuf,
    /// By path relative to the root; the text of a file that is not text is empty.
    files: BTreeMap<String, String>,
}

impl Repository {
    /// The repository that this program was built in.
    pub(crate) fn read() -> Result<Repository, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/")).to_owned();
        let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listing = output(Command::new("git").args(words).current_dir(&root))
            .map_err(|error| format!("no list of files: {error}"))?;
        // A file that was deleted and not yet committed so is listed, and not there.
        let present = |path: &&str| !path.is_empty() && root.join(path).is_file();
        let files = listing.split('\0').filter(present).map(|path| {
            let text = fs::read(root.join(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            (path.to_owned(), text.unwrap_or_default())
        });
        Ok(Repository { files: files.collect(), root: root.clone() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Files whose path ends with `end`, and their texts.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let files = self.files.iter().filter(move |(path, _)| path.ends_with(end));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Whether `path` is a file or a folder with files.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(file, _)| file.starts_with(&folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_files_and_folders() {
        let repository = Repository::of(&[("a/b/c.rs", ""), ("a/bc.md", "text"), ("z", "")]);
        let check = |path: &str, expect: bool| assert_eq!(repository.exists(path), expect, "{path}");
        check("a", true);
        check("a/b/", true);
        check("a/b/c.rs", true);
        check("a/bc", false);
        check("b", false);
        assert_eq!(repository.text("a/bc.md"), Some("text"));
        assert_eq!(repository.ending(".rs").map(|(path, _)| path).collect::<Vec<_>>(), ["a/b/c.rs"]);
    }

    #[test]
    fn reads_the_one_that_it_is_in() {
        let repository = Repository::read().unwrap();
        assert!(
            repository.text("xtask/src/repository.rs").is_some_and(|text| text.contains("fn reads_the_one"))
        );
        assert!(!repository.exists("target") && !repository.exists(".git"));
    }

    impl Repository {
        /// A repository of a test.
        pub(crate) fn of(files: &[(&str, &str)]) -> Repository {
            let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
            Repository { root: PathBuf::from("/none"), files: files.collect() }
        }
    }
}
