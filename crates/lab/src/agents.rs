//! Agents on other machines: the coordinator's side, which has them start servers, and the two roles of an agent.

mod generators;
mod host_knobs;
mod machines;
mod remote_host;
mod servers;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use generators::AgentGenerators;
pub use host_knobs::HostKnobs;
pub use machines::Machines;
pub use remote_host::RemoteAgent;
pub use servers::{AgentServers, SeenOfMachine, WatchMachine};

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
