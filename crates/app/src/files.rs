//! The files that accompany a description: compiled in, or in a folder of the user's.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use launch::User;

use crate::App;

/// Files that were compiled in, by their path, [deflated](inflated).
pub(crate) type Compiled = &'static [(&'static str, &'static [u8])];

pub(crate) struct Files {
    /// Texts of templates by their path.
    pub(crate) templates: BTreeMap<String, String>,
    /// All files of an application that was compiled in.
    pub(crate) compiled: Compiled,
    /// The folder of a description that is not compiled in.
    pub(crate) folder: Option<PathBuf>,
}

/// Maximum depth of nested folders.
const DEPTH: usize = 16;
/// Permissions of files written for a service, whose account may differ from this process's.
const FILE: u32 = 0o644;
const FOLDER: u32 = 0o755;
const PRIVATE: u32 = 0o600;

impl App {
    pub(crate) fn has_file(&self, name: &str) -> bool {
        match &self.folder {
            Some(folder) => folder.join(name).is_file(),
            None => self.compiled.iter().any(|(found, _)| *found == name),
        }
    }

    pub(crate) fn has_folder(&self, name: &str) -> bool {
        match &self.folder {
            Some(folder) => folder.join(name).is_dir(),
            None => self.compiled.iter().any(|(found, _)| Path::new(found).strip_prefix(name).is_ok()),
        }
    }

    pub(crate) fn read_file(&self, name: &str) -> io::Result<Vec<u8>> {
        if let Some(folder) = &self.folder {
            return fs::read(folder.join(name));
        }
        let found = self.compiled.iter().find(|(found, _)| *found == name);
        found.map(|(_, bytes)| inflated(bytes)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Makes `to` a copy of a folder of the description, readable by every account.
    pub(crate) fn copy_folder(&self, name: &str, to: &Path) -> io::Result<()> {
        if let Some(folder) = &self.folder {
            return copy(&folder.join(name), to, DEPTH);
        }
        for (found, bytes) in self.compiled {
            let Ok(below) = Path::new(found).strip_prefix(name) else { continue };
            let file = to.join(below);
            for folder in file.ancestors().skip(1).take_while(|folder| folder.starts_with(to)) {
                make(folder)?;
            }
            write(&file, &inflated(bytes))?;
        }
        Ok(())
    }
}

/// The content of a file that was compiled in.
pub(crate) fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    DeflateDecoder::new(bytes).read_to_end(&mut content).expect("it was compiled in whole");
    content
}

/// Files as they are compiled in.
#[cfg(test)]
pub(crate) fn packed(files: &[(&'static str, &str)]) -> Compiled {
    let deflated = |text: &str| {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).unwrap()
    };
    files.iter().map(|(name, text)| (*name, &*deflated(text).leak())).collect::<Vec<_>>().leak()
}

fn copy(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    make(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (found, into) = (entry.path(), to.join(entry.file_name()));
        // Links are followed.
        if !found.is_dir() {
            write(&into, &fs::read(&found)?)?;
        } else if depth > 0 && !entry.file_name().to_string_lossy().starts_with('.') {
            copy(&found, &into, depth - 1)?;
        }
    }
    Ok(())
}

fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER))
}

/// Writes a file that at every moment only `user`, or this process's account, may read.
pub(crate) fn write_private(file: &Path, bytes: &[u8], user: Option<&User>) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut new = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(file)?;
    if let Some(user) = user {
        fchown(&new, Some(user.uid), Some(user.gid))?;
    }
    new.write_all(bytes)
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(file, bytes)?;
    fs::set_permissions(file, fs::Permissions::from_mode(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(folder: Option<PathBuf>) -> App {
        let mut app = crate::of_name("null").unwrap();
        app.compiled =
            packed(&[("app.toml", ""), ("site/a.php", "one"), ("site/b/c.css", "two"), ("sites", "x")]);
        app.folder = folder;
        app
    }

    #[test]
    fn a_private_file_is_its_accounts_alone() {
        use std::os::unix::fs::MetadataExt;
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("secret");
        fs::write(&file, "open to all").unwrap();
        let user = User::nobody().filter(|_| User::is_root());
        for text in ["one", "other"] {
            write_private(&file, text.as_bytes(), user.as_ref()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            let found = fs::metadata(&file).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
            assert!(user.as_ref().is_none_or(|user| found.uid() == user.uid));
        }
    }

    #[test]
    fn a_folder_is_the_same_compiled_in_and_read() {
        let root = tempfile::tempdir().unwrap();
        let beside = root.path().join("app");
        fs::create_dir_all(beside.join("site/b")).unwrap();
        fs::write(beside.join("site/a.php"), "one").unwrap();
        fs::write(beside.join("site/b/c.css"), "two").unwrap();
        fs::set_permissions(beside.join("site/a.php"), fs::Permissions::from_mode(0o600)).unwrap();
        for (place, app) in [app(None), app(Some(beside))].iter().enumerate() {
            let to = root.path().join(format!("to{place}"));
            app.copy_folder("site", &to).unwrap();
            assert_eq!(fs::read_to_string(to.join("a.php")).unwrap(), "one");
            assert_eq!(fs::read_to_string(to.join("b/c.css")).unwrap(), "two");
            assert_eq!(fs::read_dir(&to).unwrap().count(), 2, "nothing else");
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&to.join("a.php")), mode(&to.join("b"))), (FILE, FOLDER));
            assert!(app.has_folder("site") && app.has_folder("site/b") && !app.has_folder("sit"));
            assert!(app.has_file("site/a.php") && !app.has_file("site"));
            assert_eq!(&*app.read_file("site/a.php").unwrap(), b"one");
            assert!(app.read_file("site/d").is_err());
        }
    }
}
