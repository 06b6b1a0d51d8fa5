//! The movie application as a whole, where its programs are built: `taillight movies build`; as services of eight languages, as services
//! in Java, and as one program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use app::{App, Plan, Running};
use traces::{Request, SpanFile, edges, join};

/// The status and the body of an answer.
fn asked(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), body.to_owned())
}

fn get(address: &str, path: &str) -> (u16, String) {
    asked(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"))
}

/// Each starts up to 50 processes, so that they follow each other.
static ALONE: Mutex<()> = Mutex::new(());

/// A site that runs.
struct Site {
    running: Running,
    app: Arc<App>,
    address: String,
    spans: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Site {
    /// The application `name`, with a small data set; `None`, once it is said why, where it cannot be started here.
    fn start(name: &str) -> Option<Site> {
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let skip = |why: String| println!("skipped: {why}");
        let mut plan = Plan::new(Arc::new(app::of_name(name).unwrap()), Path::new("/no/such/taillight"));
        // Where `cargo xtask ci` makes them.
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/movies");
        if made.is_dir() {
            plan.built = vec![made.canonicalize().unwrap()];
        }
        let missing = plan.app().not_built(&plan.built);
        if !missing.is_empty() {
            skip(format!("not built: {missing:?}; `taillight movies build` does"));
            return None;
        }
        // Small, so that it is made within a minute. A page on a busy machine is to have its advertisements, too.
        plan.set(&["users=200", "movies=20", "clips=1", "web.instances=1", "ads_deadline_ms=1000"]).unwrap();
        match plan.make_data_set(&mut |_| true) {
            Err(error) => {
                skip(error.to_string());
                return None;
            }
            Ok(folder) => assert!(folder.unwrap().join("manifest.json").exists()),
        }
        let spans = tempfile::tempdir().unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(spans.path(), all).unwrap();
        plan.spans = Some(spans.path().into());
        let app = Arc::new(plan.app().clone());
        let running = match plan.start() {
            Err(app::Error::Launch(error @ launch::Error::NotFound { .. })) => {
                skip(error.to_string());
                return None;
            }
            started => started.unwrap_or_else(|e| panic!("{e}")),
        };
        let address = running.address(None);
        Some(Site { running, app, address, spans, _alone: alone })
    }

    /// Asks it all that the HTTP interface promises.
    fn keeps_the_contract(&self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/movies/contract/over_http.py");
        let asked =
            Command::new("python3").arg(script).arg(format!("http://{}", self.address)).output().unwrap();
        let said = String::from_utf8_lossy(&asked.stdout);
        assert!(asked.status.success(), "{said}{}", String::from_utf8_lossy(&asked.stderr));
        println!("{}", said.lines().last().unwrap_or_default());
    }
}

#[test]
fn the_site_answers_and_each_service_counts() {
    let Some(mut site) = Site::start("movies") else { return };
    assert_eq!(get(&site.address, "/").0, 200);
    let (status, page) = get(&site.address, "/api/movie/1?reviews=5");
    assert_eq!(status, 200, "{page}");
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert_eq!(
        (page["info"]["movie"].as_u64(), &page["missing"]),
        (Some(1), &serde_json::json!([])),
        "{page}"
    );
    each_query_makes_the_calls_of_its_graph(&site, "php");
    each_service_counts(&mut site);
    site.keeps_the_contract();
    assert_eq!(site.running.gone(), None);
}

#[test]
fn the_same_services_in_java_are_the_same_site() {
    let Some(mut site) = Site::start("movies-java") else { return };
    site.keeps_the_contract();
    each_query_makes_the_calls_of_its_graph(&site, "front");
    each_service_counts(&mut site);
    assert_eq!(site.running.gone(), None);
}

#[test]
fn one_program_is_the_same_site() {
    let Some(mut site) = Site::start("movies-monolith") else { return };
    site.keeps_the_contract();
    traced(&site.address, 9, "GET", "/api/movie/3?reviews=3", "", "");
    let is_mine = |request: &Request| request.trace.0[0] == 9;
    let begun = Instant::now();
    let request = loop {
        if let Some(found) = requests_in(site.spans.path()).into_iter().find(is_mine) {
            break found;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "there is no span of a request that was traced");
        sleep(Duration::from_millis(50));
    };
    // Its own work, and that of caches and databases.
    assert_eq!((request.root.span.service, request.root.span.method), (3, 0));
    assert!(
        request.root.calls.iter().all(|call| (32..=37).contains(&call.span.peer) && call.served.is_none())
    );
    assert!(request.root.calls.iter().any(|call| call.span.peer == 32), "the page of a film asks its cache");
    let sum: u64 = request.parts().iter().map(|part| part.time.0).sum();
    assert_eq!(sum, request.root.span.length().0);
    let counters = site.running.counters("monolith").unwrap().unwrap();
    assert!(counters["requests"] > 100.0 && counters["spans"] >= 1.0, "{counters:?}");
    assert_eq!(site.running.gone(), None);
}

/// Those that answer calls of Thrift's.
fn each_service_counts(site: &mut Site) {
    let counted: Vec<String> = site
        .running
        .services()
        .filter(|one| one.service.interface.is_some())
        .map(|one| one.service.name.clone())
        .collect();
    assert_eq!(counted.len(), 24);
    for name in counted {
        let counters = site.running.counters(&name).unwrap_or_else(|e| panic!("{name}: {e}")).unwrap();
        assert!(counters.contains_key("requests"), "{name}: {counters:?}");
    }
}

/// A request that is traced, under this number.
fn traced(address: &str, number: u8, method: &str, path: &str, token: &str, body: &str) -> serde_json::Value {
    let trace = format!("{number:02x}").repeat(16);
    let token = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\ntraceparent: 00-{trace}-00000000000000ff-01\r\n\
         {token}X-Requested-With: movies\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, answer) = asked(address, &request);
    assert_eq!(status, 200, "{path}: {answer}");
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{path}: {error}: {answer}"))
}

/// The requests of which the span of what answers HTTP and of all that it called have been written.
fn requests_in(folder: &Path) -> Vec<Request> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    // A process that has served nothing traced yet may not have begun its file.
    let spans = files.filter_map(|bytes| SpanFile::read(&bytes).ok()).flat_map(|file| file.spans);
    join(spans, 3).0
}

/// The edge test: who calls whom for each query is what the graphs of the application say, and nothing else. `front`: what answers HTTP.
fn each_query_makes_the_calls_of_its_graph(site: &Site, front: &str) {
    let (address, app, spans) = (site.address.as_str(), &*site.app, site.spans.path());
    let ask =
        |number, method, path, token: &str, body: String| traced(address, number, method, path, token, &body);
    let user = r#"{"name":"user2","password":"password-2"}"#.to_owned();
    let login = ask(1, "POST", "/api/login", "", user);
    let token = login["token"].as_str().unwrap();
    let page = ask(2, "GET", "/api/movie/2?reviews=5", "", String::new());
    let title = &page["info"]["title"];
    let review = serde_json::json!({"title": title, "text": "Seen twice.", "stars": 9}).to_string();
    let review = ask(3, "POST", "/api/review", token, review);
    let rent = ask(4, "POST", "/api/rent", token, r#"{"movie":2,"key":"edge-test"}"#.into());
    assert!(rent["url"].as_str().unwrap().starts_with("/hls/"), "{rent}");
    ask(5, "GET", "/api/search?q=the&start=0&n=5", "", String::new());
    ask(6, "GET", "/api/titles?ids=1,2", "", String::new());
    // What was answered is there: a review that is stored is on the page.
    let again = ask(7, "GET", "/api/movie/2?reviews=5", "", String::new());
    assert_eq!(again["reviews"][0]["review"], review["review"], "{}", again["reviews"]);
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
    ]
    .into();
    let words = |text: &str| {
        let words = text.split_whitespace().map(|word| word.replace("php>", &format!("{front}>")));
        words.collect::<BTreeSet<String>>()
    };
    let seen = || -> BTreeMap<u8, BTreeSet<String>> {
        let of = |request: &Request| {
            let word = |edge: &traces::Edge| {
                let (caller, callee) = (name(edge.caller), name(edge.callee));
                format!("{}>{}.{}", caller.name, callee.name, callee.methods[usize::from(edge.method)])
            };
            (request.trace.0[0], edges([request]).keys().map(word).collect())
        };
        requests_in(spans).iter().map(of).collect()
    };
    let is_there = |seen: &BTreeMap<u8, BTreeSet<String>>| {
        expect.iter().all(|(number, text)| seen.get(number).is_some_and(|found| *found == words(text)))
    };
    // Spans are written some 100 ms after the answer.
    let begun = Instant::now();
    while !is_there(&seen()) && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(50));
    }
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
