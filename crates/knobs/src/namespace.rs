use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fd::AsFd;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

/// A network namespace, by the file that refers to it and by its identity.
///
/// The identity is kept since the file may mean another one after a crash: process ids are used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// `/run/netns/NAME` or `/proc/PID/ns/net`.
    pub file: PathBuf,
    /// The number of its file, which no other namespace has while this one lives.
    pub inode: u64,
}

/// A namespace's own `/sys`.
pub(crate) type Sysfs = OwnedFd;

impl Namespace {
    /// The namespace that `file` refers to now.
    ///
    /// Errors: the file does not exist.
    pub fn of(file: &Path) -> io::Result<Namespace> {
        Ok(Namespace { file: file.into(), inode: file.metadata()?.ino() })
    }

    pub(crate) fn name(&self) -> Option<&str> {
        let folder = self.file.parent()?;
        let named = folder.ends_with("run/netns").then(|| self.file.file_name())??;
        named.to_str()
    }

    /// Runs `work` inside, in a separate thread; with that namespace's `/sys` if requested.
    ///
    /// `/proc/sys/net` and child programs see the namespace without help; `/sys` belongs to the namespace that mounted
    /// it, so it is mounted again, visible only to this thread until it ends.
    ///
    /// Errors: `NotFound` if the namespace was removed; the errors of `work`; no right to enter it.
    pub(crate) fn within<T: Send>(
        &self,
        needs_sysfs: bool,
        work: impl FnOnce(Option<&Sysfs>) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let file = File::open(&self.file)?;
        if file.metadata()?.ino() != self.inode {
            let text = format!("{} refers to another network namespace now", self.file.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        let inside = || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            if !needs_sysfs {
                return work(None);
            }
            let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(context.as_fd())?;
            let flags = FsMountFlags::FSMOUNT_CLOEXEC;
            work(Some(&fsmount(context.as_fd(), flags, MountAttrFlags::empty())?))
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, inside)?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_name() {
        let check = |file: &str, expect: Option<&str>| {
            assert_eq!(Namespace { file: file.into(), inode: 0 }.name(), expect, "{file}");
        };
        check("/run/netns/a", Some("a"));
        check("/var/run/netns/b", Some("b"));
        check("/proc/7/ns/net", None);
    }

    #[test]
    fn refuses_another_ones_identity() {
        let mut here = Namespace::of(Path::new("/proc/self/ns/net")).unwrap();
        here.inode += 1;
        let error = here.within(false, |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    }
}
