use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};
use tonic::{Request, Status};

use crate::Error;

/// The shortest accepted token: 16 hexadecimal digits are 64 bits, too many to guess over a network.
const SHORTEST_TOKEN: usize = 16;
/// The longest accepted token: it is sent in a header.
const LONGEST_TOKEN: usize = 1024;
const HEADER: &str = "authorization";

/// The environment variable for the token, an alternative to a file.
pub const TOKEN: &str = "TAILLIGHT_TOKEN";

/// Paths of one side's credentials, as given on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialFiles {
    /// This side's certificate, PEM.
    pub cert: Option<PathBuf>,
    /// Its private key, PEM.
    pub key: Option<PathBuf>,
    /// The trusted authority, PEM.
    pub ca: Option<PathBuf>,
    /// A file that holds the shared token.
    pub token: Option<PathBuf>,
}

/// Credentials of one side, and the trust anchors for the other.
#[derive(Clone, Default)]
pub struct Credentials {
    identity: Option<Identity>,
    ca: Option<Certificate>,
    token: Option<Token>,
}

/// A secret shared by both sides. It is compared in constant time and never printed.
#[derive(Clone)]
struct Token(String);

impl Credentials {
    /// Reads the files; `token` is a token from the environment, used if no file is named.
    ///
    /// Errors: a file cannot be read; a certificate without key or the reverse; an invalid token.
    pub fn read(files: &CredentialFiles, token: Option<&str>) -> Result<Credentials, Error> {
        let identity = match (&files.cert, &files.key) {
            (Some(cert), Some(key)) => Some(Identity::from_pem(read(cert)?, read(key)?)),
            (None, None) => None,
            (Some(_), None) => return Err(lone("certificate", "its private key")),
            (None, Some(_)) => return Err(lone("private key", "its certificate")),
        };
        let ca = files.ca.as_deref().map(read).transpose()?.map(Certificate::from_pem);
        let token = match &files.token {
            Some(file) => Some(Token::new(&String::from_utf8_lossy(&read(file)?))?),
            None => token.map(Token::new).transpose()?,
        };
        Ok(Credentials { identity, ca, token })
    }

    /// Whether an agent with these credentials may listen on `address`: beyond loopback it must authenticate its
    /// clients, and a token requires TLS unless `insecure_token`.
    pub fn may_listen(&self, address: SocketAddr, insecure_token: bool) -> Result<(), Error> {
        let encrypted = self.identity.is_some();
        let exposed = |remedy| Err(Error::Exposed { address, remedy });
        if self.ca.is_some() && !encrypted {
            return Err(lone("certificate authority", "a certificate and key of its own"));
        }
        if encrypted && self.ca.is_none() && self.token.is_none() {
            return Err(Error::Credentials(
                "agent: with a certificate but neither an authority nor a token any client could start load; add \
                 --tls-ca or --token-file"
                    .into(),
            ));
        }
        if address.ip().is_loopback() || encrypted {
            return Ok(());
        }
        match &self.token {
            None => exposed(
                "give --tls-cert, --tls-key and --tls-ca, or a --token-file with --tls-cert and --tls-key",
            ),
            Some(_) if !insecure_token => exposed(
                "the token would be sent in clear: add --tls-cert and --tls-key, or agree with --insecure-token",
            ),
            Some(_) => Ok(()),
        }
    }

    /// Whether a coordinator with these credentials may connect to `address`: a token is sent without TLS only if
    /// permitted.
    pub fn may_connect(&self, address: &str, loopback: bool, insecure_token: bool) -> Result<(), Error> {
        if self.identity.is_some() && self.ca.is_none() {
            return Err(lone("certificate", "the authority of the agents' certificates"));
        }
        if self.token.is_some() && self.ca.is_none() && !loopback && !insecure_token {
            return Err(Error::Credentials(format!(
                "agent {address}: the token would be sent in clear over a network; give the authority of its certificate, or agree with --agents-insecure-token"
            )));
        }
        Ok(())
    }

    pub(crate) fn server_tls(&self) -> Option<ServerTlsConfig> {
        let tls = ServerTlsConfig::new().identity(self.identity.clone()?);
        Some(match &self.ca {
            Some(ca) => tls.client_ca_root(ca.clone()),
            None => tls,
        })
    }

    pub(crate) fn client_tls(&self) -> Option<ClientTlsConfig> {
        let tls = ClientTlsConfig::new().ca_certificate(self.ca.clone()?);
        Some(match &self.identity {
            Some(identity) => tls.identity(identity.clone()),
            None => tls,
        })
    }

    /// Adds the token to a call.
    pub(crate) fn sign<T>(&self, request: &mut Request<T>) {
        if let Some(token) = &self.token
            && let Ok(mut value) =
                format!("Bearer {}", token.0).parse::<tonic::metadata::AsciiMetadataValue>()
        {
            value.set_sensitive(true);
            request.metadata_mut().insert(HEADER, value);
        }
    }

    /// Refuses a call without the token, if a token is configured.
    pub(crate) fn check<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = request.metadata().get(HEADER).map_or(&b""[..], |value| value.as_bytes());
        let expected = format!("Bearer {}", token.0);
        if bool::from(given.ct_eq(expected.as_bytes())) {
            Ok(())
        } else if given.is_empty() {
            Err(Status::unauthenticated("it wants a token; give the one that it was started with"))
        } else {
            Err(Status::unauthenticated("the token is not the one that it was started with"))
        }
    }
}

impl Token {
    fn new(text: &str) -> Result<Token, Error> {
        let text = text.trim();
        let bad = |why: String| {
            Err(Error::Credentials(format!("token: {why}; make one by 'openssl rand -hex 32'")))
        };
        if !(SHORTEST_TOKEN..=LONGEST_TOKEN).contains(&text.len()) {
            return bad(format!(
                "it has {} characters, and must have {SHORTEST_TOKEN} to {LONGEST_TOKEN}",
                text.len()
            ));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return bad("it must be letters, digits and signs of ASCII without blanks".into());
        }
        Ok(Token(text.into()))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let remedy = "name a file that is there and that you may read";
    std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source, remedy })
}

fn lone(what: &str, other: &str) -> Error {
    Error::Credentials(format!("a {what} was given without {other}; both are needed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn with(identity: bool, ca: bool, token: bool) -> Credentials {
        Credentials {
            identity: identity.then(|| Identity::from_pem("", "")),
            ca: ca.then(|| Certificate::from_pem("")),
            token: token.then(|| Token(TOKEN.into())),
        }
    }

    #[test]
    fn beyond_loopback_only_with_credentials() {
        let check = |identity, ca, token, address: &str, insecure, expect: bool| {
            let may = with(identity, ca, token).may_listen(address.parse().unwrap(), insecure);
            assert_eq!(may.is_ok(), expect, "{identity} {ca} {token} {address} {insecure}: {may:?}");
        };
        check(false, false, false, "127.0.0.1:0", false, true);
        check(false, false, false, "[::1]:0", false, true);
        check(false, false, true, "127.0.0.1:0", false, true);
        for beyond in ["10.0.0.1:7070", "0.0.0.0:7070", "[::]:7070"] {
            check(false, false, false, beyond, false, false);
            check(false, false, false, beyond, true, false);
            check(false, false, true, beyond, false, false);
            check(false, false, true, beyond, true, true);
            check(true, false, true, beyond, false, true);
            check(true, true, false, beyond, false, true);
            check(true, true, true, beyond, false, true);
        }
        // A certificate alone authenticates the agent, not the client.
        check(true, false, false, "127.0.0.1:0", false, false);
        check(false, true, true, "127.0.0.1:0", false, false);
    }

    #[test]
    fn a_token_is_not_sent_in_clear_unasked() {
        let check = |identity, ca, token, loopback, insecure, expect: bool| {
            let may = with(identity, ca, token).may_connect("a:1", loopback, insecure);
            assert_eq!(may.is_ok(), expect, "{identity} {ca} {token} {loopback} {insecure}: {may:?}");
        };
        check(false, false, false, false, false, true);
        check(false, false, true, true, false, true);
        check(false, false, true, false, false, false);
        check(false, false, true, false, true, true);
        check(false, true, true, false, false, true);
        check(true, false, false, false, false, false);
    }

    #[test]
    fn only_the_same_token_is_let_in() {
        let check = |server: bool, client: Option<&str>, expect: bool| {
            let mut request = Request::new(());
            let token = client.map(|text| Token(text.into()));
            Credentials { token, ..Credentials::default() }.sign(&mut request);
            let answer = with(false, false, server).check(&request);
            assert_eq!(answer.is_ok(), expect, "{client:?}: {answer:?}");
        };
        check(true, Some(TOKEN), true);
        check(true, Some("0123456789abcdeX"), false);
        check(true, Some("0123456789abcdef0"), false);
        check(true, Some("0123456789abcde"), false);
        check(true, None, false);
        check(false, None, true);
        check(false, Some(TOKEN), true);
    }

    #[test]
    fn a_token_is_long_and_plain() {
        let check = |text: &str, expect: bool| {
            let read = Credentials::read(&CredentialFiles::default(), Some(text));
            assert_eq!(read.is_ok(), expect, "{text}");
        };
        check(TOKEN, true);
        check(&format!("{TOKEN}\n"), true);
        check("", false);
        check("secret", false);
        check(&"x".repeat(LONGEST_TOKEN + 1), false);
        check("0123456789 abcdef", false);
        check("0123456789abcdäf", false);
    }

    #[test]
    fn a_pair_is_whole_and_files_are_there() {
        let path = |given: bool| given.then(|| PathBuf::from("/nowhere/x.pem"));
        let check = |cert, key, says: &str| {
            let files = CredentialFiles { cert: path(cert), key: path(key), ..CredentialFiles::default() };
            let Err(error) = Credentials::read(&files, None) else { panic!("{says}") };
            assert!(error.to_string().contains(says), "{error}");
        };
        check(true, false, "without its private key");
        check(false, true, "without its certificate");
        check(true, true, "/nowhere/x.pem");
    }
}
