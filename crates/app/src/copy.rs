//! Copies folders of data to the cache and back.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::chown;
use std::path::Path;

use launch::User;
use rustix::fs::ioctl_ficlone;

/// Replaces `to` by a copy of `from` owned by `user`.
pub(crate) fn again(from: &Path, to: &Path, user: Option<&User>) -> io::Result<()> {
    remove(to)?;
    folder(from, to, &mut |path, _| user.map_or(Ok(()), |user| chown(path, Some(user.uid), Some(user.gid))))
}

/// Makes `to` a copy of `from` that is on the disk when this returns; returns its bytes.
pub(crate) fn kept(from: &Path, to: &Path) -> io::Result<u64> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent)?;
    let mut bytes = 0;
    folder(from, to, &mut |path, length| {
        bytes += length;
        File::open(path)?.sync_all()
    })?;
    File::open(parent)?.sync_all()?;
    Ok(bytes)
}

/// Removes a folder and its content, if it exists.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Copies a folder; `done` is called for each file and folder, with its bytes, once the content is written.
fn folder(from: &Path, to: &Path, done: &mut dyn FnMut(&Path, u64) -> io::Result<()>) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (found, into) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            folder(&found, &into, done)?;
        } else if kind.is_file() {
            done(&into, file(&found, &into)?)?;
        }
        // Servers keep no data in sockets or links.
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    done(to, 0)
}

/// Copies a file, which shares its blocks with the first where the file system can; returns its bytes.
fn file(from: &Path, to: &Path) -> io::Result<u64> {
    let source = File::open(from)?;
    let found = source.metadata()?;
    let shares = File::create(to).is_ok_and(|target| ioctl_ficlone(&target, &source).is_ok());
    if shares {
        fs::set_permissions(to, found.permissions())?;
        return Ok(found.len());
    }
    fs::copy(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_copy_has_the_contents_and_permissions_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let [from, kept_in, to] = ["from", "kept/data", "to"].map(|name| root.path().join(name));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/c"), "text").unwrap();
        fs::write(from.join("large"), vec![7; 300_000]).unwrap();
        fs::set_permissions(from.join("a"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(from.join("large"), fs::Permissions::from_mode(0o660)).unwrap();
        assert_eq!(kept(&from, &kept_in).unwrap(), 300_004);
        fs::create_dir(&to).unwrap();
        fs::write(to.join("of before"), "x").unwrap();
        again(&kept_in, &to, None).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/c")).unwrap(), "text");
        assert_eq!(fs::read(to.join("large")).unwrap(), vec![7; 300_000]);
        assert_eq!((mode(&to.join("a")), mode(&to.join("large"))), (0o700, 0o660));
        assert!(!to.join("of before").exists());
        // Changes to one copy do not affect the other.
        fs::write(to.join("a/b/c"), "changed").unwrap();
        assert_eq!(fs::read_to_string(kept_in.join("a/b/c")).unwrap(), "text");
    }

    #[test]
    fn it_belongs_to_the_account() {
        let Some(user) = User::nobody().filter(|_| User::is_root()) else {
            println!("skipped: it takes root");
            return;
        };
        let root = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| root.path().join(name));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("a"), "text").unwrap();
        again(&from, &to, Some(&user)).unwrap();
        for path in [to.clone(), to.join("a")] {
            use std::os::unix::fs::MetadataExt;
            let found = fs::metadata(&path).unwrap();
            assert_eq!((found.uid(), found.gid()), (user.uid, user.gid), "{}", path.display());
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_but_need_not_be_removed() {
        let root = tempfile::tempdir().unwrap();
        let none = root.path().join("none");
        assert!(again(&none, &root.path().join("to"), None).is_err());
        remove(&none).unwrap();
    }
}
