//! Visitors of a site of films.

mod config;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use openloop::{Plan, Recording};
use spec::workload::MovieQuery;
use spec::{Spec, workload};
use workloads::cache::PATIENCE;
use workloads::movies::{Known, Member, Movies, MoviesConfig, ask_titles, log_in, titles_of};

use crate::noise::Watch;
use crate::task::Task;
use crate::workload::ask::LOGIN_MOST;
use crate::workload::sessions::{may_write, most_here};
use crate::workload::several::several;
use crate::workload::{Reach, Run, plan_sessions, urls};

pub(super) struct Offered {
    options: workload::Movies,
    config: MoviesConfig,
}

/// The workload of these options.
///
/// Errors: parameters that contradict each other.
pub(super) fn offered(options: &workload::Movies, spec: &Spec, reach: Option<Reach<'_>>) -> Result<Offered> {
    Ok(Offered { options: options.clone(), config: config::config(options, spec, urls(reach))? })
}

impl super::Offered for Offered {
    fn plan(&mut self, task: &Task, plan: &mut Plan) -> Result<()> {
        plan_sessions(plan, most_here(task, self.options.max_sessions, plan.endpoints.len())?);
        Ok(())
    }

    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)> {
        let mix = MovieQuery::ALL.map(|one| (one.name(), one.writes(), self.options.mix.percent(one)));
        may_write(self.options.yes, &mix, &run.reach.task.servers())?;
        // The processor time of earlier logins belongs to no window.
        let known = match run.agents {
            Some(_) => None,
            None => Some(known(run.reach, &self.config)?),
        };
        let (recording, watch) = run.record(|generator| {
            let known = known.as_ref().expect("visitors that are not at agents are here");
            Ok(generator.run(|_| Movies::new(known))?)
        })?;
        run.refuse_wrong(&recording, "answers were of another film, user or search than was asked for");
        Ok((recording, watch))
    }
}

/// State shared by all threads: the titles of the films, and this process's part of the logged-in users. The start time
/// of a run distinguishes it from others.
///
/// Errors: a catalogue that cannot be read; a site that cannot be reached or holds other data; a stop is requested.
fn known(reach: Reach<'_>, config: &MoviesConfig) -> Result<Arc<Known>> {
    let titles = match &config.catalogue {
        Some(file) => titles_of(file)?,
        None => ask_titles(config, &mut || reach.connect(PATIENCE))?,
    };
    let members = logged_in(reach, config)?;
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Ok(Arc::new(Known::new(config, titles, members, &format!("{ms:x}{:x}", reach.task.share.0))?))
}

/// Logs users in, some at a time; each of several generators has its own users.
fn logged_in(reach: Reach<'_>, config: &MoviesConfig) -> Result<Vec<Member>> {
    let (share, shares) = reach.task.share;
    let wanted: Vec<u32> = (1 + share..=config.logged_in.max(1 + share).min(config.users))
        .step_by(shares.max(1) as usize)
        .collect();
    let one = |_: &mut (), user: &u32| log_in(config, *user, &mut || reach.connect(LOGIN_MOST));
    let mut members = several(&wanted, reach.stop, one)?;
    // The same draws give the same users.
    members.sort_by_key(|member: &Member| member.user);
    Ok(members)
}
