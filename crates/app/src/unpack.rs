//! The sources of a description as a folder: in place, or unpacked from the compiled-in files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::App;
use crate::files::inflated;

/// Maximum depth of nested folders.
const DEPTH: usize = 16;
/// First bytes of a script.
const SCRIPT: &[u8] = b"#!";
/// Folders of a description, top-level or at any depth, that are not deployed. The build script does not compile them
/// in.
const APART: [&str; 2] = ["tests", "player"];
const ANYWHERE: [&str; 2] = ["node_modules", "__pycache__"];

impl App {
    /// The folder that it was read from; `None` for one that was compiled in.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The folder that holds its sources: its own, or `to` after unpacking. Unchanged files are not rewritten, so that
    /// programs built from them stay valid; other files are removed.
    ///
    /// Errors: the folder cannot be written to.
    pub fn unpack(&self, to: &Path) -> io::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let wanted: BTreeMap<&str, &[u8]> = self.compiled.iter().copied().collect();
        fs::create_dir_all(to)?;
        for name in listed(to)? {
            if !wanted.contains_key(name.as_str()) {
                fs::remove_file(to.join(&name))?;
            }
        }
        for (name, bytes) in wanted {
            let (file, bytes) = (to.join(name), inflated(bytes));
            if fs::read(&file).is_ok_and(|found| found == bytes) {
                continue;
            }
            fs::create_dir_all(file.parent().unwrap_or(to))?;
            fs::write(&file, &bytes)?;
            let mode = if bytes.starts_with(SCRIPT) { 0o755 } else { 0o644 };
            fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        }
        Ok(to.to_owned())
    }

    /// A hash of the description's files whose paths satisfy `is_part`.
    ///
    /// Errors: one cannot be read.
    pub(crate) fn hash(&self, is_part: impl Fn(&str) -> bool) -> io::Result<u128> {
        let names = match &self.folder {
            Some(folder) => listed(folder)?,
            None => self.compiled.iter().map(|(name, _)| (*name).to_owned()).collect(),
        };
        let mut hash = Xxh3::new();
        for name in names.iter().filter(|name| is_part(name)) {
            let bytes = self.read_file(name)?;
            for part in [name.as_bytes(), &bytes] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        Ok(hash.digest128())
    }
}

/// The paths of all files below `folder`, in order.
pub(crate) fn listed(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    collect(folder, folder, DEPTH, &mut names)?;
    names.sort();
    Ok(names)
}

fn collect(root: &Path, folder: &Path, depth: usize, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_apart = name.starts_with('.')
            || ANYWHERE.contains(&&*name)
            || (folder == root && APART.contains(&&*name));
        if !path.is_dir() {
            names.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        } else if depth > 0 && !is_apart {
            collect(root, &path, depth - 1, names)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::packed;

    fn app() -> App {
        let mut app = crate::of_name("null").unwrap();
        app.compiled =
            packed(&[("app.toml", "x"), ("build/a.sh", "#!/bin/sh\n"), ("services/a/main.c", "one")]);
        app
    }

    #[test]
    fn sources_are_written_once_and_nothing_else_is_there() {
        let root = tempfile::tempdir().unwrap();
        let to = root.path().join("source");
        assert_eq!(app().unpack(&to).unwrap(), to);
        assert_eq!(listed(&to).unwrap(), ["app.toml", "build/a.sh", "services/a/main.c"]);
        let mode = |name: &str| fs::metadata(to.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("build/a.sh"), mode("services/a/main.c")), (0o755, 0o644));
        let time = || fs::metadata(to.join("build/a.sh")).unwrap().modified().unwrap();
        let before = time();
        fs::write(to.join("services/a/main.c"), "changed").unwrap();
        fs::write(to.join("services/a/other.c"), "more").unwrap();
        app().unpack(&to).unwrap();
        assert_eq!(fs::read_to_string(to.join("services/a/main.c")).unwrap(), "one");
        assert!(!to.join("services/a/other.c").exists());
        assert_eq!(time(), before, "what is as it was stays untouched");
    }

    #[test]
    fn a_hash_is_of_the_files_that_count() {
        let root = tempfile::tempdir().unwrap();
        app().unpack(root.path()).unwrap();
        let of_folder = App { folder: Some(root.path().into()), ..app() };
        let hash = |app: &App| app.hash(|name| name != "app.toml").unwrap();
        assert_eq!(hash(&app()), hash(&of_folder), "the same compiled in and read");
        let before = hash(&of_folder);
        fs::write(root.path().join("app.toml"), "other").unwrap();
        assert_eq!(hash(&of_folder), before);
        fs::rename(root.path().join("services/a/main.c"), root.path().join("services/a/b.c")).unwrap();
        assert_ne!(hash(&of_folder), before);
        assert_eq!(of_folder.unpack(Path::new("/no/such")).unwrap(), root.path());
    }
}
