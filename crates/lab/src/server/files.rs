//! The files that web and video servers serve, made once for all that ask for the same.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use launch::{Interrupt, OwnFolder, Process, Spec};
use rustix::fs::statfs;
use spec::workload::{self, VideoSet, Web};
use spec::{FilesPlace, TargetName, Workload};
use units::ParseError;

use crate::{Error, needs_files};

/// How long it may take to make a set of files. 300 000 files take some seconds; the largest set has 14 times as many, and a
/// disk may be slow.
const MAKING: Duration = Duration::from_secs(1800);
/// Lowest disk speed that the time limit for videos allows for. Units: bytes per second; ours, a tenth of a hard disk's
/// write speed.
const SLOWEST: u64 = 10 << 20;
/// Bytes of a video at all of its bit rates: 258 s at 6.125 MiB in 10 s. Source: the means of CloudSuite's generator.
const OF_VIDEO: u64 = 166_000_000;
const LOOK: Duration = Duration::from_millis(100);
/// Where the memory of this machine is a file system. Source: `shm_open(3)`; every Linux mounts it.
pub(super) const MEMORY: &str = "/dev/shm";
/// Folder for large temporary files: on a disk even if `/tmp` is in memory. Source: file-hierarchy(7).
const LASTING: &str = "/var/tmp";
/// The file systems of memory: tmpfs and ramfs. Source: include/uapi/linux/magic.h.
const MEMORY_KINDS: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// The files of a web or video server.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Files {
    /// A folder of the user's.
    Folder(PathBuf),
    /// A set of files of this seed at a place, that is made for it, and removed when the last server that serves it has ended.
    Set { files: SetFiles, seed: u64, place: FilesPlace },
}

/// The files of a set.
#[derive(Clone, Debug, PartialEq)]
pub enum SetFiles {
    /// Files of a web server.
    Web(workload::Files),
    /// Videos.
    Videos(VideoSet),
}

impl SetFiles {
    /// The option of `taillight fileset make` that names it.
    fn option(&self) -> String {
        match self {
            SetFiles::Web(files) => format!("--files={files}"),
            SetFiles::Videos(videos) => format!("--video={videos}"),
        }
    }

    /// How long it may take to make it.
    fn making(&self) -> Duration {
        match self {
            SetFiles::Web(_) => MAKING,
            SetFiles::Videos(videos) => {
                let bytes = videos.videos as f64 * OF_VIDEO as f64 * videos.bytes.as_f64();
                MAKING + Duration::from_secs_f64(bytes / SLOWEST as f64)
            }
        }
    }
}

impl fmt::Display for SetFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetFiles::Web(files) => files.fmt(f),
            SetFiles::Videos(videos) => write!(f, "{videos} videos"),
        }
    }
}

/// The folder below which a set is made.
///
/// Errors: it is to lie on a disk, and no folder for temporary files does.
fn folder_of(place: &FilesPlace) -> Result<PathBuf, Error> {
    match place {
        FilesPlace::Memory => Ok(MEMORY.into()),
        FilesPlace::Disk => on_disk(&[std::env::temp_dir(), LASTING.into()]),
        FilesPlace::Below(folder) => Ok(folder.clone()),
    }
}

/// The first of these folders that is not in memory.
fn on_disk(folders: &[PathBuf]) -> Result<PathBuf, Error> {
    let names =
        || folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" and ");
    folders.iter().find(|folder| folder.is_dir() && !is_memory(folder)).cloned().ok_or_else(|| {
        Error::Target(ParseError {
            what: "place of a file set",
            given: FilesPlace::Disk.to_string(),
            problem: format!("{} are in memory (tmpfs) on this machine, or not there", names()),
            hint: "name a folder on a disk, with a / in it: --files-in /srv",
        })
    })
}

pub(super) fn is_memory(folder: &Path) -> bool {
    statfs(folder).is_ok_and(|found| MEMORY_KINDS.contains(&(found.f_type as u32)))
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

/// Sets that this process has made, each with the folder that its servers share.
static MADE: Mutex<Vec<(Files, Weak<OwnFolder>)>> = Mutex::new(Vec::new());

impl Files {
    /// The files that the workload specifies. If it specifies none, the usual set is entered in the workload.
    ///
    /// Errors: a list of paths, which does not define the files' contents.
    pub fn asked_for(web: &mut Web, place: &FilesPlace) -> Result<Files, Error> {
        if let Some(folder) = &web.file_set {
            return Ok(Files::Folder(folder.clone()));
        }
        if let Some(list) = &web.urls {
            return Err(Error::Target(ParseError {
                what: "list of paths",
                given: list.display().to_string(),
                problem: "a server that is started for the run serves a set of files or a folder".into(),
                hint: "start it over yours by `taillight serve nginx --file-set FOLDER`, and name its address as the target",
            }));
        }
        let files = SetFiles::Web(web.files.get_or_insert_with(workload::Files::usual).clone());
        Ok(Files::Set { files, seed: web.files_seed, place: place.clone() })
    }

    /// The files of a server that is started for a workload; `None` if it serves no files.
    ///
    /// Errors: as in [`Files::asked_for`].
    pub fn of_workload(
        workload: &mut Workload,
        target: &TargetName,
        place: &FilesPlace,
    ) -> Result<Option<Files>, Error> {
        Ok(match workload {
            Workload::Web(web) if needs_files(target) => Some(Files::asked_for(web, place)?),
            Workload::Video(video) if !target.is_external() => Some(match &video.file_set {
                Some(folder) => Files::Folder(folder.clone()),
                None => Files::of_videos(video.videos, video.videos_seed, place),
            }),
            _ => None,
        })
    }

    /// A set of videos, made in the place from which its server reads files.
    pub fn of_videos(videos: VideoSet, seed: u64, place: &FilesPlace) -> Files {
        Files::Set { files: SetFiles::Videos(videos), seed, place: place.clone() }
    }

    /// The videos that it describes, for a server that computes them.
    pub(super) fn videos(&self) -> Option<app::Videos> {
        match self {
            Files::Set { files: SetFiles::Videos(videos), seed, .. } => {
                Some(app::Videos { set: videos.to_string(), seed: *seed })
            }
            _ => None,
        }
    }

    /// The folder that holds them: made now, by this program at `exe`, unless it exists.
    ///
    /// Errors: a set cannot be made, with the program's message; the run was interrupted.
    pub(super) fn have(&self, exe: &Path) -> Result<Served, Error> {
        self.have_unless(exe, &Interrupt::signalled())
    }

    fn have_unless(&self, exe: &Path, interrupt: &Interrupt) -> Result<Served, Error> {
        let (files, seed, place) = match self {
            // The folder already exists; the server's first answer shows whether it is readable.
            Files::Folder(folder) => {
                let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
                return Ok(Served { folder: whole, _made: None });
            }
            Files::Set { files, seed, place } => (files, seed, place),
        };
        // A second caller waits until the set is whole.
        let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, made)| made.strong_count() > 0);
        if let Some(made) = all.iter().find(|(of, _)| of == self).and_then(|(_, made)| made.upgrade()) {
            return Ok(Served { folder: set_in(&made), _made: Some(made) });
        }
        let own = Arc::new(OwnFolder::make(&folder_of(place)?)?);
        let folder = set_in(&own);
        let words = [folder.display().to_string(), files.option(), format!("--seed={seed}")];
        let mut process = Process::spawn(Spec::new("fileset", exe).args(["fileset", "make"]).args(words))?;
        let status = ended(&mut process, files.making(), interrupt)?;
        if !status.success() {
            let said = process.stop(Duration::ZERO)?.stderr.join("\n");
            let message = said.trim().trim_start_matches("taillight: ").trim_start_matches("error: ").into();
            return Err(Error::NoFiles { files: files.to_string(), message });
        }
        all.push((self.clone(), Arc::downgrade(&own)));
        Ok(Served { folder, _made: Some(own) })
    }
}

/// How the `process` that makes a set ended. Errors: it did not in time, or the run was interrupted.
fn ended(process: &mut Process, making: Duration, interrupt: &Interrupt) -> Result<ExitStatus, Error> {
    let begun = Instant::now();
    loop {
        match process.wait(LOOK) {
            Err(launch::Error::StillRunning { name, stderr, .. }) => {
                if begun.elapsed() >= making {
                    return Err(launch::Error::StillRunning { name, within: making, stderr }.into());
                }
            }
            other => return Ok(other?),
        }
        interrupt.check()?;
    }
}

/// The set's path in a folder that is deleted with it.
fn set_in(own: &OwnFolder) -> PathBuf {
    own.path().join("files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_lie_on_a_disk_does_not_lie_in_memory() {
        assert!(is_memory(Path::new(MEMORY)), "every Linux has it there");
        let (memory, other) = (PathBuf::from(MEMORY), PathBuf::from("/proc"));
        assert_eq!(on_disk(&[memory.clone(), other.clone()]).unwrap(), other);
        let error = on_disk(&[memory, "/no/such/folder".into()]).unwrap_err().to_string();
        assert!(
            error.contains("/dev/shm and /no/such/folder are in memory") && error.contains("--files-in"),
            "{error}"
        );
    }
    use std::fs;

    fn web(files: &str) -> SetFiles {
        SetFiles::Web(files.parse().unwrap())
    }

    #[test]
    fn what_is_asked_for_is_served() {
        let check = |mut web: Web, expect: Files, after: Option<&str>| {
            let files = Files::asked_for(&mut web, &FilesPlace::Disk).unwrap();
            assert_eq!((files, web.files), (expect, after.map(|text| text.parse().unwrap())));
        };
        let set = |files: &str, seed| Files::Set { files: web(files), seed, place: FilesPlace::Disk };
        let asked = |files: &str, seed| Web {
            files: Some(files.parse().unwrap()),
            files_seed: seed,
            ..Web::default()
        };
        check(Web::default(), set("100000x4KiB", 1), Some("100000x4KiB"));
        check(asked("10xweb", 3), set("10xweb", 3), Some("10xweb"));
        let folder = Web { file_set: Some("/srv/a".into()), ..Web::default() };
        check(folder, Files::Folder("/srv/a".into()), None);
        let mut listed = Web { urls: Some("list".into()), ..Web::default() };
        let error = Files::asked_for(&mut listed, &FilesPlace::Disk).unwrap_err().to_string();
        assert!(error.contains("'list'") && error.contains("taillight serve nginx"), "{error}");
    }

    /// A program that makes a folder and counts how often.
    ///
    /// Written by another process: a child that this process forks during the write would hold the file open, and a
    /// file open for writing cannot be executed.
    fn maker(folder: &Path, script: &str) -> PathBuf {
        let file = folder.join("maker");
        let write = "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let written = std::process::Command::new("sh").args(["-c", write]).arg(&file).arg(script).status();
        assert!(written.is_ok_and(|status| status.success()), "cannot write {}", file.display());
        file
    }

    fn set(below: &Path, files: &str) -> Files {
        Files::Set { files: web(files), seed: 7, place: FilesPlace::Below(below.into()) }
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
    fn videos_are_made_by_their_own_option() {
        let parent = tempfile::tempdir().unwrap();
        let log = parent.path().join("log");
        let exe = maker(parent.path(), &format!("mkdir \"$3\" && echo \"$@\" >> {}", log.display()));
        let place = FilesPlace::Below(parent.path().into());
        let files = Files::of_videos("20x1/8".parse().unwrap(), 7, &place);
        let served = files.have_unless(&exe, &Interrupt::new()).unwrap();
        assert!(served.folder().exists());
        let made = fs::read_to_string(&log).unwrap();
        assert!(made.contains("--video=20x1/8 --seed=7"), "{made}");
        assert_eq!(files.videos(), Some(app::Videos { set: "20x1/8".into(), seed: 7 }));
        assert_eq!(set(parent.path(), "10x4KiB").videos(), None);
    }

    #[test]
    fn the_papers_videos_are_waited_for() {
        // 1.3 TB at 10 MiB/s are 35 hours.
        let hours = SetFiles::Videos("8000x1".parse().unwrap()).making().as_secs() / 3600;
        assert!((34..38).contains(&hours), "{hours}");
        assert_eq!(web("1x1").making(), MAKING);
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
