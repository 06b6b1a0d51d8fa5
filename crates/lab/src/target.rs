//! What a person may name as the server under test.

use std::fmt;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use proto_http::Url;
use reactor::Address;
use units::ParseError;

/// A server to measure, as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetName {
    /// The server that this program brings along.
    Sphinx,
    /// A memcached found on this machine.
    Memcached,
    /// An NGINX found on this machine.
    Nginx,
    /// One that already runs, at `HOST:PORT`, a URL or `unix:PATH`, or several of a cluster with commas between. They are
    /// neither started nor stopped, and never flushed.
    Foreign(String),
}

const HINT: &str = "write sphinx (embedded), memcached or nginx (found on this machine), or HOST:PORT, URL or unix:PATH of \
                     a server that runs, such as 127.0.0.1:11211, or several with commas between";

impl TargetName {
    /// The workload that it answers: `web` or `cache`; `None` where only who named it knows.
    pub fn workload(&self) -> Option<&'static str> {
        match self {
            TargetName::Sphinx | TargetName::Memcached => Some("cache"),
            TargetName::Nginx => Some("web"),
            TargetName::Foreign(_) => None,
        }
    }

    /// The servers of a foreign target, one by one: commas stand between them. Behind the path of a URL begins another only
    /// where it is a URL itself, as paths may hold commas.
    pub fn each(text: &str) -> Vec<&str> {
        let (mut all, mut begin) = (Vec::new(), 0);
        for (at, _) in text.match_indices(',') {
            let (one, rest) = (&text[begin..at], &text[at + 1..]);
            let in_path = one.split_once("://").is_some_and(|(_, behind)| behind.contains('/'));
            if !in_path || rest.starts_with("http://") || rest.starts_with("https://") {
                all.push(one);
                begin = at + 1;
            }
        }
        all.push(&text[begin..]);
        all
    }

    /// Where the servers of a foreign target are.
    ///
    /// Errors: as those of [`TargetName::address`].
    pub fn addresses(text: &str) -> Result<Vec<Address>, ParseError> {
        TargetName::each(text).into_iter().map(TargetName::address).collect()
    }

    /// Where one server is. Of a name with several addresses it is the first that accepts a connection.
    ///
    /// Errors: the host is not known.
    pub fn address(one: &str) -> Result<Address, ParseError> {
        if let Some(path) = one.strip_prefix(UNIX) {
            return Ok(Address::Unix(path.into()));
        }
        let problem = |problem: String| error(one, problem);
        let authority = if one.contains("://") { one.parse::<Url>()?.authority() } else { one.to_owned() };
        let found =
            authority.to_socket_addrs().map_err(|e| problem(format!("its address is not known: {e}")))?;
        let found = accepting(&found.collect::<Vec<_>>());
        found.map(Address::Tcp).ok_or_else(|| problem("it has no address".into()))
    }
}

/// How long one of several addresses may take to accept a connection.
const ACCEPT: Duration = Duration::from_secs(1);

/// The first that accepts a connection: a name may have an address of IPv6 at which nobody listens. The very first where
/// there is no other, or none accepts.
fn accepting(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let accepts = |address: &&SocketAddr| TcpStream::connect_timeout(address, ACCEPT).is_ok();
    let several = addresses.len() > 1;
    addresses.iter().filter(|_| several).find(accepts).or(addresses.first()).copied()
}

/// Whether `one` can be the address of a server, and why not.
fn check(one: &str) -> Result<(), ParseError> {
    if let Some(path) = one.strip_prefix(UNIX) {
        return if path.is_empty() { Err(error(one, "it has no path".into())) } else { Ok(()) };
    }
    if one.contains("://") {
        return one.parse::<Url>().map(drop);
    }
    let (host, port) =
        one.rsplit_once(':').ok_or_else(|| error(one, "it is neither a known name nor HOST:PORT".into()))?;
    if host.is_empty() {
        return Err(error(one, "it has no host".into()));
    }
    if port.parse::<u16>().ok().is_none_or(|port| port == 0) {
        return Err(error(one, format!("'{port}' is not a port from 1 to 65535")));
    }
    Ok(())
}

/// Before the path of a Unix socket.
const UNIX: &str = "unix:";

fn error(given: &str, problem: String) -> ParseError {
    ParseError { what: "target", given: given.into(), problem, hint: HINT }
}

impl FromStr for TargetName {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<TargetName, ParseError> {
        match text {
            "sphinx" => return Ok(TargetName::Sphinx),
            "memcached" => return Ok(TargetName::Memcached),
            "nginx" => return Ok(TargetName::Nginx),
            _ => {}
        }
        TargetName::each(text).into_iter().try_for_each(check)?;
        Ok(TargetName::Foreign(text.into()))
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TargetName::Sphinx => "sphinx",
            TargetName::Memcached => "memcached",
            TargetName::Nginx => "nginx",
            TargetName::Foreign(address) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn reads_names_and_addresses() {
        for text in [
            "sphinx",
            "memcached",
            "nginx",
            "127.0.0.1:11211",
            "[::1]:80",
            "cache.example:11211",
            "unix:/run/cache.sock",
            "a:1,b:2,unix:/c",
            "http://cache.example/a?b=c",
            "https://[::1]:8443,http://b",
            "http://h/a,b?c=d,e",
        ] {
            assert_eq!(text.parse::<TargetName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_others_and_says_what_is_allowed() {
        let check = |text: &str, problem: &str| {
            let error = text.parse::<TargetName>().unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains("sphinx (embedded), memcached or nginx"),
                "{text}: {error}"
            );
        };
        check("redis", "neither a known name nor HOST:PORT");
        check("Sphinx", "neither a known name");
        check("", "neither");
        check(":80", "no host");
        check("unix:", "no path");
        check("a:1,sphinx", "neither a known name");
        check("a:1,", "neither");
        check("localhost:", "'' is not a port");
        check("localhost:0", "'0' is not a port");
        check("localhost:99999", "'99999' is not a port");
        check("localhost:http", "'http' is not a port");
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
        let found = TargetName::addresses("http://127.0.0.1/x,https://127.0.0.1").unwrap();
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["127.0.0.1:80", "127.0.0.1:443"]
        );
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

    #[test]
    fn of_several_addresses_it_is_the_first_that_accepts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let [gone, also] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
        assert_eq!(accepting(&[gone, there]), Some(there));
        assert_eq!(accepting(&[gone, also]), Some(gone));
        assert_eq!(accepting(&[gone]), Some(gone));
        assert_eq!(accepting(&[]), None);
    }

    #[test]
    fn an_unknown_host_is_named() {
        let error = TargetName::addresses("127.0.0.1:1,no-such-host.invalid:1").unwrap_err().to_string();
        assert!(error.contains("no-such-host.invalid") && error.contains("not known"), "{error}");
        let two = TargetName::addresses("127.0.0.1:80,unix:/a").unwrap();
        assert_eq!(two[0].socket().unwrap().port(), 80);
        assert_eq!(two[1], Address::Unix("/a".into()));
    }
}
