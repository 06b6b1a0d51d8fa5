//! Threads that have the system provide memory while the server serves.
//!
//! Each thread of the server has one for its partitions. It runs with the lowest priority, on any processor of the same
//! package, so that the memory is near and no request waits for a processor. It ends when all memory is provided.

use std::fs;
use std::thread;

use cache_store::Provision;
use rustix::process::{getpid, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tracing::{debug, info};
use units::CpuList;

/// The lowest priority. Source: `setpriority(2)`.
const LAST: i32 = 19;

/// Starts the provider of thread `number`, whose processor is `cpu`. Without it memory is provided as it is written.
pub(crate) fn start(number: usize, cpu: usize, provisions: Vec<Provision>) {
    let provide = move || {
        spread(cpu);
        // Linux takes 0 for the calling thread.
        if let Err(error) = setpriority_process(None, LAST) {
            debug!(%error, "memory is provided with the priority of the server");
        }
        for mut provision in provisions {
            while provision.step() {}
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
    let Ok(mut allowed) = sched_getaffinity(Some(getpid())) else { return };
    if let Some(package) = package {
        (0..CpuSet::MAX_CPU)
            .filter(|cpu| !package.as_slice().contains(cpu))
            .for_each(|cpu| allowed.unset(cpu));
    }
    // Where choosing is refused it stays where the server's thread is.
    let _ = sched_setaffinity(None, &allowed);
}
