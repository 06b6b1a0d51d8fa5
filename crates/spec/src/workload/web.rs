use std::path::{Path, PathBuf};

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::facts::{Facts, MadeFiles, OwnFile};
use super::{Files, Header, Method};
use crate::Popularity;
use crate::defaults::default_options;
use crate::text::{exact_or_none, list, number, words};

/// The web workload: requests to a web server, over HTTP/1.1 or HTTP/2.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Web workload")]
#[serde(default, rename_all = "kebab-case")]
pub struct Web {
    /// The files of a set, below the target: 100000x4KiB, 20000xweb; as taillight fileset makes them [default: the
    /// target's URL itself].
    #[arg(long, value_name = "FILES", conflicts_with_all = ["file_set", "urls"])]
    #[schemars(extend("x-source" = "ours, because what lies on a server that runs is not known; IISWC'17 §III-B has 100 000 files of 4 KB, which servers that are started here get"))]
    pub files: Option<Files>,
    /// The seed of that set.
    #[arg(long, default_value_t = 1, value_name = "N", requires = "files")]
    #[serde(deserialize_with = "number::deserialize")]
    #[schemars(extend("x-source" = "ours, because any number does, and the same one makes the same files"))]
    pub files_seed: u64,
    /// A local folder with an existing set of files, which the server serves.
    #[arg(long, value_name = "FOLDER", conflicts_with = "urls")]
    #[schemars(extend("x-source" = "ours, because files are made for the run unless a folder is named"))]
    pub file_set: Option<PathBuf>,
    /// A file with the paths to request, one per line, each optionally followed by the length of its body in bytes.
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = "ours, because the target's own URL is asked for unless paths are listed"))]
    pub urls: Option<PathBuf>,
    /// The version of HTTP: 1.1, or 2, over TLS by its negotiation (ALPN) and else without asking. With 2, --depth N is the
    /// number of streams at once on a connection.
    #[arg(long, default_value_t = Http::V1, value_name = "1.1|2")]
    #[schemars(extend("x-source" = "IISWC'17 §III-C: wrk, which speaks HTTP/1.1 only"))]
    pub http: Http,
    /// Close a connection after this number of requests and open another, for which the next request waits [default:
    /// connections stay open].
    #[arg(long, value_name = "N", value_parser = |text: &str| units::count::<u64>(text, 1..=u64::MAX))]
    #[schemars(extend("x-source" = "ours, because connections that stay measure requests and not handshakes; no paper names a number"))]
    pub requests_per_connection: Option<u64>,
    /// The method of the requests.
    #[arg(long, default_value_t = Method::get(), value_name = "METHOD")]
    #[schemars(extend("x-source" = "IISWC'17 §III-C: GET requests only"))]
    pub method: Method,
    /// A file whose content every request carries, with --method POST or PUT.
    #[arg(long, value_name = "FILE", conflicts_with = "body_size")]
    #[schemars(extend("x-source" = "IISWC'17 §III-C: GET requests only, which have no body"))]
    pub body: Option<PathBuf>,
    /// Length of a text body, in place of --body: 1KiB.
    #[arg(long, value_name = "SIZE")]
    #[serde(with = "exact_or_none")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-source" = "IISWC'17 §III-C: GET requests only, which have no body"))]
    pub body_size: Option<Bytes>,
    /// A header field of the requests, such as 'Accept-Encoding: gzip'. May be given more than once.
    #[arg(long, value_name = "NAME: VALUE")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-source" = "ours, because a request has the header fields that HTTP wants unless others are given"))]
    pub header: Vec<Header>,
    /// How often each page is requested: uniform, zipf:ALPHA, hotset:PAGES%,ACCESSES%, sequential and more; see
    /// taillight explain cache.
    #[arg(long, default_value_t = Popularity::Uniform, value_name = "POPULARITY")]
    #[schemars(extend("x-source" = "IISWC'17 §V-C: uniform; its §III-C says Zipf and gives no exponent"))]
    pub popularity: Popularity,
    /// Check the answers: length (the default), checksum or none. A wrong answer makes the run invalid.
    #[arg(long, value_name = "length|checksum|none", num_args = 0..=1, default_missing_value = "checksum")]
    #[schemars(extend("x-source" = "ours, because comparing lengths costs next to nothing and tells an answer that was cut off"))]
    pub verify: Option<Verify>,
    /// Accepted for scripts that also load caches: --method says whether a web load writes.
    #[arg(long)]
    #[schemars(extend("x-source" = "ours, because a web load asks for no agreement"))]
    pub yes: bool,
}

default_options! { Web; }

words! {
    /// A version of HTTP.
    #[derive(Default)]
    pub enum Http: "version of HTTP", "write 1.1 or 2" {
        /// HTTP/1.1: answers come in the order of the requests.
        #[default]
        V1 = "1.1" | "1",
        /// HTTP/2: each request has a stream of its own.
        V2 = "2" | "2.0",
    }

    /// Which part of each answer is checked, in addition to its status. In a file, `true` stands for `checksum` and `false` for
    /// `none`.
    #[derive(Default)]
    pub enum Verify: "check of answers", "write length, checksum or none" {
        /// Nothing.
        None = "none" | "false",
        /// That a body is as long as its file, if that length is known.
        #[default]
        Length = "length",
        /// And that it has the same content.
        Checksum = "checksum" | "true",
    }
}

impl Facts for Web {
    fn is_http(&self) -> bool {
        true
    }

    fn alpn(&self) -> &'static [&'static str] {
        // As browsers and curl offer them, so that a server without HTTP/2 says so.
        match self.http {
            Http::V1 => &[],
            Http::V2 => &["h2", "http/1.1"],
        }
    }

    fn agree(&mut self) {
        self.yes = true;
    }

    fn divide(&mut self, _part: &dyn Fn(u32) -> u32) {
        // The folder of a file set exists only here; its number, sizes and seed describe its contents.
        if self.files.is_some() {
            self.file_set = None;
        }
    }

    fn own_file(&self) -> Option<OwnFile<'_>> {
        let sent = |file, option, instead| OwnFile { file, option, is_sent: true, instead };
        let body = self.body.as_deref().map(|file| sent(file, "body", "use --body-size"));
        let urls =
            || self.urls.as_deref().map(|file| sent(file, "urls", "use --files, or the target's URL alone"));
        body.or_else(urls)
    }

    fn served_folder(&self) -> Option<(Option<&Path>, &'static str)> {
        Some((self.file_set.as_deref().or(self.urls.as_deref()), "--files"))
    }

    fn made_files(&self) -> Option<MadeFiles> {
        let files = self.files.clone().unwrap_or_else(Files::usual);
        Some(MadeFiles { set: files.to_string(), count: files.number(), bytes: 0.0 })
    }

    fn in_words(&self) -> String {
        self.files.as_ref().map_or_else(String::new, |files| format!("files {files}"))
    }
}
