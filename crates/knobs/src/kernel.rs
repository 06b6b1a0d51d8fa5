use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, Mode, OFlags, access, openat};

use crate::daemon;
use crate::namespace::{Namespace, Sysfs};
use crate::pacing;

/// The engine's operations on a host: this machine, or a test's.
///
/// Paths are absolute as on the host, `/proc/sys/…`, for any root.
pub trait Kernel: Send + Sync {
    /// The text of a file.
    fn read(&self, file: &Path, namespace: Option<&Namespace>) -> io::Result<String>;
    /// Writes a text into a file that is there, in one call.
    fn write(&self, file: &Path, text: &str, namespace: Option<&Namespace>) -> io::Result<()>;
    /// Whether a write into the file is allowed, as far as that can be known beforehand.
    fn may_write(&self, file: &Path) -> io::Result<()>;
    /// The names in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes a folder.
    fn make_directory(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder of the kernel's, whose files go with it.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Runs a program to its end and returns its output.
    ///
    /// The program inherits `held`, which stays open until it ends, even if this process dies before.
    fn run(&self, command: &[String], namespace: Option<&Namespace>, held: &File) -> io::Result<String>;
    /// A model-specific register.
    fn register(&self, cpu: usize, register: u32) -> io::Result<u64>;
    /// Writes a model-specific register.
    fn set_register(&self, cpu: usize, register: u32, value: u64) -> io::Result<()>;
    /// Whether connections that are accepted below a control group are paced by their clients' addresses.
    fn paces(&self, group: &Path) -> io::Result<bool>;
    /// Turns that pacing on or off.
    fn set_pacing(&self, group: &Path, on: bool) -> io::Result<()>;
    /// The command line of the daemon called `name`, if it runs.
    fn daemon(&self, name: &str) -> io::Result<Option<Vec<String>>>;
    /// Starts the daemon with these arguments, or stops it.
    fn set_daemon(&self, name: &str, run: Option<&[String]>) -> io::Result<()>;
}

/// This machine, or the part of it below a root.
#[derive(Clone, Debug)]
pub struct LocalKernel {
    root: PathBuf,
}

impl LocalKernel {
    /// The machine whose file tree starts at `root`: `/`.
    pub fn new(root: &Path) -> LocalKernel {
        LocalKernel { root: root.into() }
    }

    /// The path below the root.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn open(&self, file: &Path, writes: bool, sysfs: Option<&Sysfs>) -> io::Result<File> {
        match (sysfs, file.strip_prefix("/sys")) {
            (Some(sysfs), Ok(inside)) => {
                let flags = if writes { OFlags::WRONLY } else { OFlags::RDONLY };
                Ok(File::from(openat(sysfs, inside, flags | OFlags::CLOEXEC, Mode::empty())?))
            }
            _ if writes => OpenOptions::new().write(true).truncate(true).open(self.path(file)),
            _ => File::open(self.path(file)),
        }
    }
}

/// Runs `work` in the namespace, or here; with the namespace's `/sys` if `file` is below it.
fn within<T: Send>(
    namespace: Option<&Namespace>,
    file: Option<&Path>,
    work: impl FnOnce(Option<&Sysfs>) -> io::Result<T> + Send,
) -> io::Result<T> {
    match namespace {
        None => work(None),
        Some(namespace) => namespace.within(file.is_some_and(|file| file.starts_with("/sys")), work),
    }
}

impl Kernel for LocalKernel {
    fn read(&self, file: &Path, namespace: Option<&Namespace>) -> io::Result<String> {
        within(namespace, Some(file), |sysfs| {
            let mut bytes = Vec::new();
            self.open(file, false, sysfs)?.read_to_end(&mut bytes)?;
            match String::from_utf8(bytes) {
                Ok(text) => Ok(text),
                // The name of a process in it may hold any bytes. All other texts may be written back, and must be exact.
                Err(error) if file.ends_with("stat") => {
                    Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
                }
                Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        })
    }

    fn write(&self, file: &Path, text: &str, namespace: Option<&Namespace>) -> io::Result<()> {
        within(namespace, Some(file), |sysfs| {
            // A single call: the kernel takes each write as a separate value.
            let written = self.open(file, true, sysfs)?.write(text.as_bytes())?;
            if written == text.len() { Ok(()) } else { Err(io::Error::other("only a part was taken")) }
        })
    }

    fn may_write(&self, file: &Path) -> io::Result<()> {
        Ok(access(self.path(file), Access::WRITE_OK)?)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let names =
            fs::read_dir(self.path(folder))?.flatten().filter_map(|e| e.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(self.path(path))
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(self.path(path))
    }

    fn run(&self, command: &[String], namespace: Option<&Namespace>, held: &File) -> io::Result<String> {
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        // As its standard input, `held` and the lock on it live as long as the program does.
        let held = held.try_clone()?;
        // A missing program must not read as a missing thing: not `NotFound`.
        let run = |_: Option<&Sysfs>| {
            // `refusal` knows the words of the C locale; swapon and others are translated.
            let mut command = Command::new(program);
            let output = command.args(args).env("LC_ALL", "C").stdin(Stdio::from(held)).output();
            output.map_err(|e| io::Error::other(format!("{program} cannot be run: {e}")))
        };
        let output = within(namespace, None, run)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(refusal(&String::from_utf8_lossy(&output.stderr), &output.status.to_string()))
    }

    fn register(&self, cpu: usize, register: u32) -> io::Result<u64> {
        let mut bytes = [0; 8];
        File::open(self.path(&msr(cpu)))?.read_exact_at(&mut bytes, register.into())?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn set_register(&self, cpu: usize, register: u32, value: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(&msr(cpu)))?;
        file.write_all_at(&value.to_le_bytes(), register.into())
    }

    fn paces(&self, group: &Path) -> io::Result<bool> {
        pacing::is_attached(&self.path(group))
    }

    fn set_pacing(&self, group: &Path, on: bool) -> io::Result<()> {
        pacing::attach(&self.path(group), on)
    }

    fn daemon(&self, name: &str) -> io::Result<Option<Vec<String>>> {
        Ok(daemon::find(&self.root, name).into_iter().next().map(|(_, line)| line))
    }

    fn set_daemon(&self, name: &str, run: Option<&[String]>) -> io::Result<()> {
        daemon::set(&self.root, name, run)
    }
}

/// The registers of a processor. Source: `msr(4)`.
fn msr(cpu: usize) -> PathBuf {
    format!("/dev/cpu/{cpu}/msr").into()
}

/// Maps the first line of a program's error output to an error.
fn refusal(words: &str, status: &str) -> io::Error {
    let words = words.trim().lines().next().unwrap_or(status).to_owned();
    let says = |any: &[&str]| any.iter().any(|text| words.contains(text));
    let kind = if says(&["Operation not permitted", "Permission denied"]) {
        io::ErrorKind::PermissionDenied
    } else if says(&["Cannot find device", "No such device", "No such file", "Operation not supported"]) {
        io::ErrorKind::NotFound
    } else {
        io::ErrorKind::Other
    };
    io::Error::new(kind, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn understands_refusals() {
        let check = |words: &str, expect: io::ErrorKind, text: &str| {
            let error = refusal(words, "exit status: 2");
            assert_eq!((error.kind(), error.to_string().as_str()), (expect, text));
        };
        check("Cannot find device \"x\"\n", io::ErrorKind::NotFound, "Cannot find device \"x\"");
        check(
            "RTNETLINK answers: Operation not permitted",
            io::ErrorKind::PermissionDenied,
            "RTNETLINK answers: Operation not permitted",
        );
        check(
            "Error: Exclusivity flag on, cannot modify.\nmore",
            io::ErrorKind::Other,
            "Error: Exclusivity flag on, cannot modify.",
        );
        check("", io::ErrorKind::Other, "exit status: 2");
    }

    #[test]
    fn writes_files_below_its_root_and_makes_none() {
        let root = tempfile::tempdir().unwrap();
        let here = LocalKernel::new(root.path());
        let file = Path::new("/proc/x");
        fs::create_dir(root.path().join("proc")).unwrap();
        assert_eq!(here.write(file, "1", None).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(root.path().join("proc/x"), "100\n").unwrap();
        here.write(file, "7", None).unwrap();
        assert_eq!(here.read(file, None).unwrap(), "7");
        assert_eq!(here.list(Path::new("/proc")).unwrap(), ["x"]);
    }

    #[test]
    fn a_process_may_have_any_name() {
        let root = tempfile::tempdir().unwrap();
        let here = LocalKernel::new(root.path());
        fs::create_dir_all(root.path().join("proc/7")).unwrap();
        fs::write(root.path().join("proc/7/stat"), b"7 (na\xc3) S 1\n").unwrap();
        assert_eq!(here.read(Path::new("/proc/7/stat"), None).unwrap(), "7 (na\u{fffd}) S 1\n");
        // A value that would not be the same when it is written back.
        fs::write(root.path().join("proc/value"), b"\xc3\n").unwrap();
        let error = here.read(Path::new("/proc/value"), None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn runs_programs() {
        let here = LocalKernel::new(Path::new("/"));
        let held = tempfile::tempfile().unwrap();
        let run = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            here.run(&words, None, &held)
        };
        assert_eq!(run(&["echo", "a"]).unwrap(), "a\n");
        assert_eq!(run(&["sh", "-c", "echo $LC_ALL"]).unwrap(), "C\n");
        assert_eq!(run(&["sh", "-c", "echo no >&2; exit 3"]).unwrap_err().to_string(), "no");
        let error = run(&["no-such-program-here"]).unwrap_err();
        // `NotFound` would mean that the thing to change is gone.
        assert_eq!(error.kind(), io::ErrorKind::Other);
        assert!(error.to_string().starts_with("no-such-program-here cannot be run: "), "{error}");
    }
}
