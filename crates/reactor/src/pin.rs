use std::io;
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

/// The processors that this thread may run on, ascending.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    Ok(listed(&sched_getaffinity(None)?))
}

/// The processors that this thread may ask for, ascending: those of its control group (cpuset), which may be more than
/// the ones that it inherited. The latter, if it may not choose.
///
/// Cost: the thread runs on any of them for a moment, some µs.
/// Source: `sched_setaffinity(2)`: the kernel leaves out of a set what the cpuset lacks.
pub fn permitted_cpus() -> io::Result<Vec<usize>> {
    let inherited = sched_getaffinity(None)?;
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    if sched_setaffinity(None, &all).is_err() {
        return Ok(listed(&inherited));
    }
    let permitted = sched_getaffinity(None);
    sched_setaffinity(None, &inherited)?;
    Ok(listed(&permitted?))
}

fn listed(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Whether the system lets this thread choose processors at all: a container's seccomp filter or a security module may
/// refuse every choice.
pub fn may_pin() -> bool {
    // A choice that changes nothing.
    let chosen = sched_getaffinity(None).and_then(|own| sched_setaffinity(None, &own));
    !chosen.is_err_and(is_refusal)
}

/// Whether an error of `sched_setaffinity` is of the system's policy, and not of the processors asked for.
fn is_refusal(error: Errno) -> bool {
    [Errno::PERM, Errno::ACCESS, Errno::NOSYS].contains(&error)
}

/// Pins the calling thread to one processor; returns whether it is. It stays unpinned if the system refuses every
/// choice ([`may_pin`]).
///
/// Errors: the processor does not exist, or this process may not use it.
pub fn pin_to(cpu: usize) -> io::Result<bool> {
    let mut set = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("cpu {cpu} is over {}", CpuSet::MAX_CPU),
        ));
    }
    set.set(cpu);
    match sched_setaffinity(None, &set) {
        Ok(()) => Ok(true),
        Err(error) if is_refusal(error) => Ok(false),
        Err(error) => Err(io::Error::other(format!(
            "cannot pin a thread to cpu {cpu}: {error}; allowed are {:?}",
            permitted_cpus()?
        ))),
    }
}

/// Lets the calling thread's timed sleeps end within a few µs of their time rather than 50 µs after.
///
/// Source: `prctl(2)`, PR_SET_TIMERSLACK; the default slack is 50 µs.
pub fn sharpen_timers() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_ask_for_more_than_it_inherited() {
        let thread = || {
            let permitted = permitted_cpus().unwrap();
            assert!(may_pin() && pin_to(permitted[0]).unwrap());
            assert_eq!(allowed_cpus().unwrap(), permitted[..1]);
            assert_eq!(permitted_cpus().unwrap(), permitted, "although it is pinned");
            assert_eq!(allowed_cpus().unwrap(), permitted[..1], "it is still pinned");
            let last = *permitted.last().unwrap();
            assert!(pin_to(last).unwrap());
            assert!(pin_to(CpuSet::MAX_CPU).is_err());
            let refused = pin_to(CpuSet::MAX_CPU - 1).unwrap_err().to_string();
            assert!(refused.contains(&format!("allowed are {permitted:?}")), "{refused}");
        };
        std::thread::spawn(thread).join().unwrap();
    }
}
