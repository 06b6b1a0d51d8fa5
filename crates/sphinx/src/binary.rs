//! State of a connection that speaks the binary protocol, and parsing of SASL.

use proto_memcache::binary::{BinaryParser, Echo, HEADER, Status, reply};
use proto_memcache::server::Awaits;

use crate::config::Config;
use crate::replies::Finish;

/// A connection's part in the binary protocol.
pub(crate) struct Binary {
    pub(crate) parser: BinaryParser,
    /// Fields of the present request that its response echoes.
    pub(crate) echo: Echo,
    /// The client has asked for PLAIN, and is to say who it is in the next step.
    pub(crate) awaits_words: bool,
}

impl Binary {
    pub(crate) fn new(config: &Config) -> Binary {
        let parser = BinaryParser::with_limits(config.item_max, config.gathered_max());
        Binary { parser, echo: Echo::default(), awaits_words: false }
    }

    /// The kind of bytes expected next.
    pub(crate) fn awaits(&self) -> Awaits {
        match self.parser.needed() {
            _ if self.parser.skips() => Awaits::Refused,
            ..=HEADER => Awaits::Line,
            _ => Awaits::Value,
        }
    }
}

/// The only mechanism of SASL.
pub(crate) const MECHANISM: &[u8] = b"PLAIN";

/// Reads a message of SASL PLAIN: whom to act for, who it is, and the password, with zero bytes between them.
///
/// Errors: `None` if the form differs, or if it would act for another user.
/// Source: RFC 4616, 2.
pub(crate) fn plain(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = message.split(|&byte| byte == 0);
    let (act_for, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none() && !user.is_empty() && !password.is_empty();
    (is_whole && (act_for.is_empty() || act_for == user)).then_some((user, password))
}

/// Converts a text reply of a command in which every thread has a part to a response.
pub(crate) fn response(finish: Finish, text: &[u8], echo: Echo) -> Vec<u8> {
    let mut out = Vec::new();
    match finish {
        Finish::Silent => {}
        Finish::Ok | Finish::Reset => reply::done(&mut out, echo, 0),
        Finish::Detail => {
            reply::stat(&mut out, echo, b"detailed", text);
            reply::done(&mut out, echo, 0);
        }
        Finish::Stats
        | Finish::Items
        | Finish::Slabs
        | Finish::Connections
        | Finish::Curve
        | Finish::HotKeys => reply::stats(&mut out, echo, text),
        Finish::Resp(_) => unreachable!("it is asked for in another protocol"),
    }
    out
}

/// The response if the usual one finds no memory.
pub(crate) fn no_memory(out: &mut Vec<u8>, echo: Echo) {
    reply::error(out, echo, Status::NoMemory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_who_a_client_is() {
        let check = |message: &str, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(user, password)| (user.as_bytes(), password.as_bytes()));
            assert_eq!(plain(message.as_bytes()), expect, "{message:?}");
        };
        check("\0ann\0secret", Some(("ann", "secret")));
        check("ann\0ann\0a secret: yes", Some(("ann", "a secret: yes")));
        check("bob\0ann\0secret", None);
        check("\0ann\0secret\0", None);
        check("\0ann\0", None);
        check("\0\0secret", None);
        check("\0ann", None);
        check("ann secret", None);
        check("", None);
    }
}
