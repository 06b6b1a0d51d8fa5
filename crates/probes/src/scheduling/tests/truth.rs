//! The programs in the kernel must see threads that are made to wait.
//!
//! The whole process is watched, including other tests: the planted waits are a lower bound of the observed ones.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host::threads::{Thread, stat_field};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

use super::waits::Waits;
use crate::kernel::may_load;

const DELAY: Duration = Duration::from_millis(20);
const TIMES: usize = 10;

/// The programs on this process; `None`, with a message, if this user may not load any.
fn programs(sizes: &[(&str, u32)]) -> Option<Waits> {
    match Waits::open(&[std::process::id()], sizes) {
        Ok(waits) => Some(waits),
        Err(why) if !may_load() => {
            println!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Time that this thread was ready but not running, as counted in `/proc`. Units: ns.
fn own_waits() -> u64 {
    let tid = gettid().as_raw_pid() as u32;
    Thread::read(Path::new("/"), std::process::id(), tid).map_or(0, |counted| counted.waiting_ns)
}

#[test]
fn threads_that_share_a_processor_wait_for_it() {
    let Some(mut waits) = programs(&[]) else { return };
    waits.resume().unwrap();
    let threads = [(); 2].map(|()| {
        thread::spawn(|| {
            let all = sched_getaffinity(None).unwrap();
            let mut first = CpuSet::new();
            first.set((0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap());
            sched_setaffinity(None, &first).unwrap();
            let (start, before) = (Instant::now(), own_waits());
            while start.elapsed() < 10 * DELAY {
                std::hint::spin_loop();
            }
            own_waits() - before
        })
    });
    let planted: u64 = threads.map(|thread| thread.join().unwrap()).iter().sum();
    let seen = waits.pause().unwrap();
    let [run_queue, _] = &seen.times;
    assert!(planted as f64 > 1e9 * DELAY.as_secs_f64(), "{planted}");
    assert!(run_queue.sum as f64 > 0.9 * planted as f64, "{} of {planted} ns", run_queue.sum);
    assert_eq!(seen.loss(), None);
}

/// Makes this number of threads wait for a lock that this thread holds for a while. Returns the sum of their waits
/// until it is free: afterwards they may also wait for a processor.
fn held_lock(threads: usize) -> Duration {
    let lock = Arc::new(Mutex::new(()));
    let held = lock.lock().unwrap();
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let (lock, tid) = (Arc::clone(&lock), Arc::new(AtomicI32::new(0)));
            let own = Arc::clone(&tid);
            let thread = thread::spawn(move || {
                own.store(gettid().as_raw_pid(), Ordering::Release);
                drop(lock.lock());
            });
            (thread, tid)
        })
        .collect();
    // On a busy machine one may get its first processor only after the delay, when the lock is free.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !threads.iter().all(|(_, tid)| sleeps(tid.load(Ordering::Acquire))) {
        assert!(Instant::now() < deadline, "not all threads wait for the lock");
        thread::yield_now();
    }
    let start = Instant::now();
    thread::sleep(DELAY);
    let waits = start.elapsed() * threads.len() as u32;
    drop(held);
    for (thread, _) in threads {
        thread.join().unwrap();
    }
    waits
}

/// Whether this thread of the process waits in the kernel.
fn sleeps(tid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/self/task/{tid}/stat"));
    stat.is_ok_and(|stat| stat_field(&stat, 3) == Some("S"))
}

#[test]
fn a_lock_that_is_held_is_waited_for() {
    let Some(mut waits) = programs(&[]) else { return };
    waits.resume().unwrap();
    let planted: Duration = (0..TIMES).map(|_| held_lock(1)).sum();
    let seen = waits.pause().unwrap();
    let [_, futex] = &seen.times;
    assert!(futex.count as usize >= TIMES, "{}", futex.count);
    let waited = Duration::from_nanos(futex.sum);
    assert!(waited > planted.mul_f64(0.9), "{waited:?} of {planted:?}");
}

#[test]
fn waits_without_room_are_counted() {
    let Some(mut waits) = programs(&[("waiting", 1)]) else { return };
    waits.resume().unwrap();
    held_lock(TIMES);
    let seen = waits.pause().unwrap();
    assert!(seen.lost as usize >= TIMES - 1, "{}", seen.lost);
}
