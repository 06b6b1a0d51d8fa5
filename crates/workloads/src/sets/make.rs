use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{MARKER, Marker, PARTIAL, Set, SetFile};
use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use units::Bytes;

use super::evict::evict_files;
use super::lock::lock;
use super::remove::remove_files;
use super::work::{Meter, Work, over_folders};
use super::{real, room};

/// Bytes that are written at once.
const PIECE: usize = 256 << 10;

/// The state of a folder before the set is made.
enum FolderState {
    /// Nothing.
    Nothing,
    /// The set that is wanted.
    Whole,
    /// A part of it.
    Part,
}

/// Makes `set` in `folder`. Returns a line that describes the set.
///
/// Errors: videos with too low a bit rate to show; the folder holds something else, which stays; another process has it; no space; the run was interrupted.
pub fn make(folder: &Path, set: &Set, work: &Work<'_>) -> Result<String> {
    let begun = Instant::now();
    let real = match set {
        Set::Videos(videos) if videos.is_real => Some(videos),
        _ => None,
    };
    real.map_or(Ok(()), real::check)?;
    // Servers run under other accounts: they may read the files, regardless of this process's umask.
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    let is_new = !folder.exists();
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    // One that is being made looks like one that was interrupted.
    let held = lock(folder)?;
    match found(folder, set)? {
        FolderState::Whole => return Ok(format!("{} holds {} already\n", folder.display(), about(set))),
        FolderState::Part if !set.resumes() => remove_files(folder, set, work)?,
        FolderState::Part | FolderState::Nothing => {}
    }
    room::check(folder, set).inspect_err(|_| {
        // The folder is still empty.
        let _ = is_new.then(|| fs::remove_dir(folder));
    })?;
    let real = real.map(|videos| Ok::<_, anyhow::Error>((videos, real::Tools::find()?))).transpose()?;
    let partial = folder.join(PARTIAL);
    fs::write(&partial, Marker::of(set).text())
        .with_context(|| format!("cannot write {}", partial.display()))?;
    let meter = Meter::new(format!("making {set}"), set.bytes(), work);
    let made = match &real {
        Some((videos, tools)) => real::make(folder, videos, tools, &meter),
        None => Ok(()),
    };
    let made = made.and_then(|()| computed(folder, set, &meter));
    made.with_context(|| {
        let name = folder.display();
        format!("only a part of {set} is in {name}; make it again, or `taillight fileset remove {name}`")
    })?;
    if set.resumes() {
        // The bytes must be on disk before the marker, even if the machine crashes.
        rustix::fs::syncfs(&held).with_context(|| format!("cannot write back {}", folder.display()))?;
        // Otherwise a server would find its files in memory and read none from disk, and the memory is charged to this program.
        evict_files(folder, set, work)?;
    }
    fs::rename(&partial, folder.join(MARKER))
        .with_context(|| format!("cannot rename {}", partial.display()))?;
    Ok(format!("made {} in {}, in {:.1} s\n", about(set), folder.display(), begun.elapsed().as_secs_f64()))
}

/// A set in words.
pub(super) fn about(set: &Set) -> String {
    let (bytes, folders) = (Bytes(set.bytes()), set.folders());
    let folders = if folders == 1 { "1 folder".into() } else { format!("{folders} folders") };
    format!("{set} of seed {} ({bytes} in {folders})", set.seed())
}

fn found(folder: &Path, set: &Set) -> Result<FolderState> {
    let hint = "remove it first with `taillight fileset remove`, or choose another folder";
    if let Some(marker) = Marker::read(&folder.join(MARKER))? {
        let there = marker.set()?;
        if there == *set {
            return Ok(FolderState::Whole);
        }
        bail!("{} holds another set, {}; {hint}", folder.display(), about(&there));
    }
    if let Some(marker) = Marker::read(&folder.join(PARTIAL))? {
        let part = marker.set()?;
        if part == *set {
            return Ok(FolderState::Part);
        }
        bail!("{} holds a part of another set, {}; {hint}", folder.display(), about(&part));
    }
    let mut entries =
        fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    match entries.next() {
        None => Ok(FolderState::Nothing),
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

/// Where a file is while it is not whole.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Makes the files whose content follows from the set.
fn computed(root: &Path, set: &Set, meter: &Meter<'_>) -> Result<()> {
    over_folders(set.folders(), meter, |n| make_folder(root, set, n, meter))?;
    let mut piece = vec![0; PIECE];
    set.files_beside().iter().try_for_each(|file| make_file(root, set, file, &mut piece, meter))
}

fn make_folder(root: &Path, set: &Set, folder: u64, meter: &Meter<'_>) -> Result<()> {
    let path = below(root, &set.folder(folder));
    match DirBuilder::new().mode(0o755).create(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && set.resumes() => {
            // Through a link files outside the set would be written.
            if !fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
                bail!("{} is not a folder of the set; move it away", path.display());
            }
        }
        other => other.map_err(|e| of_disk(e, root, "make the folder", &path))?,
    }
    let mut piece = vec![0; PIECE];
    set.files_of(folder).iter().try_for_each(|file| make_file(root, set, file, &mut piece, meter))
}

/// Writes a file, unless it is there whole. Where a set resumes, it has another name until it is.
fn make_file(root: &Path, set: &Set, file: &SetFile, piece: &mut [u8], meter: &Meter<'_>) -> Result<()> {
    let (Some(mut content), Some(size)) = (set.content(file, 0), file.size) else { return Ok(()) };
    let path = below(root, &file.path);
    if set.resumes() && fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() == size) {
        return meter.skip(size);
    }
    let place = if set.resumes() { unfinished(&path) } else { path.clone() };
    let failed = |error| of_disk(error, root, "write", &place);
    let mut options = OpenOptions::new();
    // Through a link a file outside the set would be written.
    let options = options.write(true).mode(0o644).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let mut open: File = if set.resumes() {
        options.create(true).truncate(true).open(&place).map_err(failed)?
    } else {
        options.create_new(true).open(&place).map_err(failed)?
    };
    loop {
        // Arithmetic does not fail.
        match content.read(piece)? {
            0 => break,
            filled => {
                open.write_all(&piece[..filled]).map_err(failed)?;
                meter.advance(filled as u64)?;
            }
        }
    }
    if place != path {
        fs::rename(&place, &path).map_err(failed)?;
    }
    Ok(())
}

/// An error of the file system, with a remedy if the disk or quota is full.
pub(super) fn of_disk(error: std::io::Error, root: &Path, doing: &str, path: &Path) -> anyhow::Error {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded].contains(&error.kind());
    let about = format!("cannot {doing} {}", path.display());
    if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
        anyhow::anyhow!(
            "{about}: it is a symbolic link, and what it leads to is not of the set; move it away and repeat"
        )
    } else if full {
        let root = root.display();
        anyhow::anyhow!(
            "{about}: {error}: there is no room left below {root}, as something else has written there meanwhile; make \
             room and repeat, or `taillight fileset remove {root}`"
        )
    } else {
        anyhow::Error::new(error).context(about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named() {
        let check = |errno: i32, expect: &[&str]| {
            let error = std::io::Error::from_raw_os_error(errno);
            let said = format!("{:#}", of_disk(error, Path::new("/set"), "write", Path::new("/set/a")));
            assert!(expect.iter().all(|words| said.contains(words)), "{said}");
        };
        // ENOSPC, EDQUOT and EIO.
        check(28, &["cannot write /set/a", "no room left below /set", "fileset remove /set"]);
        check(122, &["no room left below /set"]);
        check(5, &["cannot write /set/a", "os error 5"]);
    }
}
