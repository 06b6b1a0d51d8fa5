//! Rents and reviews of many concurrent visitors; afterwards money and reviews are exact, even if services were killed
//! during the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::movies::http::{Answer, Request};
use crate::movies::site::{FILMS, Site, until};

/// Concurrent visitors: twice the number of PHP's processes, so that some wait.
const VISITORS: usize = 32;
/// Users who rent and write. Five operations one after the other are of the same, so that visitors meet at an account.
const RENTERS: u64 = 100;
/// Pause of a visitor before a retry.
const AGAIN: Duration = Duration::from_millis(50);
/// A bound on waiting: a service that was killed is there again within some seconds.
const PATIENCE: Duration = Duration::from_secs(120);
/// Reviews of a bucket. Source: the contract of movie-review and user-review.
const BUCKET: usize = 20;
/// Maximum length of the services' lists.
const LISTED: usize = 100;

/// A review that was answered.
#[derive(Clone, Debug, PartialEq)]
struct Written {
    review: u64,
    movie: u64,
    user: u64,
    stars: u64,
    text: String,
}

/// A rental that was answered.
#[derive(Clone, Debug, PartialEq)]
struct Rented {
    movie: u64,
    cents: u64,
    expires_s: u64,
}

/// Visitors and the log of their operations.
pub(crate) struct Visitors {
    operations: u64,
    titles: BTreeMap<u64, String>,
    prices: BTreeMap<u64, u64>,
    tokens: BTreeMap<u64, String>,
    balances: BTreeMap<u64, u64>,
    next: AtomicU64,
    allowed: AtomicU64,
    done: AtomicU64,
    asked: AtomicU64,
    refused: AtomicU64,
    /// By user and film: all are within the time of one rental.
    rented: Mutex<BTreeMap<(u64, u64), Rented>>,
    written: Mutex<Vec<Written>>,
    failed: OnceLock<String>,
}

/// One visitor's operation: three of five rent, one of them the film of another at the same time; two write reviews.
enum Operation {
    Rent { movie: u64, key: String },
    Review { movie: u64, stars: u64, text: String },
}

/// The operation `n`, and whose it is.
fn operation(n: u64) -> (u64, Operation) {
    // The third of each five is the second once more.
    let of = if n % 5 == 2 { n - 1 } else { n };
    // Each round of the users has other films.
    let (user, movie) = (of / 5 % RENTERS + 1, (of / 5 * 3 + of / 5 / RENTERS * 2 + of % 5) % FILMS + 1);
    let what = match n % 5 {
        0..=2 => Operation::Rent { movie, key: format!("key-{n}") },
        _ => Operation::Review {
            movie,
            stars: n / 5 % 10 + 1,
            text: format!("What visitor {n} thinks of it."),
        },
    };
    (user, what)
}

impl Visitors {
    /// Visitors who will do this number of operations.
    pub(crate) fn new(site: &Site, operations: u64) -> Visitors {
        let films = site.table("movies", "movies", |key| key);
        let film = |doc: &Value, name: &str| doc[name].as_u64().unwrap();
        Visitors {
            operations,
            titles: films
                .iter()
                .map(|(_, doc)| (film(doc, "movie"), doc["title"].as_str().unwrap().to_owned()))
                .collect(),
            prices: films.iter().map(|(_, doc)| (film(doc, "movie"), film(doc, "cents"))).collect(),
            tokens: (1..=RENTERS).map(|user| (user, site.token(user))).collect(),
            balances: balances(site),
            next: AtomicU64::new(0),
            allowed: AtomicU64::new(operations),
            done: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            rented: Mutex::default(),
            written: Mutex::default(),
            failed: OnceLock::new(),
        }
    }

    /// Has visitors begin the first `operations` and wait before the next, until more are allowed.
    pub(crate) fn allow(&self, operations: u64) {
        self.allowed.store(operations, Ordering::Relaxed);
    }

    /// How many operations are done.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// How many requests were sent.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether all is done, or something was answered that must not be.
    pub(crate) fn is_over(&self) -> bool {
        self.done() == self.operations || self.failed.get().is_some()
    }

    /// Runs all visitors concurrently with `meanwhile`.
    pub(crate) fn run(&self, address: &str, meanwhile: impl FnOnce()) {
        thread::scope(|scope| {
            for _ in 0..VISITORS {
                scope.spawn(|| self.visit(address));
            }
            meanwhile();
        });
        assert_eq!(self.failed.get(), None);
        assert_eq!(self.done(), self.operations);
    }

    fn visit(&self, address: &str) {
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            if n >= self.operations || self.failed.get().is_some() {
                return;
            }
            while n >= self.allowed.load(Ordering::Relaxed) && self.failed.get().is_none() {
                thread::park_timeout(Duration::from_millis(5));
            }
            let (user, operation) = operation(n);
            let done = match operation {
                Operation::Rent { movie, key } => self.rent(address, user, movie, &key),
                Operation::Review { movie, stars, text } => self.review(address, user, movie, stars, &text),
            };
            match done {
                Ok(()) => drop(self.done.fetch_add(1, Ordering::Relaxed)),
                Err(why) => drop(self.failed.set(format!("operation {n} of user {user}: {why}"))),
            }
        }
    }

    /// Retries until answered, like a browser that lost its connection or was answered with 503 or 504; `each` makes
    /// the request of each try.
    fn answered(
        &self,
        address: &str,
        mut each: impl FnMut(u64) -> Request,
    ) -> Result<(Request, Answer), String> {
        let begun = Instant::now();
        for time in 0.. {
            let request = each(time);
            self.asked.fetch_add(1, Ordering::Relaxed);
            let said = match request.send(address) {
                Ok(answer) if answer.status == 200 => return Ok((request, answer)),
                Ok(answer) if matches!(answer.status, 503 | 504) => {
                    format!("{} {}", answer.status, answer.body)
                }
                Ok(answer) => return Err(format!("{answer:?}")),
                Err(error) => error.to_string(),
            };
            self.refused.fetch_add(1, Ordering::Relaxed);
            if begun.elapsed() > PATIENCE || self.failed.get().is_some() {
                return Err(format!("not answered in time, lastly: {said}"));
            }
            thread::sleep(AGAIN);
        }
        unreachable!("it returns")
    }

    fn rent(&self, address: &str, user: u64, movie: u64, key: &str) -> Result<(), String> {
        let body = json!({"movie": movie, "key": key});
        let request = Request::post("/api/rent", &self.tokens[&user], &body);
        let (_, answer) = self.answered(address, |_| request.clone())?;
        let ticket = answer.json();
        let number = |name: &str| ticket[name].as_u64().ok_or_else(|| format!("{name}: {answer:?}"));
        let rented = Rented { movie, cents: number("cents")?, expires_s: number("expires_s")? };
        let mut all = self.rented.lock().unwrap();
        let first = all.entry((user, movie)).or_insert_with(|| rented.clone());
        if *first == rented { Ok(()) } else { Err(format!("it was {first:?} before, and is {rented:?}")) }
    }

    /// A try that was not answered may have left a review behind, so that each has a text of its own.
    fn review(&self, address: &str, user: u64, movie: u64, stars: u64, text: &str) -> Result<(), String> {
        let title = &self.titles[&movie];
        let text_of = |time: u64| if time == 0 { text.to_owned() } else { format!("{text} {time}") };
        let (mut tries, token) = (0, &self.tokens[&user]);
        let (_, answer) = self.answered(address, |time| {
            tries = time;
            Request::post(
                "/api/review",
                token,
                &json!({"title": title, "text": text_of(time), "stars": stars}),
            )
        })?;
        let review = answer.json()["review"].as_u64().ok_or_else(|| format!("{answer:?}"))?;
        self.written.lock().unwrap().push(Written { review, movie, user, stars, text: text_of(tries) });
        Ok(())
    }

    /// That each balance is what it was less the charges, with one charge and one rental of a film; that each review that was
    /// answered is stored, and in the lists of its film and its user, exactly once; that stars are counted once each. Says in
    /// a line what there was.
    pub(crate) fn verify(&self, site: &Site) -> String {
        self.verify_money(site);
        let left = self.verify_reviews(site);
        let (charges, written) = (self.rented.lock().unwrap().len(), self.written.lock().unwrap().len());
        format!(
            "{} operations by {} requests, of which {} had to be repeated: {charges} charges, {written} reviews; {left} reviews of \
             those without an answer are stored as well",
            self.operations,
            self.asked(),
            self.refused.load(Ordering::Relaxed),
        )
    }

    fn verify_money(&self, site: &Site) {
        let rented = self.rented.lock().unwrap();
        for one in rented.values() {
            assert_eq!(one.cents, self.prices[&one.movie], "{one:?}");
        }
        let number = |doc: &Value, name: &str| doc[name].as_u64().unwrap();
        let charges: BTreeMap<String, Value> =
            site.table("users", "charges", before_colon).into_iter().collect();
        let rentals: BTreeMap<String, Value> =
            site.table("users", "rentals", |key| key.split('#').next().unwrap_or(key)).into_iter().collect();
        let keys = |middle: &str, end: &str| -> BTreeSet<String> {
            rented.keys().map(|(user, movie)| format!("{user}{middle}{movie}{end}")).collect()
        };
        assert_eq!(charges.keys().cloned().collect::<BTreeSet<_>>(), keys(":", ".1"), "one charge each");
        assert_eq!(rentals.keys().cloned().collect::<BTreeSet<_>>(), keys("#", ""), "one rental each");
        let mut expect = self.balances.clone();
        for ((user, movie), one) in rented.iter() {
            assert_eq!(number(&charges[&format!("{user}:{movie}.1")], "cents"), one.cents, "{user} {one:?}");
            let rental = &rentals[&format!("{user}#{movie}")];
            let found = ["movie", "cents", "expires_s", "number"].map(|name| number(rental, name));
            assert_eq!(found, [*movie, one.cents, one.expires_s, 1], "{user} {rental}");
            *expect.get_mut(user).unwrap() -= one.cents;
        }
        assert_eq!(balances(site), expect, "what is left is what there was less the charges");
    }

    /// Returns how many reviews are stored that were not answered.
    fn verify_reviews(&self, site: &Site) -> usize {
        let written = self.written.lock().unwrap();
        let stored: BTreeMap<u64, Value> = site
            .table("reviews", "reviews", |key| key)
            .into_iter()
            .map(|(key, doc)| (key.parse().unwrap(), doc))
            .collect();
        let of_films = Lists::read(site, "reviews", "movie_reviews");
        let of_users = Lists::read(site, "users", "user_reviews");
        let numbers: BTreeSet<u64> = written.iter().map(|one| one.review).collect();
        assert_eq!(numbers.len(), written.len(), "each has a number of its own");
        for one in written.iter() {
            let doc = stored.get(&one.review).unwrap_or_else(|| panic!("{one:?} is not stored"));
            let found = Written {
                review: one.review,
                movie: doc["movie"].as_u64().unwrap(),
                user: doc["user"].as_u64().unwrap(),
                stars: doc["stars"].as_u64().unwrap(),
                text: doc["text"].as_str().unwrap().to_owned(),
            };
            assert_eq!(found, *one);
            assert_eq!(of_films.times(one.movie, one.review), 1, "in the list of its film: {one:?}");
            assert_eq!(of_users.times(one.user, one.review), 1, "in the list of its user: {one:?}");
        }
        for lists in [&of_films, &of_users] {
            let mut listed = lists.0.values().flatten();
            assert_eq!(
                listed.find(|review| !stored.contains_key(review)),
                None,
                "a list names reviews that exist"
            );
        }
        // Each user's stars come from the user's newest counted review, which is one of the reviews that the film
        // lists.
        let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut counted: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        let number = |doc: &Value, name: &str| doc[name].as_u64().unwrap();
        for (key, doc) in site.table("movies", "rated", before_colon) {
            let (movie, user) = key.split_once(':').unwrap();
            let (movie, user): (u64, u64) = (movie.parse().unwrap(), user.parse().unwrap());
            let (review, stars) = (number(&doc, "review"), number(&doc, "stars"));
            assert_eq!(
                of_films.times(movie, review),
                1,
                "review {review} is counted, and film {movie} does not list it"
            );
            let of = &stored[&review];
            assert_eq!(
                [number(of, "movie"), number(of, "user"), number(of, "stars")],
                [movie, user, stars],
                "{key}"
            );
            let sum = sums.entry(movie).or_default();
            *sum = (sum.0 + 1, sum.1 + stars);
            counted.insert((movie, user), review);
        }
        for one in written.iter() {
            let newest = counted.get(&(one.movie, one.user)).copied().unwrap_or_default();
            assert!(newest >= one.review, "the stars of {one:?} are not counted, but those of {newest}");
        }
        for (movie, doc) in site.table("movies", "ratings", |key| key) {
            let (count, sum) = sums[&movie.parse().unwrap()];
            assert_eq!(doc, json!({"count": count, "sum": sum}), "film {movie}");
        }
        for movie in 1..=FILMS {
            shows(site, movie, &of_films.0[&movie], sums[&movie]);
        }
        // Reviews of the data set have the lowest numbers.
        stored.keys().filter(|review| **review > 1 << 22 && !numbers.contains(review)).count()
    }
}

/// That the page of a film has these newest reviews, and these stars: number and sum.
fn shows(site: &Site, movie: u64, listed: &[u64], (count, sum): (u64, u64)) {
    let newest: Vec<u64> = listed.iter().rev().take(LISTED).copied().collect();
    let mut page = Value::Null;
    let mut is_so = || {
        let answer = site.get(&format!("/api/movie/{movie}?start=0&reviews={LISTED}"));
        // An old rating may be kept in memory for some seconds.
        page = if answer.status == 200 { answer.json() } else { json!(answer.body) };
        let mean = page["rating"]["mean"].as_f64().unwrap_or_default();
        page["rating"]["count"] == count
            && (mean - sum as f64 / count as f64).abs() < 1e-9
            && page["missing"] == json!([])
    };
    until(&format!("the page of film {movie} has {count} ratings"), &mut is_so);
    let shown: Vec<u64> =
        page["reviews"].as_array().unwrap().iter().map(|one| one["review"].as_u64().unwrap()).collect();
    assert_eq!(shown, newest, "the page of film {movie}");
}

/// Lists of reviews by their owners, the oldest first.
struct Lists(BTreeMap<u64, Vec<u64>>);

impl Lists {
    /// Reads them, and sees that their buckets are whole and name what `listed` does, each once.
    fn read(site: &Site, store: &str, table: &str) -> Lists {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut buckets: BTreeMap<(u64, usize), Vec<u64>> = BTreeMap::new();
        for (key, doc) in site.table(store, table, |key| key.split('#').next().unwrap_or(key)) {
            match key.split_once('#') {
                None => drop(counts.insert(key.parse().unwrap(), doc["n"].as_u64().unwrap())),
                Some((owner, at)) => {
                    let reviews = doc["reviews"].as_array().unwrap().iter().map(|one| one.as_u64().unwrap());
                    buckets.insert((owner.parse().unwrap(), at.parse().unwrap()), reviews.collect());
                }
            }
        }
        let mut lists: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for ((owner, at), reviews) in buckets {
            let list = lists.entry(owner).or_default();
            assert_eq!(list.len(), at * BUCKET, "{table}: the buckets of {owner} before {at} are full");
            list.extend(reviews);
        }
        let lengths: BTreeMap<u64, u64> =
            lists.iter().map(|(owner, list)| (*owner, list.len() as u64)).collect();
        assert_eq!(counts, lengths, "{table}: as many as it says");
        let mut listed = BTreeSet::new();
        for (key, _) in site.table(store, "listed", before_colon) {
            let (owner, review) = key.split_once(':').unwrap();
            listed.insert((owner.parse::<u64>().unwrap(), review.parse::<u64>().unwrap()));
        }
        let named = lists.iter().flat_map(|(owner, list)| list.iter().map(move |review| (*owner, *review)));
        let all: Vec<(u64, u64)> = named.collect();
        assert_eq!(
            all.iter().copied().collect::<BTreeSet<_>>(),
            listed,
            "{table}: what is listed is in a bucket"
        );
        assert_eq!(all.len(), listed.len(), "{table}: and once");
        Lists(lists)
    }

    fn times(&self, owner: u64, review: u64) -> usize {
        self.0.get(&owner).map_or(0, |list| list.iter().filter(|one| **one == review).count())
    }
}

fn balances(site: &Site) -> BTreeMap<u64, u64> {
    let users = site.table("users", "users", |key| key);
    users
        .into_iter()
        .map(|(key, doc)| (key.parse().unwrap(), doc["balance_cents"].as_u64().unwrap()))
        .collect()
}

fn before_colon(key: &str) -> &str {
    key.split(':').next().unwrap_or(key)
}
