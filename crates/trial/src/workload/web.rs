//! Web servers.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use openloop::{Generator, Plan, Recording};
use proto_http::Url;
use results::Found;
use spec::{Spec, Workload, workload};
use workloads::web::{
    Body, Checked, FileSet, Http, Listed, Pages, Probe, Redirect, Verify, Web, WebConfig, WebStreams,
};

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
    Ok(Offered { config: config(options, spec.seed, urls(reach))? })
}

impl super::Offered for Offered {
    fn plan(&mut self, _task: &Task, plan: &mut Plan) -> Result<()> {
        plan.per_connection = self.config.options.requests_per_connection;
        Ok(())
    }

    fn resolve(&self, workload: &mut Workload) {
        if let (Workload::Web(options), Pages::Files(files)) = (workload, &self.config.pages) {
            (options.files, options.files_seed) = (Some(files.description().clone()), files.seed());
        }
    }

    fn found(&self, found: &mut Found) {
        let body = |body: &Body| results::Body { length: body.content().len() as u64, xxh3: body.xxh3() };
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

/// The workload of a specification on these servers; `urls` is empty if they are not known yet.
///
/// Errors: parameters that contradict each other; a folder or list that cannot be read.
fn config(web: &workload::Web, seed: u64, urls: Vec<Url>) -> Result<WebConfig> {
    let mut options = web.clone();
    // It is the default of HTTP/1.1, and a last request says the opposite.
    options.header.retain(|header| !header.name.eq_ignore_ascii_case("connection"));
    let config = WebConfig { urls, options, pages: pages(web)?, body: body(web)?, seed };
    config.check()?;
    Ok(config)
}

/// Errors: a file that cannot be read; a body that is too large for a request.
fn body(web: &workload::Web) -> Result<Option<Body>> {
    if let Some(file) = &web.body {
        let name = file.display().to_string();
        let about = || format!("cannot read the body of requests {name}");
        // Reading one byte more than allowed detects an overlong list, even from an endless device.
        let open = File::open(file).with_context(about)?;
        let mut content = Vec::new();
        open.take(Body::MAX.0 + 1).read_to_end(&mut content).with_context(about)?;
        return Ok(Some(Body::new(&name, content)?));
    }
    Ok(web.body_size.map(Body::of_size).transpose()?)
}

fn pages(web: &workload::Web) -> Result<Pages> {
    if let Some(files) = &web.files {
        return Ok(Pages::Files(FileSet::of(files.clone(), web.files_seed)));
    }
    if let Some(folder) = &web.file_set {
        return Ok(Pages::Files(FileSet::in_folder(folder)?));
    }
    let Some(file) = &web.urls else { return Ok(Pages::One) };
    Ok(Pages::Listed(Arc::new(list(file)?)))
}

/// Maximum size of a list. Units: bytes; with 100 characters per path, 10 million paths.
const LIST_MAX: u64 = 1 << 30;

fn list(file: &Path) -> Result<Listed> {
    let name = file.display().to_string();
    let about = || format!("cannot read the list of paths {name}");
    let length = fs::metadata(file).with_context(about)?.len();
    if length > LIST_MAX {
        bail!(
            "the list of paths {name} has {length} B, and at most {LIST_MAX} are read; make a file set instead"
        );
    }
    Ok(Listed::read(&name, &fs::read_to_string(file).with_context(about)?)?)
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
                Some(to) if config.verify() != Verify::None => bail!(
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
    Ok(match config.options.http {
        Http::V1 => generator.run(web)?,
        Http::V2 => generator.run(|thread| WebStreams::new(config, web(thread), depth))?,
    })
}
