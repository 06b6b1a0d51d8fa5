//! Parser of a site's description; errors state the line and its text.

use std::collections::BTreeMap;
use std::ops::Range;

use proto_http::{Between, NEEDLE_MAX, Needle};
use serde::Deserialize;
use spec::workload::SocialOperation;
use thiserror::Error;
use toml::Spanned;

use super::{ASSETS_MAX, LOOKS_MAX, Location, Page, Site, SiteRequest, TAKEN_MAX, Template, Value};

/// The longest description. Units: bytes. Source: ours; that of our own site has some 3 KB.
const LENGTH_MAX: usize = 256 * 1024;
/// The value of requests that prime the cache: the name of each user in turn.
const EACH: &str = "each";

/// An error in the description of a site.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the description of the site {site}: {problem}")]
pub struct SiteError {
    /// The site or its file.
    pub site: String,
    /// The error, with its line.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    name: String,
    #[serde(default)]
    lost: Vec<Spanned<String>>,
    #[serde(default)]
    lost_status: Vec<u16>,
    #[serde(default)]
    token_status: Vec<u16>,
    #[serde(default)]
    assets: Vec<Spanned<String>>,
    #[serde(default)]
    page: BTreeMap<String, WrittenPage>,
    #[serde(default)]
    request: Vec<WrittenRequest>,
    #[serde(default)]
    prime: Vec<WrittenPrime>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenPage {
    status: Option<Spanned<u16>>,
    #[serde(default)]
    has: Vec<Spanned<String>>,
    #[serde(default)]
    take: BTreeMap<String, Spanned<Vec<String>>>,
    #[serde(default)]
    json: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenRequest {
    operation: Spanned<String>,
    by: Option<Spanned<String>>,
    path: Spanned<String>,
    #[serde(default)]
    headers: Vec<Spanned<String>>,
    form: Option<Spanned<String>>,
    location: Option<Spanned<String>>,
    page: Spanned<String>,
    shows: Option<Spanned<String>>,
}

/// The request for each user that loads the site's data of them into the cache.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenPrime {
    path: Spanned<String>,
    #[serde(default)]
    headers: Vec<Spanned<String>>,
    page: Spanned<String>,
}

impl From<WrittenPrime> for WrittenRequest {
    fn from(WrittenPrime { path, headers, page }: WrittenPrime) -> WrittenRequest {
        let operation = Spanned::new(0..0, String::new());
        WrittenRequest { operation, by: None, path, headers, form: None, location: None, page, shows: None }
    }
}

/// Compiles a description.
///
/// Errors: the first error, with its line.
pub(super) fn read(text: &str) -> Result<Site, String> {
    if text.len() > LENGTH_MAX {
        return Err(format!("it has {} B, and at most {LENGTH_MAX} are read", text.len()));
    }
    let written: Written = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    Reader { text, taken: Vec::new(), primes: false }.site(written)
}

struct Reader<'a> {
    text: &'a str,
    /// The names of the values that are taken from pages.
    taken: Vec<String>,
    /// Whether parsing has reached the requests that prime the cache, which concern each user.
    primes: bool,
}

impl Reader<'_> {
    fn site(mut self, written: Written) -> Result<Site, String> {
        let mut names = BTreeMap::new();
        let mut pages = Vec::new();
        for (name, page) in written.page {
            names.insert(name.clone(), pages.len() as u16);
            pages.push(self.page(name, page)?);
        }
        let mut requests: Vec<SiteRequest> = Vec::new();
        let mut ways: [[Range<u16>; 2]; SocialOperation::COUNT] = Default::default();
        for request in written.request {
            let way = self.way(&request, &mut ways)?;
            let next = requests.len() as u16;
            if way.start == way.end {
                *way = next..next;
            } else if way.end != next {
                let name = request.operation.get_ref();
                return Err(
                    self.at(&request.operation, format!("the requests of {name} do not follow each other"))
                );
            }
            way.end += 1;
            requests.push(self.request(&request, &names)?);
        }
        self.primes = true;
        let first = requests.len() as u16;
        for request in written.prime {
            requests.push(self.request(&request.into(), &names)?);
        }
        let prime = first..requests.len() as u16;
        for operation in [SocialOperation::Login, SocialOperation::Logout] {
            if ways[operation.place()][0].is_empty() {
                return Err(format!(
                    "it has no request of {} by page, which each session begins or ends with",
                    operation.name()
                ));
            }
        }
        if let Some(beyond) = written.assets.get(ASSETS_MAX) {
            let count = written.assets.len();
            return Err(
                self.at(beyond, format!("a page has {count} assets; at most {ASSETS_MAX} are asked for"))
            );
        }
        let paths = |paths: &[Spanned<String>]| -> Result<Vec<Vec<u8>>, String> {
            paths.iter().map(|path| self.path(path).map(|()| path.get_ref().clone().into_bytes())).collect()
        };
        Ok(Site {
            name: written.name,
            assets: paths(&written.assets)?,
            lost: paths(&written.lost)?,
            ways,
            prime,
            requests,
            pages,
            lost_status: written.lost_status,
            token_status: written.token_status,
            taken: self.taken,
        })
    }

    fn page(&mut self, name: String, page: WrittenPage) -> Result<Page, String> {
        if page.has.len() + page.take.len() > LOOKS_MAX {
            return Err(format!(
                "the page {name} looks for {} texts; at most {LOOKS_MAX} are",
                page.has.len() + page.take.len()
            ));
        }
        if let Some(status) = page.status.as_ref().filter(|status| !(100..=999).contains(status.get_ref())) {
            return Err(self.at(status, format!("{} is no status", status.get_ref())));
        }
        let needle = |text: &Spanned<String>| {
            Needle::new(text.get_ref().as_bytes()).ok_or_else(|| self.no_needle(text, text.get_ref()))
        };
        let has = page.has.iter().map(needle).collect::<Result<Vec<Needle>, String>>()?;
        let mut takes = Vec::new();
        for (value, texts) in &page.take {
            let [before, behind] = &texts.get_ref()[..] else {
                let count = texts.get_ref().len();
                return Err(
                    self.at(texts, format!("{value} is taken between two texts, and there are {count}"))
                );
            };
            let between = Between::new(before.as_bytes(), behind.as_bytes());
            let wrong = if Needle::new(before.as_bytes()).is_none() { before } else { behind };
            let between = between.ok_or_else(|| self.no_needle(texts, wrong))?;
            takes.push((self.taken(value, texts)?, between));
        }
        let status = page.status.map_or(200, Spanned::into_inner);
        Ok(Page { name, status, has, takes, json: page.json })
    }

    /// The place of a value that is taken from pages.
    fn taken<T>(&mut self, name: &str, at: &Spanned<T>) -> Result<u8, String> {
        if let Some(place) = self.taken.iter().position(|taken| taken == name) {
            return Ok(place as u8);
        }
        if Value::named(name).is_some() || name == EACH {
            return Err(self.at(at, format!("{{{name}}} is a value of users, and is not taken from a page")));
        }
        if self.taken.len() >= TAKEN_MAX {
            return Err(self
                .at(at, format!("more than {TAKEN_MAX} values are taken from pages, the last {{{name}}}")));
        }
        self.taken.push(name.to_owned());
        Ok((self.taken.len() - 1) as u8)
    }

    fn way<'a>(
        &self,
        request: &WrittenRequest,
        ways: &'a mut [[Range<u16>; 2]; SocialOperation::COUNT],
    ) -> Result<&'a mut Range<u16>, String> {
        let name = request.operation.get_ref();
        let operation = SocialOperation::named(name).ok_or_else(|| {
            let names = SocialOperation::ALL.map(SocialOperation::name).join(", ");
            self.at(&request.operation, format!("there is no operation '{name}'; there are {names}"))
        })?;
        let by = match request.by.as_ref().map(|by| by.get_ref().as_str()) {
            None | Some("page") => 0,
            Some("ajax") if operation.has_ajax() => 1,
            Some(other) => {
                let by = request.by.as_ref().expect("it was looked at");
                let problem =
                    format!("{name} is not done by '{other}'; write page, or ajax of what a page can do");
                return Err(self.at(by, problem));
            }
        };
        Ok(&mut ways[operation.place()][by])
    }

    fn request(
        &self,
        request: &WrittenRequest,
        names: &BTreeMap<String, u16>,
    ) -> Result<SiteRequest, String> {
        self.path(&request.path)?;
        let name = request.page.get_ref();
        let page =
            *names.get(name).ok_or_else(|| self.at(&request.page, format!("there is no page '{name}'")))?;
        let mut headers = String::new();
        for header in &request.headers {
            let text = header.get_ref();
            let is_token =
                |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if !text.split_once(':').is_some_and(|(name, _)| is_token(name)) || !is_plain(text) {
                return Err(self.at(header, format!("'{text}' is no header, such as \"X-CSRF: {{csrf}}\"")));
            }
            headers.push_str(text);
            headers.push_str("\r\n");
        }
        let location = match &request.location {
            None => None,
            Some(location) if location.get_ref() == "*" => Some(Location::Any),
            Some(location) => {
                self.path(location)?;
                Some(Location::Path(self.template(location, location.get_ref())?))
            }
        };
        let form = request.form.as_ref().map(|form| self.template(form, form.get_ref())).transpose()?;
        let at = request.headers.first().unwrap_or(&request.path);
        let shows = request.shows.as_ref().map(|shows| self.shown(shows)).transpose()?;
        Ok(SiteRequest {
            path: self.template(&request.path, request.path.get_ref())?,
            headers: self.template(at, &headers)?,
            form,
            location,
            page,
            shows,
        })
    }

    /// The text that a page must have because of a request, whose values need room, too.
    fn shown(&self, shows: &Spanned<String>) -> Result<Template, String> {
        let text = shows.get_ref();
        if text.is_empty() || text.len() > NEEDLE_MAX / 2 {
            let (length, most) = (text.len(), NEEDLE_MAX / 2);
            return Err(
                self.at(shows, format!("the text '{text}' has {length} B; 1 to {most} are looked for"))
            );
        }
        self.template(shows, text)
    }

    fn template<T>(&self, at: &Spanned<T>, text: &str) -> Result<Template, String> {
        let taken = |name: &str| self.taken.iter().position(|taken| taken == name);
        let each = |name: &str| (self.primes && name == EACH).then_some(Value::Each);
        let value = |name: &str| {
            let taken = || taken(name).map(|place| Value::Taken(place as u8));
            Value::named(name).or_else(|| each(name)).or_else(taken)
        };
        Template::read(text, value).map_err(|problem| {
            let mut names: Vec<&str> = Value::names().chain(self.primes.then_some(EACH)).collect();
            names.extend(self.taken.iter().map(String::as_str));
            self.at(at, format!("{problem}; there are {}", names.join(", ")))
        })
    }

    fn path(&self, path: &Spanned<String>) -> Result<(), String> {
        let text = path.get_ref();
        if text.starts_with('/') && is_plain(text) && !text.contains(' ') {
            return Ok(());
        }
        Err(self.at(path, format!("'{text}' is no path; write one that begins with /, without blanks")))
    }

    fn no_needle<T>(&self, at: &Spanned<T>, text: &str) -> String {
        self.at(at, format!("the text '{text}' has {} B; 1 to {NEEDLE_MAX} are looked for", text.len()))
    }

    /// A problem with its line.
    fn at<T>(&self, at: &Spanned<T>, problem: String) -> String {
        let before = self.text.get(..at.span().start).unwrap_or_default();
        format!("line {}: {problem}", before.matches('\n').count() + 1)
    }
}

/// Whether a request can carry it.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}
