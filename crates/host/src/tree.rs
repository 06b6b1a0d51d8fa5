use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The tree of files by which a kernel describes its machine.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Tree {
        Tree { root: root.into() }
    }

    /// The text of the file at `path`, trimmed; `None` where it is missing, unreadable or empty.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The value that the file at `path` holds.
    pub(crate) fn value<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The choice that the kernel marks in a line such as `always [madvise] never`.
    pub(crate) fn choice(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.text(path)?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// What follows `key` and a colon or equals sign in the first line of the file at `path` that starts with it.
    pub(crate) fn field(&self, path: impl AsRef<Path>, key: &str) -> Option<String> {
        self.text(path)?.lines().find_map(|line| {
            let value = line.strip_prefix(key)?.trim_start().strip_prefix([':', '='])?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        })
    }

    /// The numbers N of the entries `prefixN` in the folder at `path`, ascending.
    pub(crate) fn numbered(&self, path: impl AsRef<Path>, prefix: &str) -> Vec<usize> {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten().flatten();
        let number = |name: String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<usize> =
            entries.filter_map(|entry| number(entry.file_name().into_string().ok()?)).collect();
        numbers.sort_unstable();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(text: &str) -> (tempfile::TempDir, Tree) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), text).unwrap();
        let tree = Tree::new(dir.path());
        (dir, tree)
    }

    #[test]
    fn reads_texts_values_and_choices() {
        let check = |text: &str, expect: (Option<&str>, Option<u32>, Option<&str>)| {
            let (_dir, tree) = planted(text);
            assert_eq!(tree.text("file").as_deref(), expect.0);
            assert_eq!(tree.value::<u32>("file"), expect.1);
            assert_eq!(tree.choice("file").as_deref(), expect.2);
        };
        check("\n", (None, None, None));
        check("42\n", (Some("42"), Some(42), None));
        check("a [b] c\n", (Some("a [b] c"), None, Some("b")));
        let (_dir, tree) = planted("");
        assert_eq!(tree.text("missing"), None);
    }

    #[test]
    fn finds_fields() {
        let check = |key: &str, expect: Option<&str>| {
            let (_dir, tree) = planted("model name\t: X\nmodel\t\t: 7\nNAME=\"Y\"\nempty:\n");
            assert_eq!(tree.field("file", key).as_deref(), expect, "{key}");
        };
        check("model name", Some("X"));
        check("model", Some("7"));
        check("NAME", Some("\"Y\""));
        check("empty", None);
        check("mod", None);
    }

    #[test]
    fn lists_numbered_entries() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu2", "cpufreq", "cpu"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        assert_eq!(Tree::new(dir.path()).numbered("", "cpu"), [2, 10]);
        assert_eq!(Tree::new(dir.path()).numbered("missing", "cpu"), Vec::<usize>::new());
    }
}
