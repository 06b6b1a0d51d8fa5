use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use lab::Interrupt;
use workloads::web::{FileSet, MARKER};

use super::make::{about, below};
use super::work::{over_folders, threads};
use crate::terminal::say;

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;
/// Faults that are named.
const NAMED: usize = 5;

/// Checks the set in `folder`.
///
/// Errors: there is none; a file lacks, is of another size or content; something else lies there.
pub(super) fn check(folder: &Path) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let set = FileSet::in_folder(folder)?;
    let faults = Mutex::new(Vec::new());
    let note = |found: Vec<String>| faults.lock().unwrap_or_else(|e| e.into_inner()).extend(found);
    let known = |n| set.folder(n).trim_start_matches('/').to_owned();
    let others: BTreeSet<String> = (0..set.folders()).map(known).chain([MARKER.to_owned()]).collect();
    note(strangers(folder, &others)?);
    over_folders(&set, threads(None), "checking", &interrupt, |n| {
        note(of_folder(folder, &set, n)?);
        Ok(())
    })?;
    let mut faults = faults.into_inner().unwrap_or_else(|e| e.into_inner());
    if faults.is_empty() {
        return say(&format!("{} holds {}, whole and as it was made\n", folder.display(), about(&set)));
    }
    faults.sort();
    let more = match faults.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    faults.truncate(NAMED);
    bail!(
        "{} is not {} any more: {}{more}; remove it and make it again",
        folder.display(),
        about(&set),
        faults.join("; ")
    )
}

/// What lies in `folder` and is not in `known`.
fn strangers(folder: &Path, known: &BTreeSet<String>) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        // Its files are missing, which is reported of each.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        if !known.contains(entry.file_name().to_string_lossy().as_ref()) {
            found.push(format!("{} is not of the set", entry.path().display()));
        }
    }
    Ok(found)
}

fn of_folder(root: &Path, set: &FileSet, folder: u64) -> Result<Vec<String>> {
    let name = |file| set.path(file).rsplit('/').next().unwrap_or_default().to_owned();
    let known: BTreeSet<String> = set.files_of(folder).map(name).collect();
    let mut faults = strangers(&below(root, &set.folder(folder)), &known)?;
    let mut piece = vec![0; PIECE];
    for file in set.files_of(folder) {
        let path = below(root, &set.path(file));
        let fault = match File::open(&path) {
            Err(error) => Some(format!("{}: {error}", path.display())),
            Ok(open) => fault_of(open, set, file, &mut piece)
                .with_context(|| format!("cannot read {}", path.display()))?
                .map(|fault| format!("{} {fault}", path.display())),
        };
        faults.extend(fault);
    }
    Ok(faults)
}

/// What is wrong with a file; `None`: nothing.
fn fault_of(mut open: File, set: &FileSet, file: u64, piece: &mut [u8]) -> std::io::Result<Option<String>> {
    let (length, expect) = (open.metadata()?.len(), set.size(file));
    if length != expect {
        return Ok(Some(format!("has {length} B and not {expect}")));
    }
    let mut content = set.content(file);
    loop {
        match open.read(piece)? {
            0 => return Ok((content.left() > 0).then(|| "ends before its end".into())),
            read if content.matches(&piece[..read]) => {}
            _ => return Ok(Some("holds something else".into())),
        }
    }
}
