//! Web servers.

mod config;

use std::sync::Arc;

use anyhow::{Result, bail};
use openloop::{Generator, Plan, Recording};
use results::{Body, Found};
use spec::{Spec, Workload, workload};
use workloads::web::{Checked, Http, Pages, Probe, Redirect, Verify, Web, WebConfig, WebStreams};

use crate::noise::Watch;
use crate::task::Task;
use crate::workload::{Reach, Run, urls};

pub(super) struct Offered {
    config: WebConfig,
}

/// The workload of these options.
///
/// Errors: parameters that contradict each other; a folder or list that cannot be read.
pub(super) fn offered(options: &workload::Web, spec: &Spec, reach: Option<Reach<'_>>) -> Result<Offered> {
    Ok(Offered { config: config::config(options, spec.seed, urls(reach))? })
}

impl super::Offered for Offered {
    fn plan(&mut self, _task: &Task, plan: &mut Plan) -> Result<()> {
        plan.per_connection = self.config.requests_per_connection;
        Ok(())
    }

    fn resolve(&self, workload: &mut Workload) {
        if let (Workload::Web(options), Pages::Files(files)) = (workload, &self.config.pages) {
            (options.files, options.files_seed) = (Some(files.description().clone()), files.seed());
        }
    }

    fn found(&self, found: &mut Found) {
        let body =
            |body: &workloads::web::Body| Body { length: body.content().len() as u64, xxh3: body.xxh3() };
        found.pages = Some(self.config.pages.count());
        found.body = self.config.body.as_ref().map(body);
    }

    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)> {
        let (task, config) = (run.reach.task, &self.config);
        run.server_version = probe(run.reach, config)?.swap_remove(0).server;
        let (recording, watch) = run.record(|generator| generate(task, config, generator))?;
        run.refuse_wrong(&recording, "answers that were checked were not what they should be");
        Ok((recording, watch))
    }
}

/// Requests a page from each server, so that a target that is not a web server is reported before the load.
///
/// Errors: a server cannot be reached, does not answer within 5 s in all, does not speak HTTP, or redirects all requests;
/// a stop is requested. A missing page is not an error: the load counts it.
fn probe(reach: Reach<'_>, config: &WebConfig) -> Result<Vec<Probe>> {
    let servers = reach.task.addresses.iter().enumerate();
    servers
        .map(|(server, address)| {
            let probe = reach.ask(address, |stream| Probe::ask(config, server, stream))?;
            let all = |redirect: &&Redirect| redirect.elsewhere || config.pages == Pages::One;
            match probe.redirect.as_ref().filter(all) {
                Some(to) if config.verify != Verify::None => bail!(
                    "{} redirects to {} (status {}), and redirects are not followed; give the target as --target {}, \
                     or measure the redirect with --verify none",
                    config.urls[server],
                    to.url,
                    probe.status,
                    to.target
                ),
                _ => Ok(probe),
            }
        })
        .collect()
}

fn generate(task: &Task, config: &WebConfig, generator: &Generator) -> Result<Recording> {
    let pages = Arc::new(Checked::new(config));
    let web = |thread| {
        let thread = task.seat(thread).thread;
        Web::new(config, Arc::clone(&pages), thread).expect("the configuration was checked")
    };
    let depth = task.spec.generator.depth;
    Ok(match config.http {
        Http::V1 => generator.run(web)?,
        Http::V2 => generator.run(|thread| WebStreams::new(config, web(thread), depth))?,
    })
}
