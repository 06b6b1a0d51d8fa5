use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use lab::Interrupt;
use rustix::fs::Mode;
use units::Bytes;
use workloads::web::{FileSet, MARKER, Marker, PARTIAL};

use super::lock::lock;
use super::remove::remove_files;
use super::room;
use super::work::over_folders;
use crate::terminal::say;

/// Bytes that are written at once.
const PIECE: usize = 256 << 10;

/// What a folder holds before.
enum Found {
    /// Nothing.
    Nothing,
    /// The set that is wanted.
    Whole,
    /// A part of it, or of another set.
    Part(FileSet),
}

/// Makes `set` in `folder`.
///
/// Errors: the folder holds something else, which stays; another process has it; no space; the run was interrupted.
pub(super) fn make(folder: &Path, set: &FileSet, threads: usize) -> Result<()> {
    let begun = Instant::now();
    let interrupt = Interrupt::on_signals()?;
    // Servers run under other accounts: whatever mask this process was given, they may read.
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    // One that is being made looks like one that was interrupted.
    let _lock = lock(folder)?;
    match found(folder, set)? {
        Found::Whole => return say(&format!("{} holds {} already\n", folder.display(), about(set))),
        Found::Part(part) => remove_files(folder, &part, threads, &interrupt)?,
        Found::Nothing => {}
    }
    room::check(folder, set)?;
    let partial = folder.join(PARTIAL);
    fs::write(&partial, Marker::of(set).text())
        .with_context(|| format!("cannot write {}", partial.display()))?;
    let made = over_folders(set, threads, "making", &interrupt, |n| make_folder(folder, set, n));
    made.with_context(|| {
        let folder = folder.display();
        format!("only a part of {set} is in {folder}; make it again, or `taillight fileset remove {folder}`")
    })?;
    fs::rename(&partial, folder.join(MARKER))
        .with_context(|| format!("cannot rename {}", partial.display()))?;
    say(&format!("made {} in {}, in {:.1} s\n", about(set), folder.display(), begun.elapsed().as_secs_f64()))
}

/// A set in words.
pub(super) fn about(set: &FileSet) -> String {
    let (bytes, folders) = (Bytes(set.total_bytes()), set.folders());
    let folders = if folders == 1 { "1 folder".into() } else { format!("{folders} folders") };
    format!("{set} of seed {} ({bytes} in {folders})", set.seed())
}

fn found(folder: &Path, set: &FileSet) -> Result<Found> {
    let hint = "remove it first with `taillight fileset remove`, or choose another folder";
    if let Some(marker) = Marker::read(&folder.join(MARKER))? {
        let there = marker.file_set()?;
        if there == *set {
            return Ok(Found::Whole);
        }
        bail!("{} holds another set, {}; {hint}", folder.display(), about(&there));
    }
    if let Some(marker) = Marker::read(&folder.join(PARTIAL))? {
        let part = marker.file_set()?;
        if part == *set {
            return Ok(Found::Part(part));
        }
        bail!("{} holds a part of another set, {}; {hint}", folder.display(), about(&part));
    }
    let mut entries =
        fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    match entries.next() {
        None => Ok(Found::Nothing),
        Some(_) => bail!(
            "{} is not empty, and what is in it was not made by taillight fileset; choose another folder",
            folder.display()
        ),
    }
}

/// Where a path of the set lies below `root`.
pub(super) fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn make_folder(root: &Path, set: &FileSet, folder: u64) -> Result<()> {
    let path = below(root, &set.folder(folder));
    DirBuilder::new()
        .mode(0o755)
        .create(&path)
        .with_context(|| format!("cannot make the folder {}", path.display()))?;
    let mut piece = vec![0; PIECE];
    for file in set.files_of(folder) {
        let path = below(root, &set.path(file));
        write_file(&path, set, file, &mut piece)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn write_file(path: &Path, set: &FileSet, file: u64, piece: &mut [u8]) -> std::io::Result<()> {
    let mut open: File = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    let mut content = set.content(file);
    loop {
        match content.fill(piece) {
            0 => return Ok(()),
            filled => open.write_all(&piece[..filled])?,
        }
    }
}
