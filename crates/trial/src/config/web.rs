use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use proto_http::Url;
use spec::workload;
use workloads::web::{Body, FileSet, Listed, Pages, WebConfig};

/// The workload of a specification on these servers; `urls` is empty if they are not known yet.
///
/// Errors: parameters that contradict each other; a folder or list that cannot be read.
pub(super) fn config(web: &workload::Web, seed: u64, urls: Vec<Url>) -> Result<WebConfig> {
    let config = WebConfig {
        urls,
        pages: pages(web)?,
        popularity: web.popularity,
        method: web.method.clone(),
        headers: web.header.clone(),
        body: body(web)?,
        verify: web.verify.unwrap_or_default(),
        requests_per_connection: web.requests_per_connection,
        seed,
    };
    config.check()?;
    Ok(config)
}

/// Errors: a file that cannot be read; a body that is too large for a request.
fn body(web: &workload::Web) -> Result<Option<Body>> {
    if let Some(file) = &web.body {
        let name = file.display().to_string();
        let about = || format!("cannot read the body of requests {name}");
        // Reading one byte more than allowed detects an overlong list, even from an endless device.
        let open = std::fs::File::open(file).with_context(about)?;
        let mut content = Vec::new();
        open.take(Body::MAX.0 + 1).read_to_end(&mut content).with_context(about)?;
        return Ok(Some(Body::new(&name, content)?));
    }
    Ok(web.body_size.map(Body::of_size).transpose()?)
}

fn pages(web: &workload::Web) -> Result<Pages> {
    if let Some(files) = &web.files {
        return Ok(Pages::Files(FileSet::of(files.clone(), web.files_seed)));
    }
    if let Some(folder) = &web.file_set {
        return Ok(Pages::Files(FileSet::in_folder(folder)?));
    }
    let Some(file) = &web.urls else { return Ok(Pages::One) };
    Ok(Pages::Listed(Arc::new(list(file)?)))
}

/// Maximum size of a list. Units: bytes; with 100 characters per path, 10 million paths.
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

/// Servers as URLs: anything else is read as HOST:PORT of a server without TLS.
///
/// Errors: an invalid URL, a Unix socket, or a mix of servers with and without TLS.
pub fn urls(servers: &[&str]) -> Result<Vec<Url>> {
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
    use spec::TargetName;

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
