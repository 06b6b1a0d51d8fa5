//! The files that web servers serve, made once for all that ask for the same.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use launch::{OwnFolder, Process, Spec};
use units::ParseError;

use crate::{Error, Interrupt};

/// How long it may take to make a set. 300 000 files take some seconds; the largest set has 14 times as many, and a disk
/// may be slow.
const MAKING: Duration = Duration::from_secs(1800);
/// How often it is looked meanwhile whether somebody asks to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Where the memory of this machine is a file system. Source: `shm_open(3)`; every Linux mounts it.
const MEMORY: &str = "/dev/shm";

/// What a web server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// A folder of the user's.
    Folder(PathBuf),
    /// A set that is made for it, and removed when the last server that serves it is gone.
    Set {
        /// Its files, as `taillight fileset make --files` takes them: `100000x4KiB`.
        files: String,
        /// What it is drawn from.
        seed: u64,
        /// Where it lies.
        place: FilesPlace,
    },
}

/// Where a set is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FilesPlace {
    /// In memory (tmpfs), so that no disk is measured.
    #[default]
    Memory,
    /// In the folder for temporary files.
    Disk,
    /// In a folder of its own below this one.
    Below(PathBuf),
}

impl FilesPlace {
    fn folder(&self) -> PathBuf {
        match self {
            FilesPlace::Memory => MEMORY.into(),
            FilesPlace::Disk => std::env::temp_dir(),
            FilesPlace::Below(folder) => folder.clone(),
        }
    }
}

impl FromStr for FilesPlace {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<FilesPlace, ParseError> {
        match text {
            "memory" => Ok(FilesPlace::Memory),
            "disk" => Ok(FilesPlace::Disk),
            path if path.contains('/') => Ok(FilesPlace::Below(path.into())),
            _ => Err(ParseError {
                what: "place of a file set",
                given: text.into(),
                problem: "it is none".into(),
                hint: "write memory (tmpfs), disk (the folder for temporary files) or the path of a folder, with a / in it",
            }),
        }
    }
}

impl std::fmt::Display for FilesPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FilesPlace::Memory => f.pad("memory"),
            FilesPlace::Disk => f.pad("disk"),
            FilesPlace::Below(folder) => folder.display().fmt(f),
        }
    }
}

/// A folder of files that are there as long as this is.
pub(super) struct Served {
    folder: PathBuf,
    _made: Option<Arc<OwnFolder>>,
}

impl Served {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Sets that this process has made, with whoever serves them.
static MADE: Mutex<Vec<(Files, Weak<OwnFolder>)>> = Mutex::new(Vec::new());

/// The set that is served where nobody says which: that of IISWC'17, §III-B.
const USUAL: &str = "100000x4KiB";

impl Files {
    /// What the `words` for the generator say that is asked for: `--file-set`, or `--files` with `--files-seed`. Where
    /// they say nothing, the usual set is added to them.
    ///
    /// Errors: the seed is no number; a list of paths, which says nothing of what lies there.
    pub fn asked_for(words: &mut Vec<String>, place: &FilesPlace) -> Result<Files, Error> {
        if let Some(folder) = value(words, "--file-set") {
            return Ok(Files::Folder(folder.into()));
        }
        if let Some(list) = value(words, "--urls") {
            return Err(Error::Target(ParseError {
                what: "list of paths",
                given: list,
                problem: "a server that is started for the run serves a set of files or a folder".into(),
                hint: "start it over yours by `taillight serve nginx --file-set FOLDER`, and name its address as the target",
            }));
        }
        let seed = match value(words, "--files-seed") {
            None => 1,
            Some(text) => text.parse().map_err(|_| ParseError {
                what: "seed of a file set",
                given: text.clone(),
                problem: "it is not a whole number".into(),
                hint: "write --files-seed 1",
            })?,
        };
        let files = value(words, "--files").unwrap_or_else(|| {
            words.extend(["--files".to_owned(), USUAL.to_owned()]);
            USUAL.to_owned()
        });
        // What both have to draw alike is said and not left to a default.
        if value(words, "--files-seed").is_none() {
            words.extend(["--files-seed".to_owned(), seed.to_string()]);
        }
        Ok(Files::Set { files, seed, place: place.clone() })
    }

    /// The folder that holds them: made now, by this program at `exe`, where nobody has it yet.
    ///
    /// Errors: a set cannot be made, with what it says; somebody asked to stop.
    pub(super) fn have(&self, exe: &Path) -> Result<Served, Error> {
        self.have_unless(exe, &Interrupt::signalled())
    }

    fn have_unless(&self, exe: &Path, interrupt: &Interrupt) -> Result<Served, Error> {
        let (files, seed, place) = match self {
            // What is there need not be made; that it can be read is found out by the server's first answer.
            Files::Folder(folder) => {
                let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
                return Ok(Served { folder: whole, _made: None });
            }
            Files::Set { files, seed, place } => (files, seed, place),
        };
        // Whoever comes second waits until the set is whole.
        let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, made)| made.strong_count() > 0);
        if let Some(made) = all.iter().find(|(of, _)| of == self).and_then(|(_, made)| made.upgrade()) {
            return Ok(Served { folder: set_in(&made), _made: Some(made) });
        }
        let own = Arc::new(OwnFolder::make(&place.folder())?);
        let folder = set_in(&own);
        let words = [
            ["fileset", "make"].map(str::to_owned).to_vec(),
            vec![folder.display().to_string(), format!("--files={files}"), format!("--seed={seed}")],
        ];
        let mut process = Process::spawn(Spec::new("fileset", exe).args(words.concat()))?;
        let status = ended(&mut process, interrupt)?;
        if !status.success() {
            let said = process.stop(Duration::ZERO)?.stderr.join("\n");
            let message = said.trim().trim_start_matches("taillight: ").trim_start_matches("error: ").into();
            return Err(Error::NoFiles { files: files.clone(), message });
        }
        all.push((self.clone(), Arc::downgrade(&own)));
        Ok(Served { folder, _made: Some(own) })
    }
}

/// How the `process` that makes a set ended. Errors: it did not in time, or somebody asked to stop.
fn ended(process: &mut Process, interrupt: &Interrupt) -> Result<ExitStatus, Error> {
    let begun = Instant::now();
    loop {
        match process.wait(LOOK) {
            Err(launch::Error::StillRunning { name, stderr, .. }) => {
                if begun.elapsed() >= MAKING {
                    return Err(launch::Error::StillRunning { name, within: MAKING, stderr }.into());
                }
            }
            other => return Ok(other?),
        }
        if let Some(cause) = interrupt.cause() {
            return Err(Error::Interrupted(cause));
        }
    }
}

/// The last value of an option among words of a command line, in either of its forms.
fn value(words: &[String], option: &str) -> Option<String> {
    let found = words.iter().enumerate().rev().find_map(|(i, word)| match word.strip_prefix(option) {
        Some("") => Some(words.get(i + 1).cloned().unwrap_or_default()),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    });
    found.filter(|value| !value.is_empty())
}

/// Where the set lies in a folder that also goes with it.
fn set_in(own: &OwnFolder) -> PathBuf {
    own.path().join("files")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_place_reads_back() {
        for text in ["memory", "disk", "/var/tmp", "./here"] {
            assert_eq!(text.parse::<FilesPlace>().unwrap().to_string(), text);
        }
        let error = "tmpfs".parse::<FilesPlace>().unwrap_err().to_string();
        assert!(error.contains("'tmpfs'") && error.contains("write memory"), "{error}");
    }

    #[test]
    fn what_is_asked_for_is_served() {
        let check = |line: &str, expect: Files, after: &str| {
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let files = Files::asked_for(&mut words, &FilesPlace::Disk).unwrap();
            assert_eq!((files, words.join(" ").as_str()), (expect, after), "{line}");
        };
        let set = |files: &str, seed| Files::Set { files: files.into(), seed, place: FilesPlace::Disk };
        check("", set("100000x4KiB", 1), "--files 100000x4KiB --files-seed 1");
        check("--files 10xweb --files-seed=3", set("10xweb", 3), "--files 10xweb --files-seed=3");
        check("--files=10xweb --depth 2", set("10xweb", 1), "--files=10xweb --depth 2 --files-seed 1");
        check("--file-set /srv/a", Files::Folder("/srv/a".into()), "--file-set /srv/a");
        check("--file-set=/srv/a", Files::Folder("/srv/a".into()), "--file-set=/srv/a");
        let mut words = vec!["--urls".into(), "list".into()];
        let error = Files::asked_for(&mut words, &FilesPlace::Disk).unwrap_err().to_string();
        assert!(error.contains("'list'") && error.contains("taillight serve nginx"), "{error}");
        let mut words = vec!["--files-seed".into(), "x".into()];
        assert!(Files::asked_for(&mut words, &FilesPlace::Disk).unwrap_err().to_string().contains("'x'"));
    }

    /// A program that makes a folder and counts how often.
    fn maker(folder: &Path, script: &str) -> PathBuf {
        let file = folder.join("maker");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn set(below: &Path, files: &str) -> Files {
        Files::Set { files: files.into(), seed: 7, place: FilesPlace::Below(below.into()) }
    }

    #[test]
    fn servers_share_a_set_and_the_last_removes_it() {
        let parent = tempfile::tempdir().unwrap();
        let log = parent.path().join("log");
        let exe = maker(parent.path(), &format!("mkdir \"$3\" && echo \"$@\" >> {}", log.display()));
        let of = |files: &str| set(parent.path(), files).have_unless(&exe, &Interrupt::new()).unwrap();
        let (one, two, other) = (of("10x4KiB"), of("10x4KiB"), of("20x4KiB"));
        assert_eq!(one.folder(), two.folder());
        assert_ne!(one.folder(), other.folder());
        let made = fs::read_to_string(&log).unwrap();
        assert_eq!(made.lines().count(), 2, "{made}");
        assert!(made.starts_with("fileset make ") && made.contains("--files=10x4KiB --seed=7"), "{made}");
        let folder = one.folder().to_owned();
        drop(one);
        assert!(folder.exists());
        drop(two);
        assert!(!folder.exists() && other.folder().exists());
        // Asked for again, it is made again.
        let again = of("10x4KiB");
        assert!(again.folder().exists());
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 3);
    }

    #[test]
    fn what_cannot_be_made_is_told_and_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let exe = maker(parent.path(), "echo 'taillight: no room for it' >&2; exit 1");
        let error =
            set(parent.path(), "10x4KiB").have_unless(&exe, &Interrupt::new()).err().unwrap().to_string();
        assert!(error.contains("10x4KiB") && error.contains("no room for it"), "{error}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "the program only");
    }

    #[test]
    fn who_asks_to_stop_does_not_wait_for_the_files() {
        let parent = tempfile::tempdir().unwrap();
        let exe = maker(parent.path(), "mkdir \"$3\"; exec sleep 60");
        let (interrupt, begun) = (Interrupt::new(), Instant::now());
        interrupt.raise();
        let error = set(parent.path(), "10x4KiB").have_unless(&exe, &interrupt).err().unwrap();
        assert!(error.is_interrupt(), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "the program only");
    }

    #[test]
    fn a_folder_of_the_users_stays() {
        let parent = tempfile::tempdir().unwrap();
        let served = Files::Folder(parent.path().into()).have(Path::new("/no/such/program")).unwrap();
        assert_eq!(served.folder(), parent.path());
        drop(served);
        assert!(parent.path().exists());
    }
}
