//! The source of a value, in words: each field of a specification has its source as `x-source` in its schema.
//!
//! A source is a publication with the place in it, a standard or a program whose default is used, or *ours, because …*.

/// How a source begins that is this project's own choice.
const OURS: &str = "ours, because ";

/// How other sources begin: publications, programs, standards.
const KNOWN: [&str; 18] = [
    "IISWC'17",
    "ANCS'19",
    "ISPASS'16",
    "CAL'18",
    "memcached",
    "mutilate",
    "wrk2",
    "nginx",
    "PHP",
    "MariaDB",
    "Linux",
    "Intel",
    "RFC ",
    "YCSB",
    "CloudSuite",
    "Atikoglu",
    "HdrHistogram",
    "docs/decisions/",
];

/// The shortest reason accepted.
const REASON: usize = 20;

/// Source of the options of encryption.
pub(crate) const PLAIN: &str =
    "ours, because nothing is encrypted unless it is asked for, and no paper encrypts";
/// Source of the options of the agents' credentials.
pub(crate) const CREDENTIALS: &str =
    "ours, because agents on loopback ask for none, and what others ask for is known to their operator alone";

/// Whether `text` names a source: a publication, a program or a standard that is known here, or *ours, because …* with
/// a reason.
pub fn is_source(text: &str) -> bool {
    match text.strip_prefix(OURS) {
        Some(reason) => reason.chars().count() >= REASON,
        None => KNOWN.iter().any(|known| text.starts_with(known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_known_or_has_a_reason() {
        let check = |text: &str, expect: bool| assert_eq!(is_source(text), expect, "{text}");
        check("IISWC'17 §III-B: 30 B", true);
        check("memcached's default", true);
        check(PLAIN, true);
        check(CREDENTIALS, true);
        check("ours, because it is", false);
        check("ours", false);
        check("", false);
        check("a good choice, see IISWC'17", false);
    }
}
