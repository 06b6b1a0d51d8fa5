use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use proto_http::Url;
use reactor::Address;
use reactor::tls::{Failure, Identity, Peer, Trust, client_config, offering};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use spec::Tls;
use workloads::cache::{Control, ControlError, Dialect, Stream, stream};

use crate::workload::stranger;

/// Locations of the system's trusted authorities: Debian, Fedora, openSUSE, Alpine.
const AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

#[derive(Clone)]
pub(crate) struct TlsClient {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

/// Checks that these settings fit the web servers.
///
/// Errors: TLS settings for a URL without TLS; servers with different names, since one name is sent to all and verified
/// in all certificates.
pub(crate) fn check(tls: &Tls, urls: &[Url]) -> Result<()> {
    let Tls { tls_ca, tls_insecure, tls_name, tls_cert, tls_key: _ } = tls;
    let given = tls_ca.is_some() || *tls_insecure || tls_name.is_some() || tls_cert.is_some();
    if let Some(url) = urls.iter().find(|url| given && !url.https) {
        bail!("{url}: this URL has no TLS, which was asked for; write https://, or leave out --tls-…");
    }
    // An address is never sent as a server name, and matters only if certificates are verified.
    let name = |url: &Url| {
        let unseen = *tls_insecure && url.host.parse::<IpAddr>().is_ok();
        (!unseen).then(|| url.host.to_ascii_lowercase())
    };
    let own_name = |url: &&Url| url.https && tls_name.is_none() && name(url) != name(&urls[0]);
    if let Some(other) = urls.iter().find(own_name) {
        bail!(
            "{} and {} are two names, and one is asked of all servers' certificates; give it with --tls-name, or \
             measure them apart",
            urls[0].host,
            other.host
        );
    }
    Ok(())
}

/// TLS settings, or `None` for plain connections. `host` is the name of the target, `wanted` whether its URL asks for
/// TLS: then the machine's own authorities are trusted unless others are given. `alpn`: the protocols to offer.
///
/// Errors: a file that is not PEM of its kind, or an invalid name.
pub(crate) fn client(tls: &Tls, host: &str, wanted: bool, alpn: &[&str]) -> Result<Option<TlsClient>> {
    let trust = match (&tls.tls_ca, tls.tls_insecure) {
        (Some(file), _) => Trust::Authorities(file),
        (None, true) => Trust::AnyCertificateInsecurely,
        (None, false) if wanted => {
            let Some(own) = AUTHORITIES.iter().map(Path::new).find(|file| file.exists()) else {
                bail!(
                    "no authorities are known on this machine; add --tls-ca FILE, or --tls-insecure on a test bed"
                )
            };
            Trust::Authorities(own)
        }
        (None, false) if tls.tls_cert.is_some() || tls.tls_name.is_some() => {
            bail!("TLS without an authority to trust: add --tls-ca FILE, or --tls-insecure on a test bed")
        }
        (None, false) => return Ok(None),
    };
    let identity = match (&tls.tls_cert, &tls.tls_key) {
        (Some(certificates), Some(key)) => Some(Identity { certificates, key }),
        _ => None,
    };
    let config = offering(client_config(trust, identity)?, alpn);
    // A zone does not belong to a name.
    let host = host.split_once('%').map_or(host, |(host, _)| host);
    let name = tls.tls_name.as_deref().unwrap_or(host).to_owned();
    let name = ServerName::try_from(name.clone())
        .with_context(|| format!("'{name}' cannot be the name in a certificate; give it with --tls-name"))?;
    Ok(Some(TlsClient { config, name }))
}

/// Connects for requests outside of the measurement; also returns the version that the server reports.
pub(crate) fn control(
    address: &Address,
    dialect: &Dialect,
    tls: Option<&TlsClient>,
) -> Result<(Control, Option<String>), ControlError> {
    let Some(tls) = tls else { return Control::connect(address, dialect) };
    let server = address.to_string();
    let found = Control::over(server.clone(), dialect, &|| encrypted(stream(address)?, Some(tls)));
    found.map_err(|error| match stranger(address, Some(tls), &error, &Arc::default()) {
        Some(found) => ControlError::Plain { server, found, family: dialect.family() },
        None => error,
    })
}

/// `stream`, with TLS over it if requested. If protocols are offered, the first write fails unless the server selects
/// the first of them.
pub(crate) fn encrypted<S: Stream + 'static>(
    stream: S,
    tls: Option<&TlsClient>,
) -> io::Result<Box<dyn Stream>> {
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let session =
        ClientConnection::new(Arc::clone(&tls.config), tls.name.clone()).map_err(io::Error::other)?;
    let wanted = tls.config.alpn_protocols.first().cloned();
    Ok(Box::new(Explained { stream: StreamOwned::new(session, stream), wanted }))
}

/// The server speaks TLS and another protocol over it than the wanted one.
fn not_selected(wanted: &[u8], selected: Option<&[u8]>) -> io::Error {
    let name = |name: &[u8]| format!("'{}'", name.escape_ascii());
    let selected = selected.map_or("no protocol".into(), name);
    let wanted = name(wanted);
    io::Error::other(format!(
        "the server selected {selected} in TLS's negotiation (ALPN) and not {wanted}; leave out --http 2, or enable \
         HTTP/2 in the server"
    ))
}

/// A stream whose errors are sentences.
struct Explained<S: Stream> {
    stream: StreamOwned<ClientConnection, S>,
    /// The protocol that the server has to select.
    wanted: Option<Vec<u8>>,
}

impl<S: Stream> Explained<S> {
    /// Ends the handshake, and checks the selected protocol.
    fn negotiate(&mut self, wanted: &[u8]) -> io::Result<()> {
        let StreamOwned { conn, sock } = &mut self.stream;
        while conn.is_handshaking() {
            conn.complete_io(sock)?;
        }
        let selected = conn.alpn_protocol();
        if selected == Some(wanted) { Ok(()) } else { Err(not_selected(wanted, selected)) }
    }
}

fn explained(error: io::Error) -> io::Error {
    Failure::explained(error, Peer::Server)
}

impl<S: Stream> Read for Explained<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer).map_err(explained)
    }
}

impl<S: Stream> Write for Explained<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(wanted) = self.wanted.take() {
            self.negotiate(&wanted).map_err(explained)?;
        }
        self.stream.write(bytes).map_err(explained)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush().map_err(explained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_says_of_tls_holds() {
        let given = |options: &[&str]| {
            let has = |name: &str| options.contains(&name);
            Tls {
                tls_ca: has("ca").then(|| "ca.pem".into()),
                tls_insecure: has("insecure"),
                tls_name: has("name").then(|| "n".into()),
                ..Tls::default()
            }
        };
        let check = |options: &[&str], urls: &str, says: Option<&str>| {
            let urls: Vec<Url> = urls.split(' ').map(|url| url.parse().unwrap()).collect();
            let found = super::check(&given(options), &urls).map_err(|error| error.to_string());
            match says {
                None => assert_eq!(found, Ok(()), "{urls:?}"),
                Some(says) => assert!(found.as_ref().is_err_and(|e| e.contains(says)), "{urls:?}: {found:?}"),
            }
        };
        check(&[], "http://a http://b", None);
        check(&[], "https://a https://A:444", None);
        for option in ["ca", "insecure", "name"] {
            check(&[option], "http://a", Some("http://a:80: this URL has no TLS"));
            check(&[option], "https://a", None);
        }
        check(&[], "https://a https://b", Some("a and b are two names"));
        check(&["ca"], "https://10.0.0.1 https://10.0.0.2", Some("--tls-name"));
        check(&["ca", "name"], "https://10.0.0.1 https://b", None);
        check(&["insecure"], "https://10.0.0.1 https://[::1]", None);
        check(&["insecure"], "https://10.0.0.1 https://b", Some("10.0.0.1 and b"));
    }
}
