use anyhow::{Result, bail};
use proto_http::Url;
use spec::{Spec, workload};
use workloads::movies::MoviesConfig;

/// The workload of a specification on these servers; `urls` is empty if they are not known yet.
///
/// Errors: parameters that contradict each other.
pub(super) fn config(movies: &workload::Movies, spec: &Spec, mut urls: Vec<Url>) -> Result<MoviesConfig> {
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
    let config = MoviesConfig {
        url: urls.pop(),
        users: movies.users.0,
        films: movies.films,
        mix: movies.mix,
        popularity: movies.popularity,
        logged_in: movies.logged_in,
        reviews: movies.reviews,
        watch: movies.watch,
        catalogue: movies.catalogue.clone(),
        trace: movies.trace,
        seed: spec.seed,
    };
    if let Some(url) = config.url.as_ref().filter(|url| !matches!(url.path.as_str(), "" | "/")) {
        bail!("{url}: a site is asked from its root on; leave out the path {}", url.path);
    }
    if config.catalogue.is_some() && !spec.generator.agents.agents.is_empty() {
        bail!(
            "--catalogue: agents know no files of this machine; leave it out, and they ask the site for the titles"
        );
    }
    Ok(config)
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
