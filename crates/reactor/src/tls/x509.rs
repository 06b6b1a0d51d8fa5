use std::net::IpAddr;
use std::time::Duration;

use rustls::pki_types::{ServerName, UnixTime};

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
/// The explicit tags of a certificate's version and extensions.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// Object identifiers of `2.5.29`: the last part.
const KEY_USAGE: u8 = 15;
const SUBJECT_ALT_NAME: u8 = 17;
const BASIC_CONSTRAINTS: u8 = 19;
const EXTENDED_KEY_USAGE: u8 = 37;
/// Extensions that may be critical. Source: RFC 5280, 4.2.1.
const KNOWN: [u8; 4] = [KEY_USAGE, SUBJECT_ALT_NAME, BASIC_CONSTRAINTS, EXTENDED_KEY_USAGE];
const COMMON_NAME: [u8; 3] = [0x55, 4, 3];
/// `anyExtendedKeyUsage`. Source: RFC 5280, 4.2.1.12.
const ANY_PURPOSE: [u8; 4] = [0x55, 0x1d, 37, 0];

/// Purposes of a certificate, `id-kp-serverAuth` and `id-kp-clientAuth`. Source: RFC 5280, 4.2.1.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Server = 1,
    Client = 2,
}

/// Reads values in DER, one after another.
pub(super) struct Der<'a>(pub(super) &'a [u8]);

impl<'a> Der<'a> {
    /// The next value: its tag, its contents, and all of it.
    fn value(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // More than 4 bytes of length are no certificate.
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        let whole = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        Some((tag, contents, whole))
    }

    /// Reads the contents of the next value if it has this tag.
    pub(super) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        if self.0.first() != Some(&tag) {
            return None;
        }
        Some(self.value()?.1)
    }

    fn sequence(&mut self) -> Option<Der<'a>> {
        self.take(SEQUENCE).map(Der)
    }
}

/// A public key: its algorithm, as in an `AlgorithmIdentifier`, and its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PublicKey<'a> {
    pub(super) algorithm: &'a [u8],
    pub(super) bits: &'a [u8],
}

impl<'a> PublicKey<'a> {
    /// The key of a certificate.
    pub(super) fn of(certificate: &'a [u8]) -> Option<PublicKey<'a>> {
        Certificate::read(certificate)?.public_key()
    }

    /// Reads a `SubjectPublicKeyInfo`.
    pub(super) fn whole(info: &'a [u8]) -> Option<PublicKey<'a>> {
        PublicKey::read(Der(info).take(SEQUENCE)?)
    }

    /// Reads the contents of a `SubjectPublicKeyInfo`.
    pub(super) fn read(contents: &'a [u8]) -> Option<PublicKey<'a>> {
        let mut key = Der(contents);
        let algorithm = key.take(SEQUENCE)?;
        let (&0, bits) = key.take(BIT_STRING)?.split_first()? else { return None };
        Some(PublicKey { algorithm, bits })
    }

    /// The length of an RSA key's modulus, if it is one. Units: bits.
    pub(super) fn rsa_bits(&self) -> Option<usize> {
        let modulus = Der(self.bits).sequence()?.take(INTEGER)?;
        let start = modulus.iter().position(|byte| *byte != 0)?;
        Some((modulus.len() - start) * 8 - modulus[start].leading_zeros() as usize)
    }
}

/// An X.509 certificate of any version.
///
/// webpki reads version 3 only, and decides on chains; this one is for certificates that it does not take.
pub(super) struct Certificate<'a> {
    /// All of it.
    pub(super) whole: &'a [u8],
    /// Signed bytes, the algorithm as in an `AlgorithmIdentifier`, and the signature.
    pub(super) signed: &'a [u8],
    pub(super) algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    /// Names, as the contents of their sequences.
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// The contents of the `SubjectPublicKeyInfo`.
    pub(super) key: &'a [u8],
    pub(super) not_before: UnixTime,
    pub(super) not_after: UnixTime,
    /// It has X.509 version 1, which has no extensions.
    is_first_version: bool,
    extensions: Vec<Extension<'a>>,
}

struct Extension<'a> {
    id: &'a [u8],
    critical: bool,
    value: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// `None`: this is not a certificate.
    pub(super) fn read(der: &'a [u8]) -> Option<Certificate<'a>> {
        let (SEQUENCE, contents, whole) = Der(der).value()? else { return None };
        let mut certificate = Der(contents);
        let (SEQUENCE, contents, signed) = certificate.value()? else { return None };
        let algorithm = certificate.take(SEQUENCE)?;
        let (&0, signature) = certificate.take(BIT_STRING)?.split_first()? else { return None };
        let mut fields = Der(contents);
        let is_first_version = fields.take(VERSION).is_none();
        fields.take(INTEGER)?;
        fields.take(SEQUENCE)?;
        let issuer = fields.take(SEQUENCE)?;
        let mut validity = fields.sequence()?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let (subject, key) = (fields.take(SEQUENCE)?, fields.take(SEQUENCE)?);
        let mut extensions = Vec::new();
        // Unique identifiers may stand before them.
        while let Some((tag, contents, _)) = fields.value() {
            if tag == EXTENSIONS {
                let mut all = Der(contents).sequence()?;
                while let Some(extension) = all.sequence() {
                    extensions.push(Extension::read(extension)?);
                }
            }
        }
        Some(Certificate {
            whole,
            signed,
            algorithm,
            signature,
            issuer,
            subject,
            key,
            not_before,
            not_after,
            is_first_version,
            extensions,
        })
    }

    pub(super) fn public_key(&self) -> Option<PublicKey<'a>> {
        PublicKey::read(self.key)
    }

    fn extension(&self, number: u8) -> Option<&Extension<'a>> {
        self.extensions.iter().find(|extension| extension.id == [0x55, 0x1d, number])
    }

    /// Whether it has an extension that must be understood, and is not here.
    pub(super) fn is_beyond_us(&self) -> bool {
        let known = |id: &[u8]| KNOWN.iter().any(|known| id == [0x55, 0x1d, *known]);
        self.extensions.iter().any(|extension| extension.critical && !known(extension.id))
    }

    /// Whether it may issue others, as OpenSSL decides: by its basic constraints, or without them by its key usage; a root of
    /// version 1 may. Source: `check_ca` in OpenSSL's crypto/x509/v3_purp.c.
    pub(super) fn is_authority(&self) -> bool {
        const CERT_SIGN: u8 = 1 << 2;
        let usage = self.extension(KEY_USAGE).map(|usage| {
            let bits = Der(usage.value).take(BIT_STRING).and_then(|bits| bits.get(1).copied());
            bits.is_some_and(|bits| bits & CERT_SIGN != 0)
        });
        let constraints = self.extension(BASIC_CONSTRAINTS).map(|constraints| {
            let is_authority = Der(constraints.value).sequence().and_then(|mut all| all.take(BOOLEAN));
            is_authority.is_some_and(|yes| yes != [0])
        });
        match (usage, constraints) {
            (Some(false), _) => false,
            (_, Some(is_authority)) => is_authority,
            (Some(true), None) => true,
            (None, None) => self.is_first_version && self.issuer == self.subject,
        }
    }

    /// Whether it may be used so. A certificate that names no purpose has all of them.
    pub(super) fn allows(&self, purpose: Purpose) -> bool {
        let Some(usage) = self.extension(EXTENDED_KEY_USAGE) else { return true };
        let Some(mut purposes) = Der(usage.value).sequence() else { return false };
        let wanted = [0x2b, 6, 1, 5, 5, 7, 3, purpose as u8];
        std::iter::from_fn(|| purposes.take(OBJECT_IDENTIFIER)).any(|id| id == wanted || id == ANY_PURPOSE)
    }

    /// The subject's common name, which counts as the server's name only without alternative names of servers.
    pub(super) fn only_name(&self) -> Option<String> {
        common_name(self.subject).filter(|_| !self.has_names())
    }

    /// Whether it has a DNS name or an address as an alternative name. Those of persons and services do not name a server, as
    /// curl has it.
    fn has_names(&self) -> bool {
        const DNS_NAME: u8 = 0x82;
        const IP_ADDRESS: u8 = 0x87;
        let Some(names) = self.extension(SUBJECT_ALT_NAME) else { return false };
        let Some(mut names) = Der(names.value).sequence() else { return true };
        std::iter::from_fn(|| names.value()).any(|(tag, ..)| matches!(tag, DNS_NAME | IP_ADDRESS))
    }
}

/// Whether a common name, possibly with a wildcard, matches a server's name.
pub(super) fn is_name(common: &str, server: &ServerName<'_>) -> bool {
    match server {
        ServerName::DnsName(name) => {
            let name = name.as_ref().trim_end_matches('.');
            let is_below = |(_, parent): (&str, &str)| {
                let wild = common.strip_prefix("*.");
                parent.contains('.') && wild.is_some_and(|wild| wild.eq_ignore_ascii_case(parent))
            };
            name.eq_ignore_ascii_case(common) || name.split_once('.').is_some_and(is_below)
        }
        ServerName::IpAddress(address) => common.parse() == Ok(IpAddr::from(*address)),
        _ => false,
    }
}

impl<'a> Extension<'a> {
    fn read(mut extension: Der<'a>) -> Option<Extension<'a>> {
        let id = extension.take(OBJECT_IDENTIFIER)?;
        let critical = extension.take(BOOLEAN).is_some_and(|yes| yes != [0]);
        Some(Extension { id, critical, value: extension.take(OCTET_STRING)? })
    }
}

/// The last common name in a distinguished name, or else its last part.
pub(super) fn common_name(name: &[u8]) -> Option<String> {
    let (mut name, mut common, mut last) = (Der(name), None, None);
    const SET: u8 = 0x31;
    while let Some(set) = name.take(SET) {
        let mut part = Der(set).sequence()?;
        let id = part.take(OBJECT_IDENTIFIER)?;
        let text = Some(String::from_utf8_lossy(part.value()?.1).into_owned());
        if id == COMMON_NAME {
            common = text;
        } else {
            last = text;
        }
    }
    common.or(last)
}

/// A `UTCTime` or a `GeneralizedTime`. Source: RFC 5280, 4.1.2.5.
fn time(from: &mut Der<'_>) -> Option<UnixTime> {
    let (tag, text, _) = from.value()?;
    let text = str::from_utf8(text).ok()?;
    let (year, rest) = text.split_at_checked(if tag == UTC_TIME { 2 } else { 4 })?;
    let two = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let year: i64 = year.parse().ok()?;
    let century = match (tag, year) {
        (UTC_TIME, 50..) => 1900,
        (UTC_TIME, _) => 2000,
        _ => 0,
    };
    let seconds = (two(4)? * 60 + two(6)?) * 60 + two(8).unwrap_or(0);
    let since = days(century + year, two(0)?, two(2)?) * 86_400 + seconds;
    // A date before 1970 has passed, too.
    Some(UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(since).unwrap_or(0))))
}

/// Days since 1970 of a date in the Gregorian calendar: years begin in March, so that a leap day ends one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 719_469
}

/// `1.3.132.0.35`. Source: RFC 5480, 2.1.1.1.
pub(super) const SECP521R1: &[u8] = &[0x2b, 0x81, 4, 0, 35];
/// `1.2.840.10045.2.1`. Source: RFC 5480, 2.1.1.
const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];

/// The curve and the secret number of a private key, in SEC 1 or PKCS #8; `None` for keys without a curve.
pub(super) fn on_curve(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut key = Der(key).sequence()?;
    key.take(INTEGER)?;
    if let Some(mut algorithm) = key.sequence() {
        algorithm.take(OBJECT_IDENTIFIER).filter(|id| *id == EC_PUBLIC_KEY)?;
        let mut inner = Der(key.take(OCTET_STRING)?).sequence()?;
        inner.take(INTEGER)?;
        return Some((algorithm.take(OBJECT_IDENTIFIER)?, inner.take(OCTET_STRING)?));
    }
    let secret = key.take(OCTET_STRING)?;
    Some((Der(key.take(VERSION)?).take(OBJECT_IDENTIFIER)?, secret))
}

/// A private key on a curve in PKCS #8, with its public key, which is optional there.
pub(super) fn with_public(curve: &[u8], secret: &[u8], public: &[u8]) -> Vec<u8> {
    /// The explicit tag of the public key.
    const PUBLIC: u8 = 0xa1;
    let value = |tag: u8, parts: &[&[u8]]| {
        let contents = parts.concat();
        // Two bytes of length are enough for a curve, and may be too many: ring reads the shortest form only.
        let length = match contents.len() {
            length @ ..0x80 => vec![length as u8],
            length @ ..0x100 => vec![0x81, length as u8],
            length => vec![0x82, (length >> 8) as u8, length as u8],
        };
        [&[tag], &*length, &contents].concat()
    };
    let bits = value(BIT_STRING, &[&[0], public]);
    let version = |number: u8| value(INTEGER, &[&[number]]);
    let numbers = [&version(1)[..], &value(OCTET_STRING, &[secret]), &value(PUBLIC, &[&bits])];
    let algorithm = [value(OBJECT_IDENTIFIER, &[EC_PUBLIC_KEY]), value(OBJECT_IDENTIFIER, &[curve])].concat();
    let inner = value(OCTET_STRING, &[&value(SEQUENCE, &numbers)]);
    value(SEQUENCE, &[&version(0), &value(SEQUENCE, &[&algorithm]), &inner])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_since_1970() {
        let check =
            |year, month, day, since| assert_eq!(days(year, month, day), since, "{year}-{month}-{day}");
        check(1970, 1, 1, 0);
        check(1972, 2, 29, 789);
        check(2000, 3, 1, 11_017);
        check(2024, 12, 31, 20_088);
        check(2100, 3, 1, 47_541);
        check(9999, 12, 31, 2_932_896);
        let check = |tag: u8, text: &str, since| {
            let der = [&[tag, text.len() as u8], text.as_bytes()].concat();
            assert_eq!(time(&mut Der(&der)).map(|time| time.as_secs()), since, "{text}");
        };
        check(UTC_TIME, "491231235959Z", Some(2_524_607_999));
        check(UTC_TIME, "500101000000Z", Some(0));
        check(UTC_TIME, "7001020000Z", Some(86_400));
        check(0x18, "99991231235959Z", Some(253_402_300_799));
        check(0x18, "9999", None);
        check(UTC_TIME, "x", None);
    }

    #[test]
    fn common_names_are_compared_as_browsers_did() {
        let check = |common: &str, name: &str, expect| {
            assert_eq!(is_name(common, &ServerName::try_from(name).unwrap()), expect, "{common} {name}");
        };
        check("localhost", "localhost", true);
        check("Web.Example", "wEB.eXAMPLE", true);
        check("*.example.org", "a.example.org", true);
        check("*.example.org", "a.b.example.org", false);
        check("*.example.org", "example.org", false);
        check("*.org", "example.org", false);
        check("*", "localhost", false);
        check("127.0.0.1", "127.0.0.1", true);
        check("::1", "0:0::1", true);
        check("127.0.0.1", "127.0.0.2", false);
        check("localhost", "127.0.0.1", false);
    }

    #[test]
    fn authorities_are_those_of_openssl() {
        use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, KeyUsagePurpose};
        let key = KeyPair::generate().unwrap();
        let check = |is_ca: IsCa, usages: &[KeyUsagePurpose], expect: bool| {
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            (params.is_ca, params.key_usages) = (is_ca, usages.to_vec());
            let certificate = params.self_signed(&key).unwrap();
            let found = Certificate::read(certificate.der()).unwrap().is_authority();
            assert_eq!(found, expect, "{is_ca:?} {usages:?}");
        };
        let authority = IsCa::Ca(BasicConstraints::Unconstrained);
        let (signs, others) = (KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature);
        check(authority, &[], true);
        check(authority, &[signs], true);
        check(authority, &[others], false);
        check(IsCa::NoCa, &[], false);
        check(IsCa::NoCa, &[others, signs], true);
        check(IsCa::ExplicitNoCa, &[signs], false);
    }

    #[test]
    fn cut_certificates_are_no_certificates() {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = certificate.self_signed(&key).unwrap().der().to_vec();
        assert!(Certificate::read(&certificate).is_some());
        for length in 0..certificate.len() {
            assert!(Certificate::read(&certificate[..length]).is_none(), "{length}");
        }
        // Any changed byte is read without harm.
        for at in 0..certificate.len() {
            let mut changed = certificate.clone();
            changed[at] ^= 0x55;
            let _ =
                Certificate::read(&changed).map(|read| (read.is_beyond_us(), read.public_key().is_some()));
        }
    }
}
