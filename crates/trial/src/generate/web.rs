//! What a load on web servers takes besides the load.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use openloop::{Generator, Recording};
use workloads::web::{Checked, Pages, Probe, Web, WebConfig};

use crate::generate::ask::ask;
use crate::task::Task;
use crate::tls::TlsClient;

/// Asks each server for a page, so that what is not a web server is reported before the load; what the first says
/// that it is.
///
/// Errors: one cannot be reached, does not answer within 5 s in all, or speaks no HTTP; `stop` is set. A page that is not
/// there is no error: the load counts them.
pub(super) fn probe(
    task: &Task,
    config: &WebConfig,
    tls: Option<&TlsClient>,
    stop: &Arc<AtomicBool>,
) -> Result<Option<String>> {
    let mut first = None;
    for (server, address) in task.addresses.iter().enumerate() {
        let probe = ask(address, tls, stop, |stream| Probe::ask(config, server, stream))?;
        first.get_or_insert(probe);
    }
    Ok(first.and_then(|probe| probe.server))
}

/// Generates the load here.
pub(super) fn generate(task: &Task, config: &WebConfig, generator: &Generator) -> Result<Recording> {
    let pages = Arc::new(Checked::new(config));
    let workload = |thread| {
        let thread = task.seat(thread).thread;
        Web::new(config, Arc::clone(&pages), thread).expect("the configuration was checked")
    };
    Ok(generator.run(workload)?)
}

/// The file set that agents are told of.
pub(super) fn files(config: &WebConfig) -> Option<&workloads::web::FileSet> {
    if let Pages::Files(files) = &config.pages { Some(files) } else { None }
}
