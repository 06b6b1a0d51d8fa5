use openloop::{Fault, Moments, Outcome, SendTimes, Step};
use proto_http::Url;
use spec::Popularity;
use spec::workload::{self, Users};
use units::{Nanos, Time};

use super::*;
use crate::movies::{Member, MoviesConfig};

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn config(mix: &str) -> MoviesConfig {
    MoviesConfig {
        url: Some("http://127.0.0.1:8080".parse::<Url>().unwrap()),
        options: workload::Movies {
            users: Users(50),
            films: 3,
            mix: mix.parse().unwrap(),
            popularity: Popularity::Uniform,
            logged_in: 1,
            watch: Nanos::from_secs(30),
            ..workload::Movies::default()
        },
        seed: 7,
    }
}

fn movies(mix: &str) -> Movies {
    let titles = ["Rear Window", "M", "Amélie \"2\""].map(str::to_owned).to_vec();
    let member = Member { user: 4, token: "4.99.ab".into() };
    Movies::new(&Arc::new(Known::new(&config(mix), titles, vec![member], "r1").unwrap()))
}

/// A visit of this query, with its request.
fn visit(movies: &mut Movies, seq: u64) -> (Job, usize, String) {
    let mut parts = Parts::new();
    let operation = movies.draw(seq, &mut parts);
    let (_, mut job) = parts.pop().unwrap();
    let text = asked(movies, &mut job);
    (job, operation, text)
}

fn asked(movies: &mut Movies, job: &mut Job) -> String {
    let mut out = Vec::new();
    movies.request(job, 0, &mut out);
    String::from_utf8(out).unwrap()
}

/// The verdict on an answer of this status and body, in pieces of `piece` bytes.
fn answered(movies: &mut Movies, job: &mut Job, status: u16, body: &[u8], piece: usize) -> Result<(), Fault> {
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
    let all = [head.as_bytes(), body].concat();
    let (mut wire, mut shown, mut next) = (Wire::default(), Vec::new(), 0);
    loop {
        let to = (next + piece).min(all.len());
        shown.extend_from_slice(&all[next..to]);
        next = to;
        match movies.response(job, &mut wire, &shown) {
            Parsed::Partial => assert!(next < all.len(), "the whole answer is not enough"),
            Parsed::Used(used) => drop(shown.drain(..used)),
            Parsed::Done { outcome, .. } => return outcome,
            other => panic!("{other:?}"),
        }
    }
}

fn kind_of(outcome: Result<(), Fault>) -> &'static str {
    outcome.map_or_else(|fault| fault.kind, |()| "right")
}

fn ended(offset: u64, at: u64, outcome: Outcome) -> StepEnd {
    let (intended, done) = (Time(MS(offset).0), Time(MS(at).0));
    let moments = Moments { intended, sent: Some(SendTimes { at: intended, first_byte: done }), done };
    StepEnd { offset: MS(offset), ended: MS(at), outcome, in_window: Some(MS(offset)), moments }
}

#[test]
fn pages_are_those_of_their_films() {
    let mut movies = movies("browse:100");
    let mut seen = [0; 3];
    for seq in 0..60 {
        let (mut job, operation, text) = visit(&mut movies, seq);
        let film = movies.visits[job.visit as usize].film;
        seen[film as usize - 1] += 1;
        assert_eq!(operation, 0);
        assert!(text.starts_with(&format!(
            "GET /api/movie/{film}?start=0&reviews=10 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
        )));
        let title = movies.known.title(film).to_owned();
        let pictures = "x".repeat(50_000);
        let page = |movie: u32, title: &str, missing: &str| {
            let title = serde_json::to_string(title).unwrap();
            format!(
                r#"{{"info":{{"movie":{movie},"title":{title},"year":1954}},"photos":["{pictures}"],"missing":{missing}}}"#
            )
        };
        let mut check = |body: &str, expect: &str| {
            for piece in [usize::MAX / 2, 1 + seq as usize * 97] {
                let outcome = answered(&mut movies, &mut job, 200, body.as_bytes(), piece);
                assert_eq!(kind_of(outcome), expect, "{:.80}", body);
            }
        };
        check(&page(film, &title, "[]"), "right");
        check(&page(film, &title, r#"["ads"]"#), "right");
        check(&page(film % 3 + 1, &title, "[]"), "wrong answer");
        check(&page(film, "Vertigo", "[]"), "wrong answer");
        check(&page(film, &title, "[]").replace("missing", "lacking"), "wrong answer");
        let whole = page(film, &title, "[]");
        check(&whole[..whole.len() - 1], "broken answer");
        check("<html>an error with status 200</html>", "broken answer");
        check("{}", "wrong answer");
    }
    assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
    let answers = movies.counts.answers;
    assert_eq!((answers.pages, answers.degraded), (60 * 4, 60 * 2));
}

#[test]
fn escaped_titles_are_the_same_titles() {
    let mut movies = movies("browse:100");
    let (mut job, ..) = (0..).map(|seq| visit(&mut movies, seq)).find(|(job, ..)| job.visit < 50).unwrap();
    movies.visits[job.visit as usize].film = 3;
    let body = br#"{"info":{"movie":3,"title":"Am\u00e9lie \"2\""},"missing":[]}"#;
    assert_eq!(answered(&mut movies, &mut job, 200, body, 9), Ok(()));
}

#[test]
fn refusals_are_told_with_their_reason() {
    let mut movies = movies("rent:100");
    let (mut job, ..) = visit(&mut movies, 1);
    let body = br#"{"error":{"code":"PAYMENT_REQUIRED","what":"the balance is 5 cents"}}"#;
    let fault = answered(&mut movies, &mut job, 402, body, 1000).unwrap_err();
    assert_eq!(fault.kind, "status 402");
    assert!(
        fault.detail.ends_with("was answered with status 402: the balance is 5 cents"),
        "{}",
        fault.detail
    );
    let fault = answered(&mut movies, &mut job, 502, b"<html>", 1000).unwrap_err();
    assert_eq!((fault.kind, fault.detail.contains("status 502")), ("status 502", true));
}

#[test]
fn other_queries_are_checked_by_what_they_ask_for() {
    let check = |mix: &str, asks: &str, answers: &[(&str, &str)]| {
        let mut movies = movies(mix);
        let (mut job, _, text) = visit(&mut movies, 5);
        let place = job.visit as usize;
        (movies.visits[place].film, movies.visits[place].user, movies.visits[place].lot) = (1, 9, 3);
        let text = if text.is_empty() { text } else { asked(&mut movies, &mut job) };
        assert!(text.contains(asks), "{text}");
        for (body, expect) in answers {
            let outcome = answered(&mut movies, &mut job, 200, body.as_bytes(), 7);
            assert_eq!(kind_of(outcome), *expect, "{body}");
        }
    };
    check(
        "review:100",
        "Content-Length: 86\r\n\r\n{\"stars\":4,\"text\":\"Visit 5 of run r1 gave it 4 of 10.\",\"title\":\"Rear Window\"}"
            .trim_start_matches("Content-Length: 86\r\n\r\n"),
        &[
            (r#"{"review":17}"#, "right"),
            (r#"{"review":17}"#, "wrong answer"),
            (r#"{"review":18}"#, "right"),
            (r#"{"review":0}"#, "wrong answer"),
            (r#"{}"#, "wrong answer"),
        ],
    );
    check("review:100", "Authorization: Bearer 4.99.ab\r\n", &[]);
    check(
        "search:100",
        "GET /api/search?q=Rear+Window&start=0&n=10 ",
        &[
            (r#"{"hits":[{"movie":2,"title":"M"},{"movie":1,"title":"Rear Window"}],"all":2}"#, "right"),
            (r#"{"hits":[{"movie":2,"title":"M"}],"all":1}"#, "right"),
            (r#"{"hits":[{"movie":2,"title":"N"}],"all":1}"#, "wrong answer"),
            (r#"{"hits":[],"all":0}"#, "wrong answer"),
        ],
    );
    check(
        "login:100",
        "{\"name\":\"user9\",\"password\":\"password-9\"}",
        &[
            (r#"{"token":"9.1.a","user":9,"expires_s":1}"#, "right"),
            (r#"{"token":"9.1.a","user":8,"expires_s":1}"#, "wrong answer"),
            (r#"{"token":"","user":9}"#, "wrong answer"),
        ],
    );
    check(
        "rent:100",
        "{\"key\":\"r1-5\",\"movie\":1}",
        &[
            (r#"{"url":"/hls/s/9/4/clip-1/master.m3u8","cents":0,"repeated":false}"#, "wrong answer"),
            (r#"{"url":"http://elsewhere/hls/","cents":299,"repeated":false}"#, "wrong answer"),
            (r#"{"url":"/hls/a b","cents":299,"repeated":false}"#, "wrong answer"),
            (r#"{"url":"/hls/s/9/4/clip-1/master.m3u8","cents":299}"#, "wrong answer"),
            (r#"{"url":"/hls/s/9/4/clip-1/master.m3u8","cents":299,"repeated":false}"#, "right"),
        ],
    );
}

#[test]
fn a_ticket_is_of_who_rents_and_of_the_clip_and_price_of_the_film() {
    let mut movies = movies("rent:100");
    let (mut job, ..) = visit(&mut movies, 5);
    let mut check = |film: u32, url: &str, cents: u32, expect: &str| {
        movies.visits[job.visit as usize].film = film;
        let body = format!(r#"{{"url":"{url}","cents":{cents},"repeated":false}}"#);
        let outcome = answered(&mut movies, &mut job, 200, body.as_bytes(), 7);
        assert_eq!(kind_of(outcome), expect, "{film} {body}");
    };
    check(1, "/hls/s_1-A/9/4/clip-1/master.m3u8", 299, "right");
    check(2, "/hls/s_1-A/9/4/clip-2/master.m3u8", 399, "right");
    check(1, "/hls/s_1-A/9/5/clip-1/master.m3u8", 299, "wrong answer");
    check(1, "/hls/s_1-A/9/44/clip-1/master.m3u8", 299, "wrong answer");
    check(1, "/hls/s_1-A/9/4/clip-2/master.m3u8", 299, "wrong answer");
    check(1, "/hls/s_1-A/9/4/clip-1/master.m3u8", 399, "wrong answer");
    check(1, "/hls/s_1-A/9/4/clip-2/master.m3u8", 399, "wrong answer");
    check(1, "/hls/s_1-A/9/4/clip-1/../clip-2/master.m3u8", 299, "wrong answer");
    check(1, "/hls/s_1-A/9/4/master.m3u8", 299, "wrong answer");
    check(1, "/hls//9/4/clip-1/master.m3u8", 299, "wrong answer");
    check(1, "/hls/s_1-A/x/4/clip-1/master.m3u8", 299, "wrong answer");
    check(1, "/hls/s_1-A/9/4/clip-1/page.html", 299, "wrong answer");
    check(1, "/hls/t/10/4/clip-1/master.m3u8", 299, "right");
    let answers = movies.counts.answers;
    assert_eq!((answers.verified, answers.wrong, answers.rented), (13, 10, 3));
}

/// A site repeats a charge if a process ended after it; the ticket is right.
#[test]
fn a_ticket_of_a_film_that_was_rented_before_is_right_and_counted() {
    let mut movies = movies("rent:100");
    let (mut job, ..) = visit(&mut movies, 5);
    for repeated in [true, false, false] {
        let body = format!(r#"{{"url":"/hls/s/9/4/clip-1/master.m3u8","cents":299,"repeated":{repeated}}}"#);
        assert_eq!(answered(&mut movies, &mut job, 200, body.as_bytes(), 7), Ok(()));
    }
    let next = movies.step_ended(&mut job, &ended(0, 80, Outcome::Completed));
    assert!(matches!(next, Next::Send(_)), "the film is watched: {next:?}");
    assert_eq!(movies.counts.answers.wrong, 0);
    assert!(movies.counters().contains(&("rent_repeated".into(), 1, 3)), "{:?}", movies.counters());
}

/// A rental whose ticket has arrived, and the playlist requested.
fn renting(movies: &mut Movies) -> Job {
    let (mut job, ..) = visit(movies, 3);
    let ticket = br#"{"url":"/hls/s/9/4/clip-1/master.m3u8","cents":299,"repeated":false}"#;
    assert_eq!(answered(movies, &mut job, 200, ticket, 500), Ok(()));
    let next = movies.step_ended(&mut job, &ended(0, 80, Outcome::Completed));
    assert_eq!(next, Next::Send(Step { offset: MS(80), operation: 5 }));
    job
}

#[test]
fn a_rented_film_is_watched_as_a_player_does() {
    let mut movies = movies("rent:100");
    let mut job = renting(&mut movies);
    assert!(asked(&mut movies, &mut job).starts_with("GET /hls/s/9/4/clip-1/master.m3u8 HTTP"));
    let master = b"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n240p/index.m3u8\n";
    assert_eq!(answered(&mut movies, &mut job, 200, master, 5), Ok(()));
    let next = movies.step_ended(&mut job, &ended(80, 90, Outcome::Completed));
    assert_eq!(next, Next::Send(Step { offset: MS(90), operation: 5 }));
    assert!(asked(&mut movies, &mut job).starts_with("GET /hls/s/9/4/clip-1/240p/index.m3u8 HTTP"));
    let variant = b"#EXTM3U\r\n#EXTINF:6,\r\n0.ts\r\n1.ts\r\n2.ts\r\n3.ts\r\n4.ts\r\n5.ts\r\n6.ts\r\n#EXT-X-ENDLIST\r\n";
    assert_eq!(answered(&mut movies, &mut job, 200, variant, 50), Ok(()));
    let mut next = movies.step_ended(&mut job, &ended(90, 100, Outcome::Completed));
    // 30 s are five segments: three at once, and the others once one has been played.
    for (number, due) in [100, 110, 120, 6_100, 12_100].into_iter().enumerate() {
        assert_eq!(next, Next::Send(Step { offset: MS(due), operation: 6 }), "{number}");
        assert!(
            asked(&mut movies, &mut job).starts_with(&format!("GET /hls/s/9/4/clip-1/240p/{number}.ts "))
        );
        assert_eq!(answered(&mut movies, &mut job, 200, b"ts", 50), Ok(()));
        next = movies.step_ended(&mut job, &ended(due, due + 10, Outcome::Completed));
    }
    assert_eq!(next, Next::End);
    let segments = movies.counts.segments;
    assert_eq!((segments.due, segments.missed), (5, 0));
    let startup = &movies.distributions()[0];
    assert_eq!((startup.name.as_str(), startup.values.count()), ("startup", 1));
    let delay = startup.values.max().unwrap();
    assert!((109..=111).contains(&(delay.0 / 1_000_000)), "{delay}");
}

#[test]
fn a_film_that_does_not_come_loses_its_segments() {
    let mut movies = movies("rent:100");
    let mut job = renting(&mut movies);
    let mut next = movies.step_ended(&mut job, &ended(80, 2_080, Outcome::Timeout));
    let mut lost = 0;
    while let Next::Lose(Step { offset, operation }) = next {
        assert_eq!(operation, 6);
        lost += 1;
        let at = offset.0 / 1_000_000;
        next = movies.step_ended(&mut job, &ended(at, at, Outcome::Error));
    }
    assert_eq!((next, lost), (Next::End, 5));
    let segments = movies.counts.segments;
    assert_eq!((segments.due, segments.missed), (5, 5));
    let startup = movies.distributions()[0].values.clone();
    assert!(startup.count() == 1 && startup.max().unwrap() >= Nanos::from_secs(29), "{startup:?}");
    // Its place is used again.
    let (mut again, ..) = visit(&mut movies, 4);
    assert_eq!(again, job);
    // Also for a visit whose next step would be due after the load.
    movies.dropped(&mut again);
    assert_eq!(visit(&mut movies, 5).0, job);
}

#[test]
fn segments_that_are_late_are_misses_and_others_follow() {
    let mut movies = movies("rent:100");
    let mut job = renting(&mut movies);
    answered(&mut movies, &mut job, 200, b"#EXTM3U\nv.m3u8\n", 50).unwrap();
    movies.step_ended(&mut job, &ended(80, 90, Outcome::Completed));
    answered(&mut movies, &mut job, 200, b"#EXTM3U\n0\n1\n2\n3\n", 50).unwrap();
    movies.step_ended(&mut job, &ended(90, 100, Outcome::Completed));
    movies.step_ended(&mut job, &ended(100, 110, Outcome::Completed));
    // Due at 110 ms and to be shown at 6100 ms.
    let next = movies.step_ended(&mut job, &ended(110, 6_200, Outcome::Completed));
    assert!(matches!(next, Next::Send(Step { operation: 6, .. })), "{next:?}");
    movies.step_ended(&mut job, &ended(6_200, 6_300, Outcome::Timeout));
    // The film has four.
    assert_eq!(movies.step_ended(&mut job, &ended(6_300, 6_400, Outcome::Completed)), Next::End);
    let segments = movies.counts.segments;
    assert_eq!((segments.due, segments.missed), (4, 2));
}

#[test]
fn playlists_that_lead_elsewhere_are_broken() {
    let check = |body: &[u8], expect: &str| {
        let mut movies = movies("rent:100");
        let mut job = renting(&mut movies);
        assert_eq!(kind_of(answered(&mut movies, &mut job, 200, body, 11)), expect, "{body:?}");
    };
    check(b"#EXTM3U\n240p/index.m3u8\n", "right");
    check(b"#EXTM3U\nhttp://elsewhere/x.m3u8\n", "broken answer");
    check(b"#EXTM3U\n/etc/x.m3u8\n", "broken answer");
    check(b"#EXTM3U\n\xff\n", "broken answer");
    check(b"#EXTM3U\n", "broken answer");
    check(b"<html>", "broken answer");
    check(&[b"#EXTM3U\n".as_slice(), &vec![b'a'; 70_000], b"\n"].concat(), "broken answer");
}

/// Visitors of whose queries these are traced.
fn traced(mix: &str, sampling: &str) -> Movies {
    let movies = movies(mix);
    let mut known = Known::clone(&movies.known);
    known.config.options.trace = sampling.parse().unwrap();
    Movies::new(&Arc::new(known))
}

/// The headers `traceparent` of the first 10 000 visits, by visit.
fn parents(mut movies: Movies) -> Vec<Option<String>> {
    let parent = |(.., text): (Job, usize, String)| {
        let line = text.lines().find_map(|line| line.strip_prefix("traceparent: "));
        line.map(str::to_owned)
    };
    (0..10_000).map(|seq| parent(visit(&mut movies, seq))).collect()
}

#[test]
fn one_query_in_so_many_is_traced_and_the_same_ones_each_time() {
    let mix = "browse:50,review:20,search:10,rent:10,login:10";
    let count = |all: &[Option<String>]| all.iter().flatten().count();
    assert_eq!(count(&parents(traced(mix, "off"))), 0);
    let tenth = parents(traced(mix, "1/10"));
    // Three standard deviations of 1000 of 10 000 are 90.
    assert!(count(&tenth).abs_diff(1_000) < 91, "{}", count(&tenth));
    assert_eq!(parents(traced(mix, "1/10")), tenth);
    let all = parents(traced(mix, "1/1"));
    assert_eq!(count(&all), 10_000);
    let distinct: std::collections::BTreeSet<&String> = all.iter().flatten().collect();
    assert_eq!(distinct.len(), 10_000);
    for parent in &distinct {
        let parts: Vec<&str> = parent.split('-').collect();
        let [version, trace, span, flags] = parts[..] else { panic!("{parent}") };
        assert_eq!((version, trace.len(), span.len(), flags), ("00", 32, 16, "01"), "{parent}");
        assert!(
            parent.bytes().all(|byte| byte == b'-' || matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
            "{parent}"
        );
    }
    // Films, users and words requested are the same with and without tracing.
    let (mut with, mut without) = (traced(mix, "1/2"), movies(mix));
    for seq in 0..200 {
        let strip = |text: String| -> String {
            text.split_inclusive("\r\n").filter(|line| !line.starts_with("traceparent: ")).collect()
        };
        assert_eq!(strip(visit(&mut with, seq).2), strip(visit(&mut without, seq).2), "{seq}");
    }
}

#[test]
fn a_traced_query_is_kept_and_its_stream_is_not() {
    let mut movies = traced("rent:100", "1/1");
    let (mut job, _, text) = visit(&mut movies, 0);
    let ticket =
        r#"{"url":"/hls/s/9/4/c/master.m3u8","expires_s":9,"cents":299,"balance_cents":1,"repeated":false}"#;
    answered(&mut movies, &mut job, 200, ticket.as_bytes(), 40).unwrap();
    movies.step_ended(&mut job, &ended(0, 80, Outcome::Completed));
    assert!(!asked(&mut movies, &mut job).contains("traceparent"), "a playlist is not traced");
    movies.step_ended(&mut job, &ended(80, 90, Outcome::Error));
    let before_the_window = StepEnd { in_window: None, ..ended(0, 5, Outcome::Completed) };
    let (mut early, ..) = visit(&mut movies, 1);
    movies.step_ended(&mut early, &before_the_window);
    let [one] = &movies.take_traced()[..] else { panic!("one query was due in the window") };
    let moments = Moments { done: Time(MS(80).0), ..one.moments };
    assert_eq!((one.operation, one.bytes, one.outcome), (3, ticket.len() as u64, Outcome::Completed));
    assert_eq!((one.moments, one.service_time()), (moments, Some(MS(80))));
    let trace: String = one.trace.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(text.contains(&format!("traceparent: 00-{trace}-{:016x}-01\r\n", one.span)), "{text}");
    assert!(movies.take_traced().is_empty(), "once");
}

#[test]
fn the_mix_is_kept_within_a_point() {
    let mut movies = movies("browse:80,review:8,search:6,rent:4,login:2");
    let mut counts = [0u32; 5];
    for seq in 0..10_000 {
        let (mut job, operation, _) = visit(&mut movies, seq);
        counts[operation] += 1;
        movies.step_ended(&mut job, &ended(0, 1, Outcome::Error));
    }
    let expect = [80.0, 8.0, 6.0, 4.0, 2.0];
    for (count, expect) in counts.iter().zip(expect) {
        assert!((f64::from(*count) / 100.0 - expect).abs() < 1.0, "{counts:?}");
    }
    let listed = movies.counters();
    assert!(listed.contains(&("mix.browse".into(), counts[0].into(), 10_000)), "{listed:?}");
}

proptest::proptest! {
    #[test]
    fn no_answer_makes_it_panic(body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), seq in 0u64..50, status in 200u16..206) {
        let mut movies = movies("browse:20,review:20,search:20,rent:20,login:20");
        let (mut job, ..) = visit(&mut movies, seq);
        let _ = answered(&mut movies, &mut job, status, &body, 13);
    }
}
