//! Stores of an application: filled once they run, and reset between trials.

use launch::{Process, Spec};
use std::net::SocketAddr;
use std::time::Duration;

use crate::counters;
use crate::description::StoreAction;

/// How long a fill or a reset may take: a database of some GB is copied within this time.
const WAIT: Duration = Duration::from_secs(1800);

/// Fills or resets a store. `command` finds the program of an action that runs one.
///
/// Errors: the service's answer, or the last words of the program.
pub(crate) fn act(
    action: &StoreAction,
    address: Option<SocketAddr>,
    command: impl FnOnce(&crate::Command) -> Result<Spec, crate::Error>,
) -> Result<(), String> {
    if let Some(send) = &action.send {
        let address = address.ok_or("its service has no TCP address")?;
        counters::sent(address, send, counters::WAIT)?;
    }
    if let Some(wanted) = &action.command {
        let spec = command(wanted).map_err(|e| e.to_string())?;
        let mut process = Process::spawn(spec).map_err(|e| e.to_string())?;
        process.wait_success(WAIT).map_err(|e| e.to_string())?;
    }
    Ok(())
}
