//! The root folder of a container image, built from programs installed on this machine; no base image is needed.
//!
//! A program comes with its shared libraries, a Debian package with its dependencies, and Java as a runtime of the
//! modules in use. Every file keeps its path.

mod packages;

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::libraries::libraries;
use crate::tool::run;
use crate::{Error, Spec, User, find_program};

/// Folders that engines mount something on, or programs expect.
const FOLDERS: [&str; 10] =
    ["dev", "etc", "proc", "run", "sys", "tmp", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"];
/// Paths that lead to others. Source: the merged /usr of Debian 12.
const LINKS: [(&str, &str); 4] =
    [("bin", "usr/bin"), ("sbin", "usr/sbin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")];
/// Files that programs look up. The C library queries DNS for host names only if nsswitch.conf says so.
const ETC: [(&str, &str); 3] = [
    ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ("etc/shells", "/bin/sh\n"),
];
/// The one locale that programs may count on. Source: `locale(7)`; the C library of Debian 12 reads it from there.
const LOCALE: &str = "/usr/lib/locale/C.utf8";
/// How deep folders may lie in each other; in Java's and Python's there are 12.
const DEPTH: usize = 32;
/// First bytes of a program or library. Source: `elf(5)`.
const ELF: &[u8; 4] = b"\x7fELF";
const PHP: &str = "/etc/php";
const JAVA: &str = "usr/lib/jvm/java";

/// The root folder of an image.
#[derive(Debug)]
pub struct ImageRoot {
    folder: PathBuf,
}

impl ImageRoot {
    /// Makes an empty root at `folder`, replacing any earlier content, with the accounts root and nobody.
    ///
    /// Errors: the folder cannot be made.
    pub fn make(folder: &Path) -> Result<ImageRoot, Error> {
        let root = ImageRoot::bare(folder)?;
        root.os(folder, || {
            for name in FOLDERS {
                fs::create_dir_all(folder.join(name))?;
            }
            for (name, to) in LINKS {
                symlink(to, folder.join(name))?;
            }
            let nobody = User::nobody().map_or(65534, |user| user.uid);
            let accounts =
                format!("root:x:0:0:root:/:/bin/false\nnobody:x:{nobody}:{nobody}::/:/bin/false\n");
            for (name, text) in ETC.into_iter().chain([("etc/passwd", accounts.as_str())]) {
                fs::write(folder.join(name), text)?;
                fs::set_permissions(folder.join(name), Permissions::from_mode(0o644))?;
            }
            fs::set_permissions(folder.join("tmp"), Permissions::from_mode(0o1777))
        })?;
        if Path::new(LOCALE).is_dir() {
            root.with(LOCALE)?;
        }
        Ok(root)
    }

    /// Makes a root without any files, for a layer on top of another image.
    ///
    /// Errors: the folder cannot be made.
    pub fn bare(folder: &Path) -> Result<ImageRoot, Error> {
        let root = ImageRoot { folder: folder.into() };
        root.os(folder, || {
            match fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            fs::create_dir_all(folder)
        })?;
        Ok(root)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds what `name` is: a program to look up in `PATH`, or an absolute path of a file or a folder. What needs shared libraries
    /// gets them.
    ///
    /// Errors: it is not there.
    pub fn with(&self, name: &str) -> Result<(), Error> {
        let path = if name.starts_with('/') { Some(PathBuf::from(name)) } else { find_program(name) };
        match path.filter(|path| path.exists()) {
            Some(path) if path.starts_with(PHP) => {
                self.copy(&path, &path)?;
                self.extensions()
            }
            Some(path) => self.copy(&path, &path),
            None => Err(Error::NotFound {
                name: "image".into(),
                program: name.into(),
                hint: "install the package that has it, since an image is made of this machine's own files"
                    .into(),
            }),
        }
    }

    /// Adds the file or folder `from` at the path `to`, with the shared libraries that it needs.
    ///
    /// Errors: it cannot be copied.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let mut elves = Vec::new();
        self.os(from, || copied(from, &inside(&self.folder, to), DEPTH, &mut elves))?;
        self.with_libraries(&elves, from)
    }

    /// Adds the shared libraries of these programs and libraries, but for those in the folder `own`.
    fn with_libraries(&self, elves: &[PathBuf], own: &Path) -> Result<(), Error> {
        for file in elves {
            for library in libraries(file)? {
                let there = inside(&self.folder, &library);
                if !there.exists() && !library.starts_with(own) {
                    self.os(&library, || copied(&library, &there, 0, &mut Vec::new()))?;
                }
            }
        }
        Ok(())
    }

    /// Lets every account enter its folders, and only the owner write there, independently of this process's umask.
    ///
    /// Errors: permissions cannot be set.
    pub(crate) fn open_to_all(&self) -> Result<(), Error> {
        self.os(&self.folder, || open_to_all(&self.folder))
    }

    /// Makes `at` lead to `to`, both absolute paths in the image.
    ///
    /// Errors: it cannot be made.
    pub fn link(&self, at: &Path, to: &Path) -> Result<(), Error> {
        let there = inside(&self.folder, at);
        self.os(at, || {
            fs::create_dir_all(there.parent().unwrap_or(&self.folder))?;
            let _ = fs::remove_file(&there);
            symlink(to, &there)
        })
    }

    /// Adds a Java runtime of these modules, and `/usr/bin/java`.
    ///
    /// Errors: `jlink` is not installed, or it fails.
    pub fn java(&self, modules: &[String]) -> Result<(), Error> {
        let runtime = self.folder.join(JAVA);
        self.os(&runtime, || fs::create_dir_all(runtime.parent().unwrap_or(&runtime)))?;
        let (to, modules) = (runtime.display().to_string(), modules.join(","));
        let words = ["--strip-java-debug-attributes", "--no-header-files", "--no-man-pages", "--compress=2"];
        let jlink =
            Spec::new("jlink", "jlink").args(words).args(["--add-modules", &modules, "--output", &to]);
        run(jlink, "openjdk-17-jdk-headless")?;
        // Classes as they lie in memory, which all virtual machines share: they start in half the time.
        run(Spec::new("java", runtime.join("bin/java")).arg("-Xshare:dump"), "openjdk-17-jdk-headless")?;
        self.link(Path::new("/usr/bin/java"), &Path::new("/").join(JAVA).join("bin/java"))?;
        let mut elves = Vec::new();
        self.os(&runtime, || elves_in(&runtime, DEPTH, &mut elves))?;
        self.with_libraries(&elves, &self.folder)
    }

    fn os(&self, what: &Path, of: impl FnOnce() -> io::Result<()>) -> Result<(), Error> {
        of().map_err(Error::os(what.display(), "cannot copy it for an image"))
    }
}

/// The path of the absolute path `file` under `root`.
fn inside(root: &Path, file: &Path) -> PathBuf {
    root.join(file.strip_prefix("/").unwrap_or(file))
}

fn open_to_all(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_to_all(&entry.path())?;
        }
    }
    Ok(())
}

/// Copies a file, or a folder with all that is in it, so that every account may read it. A link within a folder stays one; `elves` are
/// the programs and libraries that were copied.
fn copied(from: &Path, to: &Path, depth: usize, elves: &mut Vec<PathBuf>) -> io::Result<()> {
    let found = fs::metadata(from)?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if !found.is_dir() {
        fs::copy(from, to)?;
        let mode = if found.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(to, Permissions::from_mode(mode))?;
        if is_elf(from) {
            elves.push(from.into());
        }
        return Ok(());
    }
    fs::create_dir_all(to)?;
    fs::set_permissions(to, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (found, into) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_symlink() {
            let _ = fs::remove_file(&into);
            symlink(fs::read_link(&found)?, into)?;
        } else if depth > 0 {
            copied(&found, &into, depth - 1, elves)?;
        }
    }
    Ok(())
}

fn elves_in(folder: &Path, depth: usize, elves: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            elves_in(&entry.path(), depth - 1, elves)?;
        } else if kind.is_file() && is_elf(&entry.path()) {
            elves.push(entry.path());
        }
    }
    Ok(())
}

fn is_elf(file: &Path) -> bool {
    let mut head = [0; 4];
    File::open(file).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *ELF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_comes_with_its_libraries_and_runs() {
        let folder = tempfile::tempdir().unwrap();
        let root = ImageRoot::make(&folder.path().join("root")).unwrap();
        root.with("sh").unwrap();
        root.link(Path::new("/app/bin/shell"), Path::new("/usr/bin/sh")).unwrap();
        assert_eq!(fs::read_link(root.folder().join("app/bin/shell")).unwrap(), Path::new("/usr/bin/sh"));
        if !User::is_root() {
            println!("skipped: needs root");
            return;
        }
        let words =
            [root.folder().display().to_string(), "/app/bin/shell".into(), "-c".into(), "echo in".into()];
        assert_eq!(run(Spec::new("chroot", "chroot").args(words), "coreutils").unwrap(), "in");
    }

    #[test]
    fn a_folder_is_copied_with_its_links_and_open_to_all() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        fs::create_dir_all(from.join("a")).unwrap();
        fs::write(from.join("a/file"), "text").unwrap();
        fs::set_permissions(from.join("a/file"), Permissions::from_mode(0o600)).unwrap();
        symlink("a/file", from.join("link")).unwrap();
        let root = ImageRoot::bare(&folder.path().join("root")).unwrap();
        root.copy(&from, Path::new("/app/x")).unwrap();
        let to = root.folder().join("app/x");
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "text");
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("a/file"));
        assert_eq!(fs::metadata(to.join("a/file")).unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = ImageRoot::make(&folder.path().join("root")).unwrap();
        for name in ["no-such-program", "/no/such/file"] {
            let error = root.with(name).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
