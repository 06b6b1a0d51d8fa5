use std::panic;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use crate::engine::{Inner, Moment};
use crate::journal::{self, Entry, Journal, Story};
use crate::restore::{PutBack, put_back};
use crate::{Drift, Engine, Error};

/// The result of `taillight tune undo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Changes that were reverted, by their knobs.
    pub put_back: Vec<String>,
    /// Changes of things that no longer exist: processes, devices, namespaces.
    pub gone: Vec<String>,
    /// Knobs that another process has changed since; they keep that value.
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
    /// Reverts changes left by earlier runs, the last change first.
    ///
    /// Errors: a change cannot be reverted, or a journal is damaged; all others are reverted, and the journal stays.
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

    /// Reverts the knobs of this engine's own runs in a panic that ends the process without unwinding.
    pub(crate) fn revert_on_panic(&self) {
        let (inner, before) = (Arc::downgrade(&self.inner), panic::take_hook());
        panic::set_hook(Box::new(move |info| {
            before(info);
            if let Some(inner) = inner.upgrade() {
                Engine { inner }.revert_own();
            }
        }));
    }

    /// Reverts the knobs of this engine's own runs, as their drop would.
    #[doc(hidden)]
    pub fn revert_own(&self) {
        // The thread that panics may hold the list: its journal is left to `taillight tune undo`.
        let own = self.inner.own.try_lock().map(|own| own.iter().rev().cloned().collect::<Vec<_>>());
        let mut undone = Undone::default();
        for path in own.unwrap_or_default() {
            if let Err(error) = self.undo_one(&path, &mut undone) {
                eprintln!("taillight: {error}; `taillight tune undo` tries again");
            }
        }
        undone.drifts.iter().for_each(|drift| eprintln!("taillight: {drift}"));
    }

    fn undo_one(&self, path: &Path, undone: &mut Undone) -> Result<(), Error> {
        let Some(mut story) = Story::read(path)? else { return journal::remove(path) };
        if story.begin.boot_id != self.inner.boot_id {
            undone.of_earlier_boots += 1;
            return journal::remove(path);
        }
        let mut journal = Journal::resume(path)?;
        put_all_back(&self.inner, &mut journal, &mut story.entries, undone)?;
        journal::remove(path)
    }
}

/// Reverts the changes that a journal holds, the last one first.
///
/// Errors: something cannot be reverted; the rest is.
pub(crate) fn put_all_back(
    inner: &Inner,
    journal: &mut Journal,
    changes: &mut [Entry],
    undone: &mut Undone,
) -> Result<(), Error> {
    let mut first_error = None;
    for (index, Entry { action, before, after, put_back: over }) in changes.iter_mut().enumerate().rev() {
        if *over || action.scratch {
            continue;
        }
        let knob = action.knob.clone();
        match put_back(&*inner.kernel, &inner.lock, &action.step, before, after.as_ref()) {
            Ok(PutBack::Done) => undone.put_back.push(knob),
            Ok(PutBack::Gone) => undone.gone.push(knob),
            Ok(PutBack::Drifted(found)) => {
                let wrote = after.clone().unwrap_or_else(|| action.step.wanted());
                undone.drifts.push(Drift::of(action, &wrote, found));
            }
            Err(error) => {
                let what = format!("{knob} (`{action}`)");
                first_error.get_or_insert(Error::of_putting_back(what, &error));
                continue;
            }
        }
        *over = true;
        inner.moment(Moment::PutBack(index));
        // If this mark fails, `tune undo` checks the change again, and finds it reverted.
        let _ = journal.put_back(index);
    }
    first_error.map_or(Ok(()), Err)
}

/// The contents of the folder of journals; empty if the folder does not exist.
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
