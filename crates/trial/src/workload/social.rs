//! Users of a social network.

mod config;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use openloop::{Generator, Load, Plan, Recording};
use results::{Found, Invalid, Reason};
use spec::workload::{SiteCache, SocialOperation};
use spec::{Spec, Workload, workload};
use units::ParseError;
use workloads::social::{Known, Ready, Share, Social, SocialConfig, log_in, prime};

use crate::live;
use crate::noise::Watch;
use crate::task::Task;
use crate::workload::ask::{KeptConnection, LOGIN_MOST};
use crate::workload::sessions::{may_write, most_here};
use crate::workload::several::several;
use crate::workload::{Reach, Run, plan_sessions, urls};

pub(super) struct Offered {
    config: SocialConfig,
}

/// The workload of these options.
///
/// Errors: a broken description of a site; parameters that contradict each other; a closed loop of more users than the site has.
pub(super) fn offered(options: &workload::Social, spec: &Spec, reach: Option<Reach<'_>>) -> Result<Offered> {
    Ok(Offered { config: config::config(options, spec, urls(reach))? })
}

impl super::Offered for Offered {
    fn plan(&mut self, task: &Task, plan: &mut Plan) -> Result<()> {
        let config = &mut self.config;
        plan_sessions(plan, None);
        // Long enough to decide for each operation whether it is within its limit.
        plan.drain = plan.drain.max(config.options.limits.longest());
        match &mut plan.load {
            Load::Open { rate, .. } => {
                config.users_per_s = rate.rps();
                let room = most_here(task, config.options.max_sessions, plan.endpoints.len())?;
                plan.sessions = room.map(|room| room.min(config.options.most_sessions() as usize));
            }
            Load::Closed { think } => {
                *think = config.options.think_time;
                let users = task.spec.generator.connections as usize;
                (plan.clients, plan.sessions) = (Some(users), Some(users));
            }
        }
        if plan.clients.is_some() {
            check_users(task, config)??;
        }
        Ok(())
    }

    fn resolve(&self, workload: &mut Workload) {
        let Workload::Social(options) = workload else { return };
        // All operations, unless the mix restricts them.
        let operations = self.config.options.mix.operations();
        if operations.fract() == 0.0 {
            options.operations.get_or_insert(operations as u32);
        }
    }

    fn found(&self, found: &mut Found) {
        found.lacks = self.config.lacks().map(|operation| operation.name().to_owned()).collect();
    }

    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)> {
        let (reach, config) = (run.reach, &self.config);
        let (task, options) = (reach.task, &config.options);
        let mix = SocialOperation::ALL.map(|one| (one.name(), one.writes(), options.mix.percent(one)));
        may_write(options.yes, &mix, &task.servers())?;
        let known = known(task, config)?;
        let refused = too_many(task, config)?;
        if refused.is_none() && options.cache != SiteCache::Flushed {
            run.counters.extend(primed(reach, &known, options.users.0)?);
        }
        // The processor time of earlier logins belongs to no window.
        let ready = match (&run.agents, &refused) {
            (None, None) => logged_in(reach, &known)?,
            _ => Vec::new(),
        };
        let here = |generator: &Generator| generate(task, &known, ready, generator);
        let nothing = |generator: &Generator| generator.nothing(users_of(task, &known, 0, Vec::new()));
        let (mut recording, watch) = run.record_unless(refused, here, nothing)?;
        recording.limit(|name| run.workload.limit_of(name));
        Ok((recording, watch))
    }
}

/// Whether there are enough users for the threads of all generators, both parallel ones and those of agents.
fn check_users(task: &Task, config: &SocialConfig) -> Result<Result<(), ParseError>> {
    let asked = &task.spec.generator;
    let draw = config.draw()?;
    let agents = asked.agents.agents.len() as u32;
    if agents == 0 {
        return Ok(config.check_users(&draw, task.share.1, asked.threads()));
    }
    let threads = spec::Generator { cpus: asked.agents.agents_cpus.clone(), ..asked.clone() }.threads();
    // The part of the first thread, which is the largest.
    let population = config.population.map(|users| users.div_ceil(agents));
    Ok(SocialConfig { population, ..config.clone() }.check_users(&draw, agents, threads))
}

/// Why this load cannot be offered to a site with this number of users. Such a trial is invalid without being run, so
/// that a search continues with a lower rate.
fn too_many(task: &Task, config: &SocialConfig) -> Result<Option<Invalid>> {
    Ok(check_users(task, config)?.err().map(|error| {
        // Rounds a computed rate to its significant digits.
        let rate = (1e3 * config.users_per_s).round() / 1e3;
        let detail = format!("{rate} sessions a second: {}; {}", error.problem, error.hint);
        Invalid { reason: Reason::RateMissed, detail }
    }))
}

/// State shared by all threads. The start time of a run distinguishes it from others.
///
/// Errors: parameters that contradict each other.
fn known(task: &Task, config: &SocialConfig) -> Result<Arc<Known>> {
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Ok(Arc::new(Known::new(config, &format!("{ms:x}{:x}", task.share.0))?))
}

/// The part of the users that belongs to a thread of this process.
fn share(task: &Task, thread: u32) -> Share {
    let (seat, threads) = (task.seat(thread), task.spec.generator.threads());
    let users = task.spec.generator.connections;
    // Divided in the same way as in the generator.
    let population = users / threads + u32::from(thread < users % threads);
    Share { thread: seat.thread, threads: seat.threads, population }
}

/// Primes the cache with the site's data of each of the users, some users at a time; returns the cost as counters.
///
/// Errors: a user's data cannot be fetched, with the site's message; a stop is requested.
fn primed(reach: Reach<'_>, known: &Known, users: u32) -> Result<Vec<(String, f64)>> {
    let begun = Instant::now();
    let reader = log_in(known, 0, &mut || reach.connect(LOGIN_MOST))?;
    let users: Vec<u32> = (0..users).collect();
    // Locked while printing, so that the numbers appear in order.
    let (done, of) = (Mutex::new(0_usize), users.len());
    // One connection for all requests of a worker: this machine does not have ports for one per user.
    let one = |open: &mut Option<KeptConnection>, user: &u32| {
        let requests = prime(known, &reader, *user, open, &mut || reach.keep());
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        // At most a hundred lines.
        if reach.task.live && done.is_multiple_of(of.div_ceil(100)) {
            live::before(&format!("{} of {of} users read into the cache", *done));
        }
        requests
    };
    let requests: u64 = several(&users, reach.stop, one)?.into_iter().sum();
    let took = begun.elapsed().as_secs_f64();
    let counters = [("primed_users", of as f64), ("primed_requests", requests as f64), ("priming_s", took)];
    Ok(counters.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

/// Logs in the users who are present when the load begins, some at a time; returns the state of their sessions, by
/// thread.
///
/// Errors: a login fails, with the site's message; a stop is requested.
fn logged_in(reach: Reach<'_>, known: &Known) -> Result<Vec<Vec<Ready>>> {
    let task = reach.task;
    let threads = task.spec.generator.threads();
    let wanted = (0..threads).flat_map(|thread| {
        known.logged_in_before(share(task, thread)).into_iter().map(move |user| (thread, user))
    });
    let mut wanted: Vec<(u32, u32)> = wanted.collect();
    if wanted.is_empty() {
        // At least one request shows whether the site exists and has these users.
        wanted.push((0, 0));
    }
    let one = |_: &mut (), (thread, user): &(u32, u32)| {
        let ready = log_in(known, *user, &mut || reach.connect(LOGIN_MOST));
        ready.map(|ready| (*thread, ready))
    };
    let mut found = BTreeMap::<u32, Vec<Ready>>::new();
    for (thread, ready) in several(&wanted, reach.stop, one)? {
        found.entry(thread).or_default().push(ready);
    }
    Ok((0..threads).map(|thread| found.remove(&thread).unwrap_or_default()).collect())
}

/// Generates the load here, with the logged-in users by thread.
fn generate(
    task: &Task,
    known: &Arc<Known>,
    ready: Vec<Vec<Ready>>,
    generator: &Generator,
) -> Result<Recording> {
    let ready: Vec<Mutex<Vec<Ready>>> = ready.into_iter().map(Mutex::new).collect();
    let of_thread = |thread: u32| {
        let ready = std::mem::take(&mut *ready[thread as usize].lock().expect("no thread panics with it"));
        users_of(task, known, thread, ready)
    };
    Ok(generator.run(of_thread)?)
}

/// The users of one thread; those in `ready` are logged in.
fn users_of(task: &Task, known: &Arc<Known>, thread: u32, ready: Vec<Ready>) -> Social {
    Social::new(known, share(task, thread), ready)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use reactor::Address;

    /// A task of this many sessions per second by one of `generators`, and its workload.
    fn task(rate: &str, generators: u32) -> (Task, SocialConfig) {
        let workload = Workload::Social(Box::default());
        let spec = Spec { workload, load: spec::Load::Rate(rate.parse().unwrap()), ..Spec::default() };
        let Offered { config } = offered(&workload::Social::default(), &spec, None).unwrap();
        let task = Task { share: (0, generators), ..Task::of(spec, &[], Vec::new()).unwrap() };
        (task, config)
    }

    #[test]
    fn more_live_users_than_there_are_are_a_reason_against_the_trial() {
        let check = |rate: &str, generators: u32, says: &[&str]| {
            let (task, config) = task(rate, generators);
            match too_many(&task, &config).unwrap() {
                None => assert!(says.is_empty(), "{rate} of {generators}"),
                Some(Invalid { reason, detail }) => {
                    assert_eq!(reason, Reason::RateMissed);
                    let all = !says.is_empty() && says.iter().all(|part| detail.contains(part));
                    assert!(all, "{rate} of {generators}: {detail}");
                }
            }
        };
        // A session lasts 78 s: 37.8 operations between login and logout, and one in five begins with a new user.
        check("2", 1, &[]);
        check("11", 1, &[]);
        let at_once =
            "15 sessions a second: 1170 on average and up to 1307 are logged in at once, and there are 1000";
        check("15", 1, &[at_once, "use a lower --rate"]);
        // Each thread has its own users: 780 of 1000 leave 40 threads too few spare ones.
        check("10", 1, &[]);
        check("10", 40, &["780 on average", "there are 1000, on each of 40 threads 25"]);
        // The same with agents, whose generators divide the users.
        let (mut task, config) = task("10", 1);
        task.spec.generator.agents.agents = ["a:1", "b:1"].map(String::from).into();
        assert_eq!(too_many(&task, &config).unwrap(), None);
        task.spec.generator.agents.agents_cpus = Some("0-19".parse().unwrap());
        let detail = too_many(&task, &config).unwrap().unwrap().detail;
        assert!(detail.contains("on each of 40 threads 25"), "{detail}");
    }

    /// A site in this process that closes a connection after `answers` responses and takes `login` for a login; it
    /// counts its connections.
    fn site(answers: usize, login: Duration) -> (Address, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                // Closes without a message: a client must not treat a closed connection as a response.
                std::thread::spawn(move || (0..answers).all(|_| answer(&stream, login).is_some()));
            }
        });
        (address, accepted)
    }

    fn answer(mut stream: &TcpStream, login: Duration) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|length| *length > 0)?;
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).ok()?;
            length =
                line.strip_prefix("Content-Length: ").map_or(length, |value| value.trim().parse().unwrap());
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        let page = "<meta name=\"csrf\" content=\"t\"><main id=";
        let (fields, text) = match first.split(" HTTP").next()? {
            "GET /login" => ("200 OK", format!("{page}\"login\">")),
            "GET /" => ("200 OK", format!("{page}\"home\" data-post=\"1\" data-message=\"2\">")),
            "POST /login" => {
                std::thread::sleep(login);
                ("303 See Other\r\nLocation: /", String::new())
            }
            prime if prime.starts_with("GET /.prime/") => ("200 OK", "primed".into()),
            // Objects embedded in pages.
            _ => ("200 OK", String::new()),
        };
        let head = format!("HTTP/1.1 {fields}\r\nContent-Length: {}\r\n\r\n", text.len());
        stream.write_all(format!("{head}{text}").as_bytes()).ok()
    }

    /// A task with this many users of that site, whose cache is primed, and the state shared by all threads.
    fn at(address: &Address, users: u32) -> (Task, Arc<Known>) {
        let (mut task, mut config) = task("0.01", 1);
        let social = workload::Social { users: workload::Users(users), ..workload::Social::default() };
        task.spec.workload = Workload::Social(Box::new(social));
        config.options.users = workload::Users(users);
        config.url = Some(format!("http://{address}").parse().unwrap());
        task.addresses = vec![address.clone()];
        let known = known(&task, &config).unwrap();
        (task, known)
    }

    #[test]
    fn a_cache_is_primed_over_a_few_connections() {
        let check = |answers: usize, most: usize| {
            let (address, accepted) = site(answers, Duration::ZERO);
            let (task, known) = at(&address, 50);
            let stop = Arc::default();
            let counters = primed(Reach { task: &task, tls: None, stop: &stop }, &known, 50).unwrap();
            assert_eq!(counters[1], ("primed_requests".into(), 50.0));
            let accepted = accepted.load(Ordering::Relaxed);
            assert!(accepted <= most, "{accepted} connections of {answers} answers");
        };
        // One for each worker, and one for the login.
        check(usize::MAX, 4 + 1);
        // The site closes connections now and then: its responses fill at most eight, and each client has one more that
        // is not full.
        check(6, 8 + 4 + 1);
    }

    #[test]
    fn a_login_may_take_longer_than_another_request() {
        let slow = workloads::cache::PATIENCE + Duration::from_millis(200);
        let (address, _) = site(usize::MAX, slow);
        let (task, known) = at(&address, 50);
        let stop = Arc::default();
        let ready = logged_in(Reach { task: &task, tls: None, stop: &stop }, &known).unwrap();
        assert!(ready.iter().flatten().count() > 0);
    }
}
