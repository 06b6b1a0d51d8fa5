use std::fmt;
use std::sync::{Arc, LazyLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, KeyProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SignatureVerificationAlgorithm, UnixTime,
};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::SigningKey;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, PeerMisbehaved,
    SignatureScheme,
};

use super::files::Authorities;
use super::p521::{Key, P521_SHA256, P521_SHA384, P521_SHA512};
use super::x509::{Certificate, PublicKey, Purpose, SECP521R1, common_name, is_name, on_curve};

/// The shortest RSA key whose signatures are verified. Source: ring's `RSA_PKCS1_2048_8192_SHA256` and its like. Units: bits.
const RSA_LEAST: usize = 2048;

type Algorithm = &'static dyn SignatureVerificationAlgorithm;

/// Algorithms by the scheme that a handshake names.
type Mapping = Vec<(SignatureScheme, &'static [Algorithm])>;

/// ring's algorithms, and P-521.
static ALGORITHMS: LazyLock<(Vec<Algorithm>, Mapping)> = LazyLock::new(|| {
    const IN_HANDSHAKES: &[Algorithm] = &[&P521_SHA512];
    let ring = ring::default_provider().signature_verification_algorithms;
    let more: [Algorithm; 3] = [&P521_SHA256, &P521_SHA384, &P521_SHA512];
    let mut mapping = ring.mapping.to_vec();
    mapping.push((SignatureScheme::ECDSA_NISTP521_SHA512, IN_HANDSHAKES));
    ([ring.all, &more].concat(), mapping)
});

/// Signatures that a client who verifies nothing accepts without verifying them: RSA keys that are for PSS only, Ed448, SHA-1.
const UNVERIFIED: [SignatureScheme; 6] = [
    SignatureScheme::Unknown(0x0809),
    SignatureScheme::Unknown(0x080a),
    SignatureScheme::Unknown(0x080b),
    SignatureScheme::ED448,
    SignatureScheme::ECDSA_SHA1_Legacy,
    SignatureScheme::RSA_PKCS1_SHA1,
];

/// TLS 1.3 has these for certificates only. Source: RFC 8446, 4.2.3.
const ONLY_TLS12: [SignatureScheme; 3] =
    [SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::RSA_PKCS1_SHA384, SignatureScheme::RSA_PKCS1_SHA512];

fn algorithms() -> WebPkiSupportedAlgorithms {
    WebPkiSupportedAlgorithms { all: &ALGORITHMS.0, mapping: &ALGORITHMS.1 }
}

/// ring's cryptography, and P-521.
pub(super) fn provider() -> Arc<CryptoProvider> {
    let signature_verification_algorithms = algorithms();
    Arc::new(CryptoProvider {
        signature_verification_algorithms,
        key_provider: &Keys,
        ..ring::default_provider()
    })
}

#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let on_curve = on_curve(key.secret_der()).filter(|(curve, _)| *curve == SECP521R1);
        match on_curve.and_then(|(_, secret)| Key::new(secret)) {
            Some(key) => Ok(Arc::new(key)),
            None => ring::sign::any_supported_type(&key),
        }
    }
}

/// Verifies the signature of a handshake by the key in a certificate.
///
/// Errors: a signature that is not the key's, or cannot be verified; with `lenient` the former only.
fn handshake(
    message: &[u8],
    key: Option<PublicKey<'_>>,
    signed: &DigitallySignedStruct,
    (tls13, lenient): (bool, bool),
) -> Result<HandshakeSignatureValid, Error> {
    let accepted = || Ok(HandshakeSignatureValid::assertion());
    if tls13 && ONLY_TLS12.contains(&signed.scheme) {
        return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
    }
    let Some(key) = key else {
        return if lenient { accepted() } else { Err(CertificateError::BadEncoding.into()) };
    };
    let by_scheme = ALGORITHMS.1.iter().find(|(scheme, _)| *scheme == signed.scheme);
    let candidates = by_scheme.map_or(&[][..], |(_, algorithms)| algorithms);
    // TLS 1.3 fixes the curve, which the first has.
    let candidates = if tls13 { &candidates[..candidates.len().min(1)] } else { candidates };
    let fitting = candidates.iter().find(|one| one.public_key_alg_id().as_ref() == key.algorithm);
    let short = key.rsa_bits().filter(|bits| *bits < RSA_LEAST);
    match (fitting, short) {
        (_, Some(_)) | (None, _) if lenient => accepted(),
        (_, Some(bits)) => {
            let why = format!("has an RSA key of {bits} bits, and less than {RSA_LEAST} are not verified");
            Err(refusal(why, false))
        }
        (None, None) => Err(refusal("has a key of a kind that cannot be verified".to_owned(), false)),
        (Some(algorithm), None) => match algorithm.verify_signature(key.bits, message, signed.signature()) {
            Ok(()) => accepted(),
            Err(_) => Err(CertificateError::BadSignature.into()),
        },
    }
}

/// Why a certificate is refused, in the words of a message.
#[derive(Debug)]
pub(super) struct Refusal {
    why: String,
    /// Whether trusting the certificate or its issuer would help.
    pub(super) lacks_trust: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refusal {}

fn refusal(why: String, lacks_trust: bool) -> Error {
    CertificateError::Other(OtherError(Arc::new(Refusal { why, lacks_trust }))).into()
}

impl Authorities {
    /// Decides on a certificate that is one of these, or was issued by one of these directly. Such a one may be an authority's own, or
    /// of X.509 version 1, which webpki does not take.
    ///
    /// `None`: it is neither.
    fn directly(&self, der: &[u8], purpose: Purpose, now: UnixTime) -> Option<Result<(), Error>> {
        let certificate = Certificate::read(der)?;
        let is_trusted = self.certificates.iter().any(|trusted| trusted.as_ref() == der);
        if !is_trusted && !self.issued(&certificate) {
            return None;
        }
        Some(if certificate.not_after < now {
            Err(CertificateError::ExpiredContext { time: now, not_after: certificate.not_after }.into())
        } else if now < certificate.not_before {
            Err(CertificateError::NotValidYetContext { time: now, not_before: certificate.not_before }.into())
        } else if certificate.is_beyond_us() {
            Err(CertificateError::UnhandledCriticalExtension.into())
        } else if !certificate.allows(purpose) {
            Err(CertificateError::InvalidPurpose.into())
        } else {
            Ok(())
        })
    }

    fn issued(&self, certificate: &Certificate<'_>) -> bool {
        self.roots.roots.iter().any(|anchor| {
            let key = PublicKey::read(&anchor.subject_public_key_info);
            // An authority for some names only is left to webpki.
            anchor.subject.as_ref() == certificate.issuer
                && anchor.name_constraints.is_none()
                && key.is_some_and(|key| is_signed_by(certificate, key))
        })
    }

    /// The error of a certificate whose issuer is unknown; `sent` is the number of other certificates from the peer.
    fn unknown(&self, certificate: &CertificateDer<'_>, sent: usize) -> Error {
        let Some(certificate) = Certificate::read(certificate) else {
            return CertificateError::BadEncoding.into();
        };
        let name = |name: &[u8]| common_name(name).unwrap_or_else(|| "a nameless authority".to_owned());
        let issuer = name(certificate.issuer);
        let known = self.roots.roots.iter().any(|root| root.subject.as_ref() == certificate.issuer);
        let is_issuer = |other: &Certificate<'_>| {
            let signed = |key| is_signed_by(&certificate, key);
            other.subject == certificate.issuer
                && !other.is_authority()
                && other.public_key().is_some_and(signed)
        };
        let mut trusted = self.certificates.iter().filter_map(|der| Certificate::read(der));
        let why = if trusted.any(|other| is_issuer(&other)) {
            format!(
                "was issued by '{issuer}', whose certificate is trusted for itself only: it is not that of an authority \
                     (basicConstraints)"
            )
        } else if certificate.issuer == certificate.subject {
            format!("was issued by itself ('{issuer}') and is not among those that are trusted")
        } else if known {
            format!(
                "was not signed by the trusted '{issuer}' but by another authority of the same name, or by SHA-1 or another \
                     algorithm that is not verified"
            )
        } else if sent == 0 {
            format!(
                "was issued by '{issuer}', which is not trusted, and whose own certificate the server does not send"
            )
        } else {
            format!(
                "was issued by '{issuer}', which leads to no authority that is trusted (and must be one itself for a \
                 certificate of X.509 version 1, or of another authority)"
            )
        };
        refusal(why, true)
    }
}

/// Whether webpki found no issuer, or stopped before it looked for one.
fn has_no_known_issuer(error: &Error) -> bool {
    use CertificateError::{BadSignature, Other, UnknownIssuer};
    matches!(error, Error::InvalidCertificate(UnknownIssuer | BadSignature | Other(_)))
}

fn is_signed_by(certificate: &Certificate<'_>, key: PublicKey<'_>) -> bool {
    ALGORITHMS.0.iter().any(|algorithm| {
        algorithm.signature_alg_id().as_ref() == certificate.algorithm
            && algorithm.public_key_alg_id().as_ref() == key.algorithm
            && algorithm.verify_signature(key.bits, certificate.signed, certificate.signature).is_ok()
    })
}

/// A client's view of servers.
#[derive(Debug)]
pub(super) enum Servers {
    /// Those with a certificate that an authority issued, for the name that they are called by.
    Known(Authorities),
    /// Any. The certificate is not checked; the signature of the handshake is, if its algorithm is known here.
    Any,
    /// Any with a raw public key instead of a certificate (RFC 7250), in TLS 1.3.
    #[cfg(feature = "made-up")]
    RawKeys,
}

impl Servers {
    fn key<'a>(&self, certificate: &'a CertificateDer<'_>) -> Option<PublicKey<'a>> {
        match self {
            #[cfg(feature = "made-up")]
            Servers::RawKeys => PublicKey::whole(certificate),
            _ => PublicKey::of(certificate),
        }
    }

    fn is_lenient(&self) -> bool {
        !matches!(self, Servers::Known(_))
    }
}

impl ServerCertVerifier for Servers {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Servers::Known(authorities) = self else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(certificate);
        let chain = parsed.as_ref().map_err(Clone::clone).and_then(|parsed| {
            let (roots, all) = (&authorities.roots, algorithms().all);
            verify_server_cert_signed_by_trust_anchor(parsed, roots, intermediates, now, all)
        });
        chain.or_else(|error| match authorities.directly(certificate, Purpose::Server, now) {
            Some(found) => found,
            None if has_no_known_issuer(&error) => Err(authorities.unknown(certificate, intermediates.len())),
            None => Err(error),
        })?;
        match Certificate::read(certificate).and_then(|read| read.only_name()) {
            Some(common) if is_name(&common, name) => {}
            Some(common) => {
                let (expected, presented) = (name.to_owned(), vec![common]);
                return Err(CertificateError::NotValidForNameContext { expected, presented }.into());
            }
            None => verify_server_name(&parsed?, name)?,
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake(message, self.key(certificate), signed, (false, self.is_lenient()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake(message, self.key(certificate), signed, (true, self.is_lenient()))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let mut schemes = algorithms().supported_schemes();
        if let Servers::Any = self {
            schemes.extend(UNVERIFIED);
        }
        schemes
    }

    fn requires_raw_public_keys(&self) -> bool {
        #[cfg(feature = "made-up")]
        return matches!(self, Servers::RawKeys);
        #[cfg(not(feature = "made-up"))]
        false
    }
}

/// A server's view of clients.
#[derive(Debug)]
pub(super) struct KnownClients {
    pub(super) authorities: Authorities,
    /// webpki's verifier with the same authorities, if there are any.
    pub(super) chains: Option<Arc<dyn ClientCertVerifier>>,
    /// Whether a client must show a certificate.
    pub(super) are_required: bool,
}

impl ClientCertVerifier for KnownClients {
    fn client_auth_mandatory(&self) -> bool {
        self.are_required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.authorities.subjects
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let unknown = || CertificateError::UnknownIssuer.into();
        let chain = match &self.chains {
            Some(chains) => chains.verify_client_cert(certificate, intermediates, now),
            None => Err(unknown()),
        };
        chain.or_else(|error| {
            let direct = self.authorities.directly(certificate, Purpose::Client, now);
            let error = if has_no_known_issuer(&error) { unknown() } else { error };
            direct.unwrap_or(Err(error)).map(|()| ClientCertVerified::assertion())
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake(message, PublicKey::of(certificate), signed, (false, false))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake(message, PublicKey::of(certificate), signed, (true, false))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}
