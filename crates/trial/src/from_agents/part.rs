//! The task of each agent's generator.

use spec::workload::{Fill, SiteCache};
use spec::{Agents, ProbeSet, Spec, TargetName, Workload};
use workloads::web::FileSet;

use crate::task::Task;

/// The specification of generator number `share` of `shares`: its part of the connections and clients, without settings
/// of this machine only. The rate stays whole: its arrivals are divided among all generators, so that together they are
/// one process.
///
/// `files` is the file set of the workload, if it has one.
pub(super) fn of(task: &Task, files: Option<&FileSet>, share: usize, shares: usize) -> Spec {
    let mut spec = task.spec.clone();
    let part = |all: u32| (all as usize / shares + usize::from(share < all as usize % shares)) as u32;
    // They act on the server's machine instead of the client's, or are applied before it starts.
    (spec.knobs, spec.client_knobs, spec.probes) = (Vec::new(), Vec::new(), ProbeSet::default());
    spec.target =
        spec::Target { server: TargetName::External(task.servers().join(",")), ..spec::Target::default() };
    let load = &mut spec.generator;
    load.connections = part(load.connections);
    load.clients = load.clients.map(part);
    load.cpus = load.agents.agents_cpus.clone();
    load.agents = Agents::default();
    match &mut spec.workload {
        // The coordinator has already stored the data set.
        Workload::Cache(cache) => cache.fill = Fill::Never,
        Workload::Web(web) => {
            // The folder of a file set exists only here; its number, sizes and seed describe its contents.
            if let Some(files) = files {
                web.files = Some(files.description().clone());
                web.files_seed = files.seed();
                web.file_set = None;
            }
        }
        Workload::Video(video) => {
            video.max_sessions = video.max_sessions.map(|all| part(all).max(1));
            // The same as for a web server's files.
            if let Ok(catalog) = crate::config::catalog_of(video) {
                (video.videos, video.videos_seed) = (*catalog.description(), catalog.seed());
                video.file_set = None;
            }
        }
        Workload::Social(social) => {
            social.max_sessions = social.max_sessions.map(|all| part(all).max(1));
            // The coordinator has already primed it.
            social.cache = SiteCache::Flushed;
        }
        Workload::Movies(movies) => movies.max_sessions = movies.max_sessions.map(|all| part(all).max(1)),
        Workload::Null(_) => {}
    }
    spec
}
