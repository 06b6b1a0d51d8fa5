//! What a load on web servers takes besides the load.

use std::io;
use std::sync::Arc;

use anyhow::{Error, Result};
use openloop::{Generator, Recording};
use reactor::Address;
use workloads::web::{Checked, Pages, Probe, Web, WebConfig};

use crate::args::{TlsClient, stream};
use crate::generate::{Task, seat};

/// Asks each server for a page, so that what is no web server is told before the load; what the first says that it is.
///
/// Errors: one cannot be reached, or speaks no HTTP. A page that is not there is no error: the load counts them.
pub(super) fn probe(task: &Task, config: &WebConfig, tls: Option<&TlsClient>) -> Result<Option<String>> {
    let mut first = None;
    for (server, address) in task.addresses.iter().enumerate() {
        let mut stream = stream(address, tls).map_err(|error| {
            let what = refused(address, &error);
            Error::new(error).context(what)
        })?;
        let probe = Probe::ask(config, server, &mut stream)?;
        first.get_or_insert(probe);
    }
    Ok(first.and_then(|probe| probe.server))
}

/// What to do about a server that cannot be connected to.
fn refused(address: &Address, error: &io::Error) -> String {
    match error.kind() {
        // There is somebody, who may be as quick as that.
        io::ErrorKind::ConnectionReset => {
            format!("{address} closed the connection at once; is it an HTTP server?")
        }
        _ => format!("cannot connect to {address}; start the server there, or give another --target"),
    }
}

/// Generates the load here.
pub(super) fn generate(task: &Task, config: &WebConfig, generator: &Generator) -> Result<Recording> {
    let pages = Arc::new(Checked::new(config));
    let workload = |thread| {
        let thread = seat(task, thread).thread;
        Web::new(config, Arc::clone(&pages), thread).expect("the configuration was checked")
    };
    Ok(generator.run(workload)?)
}

/// The file set that agents are told of.
pub(super) fn files(config: &WebConfig) -> Option<&workloads::web::FileSet> {
    if let Pages::Files(files) = &config.pages { Some(files) } else { None }
}
