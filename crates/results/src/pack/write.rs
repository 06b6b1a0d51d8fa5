use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{FORMAT, LIST, List, Listed, Packed, hash};
use crate::study::StudyFolder;
use crate::{Error, ResultFolder, TABLES_FILE};

/// The files of [`Contents::Figures`]; a result has one of the first two.
const FIGURES: [&str; 3] = ["result.json", "study.json", TABLES_FILE];

/// The parts of a result to pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Every file.
    All,
    /// The record and its tables: no histograms, no pages, no experiments of a study. Some 20 KB.
    Figures,
}

/// Packs the result in `folder`, an experiment or a study with its experiments, into the new file `file`.
///
/// Errors: `folder` has no result, it contains anything but files and folders, or `file` exists or cannot be
/// written. Nothing is left behind then.
pub fn pack(folder: &Path, file: &Path, contents: Contents) -> Result<Packed, Error> {
    if !StudyFolder::is_one(folder) {
        ResultFolder::open(folder)?;
    }
    let folder = if folder.is_file() { folder.parent().unwrap_or(Path::new(".")) } else { folder };
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Read { path, source }
    };
    // The folder's real name, also for `.`.
    let whole = fs::canonicalize(folder).map_err(unread(folder))?;
    let name = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut paths = Vec::new();
    collect(&whole, Path::new(""), &mut paths)?;
    if contents == Contents::Figures {
        paths.retain(|path| FIGURES.iter().any(|name| path == Path::new(name)));
    }
    paths.sort();
    let mut files = Vec::new();
    for path in &paths {
        // One at a time: a study has many logs, all of them small.
        let bytes = fs::read(whole.join(path)).map_err(unread(path))?;
        let path = path.to_str().ok_or_else(|| damaged(path, "its name is not UTF-8"))?;
        files.push(Listed { path: path.into(), bytes: bytes.len() as u64, xxh3: hash(&bytes) });
    }
    let bytes = files.iter().map(|file| file.bytes).sum();
    let list = List { format: FORMAT, name, files };
    let out = File::create_new(file).map_err(|e| Error::write(file, e))?;
    let written = archive(out, &whole, &list);
    if let Err(source) = written {
        let _ = fs::remove_file(file);
        return Err(Error::write(file, source));
    }
    Ok(Packed { path: file.into(), files: list.files.len(), bytes })
}

/// The files below `root/at`, relative to `root`.
fn collect(root: &Path, at: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    let folder = root.join(at);
    let unread = |source| Error::Read { path: folder.clone(), source };
    for entry in fs::read_dir(&folder).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let path = at.join(entry.file_name());
        let kind = entry.file_type().map_err(unread)?;
        if kind.is_dir() {
            collect(root, &path, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        } else {
            return Err(damaged(
                &root.join(path),
                "it is neither a file nor a folder; remove it from the result",
            ));
        }
    }
    Ok(())
}

fn damaged(path: &Path, problem: &str) -> Error {
    Error::Damaged { path: path.into(), problem: problem.into() }
}

fn archive(out: File, root: &Path, list: &List) -> io::Result<()> {
    let mut tar = tar::Builder::new(GzEncoder::new(io::BufWriter::new(out), Compression::default()));
    append(&mut tar, LIST, &serde_json::to_vec_pretty(list)?)?;
    for file in &list.files {
        let bytes = fs::read(root.join(&file.path))?;
        if hash(&bytes) != file.xxh3 {
            return Err(io::Error::other(format!(
                "{} changed while it was packed; wait until the run ends",
                file.path
            )));
        }
        append(&mut tar, &file.path, &bytes)?;
    }
    let mut out = tar.into_inner()?.finish()?;
    out.flush()?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// An entry without owner or time: the same result gives the same file, wherever it was packed.
fn append(tar: &mut tar::Builder<impl Write>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, path, bytes)
}
