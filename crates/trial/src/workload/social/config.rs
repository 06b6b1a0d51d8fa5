use std::sync::Arc;

use anyhow::{Result, bail};
use proto_http::Url;
use spec::workload::{self, SiteCache};
use spec::{Load, Spec};
use units::Rate;
use workloads::social::{Site, SocialConfig};

/// The workload of a specification on these servers; `urls` is empty if they are not known yet.
///
/// Errors: a broken description of a site; parameters that contradict each other; a closed loop of more users than the
/// site has.
pub(super) fn config(social: &workload::Social, spec: &Spec, mut urls: Vec<Url>) -> Result<SocialConfig> {
    if urls.len() > 1 {
        bail!("{} targets: users have one site, whose cookies are for no other; name one", urls.len());
    }
    let mut options = social.clone();
    if let Some(operations) = social.operations {
        options.mix = social.mix.of_sessions(f64::from(operations))?;
    }
    let config = SocialConfig {
        url: urls.pop(),
        options,
        site: Arc::new(Site::of(&social.site)?),
        // Other loads set it when they are planned.
        users_per_s: spec.load.rate().map_or(0.0, Rate::rps),
        population: (spec.load == Load::Closed).then_some(spec.generator.connections),
        seed: spec.seed,
    };
    if social.cache == SiteCache::Primed && !config.site.can_prime() {
        bail!(
            "--cache primed: the site {} does not say what is asked for each user to have it in the cache; describe that by [[prime]] \
             in a file for --site, or use --cache flushed",
            social.site
        );
    }
    let draw = config.draw()?;
    if spec.load == Load::Closed {
        config.check_users(&draw, 1, spec.generator.threads())?;
    }
    if let Some(url) = config.url.as_ref().filter(|url| !matches!(url.path.as_str(), "" | "/")) {
        bail!("{url}: requests to a site begin at its root; leave out the path {}", url.path);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::workload::{Site, Social, Users};

    fn of(social: Social, load: Load, urls: &[&str]) -> Result<SocialConfig> {
        let spec = Spec { load, ..Spec::default() };
        config(&social, &spec, urls.iter().map(|url| url.parse().unwrap()).collect())
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let rate = |rps: &str| Load::Rate(rps.parse().unwrap());
        let check = |social: Social, load: Load, urls: &[&str], says: Option<&str>| {
            let found = of(social, load, urls).map(|_| ()).map_err(|error| error.to_string());
            match says {
                None => assert_eq!(found, Ok(())),
                Some(says) => assert!(found.as_ref().is_err_and(|error| error.contains(says)), "{found:?}"),
            }
        };
        let usual = Social::default;
        check(usual(), rate("2"), &["http://h:1"], None);
        // An open load of too many users cannot be offered, so a search continues with a lower rate.
        check(usual(), rate("20"), &[], None);
        check(usual(), rate("1"), &["http://a", "http://b"], Some("2 targets: users have one site"));
        check(usual(), rate("1"), &["http://a/forum/"], Some("leave out the path /forum/"));
        check(
            Social { site: Site::File("/no.toml".into()), ..usual() },
            rate("1"),
            &[],
            Some("cannot be read"),
        );
        check(
            Social { ajax: Some("90%".parse().unwrap()), ..usual() },
            rate("1"),
            &[],
            Some("can do 89.5 %"),
        );
        let primed = |site: Site| Social { site, cache: SiteCache::Primed, ..usual() };
        check(primed(Site::Own), rate("1"), &[], None);
        check(primed(Site::Elgg), rate("1"), &[], Some("the site elgg does not say"));
        check(usual(), Load::Closed, &[], None);
        check(Social { users: Users(20), ..usual() }, Load::Closed, &[], Some("64 on average"));
    }

    #[test]
    fn sessions_of_another_length_keep_the_mix() {
        let config =
            of(Social { operations: Some(10), ..Social::default() }, Load::Rate("1".parse().unwrap()), &[]);
        assert!((config.unwrap().options.mix.operations() - 10.0).abs() < 1e-9);
    }
}
