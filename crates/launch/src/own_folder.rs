//! Folders that go with the process that made them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::guardian::{Guardian, line, quoted};
use crate::{Error, User, owner};

/// A folder of this process's own, which is removed with everything in it when this is dropped, and as well when this
/// process is killed (see `guardian`): configurations of servers, and files that they serve.
///
/// Processes that run in it ([`crate::Spec::dir`]) are killed before, so that workers whose master was killed do not
/// stay behind.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    /// Locked until this process ends, even for processes that cannot see it.
    _lock: fs::File,
    // Dropping it undoes.
    _guardian: Guardian,
}

impl OwnFolder {
    /// A new folder below `parent`, which every user may enter and only this process's account may write to.
    ///
    /// Errors: it cannot be made there.
    pub fn make(parent: &Path) -> Result<OwnFolder, Error> {
        // What removes it runs elsewhere, and compares it with paths that the kernel tells.
        let parent =
            fs::canonicalize(parent).map_err(Error::os(parent.display(), "cannot make a folder in it"))?;
        let path = parent.join(owner::fresh());
        let os = |doing| Error::os(path.display(), doing);
        let guardian = Guardian::start(&undo(&path)).map_err(os("cannot start what removes the folder"))?;
        fs::create_dir(&path).map_err(os("cannot make the folder"))?;
        // Independent of this process's umask.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, open).map_err(os("cannot open the folder to others"))?;
        let lock = owner::lock(&path).map_err(os("cannot lock the folder"))?;
        Ok(OwnFolder { path, _lock: lock, _guardian: guardian })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it to `user`. Errors: only root can.
    pub fn give_to(&self, user: &User) -> Result<(), Error> {
        chown(&self.path, Some(user.uid), Some(user.gid))
            .map_err(Error::os(self.path.display(), "cannot give the folder to another account"))
    }
}

/// The script that ends what runs in `folder`, and removes it.
///
/// Twice, as a process may have started another between being listed and being killed.
pub(crate) fn undo(folder: &Path) -> String {
    let folder = folder.display().to_string();
    format!(
        "for turn in 1 2; do \
           find /proc/[0-9]*/cwd -maxdepth 0 -printf '%h %l\\n' 2>/dev/null | while read -r process at; do \
             case \"$at\" in {folder}|{folder}/*) kill -9 \"${{process#/proc/}}\" 2>/dev/null;; esac; \
           done; \
         done\n{remove}",
        folder = quoted(&folder),
        remove = line(&["rm", "-rf", "--one-file-system", &folder]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, Spec};
    use std::time::Duration;

    #[test]
    fn a_folder_goes_with_what_runs_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = OwnFolder::make(parent.path()).unwrap();
        let path = folder.path().to_owned();
        fs::create_dir(path.join("below")).unwrap();
        fs::write(path.join("below/file"), "text").unwrap();
        let sleep = |dir: &Path| Process::spawn(Spec::new("sleep", "sleep").arg("600").dir(dir)).unwrap();
        let (mut inside, mut outside) = (sleep(&path), sleep(parent.path()));
        assert!(inside.is_running());
        drop(folder);
        assert!(!path.exists());
        assert!(!inside.wait(Duration::from_secs(60)).unwrap().success());
        assert!(outside.is_running(), "what runs elsewhere stays");
    }

    #[test]
    fn a_folder_below_a_link_goes_with_what_runs_in_it() {
        let outer = tempfile::tempdir().unwrap();
        let (parent, link) = (outer.path().join("parent"), outer.path().join("link"));
        fs::create_dir(&parent).unwrap();
        std::os::unix::fs::symlink(&parent, &link).unwrap();
        let folder = OwnFolder::make(&link).unwrap();
        let path = folder.path().to_owned();
        let mut inside =
            Process::spawn(Spec::new("sleep", "sleep").arg("600").dir(link.join(path.file_name().unwrap())))
                .unwrap();
        drop(folder);
        assert!(!path.exists());
        assert!(!inside.wait(Duration::from_secs(60)).unwrap().success());
        let here = OwnFolder::make(Path::new(".")).unwrap();
        assert!(here.path().is_absolute(), "{}", here.path().display());
    }

    #[test]
    fn two_folders_are_two() {
        let parent = tempfile::tempdir().unwrap();
        let folders = [(); 2].map(|()| OwnFolder::make(parent.path()).unwrap());
        assert_ne!(folders[0].path(), folders[1].path());
        let mode = fs::metadata(folders[0].path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn a_parent_that_is_not_there_is_named() {
        let error = OwnFolder::make(Path::new("/no/such/folder")).unwrap_err().to_string();
        assert!(error.contains("/no/such/folder"), "{error}");
    }
}
