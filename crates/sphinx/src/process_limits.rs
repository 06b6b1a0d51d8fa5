//! `-r` and `-k`: core files, and memory that is never swapped.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use tracing::warn;
use units::Bytes;

use crate::Config;

/// Raises the limits that the options need, while the process may still have root's privileges. A refusal by the system
/// is a warning.
pub(crate) fn raise(config: &Config) {
    if config.core_dumps {
        raise_limit(Resource::Core);
        if getrlimit(Resource::Core).current == Some(0) {
            warn!(
                "-r: no core file can be written, as the limit is 0; raise it with 'ulimit -c' before the start"
            );
        }
    }
    if config.lock_memory {
        raise_limit(Resource::Memlock);
    }
}

/// Removes the limit if allowed, otherwise raises it to the maximum.
fn raise_limit(resource: Resource) {
    let unlimited = Rlimit { current: None, maximum: None };
    if setrlimit(resource, unlimited).is_err() {
        let maximum = getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
}

/// Uses the raised limits, once the memory is taken and the user is the final one.
pub(crate) fn apply(config: &Config) {
    if config.core_dumps
        && let Err(error) = set_dumpable_behavior(DumpableBehavior::Dumpable)
    {
        // A process that has changed its user writes none otherwise.
        warn!("-r: no core file can be written: {error}");
    }
    if config.lock_memory {
        lock_memory();
    }
}

fn lock_memory() {
    let limit = getrlimit(Resource::Memlock).current;
    // With a limit, memory that is taken later would be refused to the server, not left unlocked.
    let flags = match limit {
        None => MlockAllFlags::CURRENT | MlockAllFlags::FUTURE,
        Some(_) => MlockAllFlags::CURRENT,
    };
    if let Err(error) = mlockall(flags) {
        let limit = limit.map_or("none".into(), |bytes| Bytes(bytes).to_string());
        warn!(
            "-k: the memory is not locked: {error}; the limit of locked memory is {limit}; raise it with \
             'ulimit -l unlimited' or LimitMEMLOCK=infinity"
        );
    }
}
