use std::io;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, ServerName};

use super::{Renewable, Tls, Trust, client_config};
use crate::Reactor;

/// Both ends of TLS with a certificate made up for this process, for tests of what uses TLS.
pub struct MadeUp {
    server: Arc<Renewable>,
    client: Arc<rustls::ClientConfig>,
}

impl MadeUp {
    /// Errors: the system gives no random numbers.
    pub fn new() -> io::Result<MadeUp> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let params = CertificateParams::new(vec!["localhost".into()]).map_err(io::Error::other)?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let builder = builder.with_no_client_auth();
        let server =
            builder.with_single_cert(vec![certificate.der().clone()], key).map_err(io::Error::other)?;
        let client = client_config(Trust::AnyCertificateInsecurely, None)?;
        Ok(MadeUp { server: Renewable::new(Arc::new(server)), client })
    }

    /// The configuration of clients, and the name of the server.
    pub fn client_parts(&self) -> (Arc<rustls::ClientConfig>, ServerName<'static>) {
        (Arc::clone(&self.client), ServerName::try_from("localhost").expect("it is a name"))
    }

    /// A client on this backend.
    pub fn client<R: Reactor>(&self, inner: R) -> Tls<R> {
        let (config, name) = self.client_parts();
        Tls::client(inner, config, name)
    }

    /// A server on this backend.
    pub fn server<R: Reactor>(&self, inner: R) -> Tls<R> {
        Tls::server(inner, Arc::clone(&self.server))
    }
}
