use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::server::WebPkiClientVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, Error, ServerConfig, SupportedProtocolVersion};

use super::files::Authorities;
use super::verify::{KnownClients, Servers, provider};

/// The servers that a client trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Servers whose certificate was issued by an authority in this PEM file, or is in it, for the name by which they
    /// are called. A certificate in it that does not belong to an authority is trusted for itself only.
    Authorities(&'a Path),
    /// Any at all: encrypted, but the server's identity is not checked. For test beds whose certificates are made up.
    AnyCertificateInsecurely,
}

/// PEM files with a certificate chain, the own certificate first, and its private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The chain.
    pub certificates: &'a Path,
    /// The key.
    pub key: &'a Path,
}

/// A client's configuration, with a certificate of its own for servers that request one.
///
/// Errors: a file that is unreadable or has no certificate or key; a key that does not fit its certificate.
pub fn client_config(trust: Trust<'_>, identity: Option<Identity<'_>>) -> io::Result<Arc<ClientConfig>> {
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let servers = match trust {
        Trust::Authorities(file) => Servers::Known(Authorities::read(file)?),
        Trust::AnyCertificateInsecurely => Servers::Any,
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(servers));
    Ok(Arc::new(match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let own = SingleCertAndKey::from(identity.read(&provider)?);
            builder.with_client_cert_resolver(Arc::new(own))
        }
    }))
}

/// The same, offering these protocols (ALPN), the preferred first.
pub fn offering(config: Arc<ClientConfig>, protocols: &[&str]) -> Arc<ClientConfig> {
    let mut config = Arc::unwrap_or_clone(config);
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// The clients that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// All; no certificate is requested.
    Any,
    /// Clients without a certificate, or with a certificate that was issued by an authority in this PEM file, or is in
    /// it.
    Optional(PathBuf),
    /// Clients with a certificate that was issued by an authority in this PEM file, or is in it.
    Required(PathBuf),
}

/// The oldest version of TLS that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Oldest {
    /// TLS 1.2.
    #[default]
    Tls12,
    /// TLS 1.3.
    Tls13,
}

const ONLY_TLS13: &[&SupportedProtocolVersion] = &[&TLS13];

impl Oldest {
    fn versions(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Oldest::Tls12 => rustls::ALL_VERSIONS,
            Oldest::Tls13 => ONLY_TLS13,
        }
    }
}

/// A server's configuration.
///
/// Errors: as [`client_config`].
pub fn server_config(
    identity: Identity<'_>,
    clients: &Clients,
    oldest: Oldest,
) -> io::Result<Arc<ServerConfig>> {
    let provider = provider();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(oldest.versions()).map_err(unusable)?;
    let builder = match clients {
        Clients::Any => builder.with_no_client_auth(),
        Clients::Optional(file) | Clients::Required(file) => {
            let authorities = Authorities::read(file)?;
            let roots = Arc::new(authorities.roots.clone());
            let build = || WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            let chains = (!authorities.roots.is_empty()).then(build).transpose().map_err(|error| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", file.display()))
            })?;
            let are_required = matches!(clients, Clients::Required(_));
            builder.with_client_cert_verifier(Arc::new(KnownClients { authorities, chains, are_required }))
        }
    };
    let own = SingleCertAndKey::from(identity.read(&provider)?);
    Ok(Arc::new(builder.with_cert_resolver(Arc::new(own))))
}

/// The configuration that a server uses for new connections, which can be replaced while it runs; connections that are
/// open keep theirs. All threads of a server share one.
#[derive(Debug)]
pub struct Renewable(RwLock<Arc<ServerConfig>>);

impl Renewable {
    /// Starts with `config`.
    pub fn new(config: Arc<ServerConfig>) -> Arc<Renewable> {
        Arc::new(Renewable(RwLock::new(config)))
    }

    /// Uses `config` for connections that come from now on. Sessions of the one before are not resumed.
    pub fn replace(&self, config: Arc<ServerConfig>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    /// The configuration for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) fn unusable(error: Error) -> io::Error {
    io::Error::other(format!("TLS cannot be set up: {error}"))
}
