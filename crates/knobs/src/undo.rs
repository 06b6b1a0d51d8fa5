use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use crate::journal::{self, Journal, Story};
use crate::restore::{PutBack, put_back};
use crate::{Drift, Engine, Error};

/// What `taillight tune undo` did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Changes that are as they were before, by the settings that they served.
    pub put_back: Vec<String>,
    /// Changes of what no longer exists: processes, devices, namespaces.
    pub gone: Vec<String>,
    /// Settings that another process has changed since; they keep that value.
    pub drifts: Vec<Drift>,
    /// Journals of an earlier boot, whose changes went with it.
    pub of_earlier_boots: usize,
}

/// The contents of the folder of journals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Whether a run holds the lock now.
    pub running: bool,
    /// The journals, oldest first.
    pub journals: Vec<Story>,
}

impl Engine {
    /// Reverts what earlier runs have left, the last change first.
    ///
    /// Errors: something cannot be reverted, or a journal is damaged; the rest is reverted, and the journal stays.
    pub fn undo(&self) -> Result<Undone, Error> {
        let mut undone = Undone::default();
        let mut first_error = None;
        for path in journal::all(&self.inner.folder)?.into_iter().rev() {
            if self.inner.own().contains(&path) {
                continue;
            }
            if let Err(error) = self.undo_one(&path, &mut undone) {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(undone), Err)
    }

    fn undo_one(&self, path: &Path, undone: &mut Undone) -> Result<(), Error> {
        let Some(story) = Story::read(path)? else { return journal::remove(path) };
        if story.begin.boot_id != self.inner.boot_id {
            undone.of_earlier_boots += 1;
            return journal::remove(path);
        }
        let mut journal = Journal::resume(path)?;
        let (kernel, held) = (&*self.inner.kernel, &self.inner.lock);
        let mut first_error = None;
        for (index, entry) in story.entries.iter().enumerate().rev() {
            let action = &entry.action;
            if entry.put_back || action.scratch {
                continue;
            }
            let setting = action.setting.clone();
            match put_back(kernel, held, &action.step, &entry.before, entry.after.as_ref()) {
                Ok(PutBack::Done) => undone.put_back.push(setting),
                Ok(PutBack::Gone) => undone.gone.push(setting),
                Ok(PutBack::Drifted(found)) => {
                    let wrote = entry.after.clone().unwrap_or_else(|| action.step.wanted());
                    undone.drifts.push(Drift::of(action, &wrote, found));
                }
                Err(error) => {
                    let what = format!("{setting} (`{action}`)");
                    first_error.get_or_insert(Error::of_putting_back(what, &error));
                    continue;
                }
            }
            self.inner.moment(crate::Moment::PutBack(index));
            // Without the mark it is checked once more, and found as before.
            let _ = journal.put_back(index);
        }
        first_error.map_or_else(|| journal::remove(path), Err)
    }
}

/// The contents of the folder of journals; nothing where there is none.
///
/// Errors: a journal is damaged.
pub fn status(folder: &Path) -> Result<Status, Error> {
    let lock = std::fs::File::open(folder.join("lock")).ok();
    let running = lock.is_some_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_err());
    let mut journals = Vec::new();
    for path in journal::all(folder)? {
        journals.extend(Story::read(&path)?);
    }
    Ok(Status { running, journals })
}
