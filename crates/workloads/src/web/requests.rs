use std::sync::Arc;

use dist::{KeySampler, Purpose, Rng, Streams};
use openloop::{Closed, Parsed, Parts, Then, Unasked, Workload};
use proto_http::{Template, Url};
use rand::RngExt;
use units::ParseError;

use crate::unasked::of_http;
use crate::web::answers::{Judge, WebCounts, Wire};
use crate::web::{Body, Pages, Verify, WebConfig};

/// One generator thread's requests to web servers.
///
/// Shape: this file draws and writes them, `answers.rs` judges the answers.
/// Cost: no allocation for a request that succeeds.
pub struct Web {
    pub(super) pages: Arc<Checked>,
    /// One for each server.
    templates: Vec<Template>,
    sampler: KeySampler,
    rng: Rng,
    server_rng: Rng,
    pub(super) judge: Judge,
    pub(super) counts: WebCounts,
}

/// The pages requested, and their known content; shared by all threads.
#[derive(Debug)]
pub struct Checked {
    pub(super) pages: Pages,
    /// The checksum of each page, if contents are checked.
    pub(super) checksums: Vec<u64>,
}

impl Checked {
    /// The pages of a configuration. Cost: with checksums, that of computing the content of all files.
    pub fn new(config: &WebConfig) -> Checked {
        let checksums =
            if config.verify() == Verify::Checksum { config.pages.checksums() } else { Vec::new() };
        Checked { pages: config.pages.clone(), checksums }
    }
}

/// The state of a request from its draw to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    pub(super) page: u64,
    pub(super) server: u16,
    /// Whether the request asks the server to close the connection after it.
    pub(super) last: bool,
}

/// The purpose of the stream that picks servers.
const SERVERS: Purpose = Purpose::Other(3);

impl Web {
    /// The requests of thread `thread`, of all machines' threads.
    ///
    /// Errors: a configuration that cannot be, or without a server.
    pub fn new(config: &WebConfig, pages: Arc<Checked>, thread: u32) -> Result<Web, ParseError> {
        config.check()?;
        let streams = Streams::new(config.seed);
        let stream = |purpose| streams.stream(purpose, u64::from(thread));
        let sampler = KeySampler::new(config.options.popularity, config.pages.count())?;
        Ok(Web {
            templates: templates(config),
            sampler: sampler.scattered(config.pages.scatter()),
            rng: stream(Purpose::Keys),
            server_rng: stream(SERVERS),
            judge: Judge::new(config),
            counts: WebCounts::default(),
            pages,
        })
    }

    #[inline]
    pub(super) fn path(&self, page: u64) -> impl FnOnce(&mut Vec<u8>) {
        move |out| self.pages.pages.append_path(page, out)
    }
}

/// The requests to each server.
pub(super) fn templates(config: &WebConfig) -> Vec<Template> {
    let (method, headers) = (&config.options.method, &config.options.header);
    let template =
        |url: &Url| Template::new(method, &url.host_field(), prefix(config, url), headers, body(config));
    config.urls.iter().map(template).collect()
}

/// The body of requests. A server waits for that of some methods unless a length of 0 is given.
pub(super) fn body(config: &WebConfig) -> Option<&[u8]> {
    let needs = ["POST", "PUT", "PATCH"].contains(&config.options.method.to_string().as_str());
    config.body.as_ref().map(Body::content).or(needs.then_some(&b""[..]))
}

/// The beginning of the paths at a server.
pub(super) fn prefix<'a>(config: &WebConfig, url: &'a Url) -> &'a str {
    match config.pages {
        Pages::One if url.path.is_empty() => "/",
        Pages::One => &url.path,
        _ => url.path.trim_end_matches('/'),
    }
}

impl Workload for Web {
    type Job = Job;
    type Wire = Wire;

    fn operations(&self) -> Vec<String> {
        vec![self.judge.operation()]
    }

    fn draw(&mut self, _: u64, parts: &mut Parts<Job>) -> usize {
        let page = self.sampler.sample(&mut self.rng, self.pages.pages.count());
        let servers = self.templates.len();
        let server = if servers > 1 { self.server_rng.random_range(0..servers) } else { 0 };
        parts.push(server, Job { page, server: server as u16, last: false });
        0
    }

    fn request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        job.last = false;
        self.templates[usize::from(job.server)].write(self.path(job.page), out);
    }

    fn last_request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        job.last = true;
        self.templates[usize::from(job.server)].write_last(self.path(job.page), out);
    }

    fn response(&mut self, job: &mut Job, wire: &mut Wire, bytes: &[u8]) -> Parsed<Job> {
        self.judge.read(&self.pages, *job, wire, bytes, &mut self.counts)
    }

    fn unasked(&self, bytes: &[u8]) -> Unasked {
        of_http(bytes)
    }

    fn closed(&mut self, job: &mut Job, wire: &mut Wire) -> Option<Closed<Job>> {
        let outcome = self.judge.closed(&self.pages, *job, wire, &mut self.counts)?;
        Some((outcome, Then::Close))
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        self.counts.list(self.judge.verifies())
    }

    fn window_opens(&mut self) {
        self.counts = WebCounts::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::config::tests::{config, with};
    use dist::Popularity;
    use spec::workload;

    fn web(config: &WebConfig, thread: u32) -> Web {
        Web::new(config, Arc::new(Checked::new(config)), thread).unwrap()
    }

    /// The first requests of a thread, as they are written.
    fn written(config: &WebConfig, thread: u32, count: u64) -> Vec<String> {
        let mut web = web(config, thread);
        let mut parts = Parts::new();
        (0..count)
            .map(|seq| {
                web.draw(seq, &mut parts);
                let (_, mut job) = parts.pop().unwrap();
                let mut out = Vec::new();
                web.request(&mut job, 0, &mut out);
                String::from_utf8(out).unwrap()
            })
            .collect()
    }

    #[test]
    fn golden_bytes() {
        let two = written(&config(), 0, 2);
        assert_eq!(two, written(&config(), 0, 2), "one seed, the same requests");
        assert_ne!(written(&config(), 0, 20), written(&config(), 1, 20), "each thread has its own");
        for request in &two {
            assert!(request.starts_with("GET /x/000/0000"), "{request}");
            assert!(request.ends_with(".txt HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n\r\n"), "{request}");
        }
        let one = WebConfig { pages: Pages::One, ..config() };
        assert_eq!(written(&one, 0, 1), ["GET /x/ HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n\r\n"]);
        let root = WebConfig { urls: vec!["http://h".parse().unwrap()], ..one };
        assert_eq!(written(&root, 0, 1), ["GET / HTTP/1.1\r\nHost: h\r\n\r\n"]);
        let options = workload::Web { method: "POST".parse().unwrap(), ..Default::default() };
        let post = WebConfig { options, ..root };
        assert_eq!(written(&post, 0, 1), ["POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"]);
        let form = WebConfig { body: Some(Body::new("f", b"a=b".to_vec()).unwrap()), ..post };
        assert_eq!(written(&form, 0, 1), ["POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na=b"]);
    }

    #[test]
    fn the_last_request_of_a_connection_says_so() {
        let (mut web, mut out) = (web(&config(), 0), Vec::new());
        web.last_request(&mut Job { page: 1, server: 0, last: false }, 0, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.ends_with("Host: 10.0.0.1:8080\r\nConnection: close\r\n\r\n"), "{text}");
    }

    #[test]
    fn popular_pages_are_the_same_for_all_seeds_and_threads() {
        let config = with(|options| options.popularity = Popularity::zipf(0.99).unwrap());
        let favourite = |seed: u64, thread: u32| {
            let requests = written(&WebConfig { seed, ..config.clone() }, thread, 2_000);
            let mut counts = std::collections::HashMap::new();
            requests.iter().for_each(|request| *counts.entry(request.clone()).or_insert(0) += 1);
            let (request, count) = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
            // 1 / (Σ k^−0.99 over 100) is 0.19.
            assert!((250..550).contains(&count), "{count} of 2000");
            request
        };
        assert_eq!(favourite(1, 0), favourite(2, 3));
    }

    #[test]
    fn several_servers_share_the_load() {
        let urls = ["http://a/", "http://b/"].map(|url| url.parse().unwrap()).to_vec();
        let requests = written(&WebConfig { urls, ..config() }, 0, 400);
        let first = requests.iter().filter(|request| request.contains("Host: a\r\n")).count();
        assert!((140..260).contains(&first), "{first} of 400");
    }
}
