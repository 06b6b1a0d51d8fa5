use std::sync::Arc;

use anyhow::{Result, bail};
use proto_http::Url;
use spec::workload::{self, Assets, SiteCache};
use spec::{Load, Spec, Workload};
use units::Nanos;
use workloads::social::{Site, SocialConfig};

use crate::generate::{AT_ONCE, LOGIN_MOST};

/// The workload of a specification on these servers; `urls` is empty if they are not known yet.
///
/// Errors: a broken description of a site; parameters that contradict each other; a closed loop of more users than the
/// site has.
pub(super) fn config(social: &workload::Social, spec: &Spec, mut urls: Vec<Url>) -> Result<SocialConfig> {
    if urls.len() > 1 {
        bail!("{} targets: users have one site, whose cookies are for no other; name one", urls.len());
    }
    let mix = match social.operations {
        None => social.mix,
        Some(operations) => social.mix.of_sessions(f64::from(operations))?,
    };
    let config = SocialConfig {
        url: urls.pop(),
        users: social.users.0,
        users_seed: social.users_seed,
        mix,
        limits: social.limits,
        ajax: social.ajax,
        think: social.think_time,
        site: Arc::new(Site::of(&social.site)?),
        assets: social.assets == Assets::FirstView,
        // Other loads set it when they are planned.
        users_per_s: if let Load::Rate(rate) = spec.load { rate.rps() } else { 0.0 },
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
        bail!("{url}: a site is asked from its root on; leave out the path {}", url.path);
    }
    Ok(config)
}

/// Time for each login before a load. Source: the limit of one login, divided by the logins that run at once. The site
/// determines the cost of a login, and its hashes may be expensive; the limit of one login detects a site that does not
/// answer.
pub(super) const LOGIN: Nanos = Nanos(LOGIN_MOST.as_nanos() as u64 / AT_ONCE as u64);

/// Upper bound of the time for logins of users who are present when the load begins; zero for other workloads.
pub(crate) fn logins(spec: &Spec) -> Nanos {
    let Workload::Social(social) = &spec.workload else { return Nanos::ZERO };
    let operations = social.operations.map_or_else(|| social.mix.operations(), f64::from);
    let users = match spec.load {
        Load::Rate(rate) => rate.rps() * (operations - 1.0) * social.think_time.as_secs_f64(),
        _ => f64::from(spec.generator.connections),
    };
    Nanos((LOGIN.0 as f64 * users.clamp(0.0, f64::from(social.users.0))) as u64)
}

/// Checks that a load fits users of a site.
///
/// Errors: it does not.
pub(super) fn check(spec: &Spec) -> Result<()> {
    let generator = &spec.generator;
    if generator.think > Nanos::ZERO {
        bail!("--think {}: users think for --think-time; leave it out", generator.think);
    }
    if let Workload::Social(social) = &spec.workload
        && let workload::Site::File(file) = &social.site
        && !generator.agents.agents.is_empty()
    {
        bail!("--site {}: agents know no files of this machine; use own or elgg", file.display());
    }
    if spec.load == Load::Closed && generator.connections < generator.threads() {
        bail!(
            "--closed with {} users for {} threads: each thread needs at least one; use --connections {1} or more, or fewer --threads",
            generator.connections,
            generator.threads()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::workload::{Site, Social, Users};

    fn of(social: Social, load: Load, urls: &[&str]) -> Result<SocialConfig> {
        let workload = Workload::Social(Box::new(social.clone()));
        let spec = Spec { workload, load, ..Spec::default() };
        check(&spec)?;
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
        assert!((config.unwrap().mix.operations() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn logins_may_take_as_long_as_each_of_them() {
        // The highest bcrypt cost of the site: 2 s each, so that four at once take 8 s on one core.
        let costliest = Nanos::from_secs(2);
        let social = Social { users: Users(300), ..Social::default() };
        let workload = Workload::Social(Box::new(social));
        let spec = Spec { workload, load: Load::Rate("20".parse().unwrap()), ..Spec::default() };
        assert!(logins(&spec) >= Nanos(300 * costliest.0), "{}", logins(&spec));
        assert_eq!(logins(&spec).0 / 300, Nanos::from(LOGIN_MOST).0 / AT_ONCE as u64);
    }
}
