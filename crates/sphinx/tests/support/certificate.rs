use std::fs;

/// A certificate of an authority made for the test, in a folder of its own.
pub(crate) fn certificate() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    // OpenSSL takes a certificate for self-signed whose issuer has the same name.
    params.distinguished_name.push(rcgen::DnType::CommonName, "the authority of a test");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
    fs::write(folder.path().join("cert.pem"), own.pem()).unwrap();
    fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
    folder
}
