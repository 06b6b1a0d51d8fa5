use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

/// The processors that this thread may run on, ascending.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Pins the calling thread to one processor.
///
/// Errors: the processor does not exist, or this process may not use it.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("cpu {cpu} is over {}", CpuSet::MAX_CPU),
        ));
    }
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|e| {
        io::Error::other(format!("cannot pin a thread to cpu {cpu}: {e}; allowed are {:?}", allowed_cpus()))
    })
}

/// Lets the calling thread's timed sleeps end within a few µs of their time rather than 50 µs after.
///
/// Source: `prctl(2)`, PR_SET_TIMERSLACK; the default slack is 50 µs.
pub fn sharpen_timers() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}
