use proto_http::server::{RequestParse, request};

use super::*;

fn catalog() -> Catalog {
    Catalog::new(&"10x1/64".parse().unwrap(), 1).unwrap()
}

/// The head and the complete body of the answer to a client's text.
fn answered(catalog: &Catalog, text: &str, fault: Option<Fault>) -> (String, Vec<u8>, Answer) {
    let RequestParse::Done { request, .. } = request(text.as_bytes()) else { panic!("{text}") };
    let answer = answer(catalog, &request, fault, || "{\"answers\": 5}\n".into());
    let mut body = vec![0; answer.body.left() as usize];
    answer.body.clone().fill(&mut body);
    (String::from_utf8(answer.head.clone()).unwrap(), body, answer)
}

fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n{fields}\r\n")
}

const FILE: &str = "/v000003/480p.bin";

fn whole(catalog: &Catalog) -> Vec<u8> {
    let mut content = catalog.content(3, 2);
    let mut bytes = vec![0; content.left() as usize];
    content.fill(&mut bytes);
    bytes
}

#[test]
fn a_range_is_answered_with_its_bytes() {
    let catalog = catalog();
    let whole = whole(&catalog);
    let size = whole.len();
    let check = |range: &str, first: usize, last: usize| {
        let (head, body, answer) = answered(&catalog, &get(FILE, &format!("Range: {range}\r\n")), None);
        assert!(head.starts_with("HTTP/1.1 206 Partial Content\r\n"), "{head}");
        let length = last - first + 1;
        for line in [
            format!("\r\nContent-Range: bytes {first}-{last}/{size}\r\n"),
            format!("\r\nContent-Length: {length}\r\n"),
            "\r\nAccept-Ranges: bytes\r\n".into(),
        ] {
            assert!(head.contains(&line), "{line} {head}");
        }
        assert!(head.ends_with("\r\n\r\n") && head.matches("\r\n\r\n").count() == 1);
        assert!(body == whole[first..=last], "{range}");
        assert_eq!((answer.ending, answer.delay, answer.rate), (Ending::Stay, Nanos::ZERO, None));
    };
    check("bytes=0-0", 0, 0);
    check("bytes=100-199", 100, 199);
    check("bytes=0-99999999999", 0, size - 1);
    check("bytes=100-", 100, size - 1);
    check("bytes=-5", size - 5, size - 1);
}

#[test]
fn what_asks_for_no_part_gets_the_whole() {
    let catalog = catalog();
    let whole = whole(&catalog);
    for fields in
        ["", "Range: bytes=0-1,5-6\r\n", "Range: bytes=5-2\r\n", "Range: bytes=0-9\r\nIf-Range: \"x\"\r\n"]
    {
        let (head, body, _) = answered(&catalog, &get(FILE, fields), None);
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n") && !head.contains("Content-Range"),
            "{fields}: {head}"
        );
        assert!(body == whole, "{fields}");
    }
    let (head, ..) = answered(&catalog, &get(FILE, ""), None);
    let tag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap();
    let fields = format!("Range: bytes=0-9\r\nIf-Range: {tag}\r\n");
    assert!(answered(&catalog, &get(FILE, &fields), None).0.starts_with("HTTP/1.1 206 "));
}

#[test]
fn each_path_has_its_status_and_kind() {
    let catalog = catalog();
    let check = |path: &str, status: &str, kind: &str| {
        let (head, body, _) = answered(&catalog, &get(path, ""), None);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{path}: {head}");
        assert!(head.contains(&format!("\r\nContent-Type: {kind}\r\n")), "{path}: {head}");
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{path}: {head}");
        String::from_utf8_lossy(&body).into_owned()
    };
    let playlists = "application/vnd.apple.mpegurl";
    assert_eq!(check("/v000003/master.m3u8", "200 OK", playlists), catalog.master(3));
    assert_eq!(check("/v000003/360p.m3u8?a=b", "200 OK", playlists), catalog.playlist(3, 1));
    assert_eq!(check("http://h:80/v000003/360p.m3u8", "200 OK", playlists), catalog.playlist(3, 1));
    check("/videos.json", "200 OK", "application/json");
    assert_eq!(check("/.status", "200 OK", "application/json"), "{\"answers\": 5}\n");
    assert!(check("/", "200 OK", "text/html; charset=utf-8").contains("10x1/64 of seed 1"));
    for path in [
        "/v000010/240p.bin",
        "/v000003",
        "/v000003/",
        "/../etc/passwd",
        "/v000003/../v000002/240p.bin",
        "/%2e%2e/etc/passwd",
        "/v000003/240p.bin/",
        "//v000003/240p.bin",
        "*",
    ] {
        check(path, "404 Not Found", "text/plain");
    }
    check("http://h", "200 OK", "text/html; charset=utf-8");
}

#[test]
fn what_cannot_be_answered_says_why() {
    let catalog = catalog();
    let size = whole(&catalog).len();
    let (head, body, _) = answered(&catalog, &get(FILE, &format!("Range: bytes={size}-\r\n")), None);
    assert!(
        head.starts_with("HTTP/1.1 416 ") && head.contains(&format!("Content-Range: bytes */{size}\r\n"))
    );
    assert!(body.is_empty());
    let post = format!("POST {FILE} HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab");
    let (head, ..) = answered(&catalog, &post, None);
    assert!(head.starts_with("HTTP/1.1 405 ") && head.contains("\r\nAllow: GET, HEAD\r\n"), "{head}");
    let check = |defect: Defect, status: &str| {
        let answer = refused(defect);
        let head = String::from_utf8(answer.head).unwrap();
        assert!(head.starts_with(status) && head.contains("Connection: close"), "{head}");
        assert_eq!(answer.ending, Ending::Close);
    };
    check(Defect::HeadTooLong, "HTTP/1.1 431 ");
    check(Defect::NotHttp, "HTTP/1.1 400 ");
}

#[test]
fn a_head_is_answered_without_its_body() {
    let catalog = catalog();
    for path in [FILE, "/videos.json", "/", "/nothing"] {
        let (of_get, body, _) = answered(&catalog, &get(path, ""), None);
        let (of_head, nothing, _) = answered(&catalog, &get(path, "").replace("GET", "HEAD"), None);
        assert_eq!(of_get, of_head, "{path}");
        assert!(!body.is_empty() && nothing.is_empty());
    }
}

#[test]
fn a_connection_stays_or_ends_as_the_client_says() {
    let catalog = catalog();
    let check = |text: &str, ending: Ending, line: Option<&str>| {
        let (head, _, answer) = answered(&catalog, text, None);
        assert_eq!(answer.ending, ending, "{text}");
        let found = head.lines().find(|found| found.starts_with("Connection:"));
        assert_eq!(found, line, "{text}");
    };
    check("GET / HTTP/1.1\r\n\r\n", Ending::Stay, None);
    check("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", Ending::Close, Some("Connection: close"));
    check("GET / HTTP/1.0\r\n\r\n", Ending::Close, Some("Connection: close"));
    check("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", Ending::Stay, Some("Connection: keep-alive"));
}

#[test]
fn faults_show_in_the_answer() {
    let catalog = catalog();
    let whole = whole(&catalog);
    let with = |fault: Fault| answered(&catalog, &get(FILE, "Range: bytes=100-199\r\n"), Some(fault));
    let (plain, body, _) = answered(&catalog, &get(FILE, "Range: bytes=100-199\r\n"), None);
    let check = |fault: Fault, expect: Ending| {
        let (head, found, answer) = with(fault);
        assert_eq!((&head, &found, answer.ending), (&plain, &body, expect), "{fault:?}");
        answer
    };
    assert_eq!(check(Fault::Delay(Nanos(5)), Ending::Stay).delay, Nanos(5));
    assert_eq!(check(Fault::Trickle(Bytes(7)), Ending::Stay).rate, Some(Bytes(7)));
    assert_eq!(check(Fault::Garbled, Ending::Stay).garbled, Some(50));
    check(Fault::Reset, Ending::Reset(50));
    check(Fault::Cut, Ending::Cut(50));
    let (head, found, _) = with(Fault::Unavailable);
    assert!(head.starts_with("HTTP/1.1 503 ") && found.is_empty());
    assert!(with(Fault::Gone).0.starts_with("HTTP/1.1 404 "));
    let (head, found, _) = with(Fault::WrongRange);
    assert!(head.contains("Content-Range: bytes 101-200/") && found == whole[101..=200], "{head}");
    let (head, found, _) = with(Fault::Whole);
    assert!(head.starts_with("HTTP/1.1 200 ") && found == whole);
    // At the end of the file no further byte exists.
    let last = format!("Range: bytes={}-\r\n", whole.len() - 10);
    let (head, found, _) = answered(&catalog, &get(FILE, &last), Some(Fault::WrongRange));
    let first = whole.len() - 11;
    assert!(head.contains(&format!("Content-Range: bytes {first}-")) && found == whole[first..first + 10]);
}

#[test]
fn only_parts_of_videos_are_media() {
    let catalog = catalog();
    let check = |text: &str, expect: bool| {
        let RequestParse::Done { request, .. } = request(text.as_bytes()) else { panic!("{text}") };
        assert_eq!(media(&catalog, &request).is_some(), expect, "{text}");
    };
    check(&get(FILE, ""), true);
    check(&get(FILE, "Range: bytes=0-9\r\n"), true);
    check(&get("/v000003/480p.m3u8", ""), false);
    check(&get("/v000003/481p.bin", ""), false);
    check(&get(FILE, "").replace("GET", "HEAD"), false);
}
