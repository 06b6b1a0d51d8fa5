//! Threads that have the system provide memory while the server serves.
//!
//! Each thread of the server has one for its partitions. It runs on any processor of the same package, so that the memory is
//! near, and for a fifth of the time, so that no request waits for a processor. It ends when all memory is provided.
//!
//! Its priority is an ordinary one. While the system provides pages it holds the lock of the process's address space; with
//! the lowest priority, on processors that were busy otherwise, it did not run for up to 2 s in the midst of that, and the
//! threads that serve waited for the lock (0.6 to 1.4 s in each of 25 starts beside busy loops).

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use cache_store::Provision;
use reactor::CpuMask;
use rustix::process::{getpid, getpriority_process, setpriority_process};
use tracing::{debug, info};
use units::CpuList;

/// Nice value of the providers of a server with a higher priority. Source: `setpriority(2)`.
const ORDINARY: i32 = 0;
/// How many times as long as a step took it pauses.
const PAUSES: u32 = 4;
/// The longest pause: a step that took long was interrupted by others.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// Starts the provider of thread `number`, whose processor is `cpu`. Without it memory is provided as it is written.
pub(crate) fn start(number: usize, cpu: usize, provisions: Vec<Provision>) {
    let provide = move || {
        spread(cpu);
        // Linux takes 0 for the calling thread.
        if getpriority_process(None).is_ok_and(|own| own < ORDINARY)
            && let Err(error) = setpriority_process(None, ORDINARY)
        {
            debug!(%error, "memory is provided with the priority of the server");
        }
        for mut provision in provisions {
            let mut begun = Instant::now();
            while provision.step() {
                thread::sleep((begun.elapsed() * PAUSES).min(PAUSE_MAX));
                begun = Instant::now();
            }
        }
        info!(thread = number, "all memory is taken");
    };
    if let Err(error) = thread::Builder::new().name(format!("memory-{number}")).spawn(provide) {
        debug!(%error, "memory is taken as it fills");
    }
}

/// Allows this thread the processors of the package of `cpu` that the process may use.
fn spread(cpu: usize) {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/package_cpus_list");
    let package = fs::read_to_string(file).ok().and_then(|list| list.trim().parse::<CpuList>().ok());
    // The first thread of the process is not pinned.
    let Ok(allowed) = CpuMask::of(Some(getpid())) else { return };
    let is_near = |cpu: &usize| package.as_ref().is_none_or(|package| package.contains(*cpu));
    let near: CpuMask = allowed.cpus().into_iter().filter(is_near).collect();
    // Where choosing is refused it stays where the server's thread is.
    let _ = near.apply(None);
}
