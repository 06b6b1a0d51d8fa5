use std::io;
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;

use crate::CpuMask;

/// The processors that this thread may run on, ascending.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    Ok(CpuMask::of(None)?.cpus())
}

/// The processors that this thread may ask for, ascending: its control group's (cpuset), which may be more than the
/// inherited ones. The inherited ones if the thread may not choose.
///
/// Cost: the thread runs on any of them for a moment, some µs.
/// Source: `sched_setaffinity(2)`: the kernel leaves processors out of a set that the cpuset lacks.
pub fn permitted_cpus() -> io::Result<Vec<usize>> {
    let inherited = CpuMask::of(None)?;
    if inherited.clone().filled().apply(None).is_err() {
        return Ok(inherited.cpus());
    }
    let permitted = CpuMask::of(None);
    inherited.apply(None)?;
    Ok(permitted?.cpus())
}

/// Whether the system lets this thread choose processors at all: a container's seccomp filter or a security module may
/// refuse every choice.
pub fn may_pin() -> bool {
    // A choice that changes nothing.
    let chosen = CpuMask::of(None).and_then(|own| own.apply(None));
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
    match CpuMask::from_iter([cpu]).apply(None) {
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
            for cpu in [1023, CpuMask::MAX_CPU - 1, CpuMask::MAX_CPU, usize::MAX] {
                let refused = pin_to(cpu).unwrap_err().to_string();
                assert!(refused.contains(&format!("cpu {cpu}: ")), "{refused}");
                assert!(refused.contains(&format!("allowed are {permitted:?}")), "{refused}");
            }
        };
        std::thread::spawn(thread).join().unwrap();
    }
}
