use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::journal::{self, Story, state};
use crate::kernel::{Kernel, LocalKernel};
use crate::{Action, Applied, Error};

/// The time limit for another process's lock: a command that outlived its killed parent ends within some ms.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Applies actions and reverts them. Only one engine holds the lock of a state folder at a time.
///
/// Shape: clones share the lock, which is released once all of them and all [`Applied`]s are dropped.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) folder: PathBuf,
    pub(crate) lock: File,
    pub(crate) boot_id: String,
    /// The journals of this engine's own runs, which revert themselves.
    pub(crate) own: Mutex<BTreeSet<PathBuf>>,
    pub(crate) watcher: Option<Watcher>,
}

/// A callback for each moment at which a crash would leave a different state.
pub type Watcher = Box<dyn Fn(Moment) + Send + Sync>;

/// A moment in the life of a change, by its place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It is in the journal and not yet made.
    Announced(usize),
    /// It is made, but not yet noted in the journal.
    Made(usize),
    /// It is noted in the journal as made.
    Noted(usize),
    /// It is reverted, but not yet noted in the journal.
    PutBack(usize),
}

/// The folder of journals: `$TAILLIGHT_STATE`, else one that is emptied at boot.
pub fn state_folder() -> PathBuf {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("TAILLIGHT_STATE") {
        return folder;
    }
    let user = rustix::process::geteuid();
    if user.is_root() {
        return "/run/taillight".into();
    }
    match set("XDG_RUNTIME_DIR") {
        Some(runtime) => runtime.join("taillight"),
        None => env::temp_dir().join(format!("taillight-{}", user.as_raw())),
    }
}

impl Engine {
    /// The engine of this machine.
    ///
    /// Errors: as [`Engine::open`].
    pub fn here() -> Result<Engine, Error> {
        let engine = Engine::open(&state_folder(), LocalKernel::new(Path::new("/")))?;
        if cfg!(panic = "abort") {
            engine.revert_on_panic();
        }
        Ok(engine)
    }

    /// An engine that changes `kernel` and keeps its journals in `folder`, which is made if it is missing.
    ///
    /// Errors: another engine has the folder; it cannot be written.
    pub fn open(folder: &Path, kernel: impl Kernel + 'static) -> Result<Engine, Error> {
        Engine::watched(folder, kernel, None)
    }

    /// The same, with an observer that is called at each step; tests end the process there.
    pub fn watched(
        folder: &Path,
        kernel: impl Kernel + 'static,
        watcher: Option<Watcher>,
    ) -> Result<Engine, Error> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(state("create", folder))?;
        let lock = locked(&folder.join("lock"))?;
        // Without boot ids, the journals of all boots count.
        let boot_id = kernel.read(Path::new("/proc/sys/kernel/random/boot_id"), None).unwrap_or_default();
        let inner = Inner {
            kernel: Box::new(kernel),
            folder: folder.into(),
            lock,
            boot_id: boot_id.trim().to_owned(),
            own: Mutex::default(),
            watcher,
        };
        Ok(Engine { inner: Arc::new(inner) })
    }

    /// Applies a plan: each action is announced in the journal, made and read back.
    ///
    /// Errors: a value cannot be set, or reads back as another; earlier actions are then reverted. The plan is refused
    /// without a change if an earlier run's knobs were not reverted, or a right is missing.
    pub fn apply(&self, plan: &[Action]) -> Result<Applied, Error> {
        self.refuse_leftovers()?;
        Applied::apply(&self.inner, plan)
    }

    /// Checks that no earlier run's knobs are still in force, other than those of `taillight tune apply`.
    ///
    /// Errors: some are ([`Error::Unfinished`]); a journal is damaged.
    pub fn refuse_leftovers(&self) -> Result<(), Error> {
        let own = self.inner.own();
        for path in journal::all(&self.inner.folder)? {
            if own.contains(&path) {
                continue;
            }
            match Story::read(&path)? {
                Some(story) if story.begin.boot_id == self.inner.boot_id && !story.is_over() => {
                    if !story.kept {
                        return Err(Error::Unfinished { pid: story.begin.pid, journal: path });
                    }
                }
                // The changes of an earlier boot went with it, and reverted ones need no journal.
                _ => journal::remove(&path)?,
            }
        }
        Ok(())
    }
}

impl Inner {
    pub(crate) fn own(&self) -> std::sync::MutexGuard<'_, BTreeSet<PathBuf>> {
        // A set of paths is whole at any time.
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn moment(&self, moment: Moment) {
        if let Some(watcher) = &self.watcher {
            watcher(moment);
        }
    }
}

/// Opens and locks `path`, and leaves this process's id in it for others to read.
fn locked(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(state("open", path))?;
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK && error != rustix::io::Errno::INTR {
            return Err(state("lock", path)(error.into()));
        }
        if Instant::now() >= deadline {
            return Err(Error::Busy { pid: owner(&mut file), lock: path.into() });
        }
        thread::sleep(LOOK);
    }
    let written = file.set_len(0).and_then(|()| file.rewind());
    written.and_then(|()| writeln!(file, "{}", std::process::id())).map_err(state("write", path))?;
    Ok(file)
}

fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}
