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
        http: web.http,
        // It is the default of HTTP/1.1, and a last request says the opposite.
        headers: web
            .header
            .iter()
            .filter(|header| !header.name.eq_ignore_ascii_case("connection"))
            .cloned()
            .collect(),
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
