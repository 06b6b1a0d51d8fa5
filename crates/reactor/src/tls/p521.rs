use std::fmt;
use std::sync::Arc;

use p521::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use p521::ecdsa::{Signature, SigningKey, VerifyingKey};
use ring::digest::{self, SHA256, SHA384, SHA512};
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, alg_id,
};
use rustls::sign::{self, Signer, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

/// The length of a number below the order of P-521. Units: bytes.
const NUMBER: usize = 66;

/// ECDSA on the curve P-521, which ring does not have.
pub(super) struct P521 {
    signature: AlgorithmIdentifier,
    hash: &'static digest::Algorithm,
}

/// As handshakes use it.
pub(super) static P521_SHA512: P521 = P521 { signature: alg_id::ECDSA_SHA512, hash: &SHA512 };
/// As certificates are signed with it, too: OpenSSL's usual hash is SHA-256 for every key.
pub(super) static P521_SHA384: P521 = P521 { signature: alg_id::ECDSA_SHA384, hash: &SHA384 };
/// See [`P521_SHA384`].
pub(super) static P521_SHA256: P521 = P521 { signature: alg_id::ECDSA_SHA256, hash: &SHA256 };

impl P521 {
    /// The hash as a number: the library takes only hashes that are half as long as this or longer.
    fn number(&self, message: &[u8]) -> [u8; NUMBER] {
        let hash = digest::digest(self.hash, message);
        let mut number = [0; NUMBER];
        number[NUMBER - hash.as_ref().len()..].copy_from_slice(hash.as_ref());
        number
    }
}

impl fmt::Debug for P521 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("P521")
    }
}

impl SignatureVerificationAlgorithm for P521 {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = VerifyingKey::from_sec1_bytes(key).map_err(|_| InvalidSignature)?;
        let signature = Signature::from_der(signature).map_err(|_| InvalidSignature)?;
        key.verify_prehash(&self.number(message), &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P521
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// A private key.
#[derive(Clone)]
pub(super) struct Key(Arc<SigningKey>);

impl Key {
    /// `None`: not a number that is a key.
    pub(super) fn new(secret: &[u8]) -> Option<Key> {
        let mut number = [0; NUMBER];
        let from = NUMBER.checked_sub(secret.len())?;
        number[from..].copy_from_slice(secret);
        Some(Key(Arc::new(SigningKey::from_slice(&number).ok()?)))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl sign::SigningKey for Key {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&self.scheme()).then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        let point = VerifyingKey::from(&*self.0).to_encoded_point(false);
        Some(public_key_to_spki(&alg_id::ECDSA_P521, point.as_bytes()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature: Signature = self
            .0
            .sign_prehash(&P521_SHA512.number(message))
            .map_err(|error| Error::General(error.to_string()))?;
        Ok(signature.to_der().as_bytes().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP521_SHA512
    }
}
