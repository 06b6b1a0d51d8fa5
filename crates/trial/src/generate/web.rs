//! Preparation and evaluation of a load on web servers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use openloop::{Generator, Recording};
use workloads::web::{Checked, Pages, Probe, Web, WebConfig};

use crate::generate::ask::ask;
use crate::task::Task;
use crate::tls::TlsClient;

/// Requests a page from each server, so that a target that is not a web server is reported before the load; returns the
/// name that the first server reports.
///
/// Errors: a server cannot be reached, does not answer within 5 s in all, or does not speak HTTP; `stop` is set. A
/// missing page is not an error: the load counts it.
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

/// The file set that agents use.
pub(super) fn files(config: &WebConfig) -> Option<&workloads::web::FileSet> {
    if let Pages::Files(files) = &config.pages { Some(files) } else { None }
}
