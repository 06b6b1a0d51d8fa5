use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{DistinguishedName, RootCertStore};

use super::config::Identity;
use super::words::spaced;
use super::x509::{Certificate, PublicKey, on_curve, with_public};

/// The keys that can sign here. Source: ring's, and P-521.
const KEYS: &str = "RSA of 2048 to 4096 bits, ECDSA on P-256, P-384 or P-521, or Ed25519";

/// The certificates that are trusted.
#[derive(Debug)]
pub(super) struct Authorities {
    /// Certificates that may issue others, as anchors.
    pub(super) roots: RootCertStore,
    /// All certificates, each of which is trusted for itself, and their subjects.
    pub(super) certificates: Vec<CertificateDer<'static>>,
    pub(super) subjects: Vec<DistinguishedName>,
}

impl Authorities {
    /// Reads a bundle. A certificate that webpki does not take as an anchor is passed over, if there are others: bundles of systems
    /// have such.
    pub(super) fn read(file: &Path) -> io::Result<Authorities> {
        let certificates = certificates(file)?;
        let mut roots = RootCertStore::empty();
        let mut refused = None;
        let mut subjects = Vec::new();
        for certificate in &certificates {
            let Some(read) = Certificate::read(certificate) else { continue };
            subjects.push(DistinguishedName::in_sequence(read.subject));
            // The key of a server's or a client's certificate must not sign others.
            if read.is_authority() {
                refused = roots.add(certificate.clone()).err().or(refused);
            }
        }
        match refused {
            Some(error) if roots.is_empty() => Err(invalid(
                file,
                &format!("has no certificate that can be an authority's: {}", spaced(&error.to_string())),
            )),
            _ => Ok(Authorities { roots, certificates, subjects }),
        }
    }
}

impl Identity<'_> {
    /// Reads the chain and the key, and checks that they belong together.
    pub(super) fn read(&self, provider: &CryptoProvider) -> io::Result<Arc<CertifiedKey>> {
        let key = private_key(self.key)?;
        let chain = certificates(self.certificates)?;
        let own = PublicKey::of(&chain[0]);
        let key = signing(self.key, key, own, provider)?;
        let differs = key.public_key().is_some_and(|public| PublicKey::whole(&public) != own);
        if differs {
            let (certificates, key) = (self.certificates.display(), self.key.display());
            let text = format!(
                "the key in {key} is not that of the first certificate in {certificates}, which must be the own one, \
                 followed by its issuers; compare 'openssl pkey -pubout -in {key}' and 'openssl x509 -pubkey -noout \
                 -in {certificates}'"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(Arc::new(CertifiedKey::new(chain, key)))
    }
}

fn private_key(file: &Path) -> io::Result<PrivateKeyDer<'static>> {
    let bytes = read(file)?;
    let text = String::from_utf8_lossy(&bytes);
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        let name = file.display();
        let what =
            format!("has an encrypted private key; decrypt it: openssl pkey -in {name} -out DECRYPTED.pem");
        return Err(invalid(file, &what));
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| unreadable(file, "private key", &bytes, &error))
}

/// The key as one that signs. ring needs the public part of a key on a curve, which is in the certificate if it is not in the file.
fn signing(
    file: &Path,
    key: PrivateKeyDer<'static>,
    own: Option<PublicKey<'_>>,
    provider: &CryptoProvider,
) -> io::Result<Arc<dyn SigningKey>> {
    let whole = on_curve(key.secret_der()).zip(own);
    let whole = whole.map(|((curve, secret), own)| with_public(curve, secret, own.bits));
    let load = |key| provider.key_provider.load_private_key(key);
    let loaded = load(key).or_else(|error| load(PrivatePkcs8KeyDer::from(whole.ok_or(error)?).into()));
    loaded.map_err(|_| {
        let what = format!(
            "has a private key that cannot be used; it must be {KEYS}: see 'openssl pkey -noout -text -in {}'",
            file.display()
        );
        invalid(file, &what)
    })
}

/// All certificates in a PEM file; at least one.
///
/// OpenSSL's labels `X509 CERTIFICATE` and `TRUSTED CERTIFICATE` are accepted; the latter has uses behind the certificate, which are cut off.
fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let bytes = read(file)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    for label in ["X509 CERTIFICATE", "TRUSTED CERTIFICATE"] {
        text = text.replace(&format!("-----BEGIN {label}-----"), "-----BEGIN CERTIFICATE-----");
        text = text.replace(&format!("-----END {label}-----"), "-----END CERTIFICATE-----");
    }
    let mut found = Vec::new();
    for (number, certificate) in (1..).zip(CertificateDer::pem_slice_iter(text.as_bytes())) {
        let certificate = certificate
            .map_err(|error| unreadable(file, &format!("certificate (number {number})"), &bytes, &error))?;
        let Some(length) = Certificate::read(&certificate).map(|read| read.whole.len()) else {
            return Err(invalid(
                file,
                &format!("is damaged: certificate {number} in it is not a certificate; write it again"),
            ));
        };
        found.push(CertificateDer::from(certificate[..length].to_vec()));
    }
    if found.is_empty() {
        return Err(unreadable(file, "certificate", &bytes, &pem::Error::NoItemsFound));
    }
    Ok(found)
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::read(file).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot read {}: {error}; give a PEM file", file.display()))
    })?;
    // As some editors begin a file.
    Ok(bytes.strip_prefix(b"\xef\xbb\xbf").map_or_else(|| bytes.clone(), <[u8]>::to_vec))
}

fn unreadable(file: &Path, what: &str, bytes: &[u8], error: &pem::Error) -> io::Error {
    let name = file.display();
    let text = String::from_utf8_lossy(bytes);
    let label = text.split_once("-----BEGIN ").and_then(|(_, rest)| Some(rest.split_once("-----")?.0.trim()));
    let is_der = bytes.first() == Some(&0x30) && label.is_none();
    let why = match error {
        _ if bytes.is_empty() => "the file is empty".to_owned(),
        pem::Error::NoItemsFound if is_der && what.starts_with("private") => {
            format!("the file is not PEM; convert it: openssl pkey -inform DER -in {name} -out {name}.pem")
        }
        pem::Error::NoItemsFound if is_der => format!(
            "the file is not PEM; convert it: openssl x509 -inform DER -in {name} -out {name}.pem, or if it is PKCS #12 openssl \
             pkcs12 -nodes -in {name} -out {name}.pem"
        ),
        pem::Error::NoItemsFound => match label {
            Some("CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE") if what.starts_with("cert") => {
                "its BEGIN line is damaged: it must be a line of its own, and its END line, too".to_owned()
            }
            Some(label) => format!("the file has none, but {label}"),
            None => "the file is not PEM".to_owned(),
        },
        pem::Error::MissingSectionEnd { .. } => {
            "it has no END line of its own, and may be cut off".to_owned()
        }
        pem::Error::IllegalSectionStart { .. } => "its BEGIN line is damaged".to_owned(),
        _ => "it is damaged: its lines are not base64".to_owned(),
    };
    io::Error::new(io::ErrorKind::InvalidData, format!("cannot read a {what} from {name}: {why}"))
}

fn invalid(file: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} {what}", file.display()))
}
