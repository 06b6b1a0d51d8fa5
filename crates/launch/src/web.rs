//! What a check of a web server asks for, and the status that it is answered with.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file of `folder` or of the folders below, dot files apart; `None` where there is none.
pub fn first_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_file() {
            return Ok(Some(entry.path()));
        }
        folders.extend(kind.is_dir().then(|| entry.path()));
    }
    for below in folders {
        if let Some(file) = first_file(&below)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// The path of `file` below `root` as a URL has it.
pub fn url_path(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file).as_os_str();
    let mut path = String::from("/");
    for &byte in below.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                path.push(byte.into())
            }
            other => path += &format!("%{other:02X}"),
        }
    }
    path
}

/// The status in the first line of an answer. Source: RFC 9112, §4.
pub fn status_of(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let text = std::str::from_utf8(line).ok()?;
    let (version, rest) = text.split_once(' ')?;
    version.starts_with("HTTP/1.").then(|| rest.split(' ').next()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn reads_the_status_and_nothing_else() {
        let check =
            |head: &str, expect: Option<u16>| assert_eq!(status_of(head.as_bytes()), expect, "{head}");
        check("HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n", Some(200));
        check("HTTP/1.0 404\r\n\r\n", Some(404));
        check("HTTP/2 200\r\n\r\n", None);
        check("ERROR\r\n", None);
        check("HTTP/1.1 \r\n", None);
        check("", None);
    }

    #[test]
    fn a_file_is_found_wherever_it_lies() {
        let root = tempfile::tempdir().unwrap();
        let of = || first_file(root.path()).unwrap();
        assert_eq!(of(), None);
        fs::create_dir_all(root.path().join("a b/c")).unwrap();
        fs::create_dir_all(root.path().join("empty")).unwrap();
        fs::write(root.path().join(".hidden"), "").unwrap();
        assert_eq!(of(), None);
        let file = root.path().join("a b/c/ü.txt");
        fs::write(&file, "").unwrap();
        assert_eq!(of(), Some(file.clone()));
        assert_eq!(url_path(root.path(), &file), "/a%20b/c/%C3%BC.txt");
        assert!(first_file(Path::new("/no/such")).is_err());
        // A name need not be text.
        let odd = root.path().join(OsStr::from_bytes(b"\xfc"));
        assert_eq!(url_path(root.path(), &odd), "/%FC");
    }
}
