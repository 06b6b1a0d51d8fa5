use std::path::Path;
use std::sync::Arc;

use crate::action::Step;
use crate::engine::{Inner, Moment};
use crate::journal::{self, Entry, Journal};
use crate::undo::{Undone, put_all_back};
use crate::{Action, Drift, Error};

/// Knobs in force. Dropping it reverts the host, also in a panic.
///
/// A change that a drop could not revert stays in the journal, for `taillight tune undo`.
pub struct Applied {
    pub(crate) inner: Arc<Inner>,
    journal: Option<Journal>,
    pub(crate) made: Vec<Entry>,
}

impl Applied {
    pub(crate) fn apply(inner: &Arc<Inner>, plan: &[Action]) -> Result<Applied, Error> {
        for action in plan {
            check_beforehand(inner, action)?;
        }
        let journal = Journal::begin(&inner.folder, &inner.boot_id)?;
        inner.own().insert(journal.path().to_owned());
        let mut applied = Applied { inner: Arc::clone(inner), journal: Some(journal), made: Vec::new() };
        for action in plan {
            if let Err(error) = applied.make(action) {
                let refused = applied.put_all_back();
                return Err(match refused {
                    Ok(_) => error,
                    Err(second) => Error::failed(
                        error,
                        format!("and what was set before it could not be reverted: {second}"),
                        "run `taillight tune undo`",
                    ),
                });
            }
        }
        Ok(applied)
    }

    fn make(&mut self, action: &Action) -> Result<(), Error> {
        let (kernel, held) = (&*self.inner.kernel, &self.inner.lock);
        let step = &action.step;
        let doing = || format!("{} (`{action}`)", action.knob);
        let before = step.observe(kernel, held).map_err(|e| Error::of_io(doing(), "cannot be read", &e))?;
        if let Some(why) = action.cannot_restore(&before) {
            return Err(Error::failed(doing(), why, "remove it, or leave the knob out"));
        }
        let index = self.made.len();
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.intend(index, action, &before)?;
        // Listed first, so that any failure from here on reverts it.
        self.made.push(Entry {
            action: action.clone(),
            before: before.clone(),
            after: None,
            put_back: false,
        });
        self.inner.moment(Moment::Announced(index));
        let same = step.same(&before, &step.wanted());
        // A state that is already as wanted is not written. Processes are moved in any case, since they may start
        // others at any time.
        let put = if same { Ok(()) } else { step.put(kernel, &step.wanted(), held) };
        self.inner.moment(Moment::Made(index));
        let after = step.observe(kernel, held);
        let noted = match &after {
            Ok(after) => {
                self.made[index].after = Some(after.clone());
                journal.done(index, after)
            }
            Err(_) => Ok(()),
        };
        self.inner.moment(Moment::Noted(index));
        put.map_err(|e| Error::of_io(doing(), "the kernel refused it", &e))?;
        noted?;
        let after = after.map_err(|e| Error::of_io(doing(), "cannot be read back", &e))?;
        if step.same(&after, &step.wanted()) {
            return Ok(());
        }
        let limit = format!("it reads back as {}", after.as_deref().map_or("nothing", str::trim));
        Err(Error::failed(doing(), limit, "choose a value that the kernel takes, or leave the knob out"))
    }

    /// The actions that are in force.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.made.iter().map(|made| &made.action)
    }

    /// Knobs that another process has changed since: the verdict `KnobDrift` of a trial.
    ///
    /// Errors: a knob cannot be read. A thing that no longer exists, such as a process, is not drift.
    pub fn check(&self) -> Result<Vec<Drift>, Error> {
        let mut drifts = Vec::new();
        for Entry { action, after, .. } in &self.made {
            let found = match action.step.observe(&*self.inner.kernel, &self.inner.lock) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                found => found.map_err(|e| Error::of_io(action, "cannot be read", &e))?,
            };
            let after = after.clone().unwrap_or_else(|| action.step.wanted());
            if !action.step.same(&found, &after) {
                drifts.push(Drift::of(action, &after, found));
            }
        }
        Ok(drifts)
    }

    /// Processes that the kernel has killed for lack of memory in the groups that were made; `None` without a limit.
    pub fn oom_kills(&self) -> Option<u64> {
        let limits = self.made.iter().filter_map(|made| match &made.action.step {
            Step::Write { file, .. } => counter_of_kills(file),
            _ => None,
        });
        let counts = limits.map(|(file, word)| {
            let text = self.inner.kernel.read(&file, None).ok()?;
            text.lines().find_map(|line| line.strip_prefix(word)?.trim().parse::<u64>().ok())
        });
        counts.flatten().reduce(|a, b| a + b)
    }

    /// Reverts all changes, the last one first, and returns those that another process had changed.
    ///
    /// Errors: a change cannot be reverted; it stays in the journal.
    pub fn revert(mut self) -> Result<Vec<Drift>, Error> {
        self.put_all_back()
    }

    /// Leaves the knobs in force after this process, until `taillight tune undo`.
    ///
    /// Errors: the journal cannot be written; the knobs are reverted then.
    pub fn keep(mut self) -> Result<(), Error> {
        if let Some(journal) = &mut self.journal {
            journal.keep()?;
        }
        self.journal = None;
        Ok(())
    }

    fn put_all_back(&mut self) -> Result<Vec<Drift>, Error> {
        let Some(journal) = &mut self.journal else { return Ok(Vec::new()) };
        let mut undone = Undone::default();
        put_all_back(&self.inner, journal, &mut self.made, &mut undone)?;
        let path = journal.path().to_owned();
        self.journal = None;
        self.inner.own().remove(&path);
        journal::remove(&path)?;
        Ok(undone.drifts)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        match self.put_all_back() {
            Ok(drifts) => drifts.iter().for_each(|drift| eprintln!("taillight: {drift}")),
            Err(error) => {
                eprintln!("taillight: {error}; `taillight tune undo` tries again");
                // From here on only an undo reverts it: the next run must refuse to start, also in this process.
                if let Some(journal) = &self.journal {
                    self.inner.own().remove(journal.path());
                }
            }
        }
    }
}

/// Checks that need no change: the thing exists, may be written and could be reverted, and processes to be confined
/// run.
fn check_beforehand(inner: &Inner, action: &Action) -> Result<(), Error> {
    if action.step.is_for_ended_processes(&*inner.kernel) {
        let limit = "none of the processes that it is for runs";
        return Err(Error::failed(&action.knob, limit, "name one that does: --pid PID"));
    }
    if action.scratch {
        return Ok(());
    }
    let what = || format!("{} (`{action}`)", action.knob);
    if let Some(file) = action.step.writes_to() {
        // A folder that an earlier action makes is not there yet.
        match inner.kernel.may_write(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            other => other.map_err(|e| Error::of_io(what(), "cannot be written", &e))?,
        }
    }
    let found = action.step.observe(&*inner.kernel, &inner.lock);
    let before = found.map_err(|e| Error::of_io(what(), "cannot be read", &e))?;
    match action.cannot_restore(&before) {
        Some(why) => Err(Error::failed(what(), why, "remove it, or leave the knob out")),
        None => Ok(()),
    }
}

/// The file in which the kernel counts its kills under this limit, and the word before the count.
fn counter_of_kills(limit: &Path) -> Option<(std::path::PathBuf, &'static str)> {
    match limit.file_name()?.to_str()? {
        "memory.limit_in_bytes" => Some((limit.with_file_name("memory.oom_control"), "oom_kill ")),
        "memory.max" => Some((limit.with_file_name("memory.events"), "oom_kill ")),
        _ => None,
    }
}
