//! Visitors of a site of films.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use openloop::{Plan, Recording};
use proto_http::Url;
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
    config: MoviesConfig,
}

/// The workload of these options.
///
/// Errors: parameters that contradict each other.
pub(super) fn offered(options: &workload::Movies, spec: &Spec, reach: Option<Reach<'_>>) -> Result<Offered> {
    Ok(Offered { config: config(options, spec, urls(reach))? })
}

/// The workload of a specification on these servers; `urls` is empty if they are not known yet.
///
/// Errors: parameters that contradict each other.
fn config(movies: &workload::Movies, spec: &Spec, mut urls: Vec<Url>) -> Result<MoviesConfig> {
    if urls.len() > 1 {
        bail!("{} targets: visitors have one site, which sells its films; name one", urls.len());
    }
    if movies.logged_in > movies.users.0 {
        bail!(
            "--logged-in {}: there are {} users; use fewer, or more --users and a site that is filled with them",
            movies.logged_in,
            movies.users
        );
    }
    let config = MoviesConfig { url: urls.pop(), options: movies.clone(), seed: spec.seed };
    if let Some(url) = config.url.as_ref().filter(|url| !matches!(url.path.as_str(), "" | "/")) {
        bail!("{url}: requests to a site begin at its root; leave out the path {}", url.path);
    }
    if movies.catalogue.is_some() && !spec.generator.agents.agents.is_empty() {
        bail!(
            "--catalogue: agents cannot read files of this machine; leave it out, and they ask the site for the titles"
        );
    }
    Ok(config)
}

impl super::Offered for Offered {
    fn plan(&mut self, task: &Task, plan: &mut Plan) -> Result<()> {
        plan_sessions(plan, most_here(task, self.config.options.max_sessions, plan.endpoints.len())?);
        Ok(())
    }

    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)> {
        let options = &self.config.options;
        let mix = MovieQuery::ALL.map(|one| (one.name(), one.writes(), options.mix.percent(one)));
        may_write(options.yes, &mix, &run.reach.task.servers())?;
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
    let titles = match &config.options.catalogue {
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
    let wanted: Vec<u32> = (1 + share..=config.options.logged_in.max(1 + share).min(config.options.users.0))
        .step_by(shares.max(1) as usize)
        .collect();
    let one = |_: &mut (), user: &u32| log_in(config, *user, &mut || reach.connect(LOGIN_MOST));
    let mut members = several(&wanted, reach.stop, one)?;
    // The same draws give the same users.
    members.sort_by_key(|member: &Member| member.user);
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::workload::{Movies, Users};

    #[test]
    fn what_does_not_go_together_is_refused() {
        let check = |movies: Movies, urls: &[&str], says: Option<&str>| {
            let urls = urls.iter().map(|url| url.parse().unwrap()).collect();
            let found =
                config(&movies, &Spec::default(), urls).map(|_| ()).map_err(|error| error.to_string());
            match says {
                None => assert_eq!(found, Ok(())),
                Some(says) => assert!(found.as_ref().is_err_and(|error| error.contains(says)), "{found:?}"),
            }
        };
        let usual = Movies::default;
        check(usual(), &["http://h:1"], None);
        check(usual(), &[], None);
        check(usual(), &["http://a", "http://b"], Some("2 targets: visitors have one site"));
        check(usual(), &["http://a/films/"], Some("leave out the path /films/"));
        check(Movies { users: Users(50), ..usual() }, &[], Some("--logged-in 100: there are 50 users"));
    }
}
