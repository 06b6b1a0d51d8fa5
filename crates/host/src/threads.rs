//! The threads of processes, and the kernel's scheduling counters of each.

use std::fs::{self, File};
use std::path::Path;

use units::CpuList;

use crate::tree::read_lossy;

/// The kernel's counters of one thread. All of them only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Time on a processor. Units: ns.
    pub running_ns: u64,
    /// Time ready to run, without a processor. Units: ns.
    pub waiting_ns: u64,
    /// How often it was scheduled.
    pub given: u64,
    /// How often it gave up its processor voluntarily: for a request, for a lock, for a disk.
    pub voluntary: u64,
    /// How often it was preempted.
    pub involuntary: u64,
}

impl Thread {
    /// Reads `proc/PID/task/TID` below `root`; `None` if the thread has ended, or may not be read.
    ///
    /// Cost: about 15 µs. Source: `Documentation/scheduler/sched-stats.rst` of the kernel, `proc_pid_status(5)`.
    pub fn read(root: &Path, pid: u32, tid: u32) -> Option<Thread> {
        let [running_ns, waiting_ns, given] = schedstat(root, pid, tid)?;
        let status = text(root, pid, tid, "status").unwrap_or_default();
        let switches = |name: &str| field(&status, name).unwrap_or(0);
        Some(Thread {
            running_ns,
            waiting_ns,
            given,
            voluntary: switches("voluntary_ctxt_switches"),
            involuntary: switches("nonvoluntary_ctxt_switches"),
        })
    }

    /// The difference since `earlier`.
    pub fn since(self, earlier: Thread) -> Thread {
        self.with(earlier, u64::saturating_sub)
    }

    /// Both together.
    pub fn plus(self, other: Thread) -> Thread {
        self.with(other, u64::saturating_add)
    }

    fn with(self, other: Thread, both: impl Fn(u64, u64) -> u64) -> Thread {
        Thread {
            running_ns: both(self.running_ns, other.running_ns),
            waiting_ns: both(self.waiting_ns, other.waiting_ns),
            given: both(self.given, other.given),
            voluntary: both(self.voluntary, other.voluntary),
            involuntary: both(self.involuntary, other.involuntary),
        }
    }
}

/// The scheduler's account of one thread, from [`open_account`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Time on a processor. Units: ns.
    pub running_ns: u64,
    /// Time ready to run, without a processor. Units: ns.
    pub waiting_ns: u64,
    /// How often it was scheduled.
    pub given: u64,
}

impl Account {
    /// Parses the content of a `schedstat` file; `None` if it is something else.
    pub fn parse(text: &[u8]) -> Option<Account> {
        let [running_ns, waiting_ns, given] = counters(std::str::from_utf8(text).ok()?)?;
        Some(Account { running_ns, waiting_ns, given })
    }
}

/// The threads of the processes `pids`, each with its process. A process that has ended has none.
pub fn of(root: &Path, pids: &[u32]) -> Vec<(u32, u32)> {
    let of = |&pid: &u32| {
        numbers(&root.join(format!("proc/{pid}/task")))
            .into_iter()
            .map(move |tid| (pid, tid))
            .collect::<Vec<_>>()
    };
    pids.iter().flat_map(of).collect()
}

/// Time that the threads of `pids` ran together. Units: ns. `None` if unreadable.
pub fn running_ns(root: &Path, pids: &[u32]) -> Option<u64> {
    let times: Vec<u64> =
        of(root, pids).into_iter().filter_map(|(pid, tid)| Some(schedstat(root, pid, tid)?[0])).collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// How often a thread moved to another processor; `None` in a kernel without `CONFIG_SCHED_DEBUG`.
pub fn migrations(root: &Path, pid: u32, tid: u32) -> Option<u64> {
    field(&text(root, pid, tid, "sched")?, "se.nr_migrations")
}

/// The processors that a thread may run on; `None` if it has ended. Source: `proc_pid_status(5)`, `Cpus_allowed_list`.
pub fn allowed(root: &Path, pid: u32, tid: u32) -> Option<CpuList> {
    let status = text(root, pid, tid, "status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().parse().ok()
}

/// Its name; empty if it has ended.
pub fn name(root: &Path, pid: u32, tid: u32) -> String {
    text(root, pid, tid, "comm").unwrap_or_default().trim_end().to_owned()
}

/// The entries of a folder that are numbers: processes in `/proc`, threads in `/proc/PID/task`.
pub fn numbers(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The number after `name:` in a file of such lines, such as `/proc/PID/status`.
pub fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The field of `/proc/PID/stat` at this place, from 3 on, counted from 1.
///
/// The second field is the program's name in brackets, which may hold spaces and brackets. Source: `proc_pid_stat(5)`.
pub fn stat_field(stat: &str, place: usize) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(place.checked_sub(3)?)
}

/// Time that it ran and that it waited for a processor, and how often it got one.
fn schedstat(root: &Path, pid: u32, tid: u32) -> Option<[u64; 3]> {
    counters(&text(root, pid, tid, "schedstat")?)
}

fn counters(schedstat: &str) -> Option<[u64; 3]> {
    let mut numbers = schedstat.split_whitespace().map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

/// Opens the `schedstat` of a thread, to be read again and again: about 2 µs each time, where [`Thread::read`] takes
/// 15 µs. `None` if the thread has ended.
pub fn open_account(root: &Path, pid: u32, tid: u32) -> Option<File> {
    File::open(root.join(format!("proc/{pid}/task/{tid}/schedstat"))).ok()
}

fn text(root: &Path, pid: u32, tid: u32, file: &str) -> Option<String> {
    read_lossy(&root.join(format!("proc/{pid}/task/{tid}/{file}"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_thread_of_a_tree() {
        let root = tempfile::tempdir().unwrap();
        for (pid, tid, schedstat) in [(7, 7, "1500 20 3"), (7, 8, "2500 30 4"), (9, 9, "damaged")] {
            let task = root.path().join(format!("proc/{pid}/task/{tid}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("schedstat"), format!("{schedstat}\n")).unwrap();
            let status = format!(
                "Name:\tx\nCpus_allowed:\t7\nCpus_allowed_list:\t0-1,{tid}\nvoluntary_ctxt_switches:\t{tid}0\nnonvoluntary_ctxt_switches:\t9\n"
            );
            fs::write(task.join("status"), status).unwrap();
            fs::write(task.join("sched"), "worker (7, #threads: 2)\nse.nr_migrations  :   6\n").unwrap();
            fs::write(task.join("comm"), "worker\n").unwrap();
        }
        let root = root.path();
        assert_eq!(of(root, &[7, 8, 9]), [(7, 7), (7, 8), (9, 9)]);
        let thread = Thread { running_ns: 2500, waiting_ns: 30, given: 4, voluntary: 80, involuntary: 9 };
        assert_eq!(Thread::read(root, 7, 8), Some(thread));
        assert_eq!(Thread::read(root, 9, 9), None);
        assert_eq!(allowed(root, 7, 8), Some([0, 1, 8].into_iter().collect()));
        assert_eq!(allowed(root, 7, 77), None);
        assert_eq!((migrations(root, 7, 8), migrations(root, 7, 9)), (Some(6), None));
        assert_eq!((name(root, 7, 8).as_str(), name(root, 8, 8).as_str()), ("worker", ""));
        assert_eq!((running_ns(root, &[7, 9]), running_ns(root, &[9])), (Some(4000), None));
        let account = Account { running_ns: 2500, waiting_ns: 30, given: 4 };
        assert_eq!(Account::parse(b"2500 30 4\n"), Some(account));
        assert_eq!((Account::parse(b"2500 30"), Account::parse(b"damaged")), (None, None));
        assert_eq!(thread.plus(thread).since(thread), thread);
        assert_eq!(Thread::default().since(thread), Thread::default());
    }

    #[test]
    fn a_name_may_hold_any_bytes() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("proc/7/task/7");
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("comm"), b"wor\xff\n").unwrap();
        fs::write(task.join("schedstat"), "1 2 3\n").unwrap();
        let status = b"Name:\twor\xff\nCpus_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t5\n";
        fs::write(task.join("status"), status).unwrap();
        assert_eq!(name(root.path(), 7, 7), "wor\u{fffd}");
        assert_eq!(allowed(root.path(), 7, 7), Some([0, 1].into_iter().collect()));
        assert_eq!(Thread::read(root.path(), 7, 7).map(|thread| thread.voluntary), Some(5));
    }

    #[test]
    fn finds_the_fields_behind_a_name_with_brackets() {
        let check = |stat: &str, place: usize, expect: Option<&str>| {
            assert_eq!(stat_field(stat, place), expect, "{stat}");
        };
        check("7 (a) b) S 1 7 7", 3, Some("S"));
        check("7 (a) b) S 1 7 7", 4, Some("1"));
        check("7 (a) b) S 1 7 7 0 -1 4194560 11 22 33 44 5 6", 12, Some("33"));
        check("7 (a) S 1", 22, None);
        check("damaged", 4, None);
        check("7 (a) S", 1, None);
    }

    #[test]
    fn reads_fields() {
        let check = |name: &str, expect: Option<u64>| {
            let text = "Threads:\t4\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\nse.nr_migrations  :   9\n";
            assert_eq!(field(text, name), expect, "{name}");
        };
        check("voluntary_ctxt_switches", Some(17));
        check("nonvoluntary_ctxt_switches", Some(3));
        check("se.nr_migrations", Some(9));
        check("State", None);
    }

    #[test]
    fn knows_its_own_threads() {
        let (own, root) = (std::process::id(), Path::new("/"));
        assert!(of(root, &[own]).contains(&(own, own)));
        assert!(running_ns(root, &[own]).is_some_and(|ns| ns > 0));
        assert_eq!(running_ns(root, &[u32::MAX]), None);
    }
}
