//! A program under the limits of a container or of a unit: control groups, a seccomp filter, an inherited mask.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use nix::libc;
use rustix::thread::{CpuSet, sched_setaffinity};

/// How often a group is tried to be removed, and how long.
const LOOK: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// A control group that is removed with its handle.
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
    pub(crate) version: u32,
}

impl Group {
    /// Makes a group with `controller` and a group within it; `None`, with a printed reason, if that is impossible here.
    pub(crate) fn new(controller: &str) -> Option<Group> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("taillight-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let host = host::Host::here();
        let Some(tree) = host.cgroups.holding(controller) else {
            println!("skipped: no control groups with {controller}");
            return None;
        };
        let group = Group { folder: Path::new(&tree.mount).join(name), version: tree.version };
        if let Err(error) = group.make(controller) {
            println!("skipped: a control group with {controller} cannot be made: {error}");
            return None;
        }
        Some(group)
    }

    fn make(&self, controller: &str) -> std::io::Result<()> {
        if self.version == 2 {
            let root = self.folder.parent().unwrap();
            fs::write(root.join("cgroup.subtree_control"), format!("+{controller}"))?;
        }
        fs::create_dir(&self.folder)?;
        if self.version == 2 {
            fs::write(self.folder.join("cgroup.subtree_control"), format!("+{controller}"))?;
        }
        fs::create_dir(self.inner())
    }

    /// The group within it, to which processes go: limits of a group count for all groups within.
    pub(crate) fn inner(&self) -> PathBuf {
        self.folder.join("inner")
    }

    /// Sets a limit; the file's name in each version.
    pub(crate) fn set(&self, files: [&str; 2], value: &str) -> PathBuf {
        let file = self.folder.join(files[self.version as usize - 1]);
        fs::write(&file, value).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        file
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        // A process that was reaped may take a moment to leave.
        for folder in [self.inner(), self.folder.clone()] {
            while fs::remove_dir(&folder).is_err() && folder.exists() && Instant::now() < deadline {
                park_timeout(LOOK);
            }
        }
    }
}

/// The limits of a program.
#[derive(Default)]
pub(crate) struct Confined<'a> {
    pub(crate) group: Option<&'a Group>,
    /// The number of a system call, and the error that it returns.
    pub(crate) filter: Option<(libc::c_long, libc::c_int)>,
    /// The inherited processors.
    pub(crate) mask: Option<&'a [usize]>,
}

impl Confined<'_> {
    /// Has the program start under the limits.
    pub(crate) fn apply(&self, command: &mut Command) {
        let procs = self
            .group
            .map(|group| OpenOptions::new().write(true).open(group.inner().join("cgroup.procs")).unwrap());
        let mask = self.mask.map(|cpus| {
            let mut set = CpuSet::new();
            cpus.iter().for_each(|cpu| set.set(*cpu));
            set
        });
        let filter = self.filter;
        let confine = move || {
            if let Some(mut procs) = procs.as_ref() {
                procs.write_all(b"0")?;
            }
            if let Some(mask) = &mask {
                sched_setaffinity(None, mask)?;
            }
            filter.map_or(Ok(()), |(call, error)| refuse(call, error))
        };
        // SAFETY: between fork and exec it makes system calls on values that were built before, and takes no lock.
        unsafe { command.pre_exec(confine) };
    }
}

/// Has the kernel answer this process's system calls of number `call` with `error`, also after exec.
/// Source: `seccomp(2)`.
fn refuse(call: libc::c_long, error: libc::c_int) -> std::io::Result<()> {
    let step = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut program = [
        // The number of the call is the first field of `seccomp_data`.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 1),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | error as u32, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program outlives the calls, and its length is right.
    let results = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter),
        ]
    };
    if results == [0, 0] { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
