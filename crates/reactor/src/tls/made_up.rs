use std::io;
use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};

use super::config::unusable;
use super::verify::{Servers, provider};
use super::{Renewable, Tls};
use crate::Reactor;

/// Both ends of TLS 1.3 with a key made up for this process and shown without a certificate (RFC 7250), for tests of what uses
/// TLS.
pub struct MadeUp {
    server: Arc<Renewable>,
    client: Arc<ClientConfig>,
}

impl MadeUp {
    /// Errors: the system gives no random numbers.
    pub fn new() -> io::Result<MadeUp> {
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
        let pair = PrivatePkcs8KeyDer::from(
            pair.map_err(|error| io::Error::other(error.to_string()))?.as_ref().to_vec(),
        );
        let provider = provider();
        let key = provider.key_provider.load_private_key(pair.into()).map_err(unusable)?;
        let public = key.public_key().ok_or_else(|| io::Error::other("the key has no public part"))?;
        let shown = CertificateDer::from(public.as_ref().to_vec());
        let resolver = AlwaysResolvesServerRawPublicKeys::new(Arc::new(CertifiedKey::new(vec![shown], key)));
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let server = server.with_protocol_versions(&[&TLS13]).map_err(unusable)?;
        let server = server.with_no_client_auth().with_cert_resolver(Arc::new(resolver));
        let client = ClientConfig::builder_with_provider(provider);
        let client = client.with_protocol_versions(&[&TLS13]).map_err(unusable)?.dangerous();
        let client =
            client.with_custom_certificate_verifier(Arc::new(Servers::RawKeys)).with_no_client_auth();
        Ok(MadeUp { server: Renewable::new(Arc::new(server)), client: Arc::new(client) })
    }

    /// The configuration of clients, and the name of the server.
    pub fn client_parts(&self) -> (Arc<ClientConfig>, ServerName<'static>) {
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
