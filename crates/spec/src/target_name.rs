//! Names of the server under test.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::Url;

/// A target to measure, as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetName {
    /// An application that is started for the run, by its name, such as `sphinx`, or by the path of a folder that
    /// describes it. Its existence is checked by the code that knows the applications.
    App(String),
    /// One that already runs, at `HOST:PORT`, a URL or `unix:PATH`, or several of a cluster with commas between. They are
    /// neither started nor stopped, and never flushed.
    External(String),
}

const HINT: &str = "write sphinx (embedded), memcached, redis, valkey or nginx (found on this machine), another application \
                     of apps/ or the path of a folder with an app.toml, or HOST:PORT, URL or unix:PATH of a server that \
                     runs, such as 127.0.0.1:11211, or several with commas between";

impl TargetName {
    /// The application `name`.
    pub fn app(name: &str) -> TargetName {
        TargetName::App(name.into())
    }

    /// Whether it runs already, and is neither started nor stopped.
    pub fn is_external(&self) -> bool {
        matches!(self, TargetName::External(_))
    }

    /// Whether it is the application of that name.
    pub fn is_app(&self, name: &str) -> bool {
        matches!(self, TargetName::App(app) if app == name)
    }

    /// The servers of an external target, separated by commas. After a URL with a path, a comma separates only if
    /// another URL follows, as paths may hold commas.
    pub fn each(text: &str) -> Vec<&str> {
        let (mut all, mut begin) = (Vec::new(), 0);
        for (at, _) in text.match_indices(',') {
            let (one, rest) = (&text[begin..at], &text[at + 1..]);
            let in_path = one.split_once("://").is_some_and(|(_, behind)| behind.contains('/'));
            let scheme = rest.split_once("://").map_or("", |(scheme, _)| scheme);
            if !in_path || ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
                all.push(one);
                begin = at + 1;
            }
        }
        all.push(&text[begin..]);
        all
    }
}

/// Whether `one` can be the address of a server, and why not.
fn check(one: &str) -> Result<(), ParseError> {
    if let Some(path) = one.strip_prefix(UNIX) {
        return if path.is_empty() { Err(target_error(one, "it has no path".into())) } else { Ok(()) };
    }
    if one.contains("://") {
        return one.parse::<Url>().map(drop);
    }
    if let Some(at) = one.find(['/', '?', '#'])
        && one[..at].contains(':')
    {
        let problem = format!(
            "only a URL has a path: write http://{one} for a web server, or {} for a cache",
            &one[..at]
        );
        return Err(target_error(one, problem));
    }
    let (host, port) = one
        .rsplit_once(':')
        .ok_or_else(|| target_error(one, "it is neither the name of an application nor HOST:PORT".into()))?;
    if host.is_empty() {
        return Err(target_error(one, "it has no host".into()));
    }
    if port.parse::<u16>().ok().is_none_or(|port| port == 0) {
        return Err(target_error(one, format!("'{port}' is not a port from 1 to 65535")));
    }
    Ok(())
}

/// Before the path of a Unix socket.
pub const UNIX: &str = "unix:";

/// The error for an unreachable target, with the names that are possible.
pub fn target_error(given: &str, problem: String) -> ParseError {
    ParseError { what: "target", given: given.into(), problem, hint: HINT }
}

/// Whether `text` has the form of an application's name.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

impl FromStr for TargetName {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<TargetName, ParseError> {
        if is_name(text) || (text.contains('/') && !text.contains(':')) {
            return Ok(TargetName::App(text.into()));
        }
        TargetName::each(text).into_iter().try_for_each(check)?;
        Ok(TargetName::External(text.into()))
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (TargetName::App(text) | TargetName::External(text)) = self;
        f.pad(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_addresses() {
        for text in [
            "sphinx",
            "memcached",
            "varnish-nginx",
            "./apps/mine",
            "/srv/apps/mine",
            "127.0.0.1:11211",
            "[::1]:80",
            "cache.example:11211",
            "unix:/run/cache.sock",
            "a:1,b:2,unix:/c",
            "http://cache.example/a?b=c",
            "https://[::1]:8443,http://b",
            "http://h/a,b?c=d,e",
        ] {
            let target = text.parse::<TargetName>().unwrap();
            assert_eq!((target.to_string(), target.is_external()), (text.into(), text.contains(':')));
        }
    }

    #[test]
    fn refuses_others_and_says_what_is_allowed() {
        let check = |text: &str, problem: &str| {
            let error = text.parse::<TargetName>().unwrap_err().to_string();
            assert!(
                error.contains(problem)
                    && error.contains("sphinx (embedded), memcached, redis, valkey or nginx"),
                "{text}: {error}"
            );
        };
        check("Sphinx", "neither the name of an application nor HOST:PORT");
        check("", "neither");
        check(":80", "no host");
        check("unix:", "no path");
        check("a:1,sphinx", "neither the name of an application");
        check("a:1,", "neither");
        check("localhost:", "'' is not a port");
        check("localhost:0", "'0' is not a port");
        check("localhost:99999", "'99999' is not a port");
        check("localhost:http", "'http' is not a port");
        check("127.0.0.1:80/x", "write http://127.0.0.1:80/x for a web server, or 127.0.0.1:80 for a cache");
        check("[::1]:80/a:b", "write http://[::1]:80/a:b");
        check("h:80?k=v", "write http://h:80?k=v");
        check("a:1,h:80/", "or h:80 for a cache");
    }

    #[test]
    fn a_url_must_be_one() {
        let check = |text: &str, problem: &str| {
            let error = text.parse::<TargetName>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        };
        check("ftp://a", "neither http nor https");
        check("http://a:0/", "port");
        check("http://", "no proper host");
    }

    #[test]
    fn commas_in_a_path_are_its_own() {
        let check = |text: &str, expect: &[&str]| assert_eq!(TargetName::each(text), expect, "{text}");
        check("a:1,b:2,unix:/c", &["a:1", "b:2", "unix:/c"]);
        check("http://h/a,b", &["http://h/a,b"]);
        check("http://h/a,b,https://i/c,d", &["http://h/a,b", "https://i/c,d"]);
        check("http://h,http://i", &["http://h", "http://i"]);
        check("http://h,i:80", &["http://h", "i:80"]);
        check("a:1,", &["a:1", ""]);
    }
}
