//! A run's changes, on disk before they are made, so that another process can revert them.
//!
//! One file for each run, one JSON record on each line. A crash may cut the last line; the action that it announced was
//! then never done. A line is on the disk (`fdatasync`) before the action that it announces.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Action, Error, State};

/// Raised when a record of an older program could no longer be undone.
const VERSION: u32 = 1;
const SUFFIX: &str = "journal";

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Record {
    Begin(Begin),
    Intend { index: usize, action: Action, before: State },
    Done { index: usize, after: State },
    PutBack { index: usize },
    Kept,
}

/// The process that changed the host, and its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    version: u32,
    /// The boot, as the kernel names it: its changes do not survive the next boot.
    pub boot_id: String,
    /// The process.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
}

impl Begin {
    pub(crate) fn now(boot_id: &str) -> Begin {
        let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let command = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        Begin { version: VERSION, boot_id: boot_id.into(), pid: std::process::id(), command }
    }
}

/// One change in a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The change.
    pub action: Action,
    /// The state before the action.
    pub before: State,
    /// The state after it; `None`: unknown whether the action was done.
    pub after: Option<State>,
    /// Whether it has been reverted.
    pub put_back: bool,
}

/// The contents of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Story {
    /// Its file.
    pub path: PathBuf,
    /// Whose it is.
    pub begin: Begin,
    /// The changes, in the order in which they were made.
    pub entries: Vec<Entry>,
    /// Whether the changes were left in force on purpose.
    pub kept: bool,
}

impl Story {
    /// Whether all changes were reverted: the process ended between the last revert and the removal of the file.
    pub(crate) fn is_over(&self) -> bool {
        !self.kept && self.entries.iter().all(|entry| entry.put_back)
    }

    /// Reads a journal; `None`: its process ended before it wrote the first line, so it changed nothing.
    ///
    /// Errors: a line before the last is damaged, or a newer program wrote it.
    pub(crate) fn read(path: &Path) -> Result<Option<Story>, Error> {
        let damaged = |why: String| state("read", path)(io::Error::new(io::ErrorKind::InvalidData, why));
        let bytes = fs::read(path).map_err(state("read", path))?;
        // A crash cut the text after the last line break, possibly within a character.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let whole = std::str::from_utf8(&bytes[..end]).map_err(|e| damaged(format!("it is damaged: {e}")))?;
        let mut lines = whole.lines().filter(|line| !line.is_empty());
        let record = |line: &str| {
            serde_json::from_str::<Record>(line).map_err(|e| damaged(format!("it is damaged: {e}")))
        };
        let Some(first) = lines.next() else { return Ok(None) };
        let Record::Begin(begin) = record(first)? else {
            return Err(damaged("it does not begin with the process that wrote it".into()));
        };
        if begin.version > VERSION {
            return Err(damaged(format!("version {} is of a newer program", begin.version)));
        }
        let mut story = Story { path: path.into(), begin, entries: Vec::new(), kept: false };
        for line in lines {
            match record(line)? {
                Record::Begin(_) => return Err(damaged("it begins twice".into())),
                Record::Kept => story.kept = true,
                Record::Intend { index, action, before } if index == story.entries.len() => {
                    story.entries.push(Entry { action, before, after: None, put_back: false });
                }
                Record::Intend { index, .. } => {
                    return Err(damaged(format!("change {index} is out of order")));
                }
                Record::Done { index, after } => {
                    let entry = story.entries.get_mut(index);
                    entry.ok_or_else(|| damaged(format!("there is no change {index}")))?.after = Some(after);
                }
                Record::PutBack { index } => {
                    let entry = story.entries.get_mut(index);
                    entry.ok_or_else(|| damaged(format!("there is no change {index}")))?.put_back = true;
                }
            }
        }
        Ok(Some(story))
    }
}

/// The journals in a folder, oldest first.
pub(crate) fn all(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(state("list", folder))?,
    };
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| number(path).is_some()).collect();
    files.sort_unstable_by_key(|path| number(path));
    Ok(files)
}

fn number(path: &Path) -> Option<u64> {
    (path.extension()? == SUFFIX).then(|| path.file_stem()?.to_str()?.parse().ok())?
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Creates the next journal in `folder`, which the caller has locked.
    pub(crate) fn begin(folder: &Path, boot_id: &str) -> Result<Journal, Error> {
        let last = all(folder)?.last().and_then(|path| number(path)).unwrap_or(0);
        let path = folder.join(format!("{:06}.{SUFFIX}", last + 1));
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).open(&path).map_err(state("create", &path))?;
        let mut journal = Journal { path, file };
        journal.record(&Record::Begin(Begin::now(boot_id)))?;
        sync_folder(folder)?;
        Ok(journal)
    }

    /// Continues the journal of another process.
    pub(crate) fn resume(path: &Path) -> Result<Journal, Error> {
        let text = fs::read(path).map_err(state("read", path))?;
        let file = OpenOptions::new().append(true).open(path).map_err(state("open", path))?;
        // Drops a line that a crash cut, or the next would run into it.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end as u64 + 1);
        file.set_len(whole).map_err(state("mend", path))?;
        Ok(Journal { path: path.into(), file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn intend(&mut self, index: usize, action: &Action, before: &State) -> Result<(), Error> {
        self.record(&Record::Intend { index, action: action.clone(), before: before.clone() })
    }

    pub(crate) fn done(&mut self, index: usize, after: &State) -> Result<(), Error> {
        self.record(&Record::Done { index, after: after.clone() })
    }

    pub(crate) fn put_back(&mut self, index: usize) -> Result<(), Error> {
        self.record(&Record::PutBack { index })
    }

    pub(crate) fn keep(&mut self) -> Result<(), Error> {
        self.record(&Record::Kept)
    }

    fn record(&mut self, record: &Record) -> Result<(), Error> {
        let mut line =
            serde_json::to_vec(record).map_err(io::Error::other).map_err(state("write", &self.path))?;
        line.push(b'\n');
        let whole = self.file.metadata().map_err(state("write", &self.path))?.len();
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // On a full disk part of the line may be written; remove it, so that the next does not run into it.
            let _ = self.file.set_len(whole);
        }
        written.map_err(state("write", &self.path))
    }
}

/// Removes a journal whose changes are all reverted, or gone with a boot.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(state("remove", path))?;
    path.parent().map_or(Ok(()), sync_folder)
}

fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(state("write", folder))
}

/// Makes an error of a failed operation on a state file.
pub(crate) fn state<'a>(doing: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Error + 'a {
    move |source| Error::State { doing, path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;

    fn action(path: &str) -> Action {
        Action { knob: "x=1".into(), step: Step::Directory { path: path.into() }, scratch: false }
    }

    fn written(folder: &Path) -> PathBuf {
        let mut journal = Journal::begin(folder, "boot").unwrap();
        journal.intend(0, &action("/a"), &None).unwrap();
        journal.done(0, &Some("there".into())).unwrap();
        journal.intend(1, &action("/é"), &None).unwrap();
        journal.path().to_owned()
    }

    #[test]
    fn reads_what_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let story = Story::read(&path).unwrap().unwrap();
        assert_eq!((story.begin.boot_id.as_str(), story.begin.pid), ("boot", std::process::id()));
        assert_eq!(story.entries[0].after, Some(Some("there".into())));
        assert_eq!((story.entries[1].after.clone(), story.kept), (None, false));
        let mut journal = Journal::resume(&path).unwrap();
        journal.put_back(1).unwrap();
        journal.keep().unwrap();
        let story = Story::read(&path).unwrap().unwrap();
        assert!(story.kept && story.entries[1].put_back && !story.entries[0].put_back);
        let second = Journal::begin(folder.path(), "boot").unwrap();
        assert_eq!(all(folder.path()).unwrap(), [path, second.path().to_owned()]);
    }

    #[test]
    fn a_cut_line_announces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let text = fs::read(&path).unwrap();
        let mut seen = Vec::new();
        // Also within a character.
        assert!(!text.is_ascii());
        for length in 0..=text.len() {
            fs::write(&path, &text[..length]).unwrap();
            let story = Story::read(&path).unwrap();
            seen.push(story.map_or(0, |story| story.entries.len()));
            // A resumed journal drops the rest of the cut line.
            let whole = text[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            drop(Journal::resume(&path).unwrap());
            assert_eq!(fs::read(&path).unwrap(), text[..whole]);
        }
        assert!(seen.is_sorted() && seen.last() == Some(&2), "{seen:?}");
    }

    #[test]
    fn damage_is_told() {
        let check = |text: &str, expect: &str| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("000001.journal");
            fs::write(&path, text).unwrap();
            let error = Story::read(&path).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        let begin = r#"{"begin":{"version":1,"boot_id":"b","pid":1,"command":[]}}"#;
        check("garbage\n", "damaged");
        check("\"kept\"\n", "does not begin");
        check(&format!("{begin}\n{begin}\n"), "begins twice");
        check(&format!("{}\n", begin.replace(":1,\"boot", ":2,\"boot")), "newer program");
        check(&format!("{begin}\n{{\"done\":{{\"index\":0,\"after\":null}}}}\n"), "no change 0");
        check("\u{fffd}\n\n", "damaged");
    }
}
