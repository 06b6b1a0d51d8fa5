//! What a load of visitors to a site of films takes besides the load.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use openloop::Plan;
use spec::Workload;
use workloads::movies::{AskError, Known, Member, MoviesConfig, ask_titles, log_in, titles_of};

use crate::config::most_of;
use crate::generate::Interrupted;
use crate::generate::ask::connect;
use crate::task::Task;
use crate::tls::TlsClient;

/// Users who log in at once before a load. Source: ours; as many as keep the processors of a small server busy with their passwords.
const AT_ONCE: usize = 4;

/// Makes the plan one of sessions.
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

/// What all threads know: the titles of the films, and this process's part of those who are logged in. Its run is told from others by
/// the moment at which it begins.
///
/// Errors: a catalogue that cannot be read; a site that cannot be reached or is filled with something else; `stop` is set.
pub(super) fn known(
    task: &Task,
    config: &MoviesConfig,
    tls: Option<&TlsClient>,
    stop: &Arc<AtomicBool>,
) -> Result<Arc<Known>> {
    let mut connect = || connect(&task.addresses[0], tls, stop);
    let titles = match &config.catalogue {
        Some(file) => titles_of(file)?,
        None => ask_titles(config, &mut connect)?,
    };
    let members = logged_in(task, config, tls, stop)?;
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Ok(Arc::new(Known::new(config, titles, members, &format!("{ms:x}{:x}", task.share.0))?))
}

/// Logs users in, some at a time; of several generators each has its own.
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
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(wanted.len())));
    let failed = Mutex::new(None::<AskError>);
    let work = || {
        while let Some(user) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match log_in(config, *user, &mut || connect(&task.addresses[0], tls, stop)) {
                Ok(member) => found.lock().expect("no thread panics with it").push(member),
                Err(error) => {
                    failed.lock().expect("no thread panics with it").get_or_insert(error);
                    next.store(wanted.len(), Ordering::Relaxed);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(wanted.len()) {
            scope.spawn(work);
        }
    });
    if stop.load(Ordering::Relaxed) {
        bail!(Interrupted);
    }
    if let Some(error) = failed.into_inner().expect("no thread panicked with it") {
        return Err(error.into());
    }
    let mut members = found.into_inner().expect("no thread panicked with it");
    // The same draws give the same users.
    members.sort_by_key(|member: &Member| member.user);
    Ok(members)
}
