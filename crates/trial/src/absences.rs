//! When a thread of the server was ready to run and had no processor.
//!
//! The kernel adds the wait of a thread to its counter (`schedstat`) when it gets a processor again. So a wait that
//! appears between two readings ended between them, and began at most its own length before the first of the two. Other
//! threads of the server may have had the processor meanwhile, which is the server's own doing: the time that they ran is
//! taken off.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use host::threads::{self, Account};
use reactor::monotonic_now;
use units::{CpuList, Nanos, Time};

use crate::noise::thread_time;

/// Time between two readings: half of the shortest window of response times...
const EVERY: Duration = Duration::from_millis(5);
/// ...and at least this multiple of the processor time of one reading.
const REST: u32 = 200;
/// Usual wait of a thread that is woken. Source: the largest median seen on idle virtual machines.
const USUAL: Nanos = Nanos(5_000);
/// Waits between two readings are an absence if they exceed the usual ones by more than this, as for the generator.
const ABSENT: Nanos = openloop::STALL_THRESHOLD;

/// Absences of each thread of the server.
#[derive(Debug, Default)]
pub(crate) struct Absences {
    threads: BTreeMap<u32, Followed>,
}

#[derive(Debug)]
struct Followed {
    /// Until it has ended.
    file: Option<File>,
    cpus: CpuList,
    at: Time,
    account: Account,
    /// How long it ran between the last two readings, and between the two before.
    ran: [Nanos; 2],
    spans: Vec<Absence>,
}

/// Time in which a thread was absent once or several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    /// Before the first wait.
    pub(crate) from: Time,
    /// After the last wait, when the requests that arrived during it are answered.
    pub(crate) to: Time,
    pub(crate) absent: Nanos,
}

impl Absences {
    /// Follows a thread; without effect if its counters cannot be read.
    pub(crate) fn follow(&mut self, root: &Path, (pid, tid): (u32, u32), cpus: &CpuList, now: Time) {
        let Some(file) = threads::open_account(root, pid, tid) else { return };
        let Some(account) = read(&file) else { return };
        let (cpus, ran, spans) = (cpus.clone(), [Nanos::ZERO; 2], Vec::new());
        self.threads.entry(tid).or_insert(Followed { file: Some(file), cpus, at: now, account, ran, spans });
    }

    /// Reads the counters of all threads every 5 ms until this time; false if it was stopped earlier.
    pub(crate) fn look_until(&mut self, end: Time, stopped: &Receiver<()>) -> bool {
        let mut pause = EVERY;
        loop {
            let left = Duration::from_nanos(end.since(monotonic_now()).0);
            if stopped.recv_timeout(pause.min(left)) != Err(RecvTimeoutError::Timeout) {
                self.look(monotonic_now());
                return false;
            }
            let began = thread_time();
            self.look(monotonic_now());
            pause = EVERY.max((thread_time() - began) * REST);
            if monotonic_now() >= end {
                return true;
            }
        }
    }

    /// Reads the counters of all threads. Cost: about 2 µs per thread.
    fn look(&mut self, now: Time) {
        let mut accounts = Vec::new();
        for (tid, followed) in &mut self.threads {
            let account = followed.file.as_ref().and_then(read);
            let ran = |account: Account| account.running_ns.saturating_sub(followed.account.running_ns);
            followed.ran = [Nanos(account.map_or(0, ran)), followed.ran[0]];
            match account {
                Some(account) => accounts.push((*tid, account)),
                // It has ended; its absences stay.
                None => followed.file = None,
            }
        }
        for (tid, account) in accounts {
            let is_long = self.threads[&tid].beyond_usual(account) > ABSENT;
            let own = if is_long { self.beside(tid) } else { Nanos::ZERO };
            self.threads.get_mut(&tid).expect("it was read").add(now, account, own);
        }
    }

    /// How long other threads of the server ran on the processors of this one, since the reading before the last.
    fn beside(&self, tid: u32) -> Nanos {
        let cpus = &self.threads[&tid].cpus;
        let others = self.threads.iter().filter(|(other, followed)| {
            **other != tid && followed.cpus.as_slice().iter().any(|cpu| cpus.contains(*cpu))
        });
        others.flat_map(|(_, followed)| followed.ran).sum()
    }

    /// The absences of these threads, in no order; `None` if one of them was not followed.
    pub(crate) fn of(&self, tids: &[u32]) -> Option<Vec<Absence>> {
        let spans = |tid| self.threads.get(tid).map(|followed| followed.spans.iter().copied());
        let all: Option<Vec<_>> = tids.iter().map(spans).collect();
        all.map(|all| all.into_iter().flatten().collect())
    }
}

impl Followed {
    /// How long it waited since the last reading, without the usual waits.
    fn beyond_usual(&self, account: Account) -> Nanos {
        let waited = account.waiting_ns.saturating_sub(self.account.waiting_ns);
        let usual = account.given.saturating_sub(self.account.given) * USUAL.0;
        Nanos(waited.saturating_sub(usual))
    }

    /// Enters a reading, where other threads of the server ran for `own`.
    fn add(&mut self, now: Time, account: Account, own: Nanos) {
        let absent = Nanos(self.beyond_usual(account).0.saturating_sub(own.0));
        if absent > ABSENT {
            // Requests that arrived during the absence are answered in about as much time again.
            let next = Absence { from: self.at - absent, to: now + absent, absent };
            match self.spans.last_mut() {
                Some(last) if last.to >= next.from => {
                    (last.to, last.absent) = (next.to, last.absent + next.absent);
                }
                _ => self.spans.push(next),
            }
        }
        (self.at, self.account) = (now, account);
    }
}

fn read(file: &File) -> Option<Account> {
    let mut text = [0; 64];
    let n = file.read_at(&mut text, 0).ok()?;
    Account::parse(text.get(..n)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Units: ms.
    fn absence(from: u64, to: u64, absent: u64) -> Absence {
        Absence { from: ms(from), to: ms(to), absent: Nanos::from_millis(absent) }
    }

    /// Writes counters of a thread: microseconds on a processor and ready to run, times scheduled.
    fn write(root: &Path, tid: u32, ran_us: u64, waited_us: u64, given: u64) {
        let task = root.join(format!("proc/7/task/{tid}"));
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(task.join("schedstat"), format!("{} {} {given}\n", ran_us * 1_000, waited_us * 1_000))
            .unwrap();
    }

    #[test]
    fn a_wait_is_placed_between_two_readings() {
        let root = tempfile::tempdir().unwrap();
        let (root, cpus) = (root.path(), [0].into_iter().collect());
        write(root, 8, 0, 500_000, 10);
        let mut absences = Absences::default();
        absences.follow(root, (7, 8), &cpus, ms(1_000));
        absences.follow(root, (7, 9), &cpus, ms(1_000));
        // Waits of 5 µs each are usual, and 100 µs more are no absence.
        write(root, 8, 0, 500_600, 110);
        absences.look(ms(1_005));
        assert_eq!(absences.of(&[8]), Some(vec![]));
        write(root, 8, 0, 503_605, 111);
        absences.look(ms(1_010));
        assert_eq!(absences.of(&[8]), Some(vec![absence(1_002, 1_013, 3)]));
        // The next one touches it.
        write(root, 8, 0, 505_610, 112);
        absences.look(ms(1_015));
        absences.look(ms(1_020));
        write(root, 8, 0, 506_615, 113);
        absences.look(ms(1_025));
        assert_eq!(absences.of(&[8]), Some(vec![absence(1_002, 1_017, 5), absence(1_019, 1_026, 1)]));
        assert_eq!(absences.of(&[8, 9]), None);
    }

    #[test]
    fn a_server_that_waits_for_itself_is_there() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let check = |cpu: usize, expect: Vec<Absence>| {
            let mut absences = Absences::default();
            write(root, 8, 0, 0, 0);
            write(root, 9, 0, 0, 0);
            absences.follow(root, (7, 8), &[0].into_iter().collect(), ms(0));
            absences.follow(root, (7, 9), &[cpu].into_iter().collect(), ms(0));
            // One ran for 2 ms, and then the other, which had waited for 3, was scheduled.
            write(root, 9, 2_000, 0, 1);
            absences.look(ms(5));
            write(root, 8, 0, 3_005, 1);
            absences.look(ms(10));
            assert_eq!(absences.of(&[8]), Some(expect), "{cpu}");
        };
        check(0, vec![absence(4, 11, 1)]);
        check(1, vec![absence(2, 13, 3)]);
    }

    #[test]
    fn a_thread_that_ended_keeps_its_absences() {
        let waiting = std::thread::spawn(std::thread::park);
        let mut absences = Absences::default();
        let own = std::process::id();
        let tids: Vec<u32> = threads::of(Path::new("/"), &[own]).into_iter().map(|(_, tid)| tid).collect();
        let cpus = [0].into_iter().collect();
        tids.iter().for_each(|&tid| absences.follow(Path::new("/"), (own, tid), &cpus, ms(0)));
        waiting.thread().unpark();
        waiting.join().unwrap();
        // Its counters can be read until the kernel has released it, a moment after the join.
        let is_gone = |tid: &u32| !Path::new(&format!("/proc/self/task/{tid}")).exists();
        assert!(launch::testing::comes_true(|| tids.iter().any(is_gone)));
        absences.look(ms(1));
        assert!(absences.of(&tids).is_some());
        let followed =
            |is_open: bool| absences.threads.values().filter(|one| one.file.is_some() == is_open).count();
        assert!(followed(false) >= 1 && followed(true) >= 1, "{absences:?}");
    }

    #[test]
    fn the_last_work_of_a_thread_that_ended_explains_no_later_wait() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let mut absences = Absences::default();
        let cpus = [0].into_iter().collect();
        write(root, 8, 0, 0, 0);
        absences.follow(root, (7, 8), &cpus, ms(0));
        write(root, 9, 0, 0, 0);
        absences.follow(root, (7, 9), &cpus, ms(0));
        write(root, 9, 4_000, 0, 1);
        absences.look(ms(5));
        // Its counters are gone with it.
        absences.threads.get_mut(&9).unwrap().file = None;
        absences.look(ms(10));
        absences.look(ms(15));
        write(root, 8, 0, 3_005, 1);
        absences.look(ms(20));
        assert_eq!(absences.of(&[8]), Some(vec![absence(12, 23, 3)]));
    }
}
