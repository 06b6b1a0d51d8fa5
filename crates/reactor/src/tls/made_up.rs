use std::io;
use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};

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
        let unusable = |error: Error| io::Error::other(error);
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
        let pair = PrivatePkcs8KeyDer::from(
            pair.map_err(|error| io::Error::other(error.to_string()))?.as_ref().to_vec(),
        );
        let provider = Arc::new(crypto::ring::default_provider());
        let key = provider.key_provider.load_private_key(pair.into()).map_err(unusable)?;
        let public = key.public_key().ok_or_else(|| io::Error::other("the key has no public part"))?;
        let shown = CertificateDer::from(public.as_ref().to_vec());
        let resolver = AlwaysResolvesServerRawPublicKeys::new(Arc::new(CertifiedKey::new(vec![shown], key)));
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let server = server.with_protocol_versions(&[&TLS13]).map_err(unusable)?;
        let server = server.with_no_client_auth().with_cert_resolver(Arc::new(resolver));
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let client = client.with_protocol_versions(&[&TLS13]).map_err(unusable)?.dangerous();
        let client =
            client.with_custom_certificate_verifier(Arc::new(AnyKey(provider))).with_no_client_auth();
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

/// Takes the key of any server, and checks that the server has its private part.
#[derive(Debug)]
struct AnyKey(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyKey {
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
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 has no keys without certificates".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key.as_ref().into(), signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
