use std::sync::Arc;

use datasets::people::People;
use dist::{Purpose, Rng, Streams, poisson};
use proto_http::Url;
use rand::RngExt;
use spec::workload::SocialOperation;
use units::{Nanos, ParseError};

use crate::social::mix::Draw;
use crate::social::people::Offline;
use crate::social::site::Site;

/// An operation is given up after this many of its limits, counted from each request sent.
///
/// Source: ours; 5 s for an operation that should take 1 s, beyond which users leave, and far less than the 60 s for
/// which nginx waits for PHP (`fastcgi_read_timeout`), so that a site that hangs is not left with requests without end.
pub const TIMEOUT_LIMITS: u64 = 5;

/// The purposes of streams: sessions by their number; those under way when the load begins, by theirs; how many those are; users
/// of a thread.
pub(super) const ARRIVING: Purpose = Purpose::Other(20);
pub(super) const UNDERWAY: Purpose = Purpose::Other(21);
const HOW_MANY: Purpose = Purpose::Other(22);
const USERS: Purpose = Purpose::Other(23);

/// Standard deviations by which the number of users logged in at once may exceed the mean. Source: a Poisson number
/// exceeds four of them once in 30 000 looks.
const SPREAD: f64 = 4.0;

/// Every parameter of the social workload.
#[derive(Clone, Debug)]
pub struct SocialConfig {
    /// The site's URL; `None` until known. Paths are requested from its root.
    pub url: Option<Url>,
    /// The options. The mix is that of sessions of the requested length.
    pub options: spec::workload::Social,
    /// The requests, and the expected pages.
    pub site: Arc<Site>,
    /// Users who arrive per second, which determines how many are present when the load begins.
    pub users_per_s: f64,
    /// In a closed loop, how many users there are in all; each thinks after an answer. `None`: they come at their own times.
    pub population: Option<u32>,
    /// The seed of the draws.
    pub seed: u64,
}

/// The data shared by all threads.
#[derive(Clone, Debug)]
pub struct Known {
    pub(super) config: SocialConfig,
    pub(super) url: Url,
    /// The field `Host`, as a whole line.
    pub(super) host_line: Vec<u8>,
    pub(super) people: People,
    pub(super) draw: Draw,
    pub(super) streams: Streams,
    /// Distinguishes this run's new users from all others'.
    pub(super) run: String,
}

/// Which part of the users a thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which of all machines' threads it is, from 0.
    pub thread: u32,
    /// How many those are; at least 1.
    pub threads: u32,
    /// In a closed loop, the users that it has.
    pub population: u32,
}

/// The users of one thread: who is logged in when the load begins, and who is not.
pub(super) struct Present {
    /// Logged in, in the middle of a session.
    pub(super) inside: Vec<u32>,
    /// A user that they have just created is about to log in.
    pub(super) entering: Vec<u32>,
    pub(super) offline: Offline,
    pub(super) rng: Rng,
}

impl SocialConfig {
    /// How an operation is drawn.
    ///
    /// Errors: the parameters do not go together.
    pub fn draw(&self) -> Result<Draw, ParseError> {
        Draw::new(&self.options.mix, self.options.ajax, &self.site)
    }

    /// The operations of the mix that the site does not have.
    pub fn lacks(&self) -> impl Iterator<Item = SocialOperation> {
        self.site.lacks().into_iter().filter(|operation| self.options.mix.percent(*operation) > 0.0)
    }

    /// The time-out of a request of `operation`, from its sending.
    pub fn timeout(&self, operation: SocialOperation) -> Nanos {
        Nanos(self.options.limits.of(operation).0.saturating_mul(TIMEOUT_LIMITS))
    }

    /// Whether there are users enough for `threads` threads on each of `processes` generators, which share them out.
    ///
    /// Errors: more would be logged in at once than there are, with the numbers.
    pub fn check_users(&self, draw: &Draw, processes: u32, threads: u32) -> Result<(), ParseError> {
        let of_process = f64::from(threads.max(1));
        let threads = of_process * f64::from(processes.max(1));
        // The mean number of users logged in, if every answer comes at once. One think time lies between two
        // operations, from the creation of a user or the login to the logout.
        let thoughts = draw.middle() + 1.0 + draw.new_users();
        let mean = match self.population {
            Some(population) => f64::from(population),
            None => self.users_per_s * self.options.think_time.as_secs_f64() * thoughts,
        };
        let own = (f64::from(self.options.users.0) / threads).floor();
        let most = match self.population {
            // The population of this generator.
            Some(population) => (f64::from(population) / of_process).ceil(),
            None => mean / threads + SPREAD * (mean / threads).sqrt(),
        };
        if most <= own {
            return Ok(());
        }
        let each =
            if threads > 1.0 { format!(", on each of {threads} threads {own}") } else { String::new() };
        let (what, hint) = match self.population {
            Some(_) => (
                "users of a closed loop",
                "use a smaller --connections, or --users 10k and a site that is filled with them",
            ),
            None => (
                "users at once",
                "use a lower --rate, a shorter --think-time, or --users 10k and a site that is filled with them",
            ),
        };
        let problem = format!(
            "{mean:.0} on average and up to {:.0} are logged in at once, and there are {}{each}",
            most * threads,
            self.options.users.0
        );
        Err(ParseError { what, given: format!("{mean:.0}"), problem, hint })
    }
}

impl Known {
    /// For a configuration with a known site. `run` distinguishes the new users of this run from all others: at most 14
    /// small letters and digits. Cost: as for [`People::new`], 1 s for 100k users.
    ///
    /// Errors: parameters that do not go together.
    pub fn new(config: &SocialConfig, run: &str) -> Result<Known, ParseError> {
        let missing = || ParseError {
            what: "site",
            given: String::new(),
            problem: "it is not known where it is".into(),
            hint: "name it by --target http://127.0.0.1:8080",
        };
        let url = config.url.clone().ok_or_else(missing)?;
        Ok(Known {
            host_line: format!("Host: {}\r\n", url.host_field()).into_bytes(),
            url,
            people: People::new(config.options.users.0, config.options.users_seed)?,
            draw: config.draw()?,
            streams: Streams::new(config.seed),
            run: run.chars().filter(char::is_ascii_alphanumeric).take(14).collect(),
            config: config.clone(),
        })
    }

    /// The users that a thread logs in before the load.
    pub fn logged_in_before(&self, share: Share) -> Vec<u32> {
        self.present(share).inside
    }

    /// The users of a thread. All threads together have the same, however many they are, but for who they are.
    ///
    /// With random arrivals the number of users present is Poisson; the remainder of each session is distributed as at
    /// its login (see [`Draw`]), so that only their login lies behind them.
    pub(super) fn present(&self, share: Share) -> Present {
        let (thread, threads) = (share.thread, share.threads.max(1));
        let mut rng = self.streams.stream(USERS, thread.into());
        let of = |all: u64| (u64::from(thread)..all).step_by(threads as usize).count();
        let (inside, entering, most) = match self.config.population {
            Some(_) => (share.population as usize, 0, share.population as usize),
            None => {
                let per_thought = self.config.users_per_s * self.config.options.think_time.as_secs_f64();
                let number = |mean: f64, of: u64| poisson(mean, &mut self.streams.stream(HOW_MANY, of));
                let inside = of(number(per_thought * (self.draw.middle() + 1.0), 0));
                (inside, of(number(per_thought * self.draw.new_users(), 1)), usize::MAX)
            }
        };
        let mut offline = Offline::new(self.people.users(), (thread, threads), most, &mut rng);
        let mut take = |count: usize| (0..count).map_while(|_| offline.draw(&mut rng)).collect();
        let (inside, entering) = (take(inside), take(entering));
        Present { inside, entering, offline, rng }
    }

    /// The time from one operation of a user to the next.
    pub(super) fn think(&self, rng: &mut Rng) -> Nanos {
        // 1 − u is over 0, so that its logarithm is finite.
        Nanos((self.config.options.think_time.0 as f64 * -(1.0 - rng.random::<f64>()).ln()) as u64)
    }
}

#[cfg(test)]
pub(in crate::social) mod tests {
    use spec::workload;

    use super::*;

    /// 200 users on our own site, of whom 2 come per second, each for 10 operations a tenth of a second apart.
    pub(in crate::social) fn config() -> SocialConfig {
        SocialConfig {
            url: Some("http://10.0.0.1:8080".parse().unwrap()),
            options: workload::Social {
                users: workload::Users(200),
                mix: workload::SocialMix::default().of_sessions(10.0).unwrap(),
                think_time: Nanos::from_millis(100),
                ..workload::Social::default()
            },
            site: Arc::new(Site::of(&workload::Site::Own).unwrap()),
            users_per_s: 2.0,
            population: None,
            seed: 5,
        }
    }

    #[test]
    fn more_users_than_there_are_are_refused_with_the_numbers() {
        let check = |change: fn(&mut SocialConfig), threads: u32, says: Option<&str>| {
            let mut config = config();
            change(&mut config);
            let found =
                config.check_users(&config.draw().unwrap(), 1, threads).map_err(|error| error.to_string());
            match says {
                None => assert_eq!(found, Ok(())),
                Some(says) => assert!(found.as_ref().is_err_and(|error| error.contains(says)), "{found:?}"),
            }
        };
        check(|_| (), 4, None);
        // Sessions of 0.9 s.
        check(
            |config| config.users_per_s = 222.0,
            1,
            Some("200 on average and up to 256 are logged in at once, and there are 200"),
        );
        check(|config| config.users_per_s = 150.0, 1, None);
        check(|config| config.users_per_s = 150.0, 100, Some("on each of 100 threads 2"));
        check(|config| config.population = Some(200), 1, None);
        check(|config| config.population = Some(201), 1, Some("201 on average"));
    }

    #[test]
    fn those_who_are_there_are_the_same_however_many_threads_there_are() {
        let config = SocialConfig { users_per_s: 50.0, ..config() };
        let known = Known::new(&config, "x1-Y").unwrap();
        assert_eq!(known.run, "x1Y");
        let count = |threads: u32| {
            let all = (0..threads).map(|thread| known.present(Share { thread, threads, population: 0 }));
            let mut users = Vec::new();
            let mut inside = 0;
            for present in all {
                inside += present.inside.len();
                users.extend([present.inside, present.entering].concat());
            }
            let (count, distinct) =
                (users.len(), users.into_iter().collect::<std::collections::BTreeSet<u32>>());
            assert_eq!(count, distinct.len(), "none is there twice");
            (inside, count)
        };
        let (inside, all) = count(1);
        assert_eq!((count(2), count(3)), ((inside, all), (inside, all)));
        // 50 a second × 0.1 s × 8.8 between and one for the logout; those who enter are one in five of 5.
        assert!((25..70).contains(&inside) && all >= inside, "{inside} of {all}");
        assert_eq!(known.logged_in_before(Share { thread: 0, threads: 1, population: 0 }).len(), inside);
        let closed = Known::new(&SocialConfig { population: Some(30), ..config }, "1").unwrap();
        let present = closed.present(Share { thread: 0, threads: 2, population: 15 });
        assert_eq!((present.inside.len(), present.entering.len(), present.offline.len()), (15, 0, 0));
    }
}
