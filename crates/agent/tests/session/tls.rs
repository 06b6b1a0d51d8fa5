use std::path::{Path, PathBuf};

use agent::{AgentConfig, Clock, Coordinator, CredentialFiles, Credentials};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::setup::{agent_config, agent_with, run};

/// An authority and the certificates that it signs.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Authority { issuer, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The files of a peer called `name`, whose certificate this authority signed and which trusts `ca`.
    fn files(&self, name: &str, ca: &Path) -> CredentialFiles {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let (cert_file, key_file) = (self.path(&format!("{name}.pem")), self.path(&format!("{name}.key")));
        std::fs::write(&cert_file, cert.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        CredentialFiles { cert: Some(cert_file), key: Some(key_file), ca: Some(ca.into()), token: None }
    }
}

#[test]
fn both_sides_prove_who_they_are() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let read = |files: CredentialFiles| Credentials::read(&files, None).unwrap();
    let (our_ca, their_ca) = (ours.path("ca.pem"), theirs.path("ca.pem"));
    let a = agent_with("a", Clock::monotonic(), read(ours.files("127.0.0.1", &our_ca)));
    let check = |credentials: Credentials, expect: bool| {
        let config = AgentConfig { credentials, ..agent_config(&[&a]) };
        let opened = Coordinator::open(&config);
        assert_eq!(opened.is_ok(), expect, "{:?}", opened.err().map(|e| e.to_string()));
    };
    check(read(ours.files("coordinator", &our_ca)), true);
    // No TLS, no certificate, a certificate of another authority, and a client that does not trust the agent.
    check(Credentials::default(), false);
    check(read(CredentialFiles { ca: Some(our_ca.clone()), ..CredentialFiles::default() }), false);
    check(read(theirs.files("coordinator", &our_ca)), false);
    check(read(ours.files("coordinator", &their_ca)), false);
    // An agent whose certificate has another name.
    let b = agent_with("b", Clock::monotonic(), read(ours.files("elsewhere.example", &our_ca)));
    let config = AgentConfig { credentials: read(ours.files("coordinator", &our_ca)), ..agent_config(&[&b]) };
    assert!(Coordinator::open(&config).is_err());
}

#[test]
fn a_token_inside_tls_is_enough() {
    let ours = Authority::new();
    let token = Some("0123456789abcdef");
    let server = CredentialFiles { ca: None, ..ours.files("127.0.0.1", &ours.path("ca.pem")) };
    let a = agent_with("a", Clock::monotonic(), Credentials::read(&server, token).unwrap());
    let believes = CredentialFiles { ca: Some(ours.path("ca.pem")), ..CredentialFiles::default() };
    let open = |token| {
        let credentials = Credentials::read(&believes, token).unwrap();
        Coordinator::open(&AgentConfig { credentials, ..agent_config(&[&a]) }).map(|_| ())
    };
    assert!(open(None).is_err());
    open(token).unwrap();
    assert!(run(&[&a], &[""]).is_err(), "without TLS it does not speak");
}
