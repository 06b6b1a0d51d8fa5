//! Files that the server writes at paths of the user's choice, often in folders where other users may write, too:
//! `/tmp`, `/dev/shm`.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

/// Permission bits by which users other than the owner may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Opens a regular file that only this user may change, as `options` say; they should not truncate it, since the file is
/// checked after it is opened. Never waits, and does not follow a symbolic link as the last part of the path.
///
/// `owner` is a further user to whom the file may belong.
///
/// Errors: as for [`OpenOptions::open`]; a symbolic link, FIFO, folder, device or socket; a file of another user, one
/// that others may write to, or one with a second name (a hard link).
pub(crate) fn open(path: &Path, options: &mut OpenOptions, owner: Option<u32>) -> io::Result<File> {
    // Otherwise opening a FIFO waits for its other end.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits() as i32).open(path);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => refused("it is a symbolic link, which is not followed"),
        Some(Errno::NXIO | Errno::ISDIR) => refused("it is not a regular file"),
        _ => error,
    })?;
    check(&file.metadata()?, owner)?;
    Ok(file)
}

/// Writes a text for other programs to read in place of the file's content.
///
/// Errors: as those of [`open`].
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = open(path, OpenOptions::new().write(true).create(true).truncate(false).mode(0o644), None)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}

fn check(file: &Metadata, owner: Option<u32>) -> io::Result<()> {
    if !file.is_file() {
        return Err(refused("it is not a regular file"));
    }
    let user = geteuid().as_raw();
    if file.uid() != user && Some(file.uid()) != owner {
        return Err(refused(&format!(
            "it belongs to user {}, and this server runs as user {user}",
            file.uid()
        )));
    }
    if file.mode() & WRITABLE_BY_OTHERS != 0 {
        let mode = file.mode() & 0o7777;
        return Err(refused(&format!("other users may write to it (mode {mode:04o}); chmod go-w it")));
    }
    if file.nlink() > 1 {
        return Err(refused("it has a second name (a hard link)"));
    }
    Ok(())
}

fn refused(why: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_a_regular_file_that_nobody_else_may_change_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let try_open = |name: &str, owner| {
            let mut options = OpenOptions::new();
            open(&path(name), options.read(true).write(true).create(true).mode(0o600), owner)
        };
        let check = |name: &str, expect: &str| {
            let error = try_open(name, None).unwrap_err().to_string();
            assert!(error.contains(expect), "{name}: {error}");
            // Reading alone or writing alone waits at a FIFO.
            for write in [false, true] {
                let mut options = OpenOptions::new();
                assert!(open(&path(name), options.read(!write).write(write), None).is_err(), "{name}");
            }
        };
        try_open("new", None).unwrap();
        assert_eq!(fs::metadata(path("new")).unwrap().mode() & 0o777, 0o600);
        try_open("new", None).unwrap();

        fs::create_dir(path("folder")).unwrap();
        check("folder", "not a regular file");
        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        check("fifo", "not a regular file");
        let _socket = UnixListener::bind(path("socket")).unwrap();
        check("socket", "not a regular file");
        symlink(path("new"), path("link")).unwrap();
        check("link", "symbolic link");
        symlink(path("nowhere"), path("dangling")).unwrap();
        check("dangling", "symbolic link");
        assert!(!path("nowhere").exists());

        for (mode, refused) in [(0o666, true), (0o620, true), (0o602, true), (0o644, false)] {
            fs::set_permissions(path("new"), Permissions::from_mode(mode)).unwrap();
            let opened = try_open("new", None);
            assert_eq!(opened.is_err(), refused, "{mode:o}");
            if let Err(error) = opened {
                assert!(error.to_string().contains(&format!("(mode {mode:04o})")), "{error}");
            }
        }
        fs::hard_link(path("new"), path("second")).unwrap();
        check("second", "hard link");
        fs::remove_file(path("second")).unwrap();

        if chown(path("new"), Some(12345), None).is_err() {
            return println!("skipped: another user's file, which takes root");
        }
        check("new", "it belongs to user 12345");
        try_open("new", Some(12345)).unwrap();
    }

    #[test]
    fn a_text_is_written_in_place_of_another_and_not_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        for text in ["a long one\n", "short\n"] {
            write(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        symlink(&file, &link).unwrap();
        assert!(write(&link, "other\n").unwrap_err().to_string().contains("symbolic link"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "short\n");
    }

    #[test]
    fn a_device_is_refused() {
        let mut options = OpenOptions::new();
        let error = open(Path::new("/dev/null"), options.read(true).write(true), None).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
    }
}
