//! The target of a run: an application started for it, or the addresses of running servers.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use app::{App, Need};
use reactor::Address;
use serde_json::Value;
use spec::{Spec, SpecError, TargetName, UNIX, Url, target_error};
use units::ParseError;

use crate::Error;

/// Reads a specification whose target is known here.
///
/// Errors: as in [`Spec::read`].
pub fn read_spec(whole: Value) -> Result<Spec, SpecError> {
    Spec::read(whole, &workloads)
}

/// Reads the name of a target.
///
/// Errors: it is neither an application nor an address, or the description of the application is wrong.
pub fn target_name(text: &str) -> Result<TargetName, ParseError> {
    let name = text.parse()?;
    application(&name)?;
    Ok(name)
}

/// The application of this name, or in this folder; `None` of a target that runs already.
///
/// Errors: there is none, or its description is wrong.
pub fn application(name: &TargetName) -> Result<Option<Arc<App>>, ParseError> {
    let TargetName::App(text) = name else { return Ok(None) };
    if let Some(app) = SHIPPED.iter().find(|app| app.name == *text) {
        return Ok(Some(Arc::clone(app)));
    }
    let found = if text.contains('/') { app::of_folder(Path::new(text)) } else { app::of_name(text) };
    found.map(|app| Some(Arc::new(app))).map_err(|error| target_error(text, error.to_string()))
}

/// The applications that this program brings along, read once: a study asks for them for each of its places.
pub(crate) static SHIPPED: LazyLock<Vec<Arc<App>>> =
    LazyLock::new(|| app::names().filter_map(|name| app::of_name(name).ok()).map(Arc::new).collect());

/// The workloads that a target answers, such as `web`, the usual one first; empty if only the user knows.
///
/// Errors: as in [`application`].
pub fn workloads(name: &TargetName) -> Result<Vec<&'static str>, ParseError> {
    let app = application(name)?;
    Ok(app.iter().flat_map(|app| &app.entrances).map(|entrance| entrance.workload.name()).collect())
}

/// The description of a site that a workload takes for this target, by its name; `None` for the usual one.
///
/// Errors: as in [`application`].
pub fn site(name: &TargetName) -> Result<Option<String>, ParseError> {
    let app = application(name)?;
    Ok(app.iter().flat_map(|app| &app.entrances).find_map(|entrance| entrance.site.clone()))
}

/// Whether a target is known to answer no such workload.
pub fn refuses(name: &TargetName, workload: &str) -> bool {
    workloads(name).is_ok_and(|answers| !answers.is_empty() && !answers.contains(&workload))
}

/// Whether a target must be given files to serve, or the description of videos.
pub fn needs_files(name: &TargetName) -> bool {
    application(name)
        .is_ok_and(|app| app.is_some_and(|app| app.needs(Need::Files) || app.needs(Need::Videos)))
}

/// The addresses of an external target's servers.
///
/// Errors: as in [`address`].
pub fn addresses(text: &str) -> Result<Vec<Address>, ParseError> {
    TargetName::each(text).into_iter().map(address).collect()
}

/// The address of one server. For a name with several addresses, the first that accepts a connection.
///
/// Errors: the host is unknown.
pub fn address(one: &str) -> Result<Address, ParseError> {
    if let Some(path) = one.strip_prefix(UNIX) {
        return Ok(Address::Unix(path.into()));
    }
    let problem = |problem: String| target_error(one, problem);
    let authority = if one.contains("://") { one.parse::<Url>()?.authority() } else { one.to_owned() };
    let found = resolve(&authority).map_err(|e| problem(format!("its address is not known: {e}")))?;
    let found = accepting(&found.collect::<Vec<_>>());
    found.map(Address::Tcp).ok_or_else(|| problem("it has no address".into()))
}

/// The addresses of `HOST:PORT`; the resolver knows the zone of a link-local one, `[fe80::1%eth0]:80`.
fn resolve(authority: &str) -> io::Result<impl Iterator<Item = SocketAddr>> {
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let port = port.parse::<u16>().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    (host.trim_start_matches('[').trim_end_matches(']'), port).to_socket_addrs()
}

/// How long one of several addresses may take to accept a connection.
const ACCEPT: Duration = Duration::from_secs(1);

/// The first address that accepts a connection: a name may have an IPv6 address without a listening server. The very
/// first if it is the only one, or if none accepts.
fn accepting(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let accepts = |address: &&SocketAddr| TcpStream::connect_timeout(address, ACCEPT).is_ok();
    let several = addresses.len() > 1;
    addresses.iter().filter(|_| several).find(accepts).or(addresses.first()).copied()
}

/// Whether agents that generate can reach a server that is started here.
///
/// Errors: one of them is on another machine, and the server on loopback or behind a bridge.
pub fn check_reach(target: &spec::Target, agents: &spec::Agents) -> Result<(), Error> {
    let Some(agent) = agents.elsewhere() else { return Ok(()) };
    if target.server.is_external() || target.agent.is_some() {
        return Ok(());
    }
    let listens = target.listen.is_some_and(|ip| !ip.is_loopback());
    // A setting may place the entrance elsewhere, which its application knows.
    let placed = target.set.iter().any(|set| set.contains("listen=") || set.contains("agent="));
    let what = match target.form {
        spec::Form::Bare if listens || placed => return Ok(()),
        spec::Form::Bare => "a server on loopback",
        _ => "a server behind a bridge",
    };
    Err(Error::OutOfReach { agent: agent.clone(), what })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_target_is_known_or_refused() {
        let check = |text: &str, problem: &str| {
            let error = target_name(text).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("HOST:PORT"), "{text}: {error}");
        };
        check("redit", "there is no application 'redit'; there are ");
        check("memcache", "did you mean 'memcached'?");
        check("./no/folder", "no/folder/app.toml");
        check("Sphinx", "neither the name of an application");
        let answers = |text: &str| workloads(&target_name(text).unwrap()).unwrap();
        assert_eq!(answers("memcached"), ["cache"]);
        assert_eq!(answers("valkey"), ["cache"]);
        assert_eq!(answers("varnish-nginx"), ["web"]);
        assert!(answers("127.0.0.1:80").is_empty());
        assert!(needs_files(&TargetName::app("nginx")) && !needs_files(&TargetName::app("sphinx")));
        assert!(refuses(&TargetName::app("nginx"), "cache") && !refuses(&TargetName::app("nginx"), "web"));
        assert!(!refuses(&"127.0.0.1:80".parse().unwrap(), "web"));
    }

    #[test]
    fn generators_elsewhere_need_an_address_that_they_reach() {
        let agents = |list: &[&str]| spec::Agents {
            agents: list.iter().map(|one| (*one).to_owned()).collect(),
            ..spec::Agents::default()
        };
        let far = agents(&["127.0.0.1:7070", "10.0.0.5:7070"]);
        let check = |change: fn(&mut spec::Target), agents: &spec::Agents, words: Option<&str>| {
            let mut target = spec::Target::default();
            change(&mut target);
            let error = check_reach(&target, agents).err().map(|error| error.to_string());
            match words {
                None => assert_eq!(error, None),
                Some(words) => {
                    assert!(error.as_ref().is_some_and(|error| error.contains(words)), "{error:?}")
                }
            }
        };
        check(|_| {}, &agents(&[]), None);
        check(|_| {}, &agents(&["127.0.0.1:7070", "[::1]:7070", "localhost:1"]), None);
        check(|_| {}, &far, Some("(10.0.0.5:7070) cannot reach a server on loopback"));
        check(|target| target.listen = Some([127, 0, 0, 2].into()), &far, Some("--server-listen IP"));
        check(|target| target.listen = Some([10, 0, 0, 1].into()), &far, None);
        check(|target| target.agent = Some("10.0.0.6:7070".into()), &far, None);
        check(|target| target.server = "10.0.0.1:80".parse().unwrap(), &far, None);
        check(|target| target.set = vec!["varnish.agent=10.0.0.6:7070".into()], &far, None);
        check(|target| target.form = spec::Form::Lxc, &far, Some("a server behind a bridge"));
    }

    #[test]
    fn a_url_leads_to_its_host() {
        let found = addresses("http://127.0.0.1/x,https://127.0.0.1").unwrap();
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["127.0.0.1:80", "127.0.0.1:443"]
        );
    }

    #[test]
    fn of_several_addresses_it_is_the_first_that_accepts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        // No other test is given these ports.
        let [gone, also] = ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        assert_eq!(accepting(&[gone, there]), Some(there));
        assert_eq!(accepting(&[gone, also]), Some(gone));
        assert_eq!(accepting(&[gone]), Some(gone));
        assert_eq!(accepting(&[]), None);
    }

    #[test]
    fn an_unknown_host_is_named() {
        let error = addresses("127.0.0.1:1,no-such-host.invalid:1").unwrap_err().to_string();
        assert!(error.contains("no-such-host.invalid") && error.contains("not known"), "{error}");
        let two = addresses("127.0.0.1:80,unix:/a").unwrap();
        assert_eq!(two[0].socket().unwrap().port(), 80);
        assert_eq!(two[1], Address::Unix("/a".into()));
    }
}
