//! A simulated kernel on a tree of files: the effects of writing to its files.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use knobs::{Kernel, LocalKernel, Namespace};

use crate::tools;

/// The errno of an input/output error. Source: `errno(3)`.
const EIO: i32 = 5;

/// When the simulated kernel fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Never.
    None,
    /// The change of this number is refused.
    Refuses(usize),
    /// After the change of this number every operation fails, as after a crash.
    Dies(usize),
}

#[derive(Clone)]
pub(crate) struct Played {
    root: PathBuf,
    here: LocalKernel,
    fault: Fault,
    changes: Arc<AtomicUsize>,
}

impl Played {
    pub(crate) fn new(root: &Path) -> Played {
        Played {
            root: root.into(),
            here: LocalKernel::new(root),
            fault: Fault::None,
            changes: Arc::default(),
        }
    }

    pub(crate) fn with(mut self, fault: Fault) -> Played {
        self.fault = fault;
        self
    }

    /// The number of changes requested.
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::SeqCst)
    }

    fn alive(&self) -> io::Result<()> {
        match self.fault {
            Fault::Dies(at) if self.changes() > at => Err(io::Error::other("the kernel stopped")),
            _ => Ok(()),
        }
    }

    fn change(&self) -> io::Result<()> {
        self.alive()?;
        let number = self.changes.fetch_add(1, Ordering::SeqCst);
        if self.fault == Fault::Refuses(number) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        Ok(())
    }

    fn path(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap())
    }

    fn set(&self, path: &Path, text: &str) -> io::Result<()> {
        fs::write(self.path(path), format!("{}\n", text.trim()))
    }

    /// Moves a process: out of every group's list of that tree, into this one's, and in its own file.
    fn enter(&self, file: &Path, pid: &str) -> io::Result<()> {
        let own = Path::new("/proc").join(pid).join("cgroup");
        let lines = self.here.read(&own, None)?;
        let inside = file.strip_prefix("/sys/fs/cgroup").unwrap();
        let first = inside.iter().next().unwrap().to_str().unwrap();
        let is_tree =
            |line: &str| line.split(':').nth(1).is_some_and(|names| !names.is_empty() && names == first);
        let (mount, tree) = match lines.lines().find(|line| is_tree(line)) {
            Some(line) => (Path::new("/sys/fs/cgroup").join(first), line.to_owned()),
            None => (
                PathBuf::from("/sys/fs/cgroup"),
                lines.lines().find(|l| l.starts_with("0::")).unwrap().to_owned(),
            ),
        };
        let group = file.parent().unwrap().strip_prefix(&mount).unwrap().display().to_string();
        let (before, _) = tree.rsplit_once(':').unwrap();
        let moved = format!("{before}:/{group}");
        let old = tree.rsplit(':').next().unwrap().trim_start_matches('/').to_owned();
        self.list_without(&mount.join(old).join("cgroup.procs"), pid)?;
        let mut inside: Vec<u32> = self
            .here
            .read(file, None)?
            .lines()
            .filter_map(|line| line.parse().ok())
            .chain(pid.parse())
            .collect();
        inside.sort_unstable();
        self.set_lines(file, &inside.iter().map(u32::to_string).collect::<Vec<_>>())?;
        self.set(&own, &lines.replace(&tree, &moved))
    }

    fn list_without(&self, file: &Path, pid: &str) -> io::Result<()> {
        let text = self.here.read(file, None)?;
        let rest: Vec<String> =
            text.lines().filter(|line| *line != pid && !line.is_empty()).map(str::to_owned).collect();
        self.set_lines(file, &rest)
    }

    fn set_lines(&self, file: &Path, lines: &[String]) -> io::Result<()> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path(file), text)
    }
}

impl Kernel for Played {
    fn read(&self, file: &Path, _: Option<&Namespace>) -> io::Result<String> {
        self.alive()?;
        self.here.read(file, None)
    }

    fn write(&self, file: &Path, text: &str, _: Option<&Namespace>) -> io::Result<()> {
        self.change()?;
        let now = self.here.read(file, None)?;
        match file.file_name().unwrap().to_str().unwrap() {
            "cgroup.procs" => self.enter(file, text.trim()),
            "cgroup.subtree_control" => {
                let (sign, word) = text.split_at(1);
                let all = self.here.read(&file.with_file_name("cgroup.controllers"), None)?;
                let has = |name: &&str| {
                    if *name == word { sign == "+" } else { now.split_whitespace().any(|w| w == *name) }
                };
                self.set(file, &all.split_whitespace().filter(has).collect::<Vec<_>>().join(" "))
            }
            "enabled" if now.contains('[') => {
                let words = now.split_whitespace().map(|word| word.trim_matches(['[', ']']));
                let marked =
                    words.map(|word| if word == text.trim() { format!("[{word}]") } else { word.to_owned() });
                self.set(file, &marked.collect::<Vec<_>>().join(" "))
            }
            "rps_cpus" | "xps_cpus" => {
                // The kernel prints as many 32-bit words as its mask has.
                let words: Vec<&str> = text.trim().split(',').collect();
                let count = now.trim().split(',').count();
                let padded = (0..count).map(|at| {
                    let word = words.get((words.len() + at).wrapping_sub(count)).copied().unwrap_or("0");
                    format!("{word:0>8}")
                });
                self.set(file, &padded.collect::<Vec<_>>().join(","))
            }
            // The kernel also lists limits that were not written.
            "io.max" => self.set(file, &format!("{} wbps=max riops=max wiops=max", text.trim())),
            "tasks" => {
                let mut inside: Vec<String> = now.lines().map(str::to_owned).collect();
                inside.push(text.trim().to_owned());
                self.set_lines(file, &inside)
            }
            _ => self.set(file, text),
        }
    }

    fn may_write(&self, file: &Path) -> io::Result<()> {
        self.alive()?;
        self.here.may_write(file)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.alive()?;
        self.here.list(folder)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        fs::create_dir(self.path(path))?;
        let parent = path.parent().unwrap();
        if parent.ends_with("resctrl") {
            let whole = self.here.read(&parent.join("schemata"), None)?;
            self.set(&path.join("schemata"), &whole)?;
            self.set(&path.join("cpus_list"), "")?;
            return self.set_lines(&path.join("tasks"), &[]);
        }
        self.set_lines(&path.join("cgroup.procs"), &[])?;
        let delegated = self.here.read(&parent.join("cgroup.subtree_control"), None).unwrap_or_default();
        let files: &[(&str, &str)] = if delegated.is_empty() {
            match parent.file_name().and_then(|name| name.to_str()) {
                Some("blkio") => &[("blkio.throttle.read_bps_device", "")],
                Some("cpuset") => &[("cpuset.cpus", ""), ("cpuset.mems", "")],
                Some("memory") => &[
                    ("memory.limit_in_bytes", "9223372036854771712"),
                    ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3"),
                ],
                _ => &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "-1")],
            }
        } else {
            &[
                ("cpuset.cpus", ""),
                ("cpu.max", "max 100000"),
                ("io.max", ""),
                ("memory.max", "max"),
                ("memory.events", "oom 4\noom_kill 2"),
            ]
        };
        for (name, text) in files {
            if delegated.is_empty() || delegated.contains(name.split('.').next().unwrap()) {
                self.set(&path.join(name), text)?;
            }
        }
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        let inside = self.here.read(&path.join("cgroup.procs"), None).unwrap_or_default();
        if !inside.trim().is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        fs::remove_dir_all(self.path(path))
    }

    fn run(&self, command: &[String], _: Option<&Namespace>, _: &File) -> io::Result<String> {
        self.alive()?;
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        if !tools::only_shows(&words) {
            self.change()?;
        }
        tools::run(&self.root, &words)
    }

    fn register(&self, cpu: usize, register: u32) -> io::Result<u64> {
        self.alive()?;
        let text = self.here.read(Path::new(&format!("/played/msr/{cpu}-{register:x}")), None)?;
        Ok(u64::from_str_radix(text.trim(), 16).unwrap())
    }

    fn set_register(&self, cpu: usize, register: u32, value: u64) -> io::Result<()> {
        self.change()?;
        self.set(Path::new(&format!("/played/msr/{cpu}-{register:x}")), &format!("{value:x}"))
    }

    fn paces(&self, _: &Path) -> io::Result<bool> {
        self.alive()?;
        Ok(self.root.join("played/paces").exists())
    }

    fn set_pacing(&self, _: &Path, on: bool) -> io::Result<()> {
        self.change()?;
        let file = self.root.join("played/paces");
        if on { fs::write(file, "") } else { fs::remove_file(file) }
    }

    fn daemon(&self, name: &str) -> io::Result<Option<Vec<String>>> {
        self.alive()?;
        self.here.daemon(name)
    }

    fn set_daemon(&self, name: &str, run: Option<&[String]>) -> io::Result<()> {
        self.change()?;
        let folder = self.root.join("proc/1180");
        match run {
            None => fs::remove_dir_all(folder),
            Some(line) => {
                fs::create_dir_all(&folder)?;
                fs::write(folder.join("comm"), format!("{name}\n"))?;
                fs::write(folder.join("cmdline"), format!("{}\0", line.join("\0")))
            }
        }
    }
}
