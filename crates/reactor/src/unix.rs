use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect as sys_connect,
    listen as sys_listen, socket_with,
};

/// The longest path of a Unix socket. Source: `unix(7)`, `sun_path` of 108 bytes, one of them for the end.
const LONGEST_PATH: usize = 107;

/// The sockets on which this process listens.
///
/// TCP lets several sockets share a port; Unix sockets know no such thing. So the reactors of a process that
/// listen at one path share one socket, which is found here.
static LISTENING: Mutex<Vec<Weak<Listener>>> = Mutex::new(Vec::new());

/// A listening socket and its file, which is removed with it.
pub(crate) struct Listener {
    pub(crate) fd: OwnedFd,
    path: PathBuf,
    /// Device and inode of the file, so that another server's file is not removed.
    file: (u64, u64),
}

impl Listener {
    /// Listens at `path`, where `backlog` clients may wait; a second call within the process yields the same socket.
    ///
    /// Errors: the path is too long, exists and is not a socket, or is the socket of a server that still answers.
    pub(crate) fn at(path: &Path, backlog: u32) -> io::Result<Arc<Listener>> {
        let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        listening.retain(|listener| listener.strong_count() > 0);
        if let Some(listener) = listening.iter().filter_map(Weak::upgrade).find(|l| l.serves(path)) {
            return Ok(listener);
        }
        let addr = address(path)?;
        let fd = socket()?;
        match bind(&fd, &addr) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE) => {
                remove_if_dead(path, &addr)?;
                bind(&fd, &addr)?;
            }
            Err(error) => return Err(error.into()),
        }
        let file = identity(path)?;
        sys_listen(&fd, i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let listener = Arc::new(Listener { fd, path: path.to_owned(), file });
        listening.push(Arc::downgrade(&listener));
        Ok(listener)
    }

    /// Whether the file at `path` is this socket's.
    fn serves(&self, path: &Path) -> bool {
        identity(path).is_ok_and(|file| file == self.file)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.serves(&self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Result of starting to connect.
pub(crate) enum Connecting {
    /// The kernel has connected the two ends, or can say why not.
    Done(OwnedFd, Result<(), Errno>),
    /// The server has more clients waiting than it allows; unlike TCP, the kernel does not wait for it.
    Full,
}

/// Starts to connect.
///
/// Errors: the path is too long; no descriptors left.
pub(crate) fn connect(path: &Path) -> io::Result<Connecting> {
    let addr = address(path)?;
    let fd = socket()?;
    Ok(match sys_connect(&fd, &addr) {
        Err(Errno::AGAIN) => Connecting::Full,
        outcome => Connecting::Done(fd, outcome),
    })
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

pub(crate) fn address(path: &Path) -> io::Result<SocketAddrUnix> {
    let length = path.as_os_str().len();
    if length == 0 || length > LONGEST_PATH {
        let text = format!(
            "the path of the Unix socket {} has {length} bytes; give one of 1 to {LONGEST_PATH}",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(SocketAddrUnix::new(path)?)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Removes the socket of a server that was killed, if no server answers there.
fn remove_if_dead(path: &Path, addr: &SocketAddrUnix) -> io::Result<()> {
    let taken = |why: &str| {
        let text = format!("cannot listen at unix:{}: {why}; give another path", path.display());
        io::Error::new(io::ErrorKind::AddrInUse, text)
    };
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(taken("there is a file that is not a socket"));
    }
    match sys_connect(&socket()?, addr) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path),
        Ok(()) | Err(Errno::AGAIN) => Err(taken("a server answers there")),
        Err(error) => Err(taken(&format!("it cannot be told whether a server answers there ({error})"))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use tempfile::TempDir;

    use super::*;

    fn folder() -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("socket");
        (folder, path)
    }

    fn refusal(path: &Path) -> (io::ErrorKind, String) {
        let error = Listener::at(path, 16).map(|_| ()).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn the_file_goes_with_the_last_reactor() {
        let (_folder, path) = folder();
        let first = Listener::at(&path, 16).unwrap();
        let second = Listener::at(&path, 16).unwrap();
        assert!(Arc::ptr_eq(&first, &second), "one socket for the whole process");
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_dead_socket_is_taken_over() {
        let (_folder, path) = folder();
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "std leaves the file behind");
        drop(Listener::at(&path, 16).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let (_folder, path) = folder();
        let other = UnixListener::bind(&path).unwrap();
        let (kind, text) = refusal(&path);
        assert_eq!(kind, io::ErrorKind::AddrInUse);
        assert!(text.contains("a server answers there"), "{text}");
        drop(other);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        let (kind, text) = refusal(&path);
        assert_eq!(kind, io::ErrorKind::AddrInUse);
        assert!(text.contains("not a socket"), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        fs::remove_file(&path).unwrap();
        // Replaced while we listen: the new file is not ours to remove.
        let ours = Listener::at(&path, 16).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another server's").unwrap();
        drop(ours);
        assert!(path.exists());
    }

    #[test]
    fn a_path_too_long_is_named() {
        let (kind, text) = refusal(Path::new(&format!("/tmp/{}", "x".repeat(200))));
        assert_eq!(kind, io::ErrorKind::InvalidInput);
        assert!(text.contains("205 bytes") && text.contains("107"), "{text}");
    }
}
