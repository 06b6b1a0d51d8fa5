//! The file of ports that test harnesses read: one line for each listening socket.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracing::warn;

use crate::config::Config;
use crate::own_files;

/// The variable that names the file. Source: memcached's `main`, as for the format.
pub(crate) const VARIABLE: &str = "MEMCACHED_PORT_FILENAME";

/// The path in the variable's value, if any.
pub(crate) fn path(value: Option<OsString>) -> Option<PathBuf> {
    value.filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Writes the ports of `config` into the file that it names; not with a Unix socket alone. A failure is a warning, as
/// with memcached.
pub(crate) fn write(config: &Config) {
    let Some(file) = &config.ports_file else { return };
    let lines = lines(config);
    if let Err(error) = if lines.is_empty() { Ok(()) } else { replace(file, &lines) } {
        warn!(file = %file.display(), %error, "the file of ports cannot be written; name another in {VARIABLE}");
    }
}

/// Readers find the file complete or not at all.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut draft = file.as_os_str().to_owned();
    draft.push(".lck");
    own_files::write(draft.as_ref(), text)?;
    fs::rename(&draft, file)
}

/// `TCP INET: 11211`, first all of TCP, then those of UDP.
fn lines(config: &Config) -> String {
    let network =
        || config.listen.iter().filter_map(|address| Some((address.is_datagram(), address.socket()?)));
    let plain = network().filter(|(is_datagram, _)| !is_datagram);
    let encrypted = config.tls.iter().flat_map(|tls| &tls.listen).map(|socket| (false, *socket));
    let datagrams = network().filter(|(is_datagram, _)| *is_datagram);
    let line = |(is_datagram, socket): (bool, std::net::SocketAddr)| {
        let transport = if is_datagram { "UDP" } else { "TCP" };
        let family = if socket.is_ipv4() { "INET" } else { "INET6" };
        format!("{transport} {family}: {}\n", socket.port())
    };
    plain.chain(encrypted).chain(datagrams).map(line).collect()
}

#[cfg(test)]
mod tests {
    use reactor::Address;

    use super::*;

    #[test]
    fn lists_the_ports_as_memcached_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ports");
        let check = |listen: &[Address], expect: Option<&str>| {
            let _ = fs::remove_file(&file);
            write(&Config { listen: listen.to_vec(), ports_file: Some(file.clone()), ..Config::for_tests() });
            assert_eq!(fs::read_to_string(&file).ok().as_deref(), expect, "{listen:?}");
            assert!(!folder.path().join("ports.lck").exists());
        };
        let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
        let udp = |text: &str| Address::Udp(text.parse().unwrap());
        check(&[tcp("127.0.0.1:1")], Some("TCP INET: 1\n"));
        check(&[Address::Unix("/a".into())], None);
        check(
            &[
                tcp("127.0.0.1:1"),
                udp("127.0.0.1:2"),
                tcp("[::1]:3"),
                udp("[::1]:4"),
                Address::Unix("/a".into()),
            ],
            Some("TCP INET: 1\nTCP INET6: 3\nUDP INET: 2\nUDP INET6: 4\n"),
        );
        let nowhere = folder.path().join("none").join("ports");
        write(&Config { listen: vec![tcp("127.0.0.1:1")], ports_file: Some(nowhere), ..Config::for_tests() });
        write(&Config { ports_file: None, ..Config::for_tests() });
        assert_eq!(
            (path(None), path(Some("".into())), path(Some("a".into()))),
            (None, None, Some("a".into()))
        );
    }
}
