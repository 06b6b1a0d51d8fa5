use std::{fmt, io};

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use super::verify::Refusal;

/// The other end of a connection, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A client of this server.
    Client,
    /// The server of this client, whose user may set `--tls-ca` and the like.
    Server,
}

/// A failure of TLS, whose text is a sentence for users.
#[derive(Debug)]
pub struct Failure {
    text: String,
    is_not_tls: bool,
}

impl Failure {
    /// Replaces the error of a library within `error`, if there is one; others are returned as they are.
    pub fn explained(error: io::Error, peer: Peer) -> io::Error {
        let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref()) else { return error };
        let (text, is_not_tls) = (explain(tls, peer), matches!(tls, Error::InvalidMessage(_)));
        io::Error::new(error.kind(), Failure { text, is_not_tls })
    }

    /// Whether the peer sent other bytes than TLS.
    pub fn is_not_tls(&self) -> bool {
        self.is_not_tls
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// Says in a sentence why TLS with this peer failed and, to a client's user, what to do.
pub(super) fn explain(error: &Error, peer: Peer) -> String {
    let is_server = peer == Peer::Server;
    let the = if is_server { "the server" } else { "the client" };
    // Hints are for users of clients: a server's operator can change the client no more than its certificate.
    let hint = |hint: &'static str| if is_server { hint } else { "" };
    match error {
        Error::InvalidCertificate(why) => format!("{the}'s certificate {}", refused(why, is_server)),
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType
            | InvalidMessage::UnknownProtocolVersion
            | InvalidMessage::MessageTooLarge
            | InvalidMessage::InvalidEmptyPayload,
        ) => format!(
            "{the} does not speak TLS on this port: its bytes are no TLS{}",
            hint(
                "; leave out --tls-ca and --tls-insecure, write http:// for https://, or give the port of TLS"
            )
        ),
        Error::AlertReceived(alert) => {
            let (what, then) = alerted(*alert, is_server);
            format!(
                "{the} ended the handshake: {what} (alert '{}'){}",
                spaced(&format!("{alert:?}")),
                hint(then)
            )
        }
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        ) => format!("{the} has no version of TLS in common with this program, which speaks 1.2 and 1.3"),
        Error::PeerIncompatible(
            PeerIncompatible::NoCipherSuitesInCommon
            | PeerIncompatible::NoKxGroupsInCommon
            | PeerIncompatible::NoSignatureSchemesInCommon
            | PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon,
        ) => {
            format!("{the} has no cryptography in common with this program: {}", spaced(&format!("{error}")))
        }
        Error::NoCertificatesPresented => format!("{the} showed no certificate, and has to"),
        other => spaced(&other.to_string()),
    }
}

fn refused(why: &CertificateError, is_server: bool) -> String {
    let give = |hint: &str| {
        if is_server { format!("; give {hint} or, on a test bed, --tls-insecure") } else { String::new() }
    };
    match why {
        CertificateError::ExpiredContext { time, not_after } => {
            let since = span(time.as_secs().saturating_sub(not_after.as_secs()));
            format!("expired {since} ago; renew it{}", or_insecure(is_server))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let until = span(not_before.as_secs().saturating_sub(time.as_secs()));
            format!("is valid in {until} only; compare the clocks of both machines{}", or_insecure(is_server))
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            // `DnsName("localhost")`
            let inner = |name: &String| {
                let inner = name.split_once('(').map_or(&**name, |(_, inner)| inner.trim_end_matches(')'));
                inner.trim_matches('"').to_owned()
            };
            let names: Vec<String> = presented.iter().map(inner).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            format!("is not for '{}' but for {names}{}", expected.to_str(), give("--tls-name NAME"))
        }
        CertificateError::UnknownIssuer => {
            format!("was not issued by a trusted authority{}", give("its authority by --tls-ca FILE"))
        }
        CertificateError::Other(other) => match other.0.downcast_ref::<Refusal>() {
            Some(why) if why.lacks_trust => {
                format!("{why}{}", give("its authority, or the certificate itself, by --tls-ca FILE"))
            }
            Some(why) => format!("{why}; renew it with another key{}", or_insecure(is_server)),
            None => {
                format!("cannot be verified ({}){}", spaced(&other.0.to_string()), or_insecure(is_server))
            }
        },
        CertificateError::BadSignature => "is not the one of the key that signed".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            let whose = if is_server { "a server's (serverAuth)" } else { "a client's (clientAuth)" };
            format!("may not be {whose} by its extended key usage{}", or_insecure(is_server))
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => format!(
            "or one of its issuers' is signed by SHA-1 or another algorithm that is not verified{}",
            give("the certificate itself by --tls-ca FILE")
        ),
        other => format!("cannot be verified: {}{}", spaced(&format!("{other:?}")), or_insecure(is_server)),
    }
}

fn or_insecure(is_server: bool) -> &'static str {
    if is_server { ", or on a test bed give --tls-insecure" } else { "" }
}

/// The meaning of an alert from the other end, and the hint of a client's user.
fn alerted(alert: AlertDescription, from_server: bool) -> (&'static str, &'static str) {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateRequired | Alert::NoCertificate => {
            ("it takes only clients with a certificate", "; give one with --tls-cert FILE --tls-key FILE")
        }
        Alert::UnknownCA
        | Alert::BadCertificate
        | Alert::CertificateUnknown
        | Alert::CertificateExpired
        | Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::AccessDenied => {
            if from_server {
                (
                    "it does not trust the client's certificate",
                    "; give one that it trusts with --tls-cert FILE --tls-key FILE",
                )
            } else {
                ("it does not trust this server's certificate", "")
            }
        }
        Alert::UnrecognisedName => ("it serves no site of this name", "; give another with --tls-name NAME"),
        Alert::ProtocolVersion => ("no version of TLS is in common", "; this program speaks 1.2 and 1.3"),
        Alert::HandshakeFailure | Alert::InsufficientSecurity => (
            "nothing is in common, or it wants a certificate of the client",
            "; this program has AES-GCM and ChaCha20 with ECDHE, and verifies RSA (not RSA-PSS), ECDSA and Ed25519 keys; give a \
             certificate with --tls-cert FILE --tls-key FILE",
        ),
        _ => ("it found an error", ""),
    }
}

/// A length of time in its largest unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Turns the names of a library's variants into words: `NoCipherSuitesInCommon`.
pub(super) fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut letters = text.chars().peekable();
    let mut was_small = false;
    while let Some(letter) = letters.next() {
        let begins = was_small && letter.is_ascii_uppercase();
        was_small = letter.is_ascii_lowercase();
        if begins {
            out.push(' ');
        }
        let begins_word = begins && letters.peek().is_some_and(char::is_ascii_lowercase);
        out.push(if begins_word { letter.to_ascii_lowercase() } else { letter });
    }
    out
}
