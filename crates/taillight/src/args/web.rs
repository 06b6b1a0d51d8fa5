use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use proto_http::{Header, Method, Url};
use units::Bytes;
use workloads::web::{Body, FileSet, Listed, Pages, WebConfig};

use super::SharedOptions;

/// What the web workload asks for.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Web workload")]
pub(crate) struct WebOptions {
    /// The files of a set, below the target: 100000x4KiB, 20000xweb; as taillight fileset makes them [default: the
    /// target's URL itself].
    #[arg(long, value_name = "FILES", conflicts_with_all = ["file_set", "urls"])]
    pub files: Option<String>,
    /// The seed of that set.
    #[arg(long, default_value_t = 1, value_name = "N", requires = "files")]
    pub files_seed: u64,
    /// The same of a set that lies in a folder here, as the server serves it.
    #[arg(long, value_name = "FOLDER", conflicts_with = "urls")]
    pub file_set: Option<PathBuf>,
    /// The paths in this file, one a line, each maybe with the length in bytes of what is there.
    #[arg(long, value_name = "FILE")]
    pub urls: Option<PathBuf>,
    /// End a connection after so many requests and establish another, for which its next request waits [default:
    /// connections stay].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests_per_connection: Option<u64>,
    /// The method of the requests.
    #[arg(long, default_value_t = Method::get(), value_name = "METHOD")]
    pub method: Method,
    /// A file whose content every request carries, with --method POST or PUT.
    #[arg(long, value_name = "FILE", conflicts_with = "body_size")]
    pub body: Option<PathBuf>,
    /// The same of text of so many bytes: 1KiB.
    #[arg(long, value_name = "SIZE")]
    pub body_size: Option<Bytes>,
    /// A header field of the requests, such as 'Accept-Encoding: gzip'. May be given more than once.
    #[arg(long, value_name = "NAME: VALUE")]
    pub header: Vec<Header>,
}

impl WebOptions {
    /// The workload on these servers; none where they are not known yet.
    ///
    /// Errors: parameters that do not go together; a folder or list that cannot be read.
    pub(crate) fn config(&self, shared: &SharedOptions, seed: u64, urls: Vec<Url>) -> Result<WebConfig> {
        let config = WebConfig {
            urls,
            pages: self.pages()?,
            popularity: shared.popularity,
            method: self.method.clone(),
            headers: self.header.clone(),
            body: self.body()?,
            verify: shared.verify.unwrap_or_default(),
            requests_per_connection: self.requests_per_connection,
            seed,
        };
        config.check()?;
        Ok(config)
    }

    /// Errors: a file that cannot be read; more than a request carries.
    fn body(&self) -> Result<Option<Body>> {
        if let Some(file) = &self.body {
            let name = file.display().to_string();
            let about = || format!("cannot read the body of requests {name}");
            // One byte more than allowed tells that it is too long, however long a device would go on.
            let open = std::fs::File::open(file).with_context(about)?;
            let mut content = Vec::new();
            open.take(Body::MAX.0 + 1).read_to_end(&mut content).with_context(about)?;
            return Ok(Some(Body::new(&name, content)?));
        }
        Ok(self.body_size.map(Body::of_size).transpose()?)
    }

    fn pages(&self) -> Result<Pages> {
        if let Some(text) = &self.files {
            return Ok(Pages::Files(FileSet::read(text, self.files_seed)?));
        }
        if let Some(folder) = &self.file_set {
            return Ok(Pages::Files(FileSet::in_folder(folder)?));
        }
        let Some(file) = &self.urls else { return Ok(Pages::One) };
        Ok(Pages::Listed(Arc::new(list(file)?)))
    }
}

/// The most of a list that is read. Units: bytes; of 100 characters a path these are 10 million.
const LIST_MAX: u64 = 1 << 30;

fn list(file: &Path) -> Result<Listed> {
    let name = file.display().to_string();
    let about = || format!("cannot read the list of paths {name}");
    let length = std::fs::metadata(file).with_context(about)?.len();
    if length > LIST_MAX {
        bail!(
            "the list of paths {name} has {length} B, and at most {LIST_MAX} are read; make a file set instead"
        );
    }
    Ok(Listed::read(&name, &std::fs::read_to_string(file).with_context(about)?)?)
}

/// Servers as URLs: what is no URL is taken for HOST:PORT of one without TLS.
///
/// Errors: a URL that is none, a Unix socket, or some servers with TLS and others without.
pub(crate) fn urls(servers: &[&str]) -> Result<Vec<Url>> {
    let url = |one: &str| -> Result<Url> {
        if one.starts_with("unix:") {
            bail!("{one}: web servers are asked over TCP; give http://HOST:PORT");
        }
        Ok(if one.contains("://") { one.parse()? } else { format!("http://{one}").parse()? })
    };
    let urls = servers.iter().copied().map(url).collect::<Result<Vec<_>>>()?;
    if urls.iter().any(|url| url.https != urls[0].https) {
        let all = servers.join(",");
        bail!("{all}: some of these servers want TLS and others do not; measure them apart");
    }
    Ok(urls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::TargetName;

    #[test]
    fn a_target_is_a_url_or_an_address() {
        let check = |target: &str, expect: &[&str]| {
            let found: Vec<String> =
                urls(&TargetName::each(target)).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(found, expect, "{target}");
        };
        check("127.0.0.1:8080", &["http://127.0.0.1:8080"]);
        check("http://h/x", &["http://h:80/x"]);
        check("http://h/a,b,http://i", &["http://h:80/a,b", "http://i:80"]);
        check("https://h:8443,https://[::1]", &["https://h:8443", "https://[::1]:443"]);
        for wrong in ["unix:/x", "http://a,https://b", "ftp://h", "http://"] {
            assert!(urls(&TargetName::each(wrong)).is_err(), "{wrong}");
        }
    }
}
