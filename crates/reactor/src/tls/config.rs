use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};

/// The servers that a client trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Those whose certificate was issued by an authority in this PEM file, for the name that they are called by.
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
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let builder = match trust {
        Trust::Authorities(file) => builder.with_root_certificates(authorities(file)?),
        Trust::AnyCertificateInsecurely => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate { provider, raw_key: false })),
    };
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = identity.read()?;
            builder.with_client_auth_cert(chain, key).map_err(|error| identity.refused(error))?
        }
    };
    Ok(Arc::new(config))
}

/// The clients that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// All; no certificate is requested.
    Any,
    /// Those without a certificate, and those with one that was issued by an authority in this PEM file.
    Optional(PathBuf),
    /// Those with a certificate that was issued by an authority in this PEM file.
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
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(oldest.versions()).map_err(unusable)?;
    let builder = match clients {
        Clients::Any => builder.with_no_client_auth(),
        Clients::Optional(file) | Clients::Required(file) => {
            let roots = Arc::new(authorities(file)?);
            let mut verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            if let Clients::Optional(_) = clients {
                verifier = verifier.allow_unauthenticated();
            }
            builder.with_client_cert_verifier(verifier.build().map_err(|error| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", file.display()))
            })?)
        }
    };
    let (chain, key) = identity.read()?;
    let config = builder.with_single_cert(chain, key).map_err(|error| identity.refused(error))?;
    Ok(Arc::new(config))
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

impl Identity<'_> {
    fn read(&self) -> io::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let key = PrivateKeyDer::from_pem_file(self.key)
            .map_err(|error| unreadable(self.key, "private key", &error))?;
        Ok((certificates(self.certificates)?, key))
    }

    fn refused(&self, error: Error) -> io::Error {
        let (certificates, key) = (self.certificates.display(), self.key.display());
        let text = format!("the certificate in {certificates} and the key in {key} cannot be used: {error}");
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    match found {
        Ok(found) if found.is_empty() => Err(unreadable(file, "certificate", &pem::Error::NoItemsFound)),
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(file, "certificate", &error)),
    }
}

fn authorities(file: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| {
            let text = format!("{} holds a certificate that is not an authority's: {error}", file.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
    }
    Ok(roots)
}

fn unreadable(file: &Path, what: &str, error: &pem::Error) -> io::Error {
    let (kind, why) = match error {
        pem::Error::Io(error) => (error.kind(), error.to_string()),
        pem::Error::NoItemsFound => (io::ErrorKind::InvalidData, "there is none in it".into()),
        error => (io::ErrorKind::InvalidData, format!("{error:?}")),
    };
    let text = format!("cannot read a {what} from {}: {why}; give a PEM file", file.display());
    io::Error::new(kind, text)
}

pub(super) fn unusable(error: Error) -> io::Error {
    io::Error::other(format!("TLS cannot be set up: {error}"))
}

/// Accepts any server certificate. Signatures are checked, so that the handshake is a real one.
pub(super) struct AnyCertificate {
    pub(super) provider: Arc<CryptoProvider>,
    /// Whether the server shows a public key in place of a certificate (RFC 7250), which TLS 1.3 alone has.
    pub(super) raw_key: bool,
}

impl fmt::Debug for AnyCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyCertificate")
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        if self.raw_key {
            let key = certificate.as_ref().into();
            return verify_tls13_signature_with_raw_key(message, &key, signature, algorithms);
        }
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.raw_key
    }
}
