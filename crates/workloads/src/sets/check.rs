use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{MANIFEST, MARKER, Manifest, Set, SetFile, Sum, Videos};
use anyhow::{Context, Result, bail};
use dist::mixed;
use rustix::fs::{SeekFrom, seek};

use super::make::{about, below};
use super::work::{Meter, Work, over_folders};

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;
/// The ranges of which a sample is drawn. Units: bytes; a disk's head moves in the time in which it reads as many.
const RANGE: u64 = 1 << 20;
/// Faults that are named.
const NAMED: usize = 5;

/// The files to check, and the share of their contents to read.
struct Inspection<'a> {
    root: &'a Path,
    set: Set,
    /// Sizes and checksums of files that no rule makes.
    manifest: Manifest,
    /// The chance of a range to be read, and the seed of these draws; `None`: everything is.
    sample: Option<(f64, u64)>,
    meter: Meter<'a>,
}

/// Checks the set in `folder`, or a drawn `sample` of the ranges of its files. Returns the answer as a line.
///
/// Units: `sample` from 0 to 1.
/// Errors: the folder holds no set; a file is missing, or has another size or content; other files exist.
pub fn check(folder: &Path, sample: Option<f64>, work: &Work<'_>) -> Result<String> {
    let set = Set::in_folder(folder)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let meter = Meter::new(format!("checking {set}"), set.bytes(), work);
    let manifest = manifest(folder, &set)?;
    let look = Inspection { root: folder, manifest, sample: sample.map(|share| (share, now)), meter, set };
    let faults = look.faults()?;
    let about = about(&look.set);
    if faults.is_empty() {
        let how = match sample {
            None => "whole and as it was made".into(),
            Some(share) => format!(
                "whole, and as it was made where it was read: about {} %",
                (1e6 * share).round() / 1e4
            ),
        };
        return Ok(format!("{} holds {about}, {how}\n", folder.display()));
    }
    let more = match faults.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    bail!(
        "{} is not {about} any more: {}{more}; remove it and make it again",
        folder.display(),
        faults[..faults.len().min(NAMED)].join("; ")
    )
}

/// The sizes and checksums of real videos; empty for other sets, whose contents follow from a rule.
fn manifest(root: &Path, set: &Set) -> Result<Manifest> {
    if !matches!(set, Set::Videos(Videos { is_real: true, .. })) {
        return Ok(Manifest::default());
    }
    let path = root.join(MANIFEST);
    let about = || format!("cannot read {}, which says what the files hold", path.display());
    let text = fs::read(&path).with_context(about)?;
    Manifest::read(&text).map_err(anyhow::Error::msg).with_context(about)
}

/// Names in `folder` that are not in `known`.
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

fn name_of(file: &SetFile) -> String {
    file.path.rsplit('/').next().unwrap_or_default().to_owned()
}

impl Inspection<'_> {
    /// All faults, in the order of their texts.
    fn faults(&self) -> Result<Vec<String>> {
        let (root, set) = (self.root, &self.set);
        let beside = set.files_beside();
        let folders = (0..set.folders()).map(|n| set.folder(n).trim_start_matches('/').to_owned());
        let mut known: BTreeSet<String> = folders.chain(beside.iter().map(name_of)).collect();
        known.extend([MARKER.to_owned(), MANIFEST.to_owned()]);
        let mut all = strangers(root, &known)?;
        all.extend(self.of_files(&beside)?);
        let all = Mutex::new(all);
        over_folders(set.folders(), &self.meter, |n| {
            let files = set.files_of(n);
            let mut faults = strangers(&below(root, &set.folder(n)), &files.iter().map(name_of).collect())?;
            faults.extend(self.of_files(&files)?);
            all.lock().unwrap_or_else(|e| e.into_inner()).extend(faults);
            Ok(())
        })?;
        let mut all = all.into_inner().unwrap_or_else(|e| e.into_inner());
        all.sort();
        Ok(all)
    }

    fn of_files(&self, files: &[SetFile]) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        for file in files {
            let path = below(self.root, &file.path);
            let fault = match File::open(&path) {
                Err(error) => Some(format!("{}: {error}", path.display())),
                Ok(open) => self
                    .fault_of(&open, file)
                    .with_context(|| format!("cannot check {}", path.display()))?
                    .map(|fault| format!("{} {fault}", path.display())),
            };
            faults.extend(fault);
        }
        Ok(faults)
    }

    /// The fault of a file; `None` if it has no fault.
    fn fault_of(&self, open: &File, file: &SetFile) -> Result<Option<String>> {
        let length = open.metadata()?.len();
        let made = self.manifest.files.get(&file.path);
        let Some(expect) = file.size.or(made.map(|sum| sum.bytes)) else {
            return Ok(Some("is of the set, which says nothing of what it holds".into()));
        };
        if length != expect {
            return Ok(Some(format!("has {length} B and not {expect}")));
        }
        // A range that was never written is answered without the disk. A file system that cannot tell says that there is none.
        let hole = seek(open, SeekFrom::Hole(0)).unwrap_or(length);
        if length > 0 && hole < length {
            return Ok(Some(format!("was not written from byte {hole} on: it has a hole there")));
        }
        match (self.set.content(file, 0), made) {
            (Some(_), _) => self.differs(open, file, length),
            // For content that no rule generates, only the checksum of the whole file is known, so a part of it cannot be checked.
            (None, Some(_)) if !self.is_drawn(&file.path, 0) => self.meter.skip(length).map(|()| None),
            (None, Some(made)) => {
                seek(open, SeekFrom::Start(0)).map_err(io::Error::from)?;
                let found = Sum::of(open, |bytes| self.meter.advance(bytes))?;
                Ok((found != *made).then(|| "holds something else".into()))
            }
            (None, None) => Ok(None),
        }
    }

    /// Whether the content read from a file differs from the set's content.
    fn differs(&self, open: &File, file: &SetFile, length: u64) -> Result<Option<String>> {
        let mut piece = vec![0; PIECE.min(usize::try_from(length).unwrap_or(PIECE)).max(1)];
        let mut expect = piece.clone();
        let last = length.saturating_sub(1) / RANGE;
        for range in 0..=last {
            let (from, to) = (range * RANGE, length.min((range + 1) * RANGE));
            // The last range reveals a truncated file, and the first range reveals another file.
            if !(range == 0 || range == last || self.is_drawn(&file.path, range)) {
                self.meter.skip(to - from)?;
                continue;
            }
            let Some(mut content) = self.set.content(file, from) else { return Ok(None) };
            let mut at = from;
            while at < to {
                let wanted = piece.len().min((to - at) as usize);
                let read = match open.read_at(&mut piece[..wanted], at) {
                    Ok(0) => return Ok(Some("ends before its end".into())),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    other => other?,
                };
                content.read_exact(&mut expect[..read])?;
                if piece[..read] != expect[..read] {
                    let near = at + read as u64;
                    return Ok(Some(format!("holds something else between bytes {at} and {near}")));
                }
                at += read as u64;
                self.meter.advance(read as u64)?;
            }
        }
        Ok(None)
    }

    fn is_drawn(&self, path: &str, range: u64) -> bool {
        let Some((share, seed)) = self.sample else { return true };
        let of_path = path.bytes().fold(seed, |hash, byte| mixed(hash ^ u64::from(byte)));
        // The upper 53 bits are the digits of a number below 1.
        ((mixed(of_path ^ mixed(range)) >> 11) as f64) < share * (1u64 << 53) as f64
    }
}
