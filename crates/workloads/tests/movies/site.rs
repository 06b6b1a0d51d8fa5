//! A site that behaves as the real one promises, except for planted faults.

use std::collections::{BTreeSet, HashMap};

use proto_http::server;

use crate::simulated::{Answer, Answers, page};

/// A planted fault, in place of the right answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Status(u16),
    /// An error page that says 200.
    ErrorPage,
    /// The page, hits or user of something else.
    Other,
    /// JSON that ends before its end.
    Truncated,
    /// The right answer without a part of it.
    Degraded,
    /// Less than its length, and then a close.
    CutOff,
    /// A close instead of an answer.
    Reset,
    /// None.
    Never,
    /// Other bytes.
    Garbage,
}

/// The state of the site.
#[derive(Default)]
pub(crate) struct Logic {
    /// The keys of requests to rent.
    pub(crate) charged: BTreeSet<String>,
    /// Users and films, each charged once.
    pub(crate) rented: BTreeSet<(String, u64)>,
    asked: u64,
    /// The number of the last review.
    reviews: u64,
    /// Each so-many-th request to the interface gets this.
    pub(crate) fault: Option<(u64, Fault)>,
    /// Requests by their kind.
    pub(crate) log: HashMap<&'static str, u64>,
}

/// The title of a film.
pub(crate) fn title(film: u64) -> String {
    format!("Film \"{film}\"")
}

/// Segments of 6 s that a film has.
pub(crate) const SEGMENTS: usize = 5;

impl Answers for Logic {
    fn answer(&mut self, bytes: &[u8]) -> Option<(usize, Option<Answer>)> {
        let (consumed, request) = match server::request(bytes) {
            server::RequestParse::NeedMore => return None,
            server::RequestParse::Done { consumed, request } => (consumed, request),
            server::RequestParse::Malformed(defect) => panic!("{defect}: {}", bytes.escape_ascii()),
        };
        let head = std::str::from_utf8(&bytes[..consumed - request.body.len()]).unwrap();
        let target = request.target.to_owned();
        let body = std::str::from_utf8(request.body).unwrap();
        Some((consumed, self.planted(&target, head, body)))
    }
}

impl Logic {
    fn planted(&mut self, target: &str, head: &str, body: &str) -> Option<Answer> {
        let right = self.right(target, head, body);
        self.asked += u64::from(target.starts_with("/api/"));
        let planted =
            self.fault.filter(|(each, _)| target.starts_with("/api/") && self.asked.is_multiple_of(*each));
        let Some((_, fault)) = planted else { return Some(right) };
        let text = String::from_utf8(right.bytes.clone()).unwrap();
        let content = text.split_once("\r\n\r\n").unwrap().1.to_owned();
        match fault {
            Fault::Never => None,
            Fault::Reset => Some(Answer { bytes: Vec::new(), close: true }),
            Fault::Garbage => Some(Answer { bytes: b"SSH-2.0\r\n".to_vec(), close: false }),
            Fault::Status(status) => Some(page(status, "", r#"{"error":{"code":"X","what":"planted"}}"#)),
            Fault::ErrorPage => Some(page(200, "", "<html>Something went wrong")),
            Fault::Other => {
                let other = content
                    .replace("Film", "Other")
                    .replace("\"user\":", "\"user\":9")
                    .replace("\"review\":", "\"review\":-");
                Some(page(200, "", &other.replace("\"cents\":", "\"cents\":-")))
            }
            Fault::Truncated => Some(page(200, "", &content[..content.len() - 1])),
            Fault::Degraded => {
                Some(page(200, "", &content.replace("\"missing\":[]", "\"missing\":[\"ads\"]")))
            }
            Fault::CutOff => {
                let mut bytes = page(200, "", &format!("{content}more")).bytes;
                bytes.truncate(bytes.len() - 1);
                Some(Answer { bytes, close: true })
            }
        }
    }

    fn right(&mut self, target: &str, head: &str, body: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let json: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let member = head.split_once("Authorization: Bearer t").map(|(_, rest)| rest.lines().next().unwrap());
        let mut count = |what: &'static str| *self.log.entry(what).or_default() += 1;
        if let Some(film) = path.strip_prefix("/api/movie/") {
            count("browse");
            let film: u64 = film.parse().unwrap();
            let title = serde_json::to_string(&title(film)).unwrap();
            let photos = "p".repeat(20_000);
            let body = format!(
                r#"{{"info":{{"movie":{film},"title":{title}}},"photos":["{photos}"],"missing":[]}}"#
            );
            return page(200, "", &body);
        }
        match path {
            "/api/search" => {
                count("search");
                assert!(query.starts_with("q=Film"), "{query}");
                let film: u64 = query.split("%22").nth(1).unwrap().parse().unwrap();
                let title = serde_json::to_string(&title(film)).unwrap();
                page(200, "", &format!(r#"{{"hits":[{{"movie":{film},"title":{title},"year":1}}],"all":1}}"#))
            }
            "/api/login" => {
                count("login");
                let name = json["name"].as_str().unwrap().strip_prefix("user").unwrap();
                assert_eq!(json["password"], format!("password-{}", name.parse::<u64>().unwrap() % 64));
                page(200, "", &format!(r#"{{"token":"t{name}","user":{name},"expires_s":9}}"#))
            }
            "/api/review" => {
                count("review");
                assert!(
                    member.is_some() && json["stars"].as_u64().is_some_and(|stars| (1..=10).contains(&stars))
                );
                self.reviews += 1;
                page(200, "", &format!(r#"{{"review":{}}}"#, self.reviews))
            }
            "/api/rent" => {
                count("rent");
                assert!(self.charged.insert(json["key"].as_str().unwrap().into()), "no key comes twice");
                let (user, film) = (member.unwrap(), json["movie"].as_u64().unwrap());
                let repeated = !self.rented.insert((user.into(), film));
                let (clip, cents) = (1 + film % 4, 199 + 100 * (film % 5));
                let ticket = format!(
                    r#"{{"url":"/hls/s/9/{user}/clip-{clip}/master.m3u8","expires_s":9,"cents":{cents},"balance_cents":1,"repeated":{repeated}}}"#
                );
                page(200, "", &ticket)
            }
            _ if path.starts_with("/hls/s/9/") && path.ends_with("/master.m3u8") => {
                page(200, "", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n240p/i.m3u8\n")
            }
            _ if path.starts_with("/hls/s/9/") && path.ends_with("/240p/i.m3u8") => {
                let lines: String = (0..SEGMENTS).map(|i| format!("#EXTINF:6,\n{i}.ts\n")).collect();
                page(200, "", &format!("#EXTM3U\n{lines}#EXT-X-ENDLIST\n"))
            }
            _ if path.starts_with("/hls/s/9/") && path.contains("/240p/") => {
                page(200, "", &"s".repeat(50_000))
            }
            _ => page(404, "", r#"{"error":{"code":"NOT_FOUND","what":"no such path"}}"#),
        }
    }
}
