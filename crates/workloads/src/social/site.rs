//! A site as data: the requests, the texts that answers must contain, and the values to take from them.
//!
//! A description is compiled once: its texts become needles and templates, so that no text is parsed during a load.

mod parse;
mod template;

use std::ops::Range;

use proto_http::{Between, Needle};
use spec::workload::SocialOperation;

pub use parse::SiteError;
pub(super) use template::{Template, Value};

/// The most texts that are looked for in one page. Source: ours; each takes a few bytes of each connection.
pub(super) const LOOKS_MAX: usize = 8;
/// The most paths of a page's assets. Source: ours; a session counts them in a byte.
pub(super) const ASSETS_MAX: usize = u8::MAX as usize;
/// Most values taken from pages. Source: as above, for each user.
pub(super) const TAKEN_MAX: usize = 8;

/// How a site is used.
#[derive(Clone, Debug)]
pub struct Site {
    name: String,
    /// The requests of each operation in order, by page and by AJAX; empty for a form that it lacks.
    ways: [[Range<u16>; 2]; SocialOperation::COUNT],
    /// The requests that load the site's data of one user into the cache.
    pub(super) prime: Range<u16>,
    pub(super) requests: Vec<SiteRequest>,
    pub(super) pages: Vec<Page>,
    /// The paths of a page's assets.
    pub(super) assets: Vec<Vec<u8>>,
    /// Who is sent to one of these paths is not logged in.
    lost: Vec<Vec<u8>>,
    lost_status: Vec<u16>,
    token_status: Vec<u16>,
    /// The names of the values that are taken from pages.
    pub(super) taken: Vec<String>,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct SiteRequest {
    pub(super) path: Template,
    /// Whole lines.
    pub(super) headers: Template,
    /// The body of a `POST`; `None` of a `GET`.
    pub(super) form: Option<Template>,
    /// Where the answer must lead first.
    pub(super) location: Option<Location>,
    /// The page that must come, in the end.
    pub(super) page: u16,
    /// What that page must have because of the values of this request.
    pub(super) shows: Option<Template>,
}

/// Where an answer must lead.
#[derive(Clone, Debug)]
pub(super) enum Location {
    /// Anywhere on the same site.
    Any,
    /// To this path, with any query.
    Path(Template),
}

/// The requirements on an answer.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) name: String,
    pub(super) status: u16,
    pub(super) has: Vec<Needle>,
    /// The texts to take, and the value that each becomes.
    pub(super) takes: Vec<(u8, Between)>,
    /// Whether it is JSON, which must be whole.
    pub(super) json: bool,
}

/// How an operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By a page load.
    Page = 0,
    /// By a part of the page.
    Ajax = 1,
}

const OWN: &str = include_str!("sites/own.toml");
const MEDIAWIKI: &str = include_str!("sites/mediawiki.toml");
const ELGG: &str = include_str!("sites/elgg.toml");

impl Site {
    /// The site itself, read from its file if it is one.
    ///
    /// Errors: the file cannot be read; the description is invalid, with the line and its text.
    pub fn of(site: &spec::workload::Site) -> Result<Site, SiteError> {
        match site {
            spec::workload::Site::Own => Site::read("own", OWN),
            spec::workload::Site::MediaWiki => Site::read("mediawiki", MEDIAWIKI),
            spec::workload::Site::Elgg => Site::read("elgg", ELGG),
            spec::workload::Site::File(file) => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file).map_err(|error| SiteError {
                    site: name.clone(),
                    problem: format!("cannot be read: {error}"),
                })?;
                Site::read(&name, &text)
            }
        }
    }

    /// A description, which `file` is the name of.
    ///
    /// Errors: as those of [`Site::of`].
    pub fn read(file: &str, text: &str) -> Result<Site, SiteError> {
        parse::read(text).map_err(|problem| SiteError { site: file.into(), problem })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operations that it does not have.
    pub fn lacks(&self) -> Vec<SocialOperation> {
        SocialOperation::ALL.into_iter().filter(|operation| !self.has(*operation)).collect()
    }

    /// Whether it has an operation, by any way.
    pub fn has(&self, operation: SocialOperation) -> bool {
        self.has_way(operation, By::Page) || self.has_way(operation, By::Ajax)
    }

    /// Whether it has an operation by this way.
    pub fn has_way(&self, operation: SocialOperation, by: By) -> bool {
        !self.way(operation, by).is_empty()
    }

    /// Whether it describes how to prime its cache.
    pub fn can_prime(&self) -> bool {
        !self.prime.is_empty()
    }

    /// The requests of an operation.
    pub(super) fn way(&self, operation: SocialOperation, by: By) -> Range<u16> {
        self.ways[operation.place()][by as usize].clone()
    }

    /// Whether a redirect to this path means that the user is not logged in.
    pub(super) fn is_lost_at(&self, path: &[u8]) -> bool {
        let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
        self.lost.iter().any(|lost| lost == path)
    }

    pub(super) fn is_lost_by(&self, status: u16) -> bool {
        self.lost_status.contains(&status)
    }

    pub(super) fn is_refused_by(&self, status: u16) -> bool {
        self.token_status.contains(&status)
    }
}

#[cfg(test)]
mod tests;
