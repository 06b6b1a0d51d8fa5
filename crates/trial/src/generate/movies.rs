//! Preparation and evaluation of a load on the movie site.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use openloop::Plan;
use spec::Workload;
use workloads::cache::PATIENCE;
use workloads::movies::{Known, Member, MoviesConfig, ask_titles, log_in, titles_of};

use crate::config::most_of;
use crate::generate::ask::{LOGIN_MOST, connect};
use crate::generate::several::several;
use crate::task::Task;
use crate::tls::TlsClient;

/// Makes the plan session-based.
///
/// Errors: the limit of descriptors cannot be read.
pub(super) fn plan(task: &Task, plan: &mut Plan) -> Result<()> {
    let Workload::Movies(movies) = &task.spec.workload else { return Ok(()) };
    for endpoint in &mut plan.endpoints {
        endpoint.connections = 0;
    }
    (plan.depth, plan.clients) = (1, None);
    let is_here = task.spec.generator.agents.agents.is_empty();
    plan.sessions = is_here.then(|| most_of(movies.max_sessions, plan.endpoints.len())).transpose()?;
    Ok(())
}

/// State shared by all threads: the titles of the films, and this process's part of the logged-in users. The start time
/// of a run distinguishes it from others.
///
/// Errors: a catalogue that cannot be read; a site that cannot be reached or holds other data; `stop` is set.
pub(super) fn known(
    task: &Task,
    config: &MoviesConfig,
    tls: Option<&TlsClient>,
    stop: &Arc<AtomicBool>,
) -> Result<Arc<Known>> {
    let mut connect = || connect(&task.addresses[0], PATIENCE, tls, stop);
    let titles = match &config.catalogue {
        Some(file) => titles_of(file)?,
        None => ask_titles(config, &mut connect)?,
    };
    let members = logged_in(task, config, tls, stop)?;
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Ok(Arc::new(Known::new(config, titles, members, &format!("{ms:x}{:x}", task.share.0))?))
}

/// Logs users in, some at a time; each of several generators has its own users.
fn logged_in(
    task: &Task,
    config: &MoviesConfig,
    tls: Option<&TlsClient>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Member>> {
    let (share, shares) = task.share;
    let wanted: Vec<u32> = (1 + share..=config.logged_in.max(1 + share).min(config.users))
        .step_by(shares.max(1) as usize)
        .collect();
    let one = |_: &mut (), user: &u32| {
        log_in(config, *user, &mut || connect(&task.addresses[0], LOGIN_MOST, tls, stop))
    };
    let mut members = several(&wanted, stop, one)?;
    // The same draws give the same users.
    members.sort_by_key(|member: &Member| member.user);
    Ok(members)
}
