//! Several instances of databases, caches and services: each key is in one of them, and the site is the same.

use std::collections::BTreeSet;

use serde_json::json;
use traces::SpanKind;

use crate::movies::edges::{each_query_makes_the_calls_of_its_graph, requests_in};
use crate::movies::exact::Visitors;
use crate::movies::http::Request;
use crate::movies::site::{FILMS, Site, until};

const TWO_OF_EACH: [&str; 10] = [
    "movies-db.instances=2",
    "reviews-db.instances=2",
    "users-db.instances=2",
    "movies-cache.instances=2",
    "reviews-cache.instances=2",
    "users-cache.instances=2",
    "plot.instances=2",
    "compose-review.instances=2",
    "web.instances=2",
    // On a busy machine advertisements would not come in their 20 ms, and pages are compared whole.
    "ads_deadline_ms=500",
];

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn a_site_of_two_shards_and_two_instances_is_the_same() {
    let Some(site) = Site::start(&TWO_OF_EACH) else { return };
    for service in ["movies-db", "reviews-db", "users-db", "plot", "compose-review"] {
        assert_eq!(site.instances(service), 2, "{service}");
    }
    // Before the edge test, which rents and writes as well.
    let visitors = Visitors::new(&site, 200);
    visitors.run(&site.address, || {});
    println!("{}", visitors.verify(&site));
    each_query_makes_the_calls_of_its_graph(&site, "php");
    both_shards_were_written(&site);
    both_instances_answer(&site);
    accounts_are_in_one_shard(&site);
}

/// Each shard holds only its own data.
fn both_shards_were_written(site: &Site) {
    for (store, query) in [
        ("users", "SELECT count(*) FROM charges"),
        ("users", "SELECT count(*) FROM rentals"),
        ("reviews", "SELECT count(*) FROM reviews WHERE id::bigint > 4194304"),
        ("movies", "SELECT count(*) FROM rated WHERE (doc->>'review')::bigint > 4194304"),
    ] {
        let counts = [0, 1].map(|shard| site.select(store, shard, query).trim().parse::<u64>().unwrap());
        assert!(counts.iter().all(|count| *count > 0), "{store}: {query}: {counts:?}");
    }
}

/// Calls go to both instances, one after the other.
fn both_instances_answer(site: &Site) {
    for n in 0..8 {
        let traceparent = format!("00-{}-00000000000000ff-01", "c0".repeat(16));
        let path = format!("/api/movie/{}", n % FILMS + 1);
        assert_eq!(site.in_time(&Request { traceparent, ..Request::get(&path) }).status, 200);
    }
    let number = |name: &str| site.running.plan().app().service(name).unwrap().number.unwrap();
    let (plot, review) = (number("plot"), number("compose-review"));
    let spans = || {
        let files = std::fs::read_dir(site.spans())
            .unwrap()
            .map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
        let read = files.filter_map(|bytes| traces::SpanFile::read(&bytes).ok()).flat_map(|file| file.spans);
        read.filter(|span| span.kind == SpanKind::Server)
            .map(|span| (span.service, span.instance))
            .collect::<BTreeSet<_>>()
    };
    until("both instances of plot are asked", || {
        let seen = spans();
        seen.contains(&(plot, 0)) && seen.contains(&(plot, 1))
    });
    assert!(!requests_in(site.spans()).is_empty());
    // The parts of a review meet at one instance, which its number decides: some reviews at each.
    let token = site.token(3);
    let review_once = || {
        let page = site.in_time(&Request::get("/api/movie/3")).json();
        let body = json!({"title": page["info"]["title"], "text": "Which instance?", "stars": 5});
        let traceparent = format!("00-{}-00000000000000ff-01", "c1".repeat(16));
        let answer = site.in_time(&Request { traceparent, ..Request::post("/api/review", &token, &body) });
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    until("both instances of compose-review gather reviews", || {
        review_once();
        let seen = spans();
        seen.contains(&(review, 0)) && seen.contains(&(review, 1))
    });
}

/// Who signs up can log in and rent: names, accounts and rentals of one user may be in different shards.
fn accounts_are_in_one_shard(site: &Site) {
    let mut users = BTreeSet::new();
    for n in 0..6 {
        let body = json!({"name": format!("newcomer-{n}"), "password": "a password"});
        let sign_up = Request::post("/api/sign-up", "", &body);
        let first = site.ask(&sign_up);
        assert!([200, 504].contains(&first.status), "{first:?}");
        // A late answer may follow a completed sign-up; otherwise the first repetition signs up.
        until("the name is taken", || first.status == 200 || site.in_time(&sign_up).status == 409);
        let again = site.in_time(&sign_up);
        assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT"), "{again:?}");
        let login = site.in_time(&Request::post("/api/login", "", &body)).json();
        users.insert(login["user"].as_u64().unwrap());
        let token = login["token"].as_str().unwrap();
        let rent = site.in_time(&Request::post("/api/rent", token, &json!({"movie": n + 1, "key": "first"})));
        assert_eq!(rent.status, 200, "{rent:?}");
    }
    assert_eq!(users.len(), 6, "each has a number of its own");
}
