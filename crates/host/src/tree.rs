use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use units::CpuList;

/// The text of a file of the kernel, with U+FFFD in place of bytes that are not UTF-8.
///
/// The kernel prints names as they are: a process's name (`stat`, `status`, `sched`, `comm`) is cut at 15 bytes, also
/// within a character, and paths may hold any bytes. Errors: as those of [`fs::read`].
pub fn read_lossy(file: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(file)?).into_owned())
}

/// The tree of files by which a kernel describes its machine.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Tree {
        Tree { root: root.into() }
    }

    /// Whether this is the machine that we run on, so that system calls and programs can be used, too.
    pub(crate) fn is_here(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The absolute path of `path` in the tree; a leading `/`, as in the kernel's mount points, is the tree's root.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.at(path).exists()
    }

    /// The names in the folder at `path`, ascending; empty if the folder does not exist.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn words(&self, path: impl AsRef<Path>) -> Vec<String> {
        self.text(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// The processors of a mask such as `00000000,0000ff00`.
    pub(crate) fn mask(&self, path: impl AsRef<Path>) -> Option<CpuList> {
        mask(&self.text(path)?)
    }

    /// The text of the file at `path`, trimmed; `None` if it is missing, unreadable or empty.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = read_lossy(&self.at(path)).ok()?;
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

    /// The value after `key` and a colon or equals sign in the first line of the file at `path` that starts with it.
    pub(crate) fn field(&self, path: impl AsRef<Path>, key: &str) -> Option<String> {
        self.text(path)?.lines().find_map(|line| {
            let value = line.strip_prefix(key)?.trim_start().strip_prefix([':', '='])?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        })
    }

    /// The numbers N of the entries `prefixN` in the folder at `path`, ascending.
    pub(crate) fn numbered(&self, path: impl AsRef<Path>, prefix: &str) -> Vec<usize> {
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<usize> = self.names(path).iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Reads a mask of processors: groups of 32 bits in hexadecimal, the highest first.
/// Source: the kernel's `bitmap_print_to_pagebuf`.
fn mask(text: &str) -> Option<CpuList> {
    let mut cpus = Vec::new();
    for (group, digits) in text.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(digits, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| group * 32 + bit));
    }
    Some(cpus.into_iter().collect())
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
    fn a_name_in_any_encoding_hides_no_other_fact() {
        let (dir, tree) = planted("");
        fs::write(dir.path().join("file"), b"Name:\tna\xc3\nCpus_allowed_list:\t0-3\n").unwrap();
        assert_eq!(tree.field("file", "Cpus_allowed_list").as_deref(), Some("0-3"));
        assert_eq!(tree.field("file", "Name").as_deref(), Some("na\u{fffd}"));
        assert!(read_lossy(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn reads_masks() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(mask(text).map(|cpus| cpus.to_string()).as_deref(), expect, "{text}");
        };
        check("0", Some(""));
        check("3\n", Some("0-1"));
        check("00000000,0000ff00", Some("8-15"));
        check("3,00000000,80000000", Some("31,64-65"));
        check("", None);
        check("xyz", None);
        check("1ffffffff", None);
    }

    #[test]
    fn a_mount_point_lies_below_the_root() {
        let tree = Tree::new(Path::new("/fixture"));
        assert_eq!(tree.at("/sys/fs/cgroup"), Path::new("/fixture/sys/fs/cgroup"));
        assert_eq!(tree.at("proc/stat"), Path::new("/fixture/proc/stat"));
        assert!(!tree.is_here() && Tree::new(Path::new("/")).is_here());
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
