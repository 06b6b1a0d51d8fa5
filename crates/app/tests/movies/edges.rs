//! Each query makes the calls of its graph, and the parts of a traced request are the whole of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use traces::{Call, RequestTree, SpanFile, SpanKind, join};

use crate::movies::http::Request;
use crate::movies::site::{Site, until};

#[test]
fn the_site_answers_and_each_service_counts() {
    // On a busy machine advertisements would not come in their 20 ms, and not be asked for again and again.
    let Some(mut site) = Site::start(&["web.instances=1", "ads_deadline_ms=500"]) else { return };
    assert_eq!(site.get("/").status, 200);
    let page = site.whole_page("/api/movie/1?reviews=5");
    assert_eq!(page["info"]["movie"], 1, "{page}");
    each_query_makes_the_calls_of_its_graph(&site, "php");
    site.each_service_counts();
    site.keeps_the_contract();
    assert_eq!(site.running.gone(), None);
}

/// The answer to a request that is traced, under this number. It is repeated while it or a part of its page is late, as
/// on a busy machine: its graph would not be whole. Each try has a trace of its own.
pub(crate) fn traced(site: &Site, number: u8, request: Request) -> Value {
    let mut tries = 0..=u8::MAX;
    let mut whole = Value::Null;
    until(&format!("query {number} is answered in time"), || {
        let tried = format!("{:02x}", tries.next().expect("some tries are enough")).repeat(15);
        let traceparent = format!("00-{number:02x}{tried}-00000000000000ff-01");
        let answer = site.ask(&Request { traceparent, ..request.clone() });
        assert!([200, 504].contains(&answer.status), "query {number}: {answer:?}");
        if answer.status == 200 {
            whole = answer.json();
        }
        answer.status == 200 && whole["missing"].as_array().is_none_or(Vec::is_empty)
    });
    whole
}

/// The requests whose root span and all of its called spans have been written.
pub(crate) fn requests_in(folder: &Path) -> Vec<RequestTree> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    // A process that has served nothing traced yet may not have begun its file.
    let spans = files.filter_map(|bytes| SpanFile::read(&bytes).ok()).flat_map(|file| file.spans);
    join(spans, 3)
}

/// The edge test: the calls of each query are exactly those in the application's graphs. `front`: the service that
/// answers HTTP.
pub(crate) fn each_query_makes_the_calls_of_its_graph(site: &Site, front: &str) {
    let get = |number: u8, path: &str| traced(site, number, Request::get(path));
    let post = |number: u8, path: &str, token: &str, body: Value| {
        traced(site, number, Request::post(path, token, &body))
    };
    let login = post(1, "/api/login", "", json!({"name": "user2", "password": "password-2"}));
    let token = login["token"].as_str().unwrap();
    let page = get(2, "/api/movie/2?reviews=5");
    let review = json!({"title": page["info"]["title"], "text": "Seen twice.", "stars": 9});
    let review = post(3, "/api/review", token, review);
    let rent = post(4, "/api/rent", token, json!({"movie": 2, "key": "edge-test"}));
    assert!(rent["url"].as_str().unwrap().starts_with("/hls/"), "{rent}");
    get(5, "/api/search?q=the&start=0&n=5");
    get(6, "/api/titles?ids=1,2");
    // The write took effect: a stored review is on the page.
    let again = get(7, "/api/movie/2?reviews=5");
    assert_eq!(again["reviews"][0]["review"], review["review"], "{}", again["reviews"]);
    let ask = |number: u8, path: &str| traced(site, number, Request::get_as(path, token));
    assert_eq!(ask(8, "/api/rentals")["rentals"][0]["url"], rent["url"]);
    post(9, "/api/deposit", token, json!({"cents": 500, "key": "edge-test"}));
    assert_eq!(ask(10, "/api/my-reviews")["reviews"][0]["review"], review["review"]);
    let app = site.running.plan().app();
    let spans = site.spans();
    let name = |number: u16| {
        let found = app.services.iter().find(|service| service.number == Some(number));
        found.unwrap_or_else(|| panic!("there is no service {number}"))
    };
    let expect: BTreeMap<u8, &str> = [
        (1, "php>user.login"),
        (
            2,
            "php>compose-page.compose php>ads.pick compose-page>movie-info.read compose-page>plot.read compose-page>thumbnail.read \
             compose-page>rating.read compose-page>cast-info.read compose-page>reviews.page compose-page>photos.read \
             compose-page>videos.read compose-page>movie-recommender.like reviews>movie-review.page reviews>review-storage.readMany",
        ),
        (
            3,
            "php>unique-id.upload php>movie-id.upload php>text.upload php>review-rating.upload php>user.upload \
             unique-id>compose-review.put movie-id>compose-review.put text>compose-review.put review-rating>compose-review.put \
             user>compose-review.put compose-review>review-storage.store compose-review>movie-review.append \
             compose-review>user-review.append movie-review>update-movie.apply",
        ),
        (4, "php>rent-movie.rent rent-movie>videos.read rent-movie>user-auth.check rent-movie>user-auth.charge"),
        (5, "php>search.find"),
        (6, "php>search.titles"),
        (8, "php>rent-movie.account rent-movie>user-auth.balance"),
        (9, "php>rent-movie.deposit rent-movie>user-auth.deposit"),
        (10, "php>user.check php>user-review.page php>review-storage.readMany"),
    ]
    .into();
    let words = |text: &str| {
        let words = text.split_whitespace().map(|word| word.replace("php>", &format!("{front}>")));
        words.collect::<BTreeSet<String>>()
    };
    let seen = || -> BTreeMap<u8, BTreeSet<String>> {
        let word = |Call { span, .. }: &Call| {
            let (caller, callee) = (name(span.service), name(span.peer));
            format!("{}>{}.{}", caller.name, callee.name, callee.methods[usize::from(span.method)])
        };
        let mut seen: BTreeMap<u8, BTreeSet<String>> = BTreeMap::new();
        for request in requests_in(spans) {
            let served = request.root.all();
            let calls = served.iter().flat_map(|served| &served.calls);
            let calls = calls.filter(|call| call.span.kind == SpanKind::Client);
            seen.entry(request.trace.0[0]).or_default().extend(calls.map(word));
        }
        seen
    };
    let is_there = |seen: &BTreeMap<u8, BTreeSet<String>>| {
        expect.iter().all(|(number, text)| seen.get(number).is_some_and(|found| *found == words(text)))
    };
    // Spans are written some 100 ms after the answer.
    let begun = Instant::now();
    let is_late = || begun.elapsed() > Duration::from_secs(60);
    until("the calls of each query are those of its graph", || is_there(&seen()) || is_late());
    let seen = seen();
    for (number, text) in &expect {
        assert_eq!(seen.get(number).cloned().unwrap_or_default(), words(text), "query {number}");
    }
    for request in requests_in(spans) {
        let parts = request.parts();
        let sum: u64 = parts.iter().map(|part| part.time.0).sum();
        assert_eq!(
            sum,
            request.root.span.length().0,
            "the parts of a request are the whole of it: {parts:?}"
        );
    }
}
