//! Who may use the server, and in which protocol: `-B`, `-S`, `-Y` and memcached's variable for SASL.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};

use crate::auth::UsersFormat;
use crate::flags::{Flags, Protocol, UdpPort};

/// The variable with the file of users for SASL. Source: memcached's `sasl_defs.c`.
pub(super) const PWDB: &str = "MEMCACHED_SASL_PWDB";

/// The result of these flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) protocol: Protocol,
    pub(super) auth_file: Option<PathBuf>,
    pub(super) auth_format: UsersFormat,
}

/// `pwdb` is the value of that variable.
///
/// Errors: flags that contradict each other, and SASL without users.
pub(super) fn of(flags: &Flags, pwdb: Option<OsString>) -> Result<Access> {
    let auth_file = flags.auth_file.clone();
    ensure!(
        auth_file.is_none() || flags.udp_port == UdpPort::None,
        "-U and -Y exclude each other: a datagram bears no proof of who sent it; leave out -U"
    );
    let (auth_file, auth_format) = match (flags.enable_sasl, auth_file, pwdb.filter(|file| !file.is_empty()))
    {
        (false, file, _) | (true, file @ Some(_), _) => (file, UsersFormat::Words),
        (true, None, Some(file)) => (Some(file.into()), UsersFormat::SaslPwdb),
        (true, None, None) => bail!(
            "-S needs users: name a file of user:password lines with -Y, or in the variable {PWDB}; the databases of \
             Cyrus SASL are not read"
        ),
    };
    ensure!(
        !flags.enable_sasl || flags.udp_port == UdpPort::None,
        "-U and -S exclude each other: a datagram bears no proof of who sent it; leave out -U"
    );
    let protocol = match (flags.enable_sasl, flags.protocol) {
        (true, Some(Protocol::Ascii)) => {
            bail!("-S is for the binary protocol, which -B ascii turns off; leave out one of the two")
        }
        // As in memcached.
        (true, None) => Protocol::Binary,
        (_, protocol) => protocol.unwrap_or(Protocol::Auto),
    };
    Ok(Access { protocol, auth_file, auth_format })
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    fn read(line: &str, pwdb: Option<&str>) -> Result<Access> {
        let command = Flags::augment_args(Command::new("sphinxd").no_binary_name(true));
        let matches = command.try_get_matches_from(line.split_whitespace())?;
        of(&Flags::from_arg_matches(&matches)?, pwdb.map(Into::into))
    }

    #[test]
    fn flags_say_who_may_speak_what() {
        let check = |line: &str, pwdb: Option<&str>, expect: (Protocol, Option<&str>, UsersFormat)| {
            let (protocol, file, auth_format) = expect;
            let access = Access { protocol, auth_file: file.map(Into::into), auth_format };
            assert_eq!(read(line, pwdb).unwrap(), access, "{line}");
        };
        use Protocol::{Ascii, Auto, Binary};
        use UsersFormat::{SaslPwdb, Words};
        check("", None, (Auto, None, Words));
        check("", Some("/db"), (Auto, None, Words));
        check("-B ascii", None, (Ascii, None, Words));
        check("-B binary", None, (Binary, None, Words));
        check("-Y /users", None, (Auto, Some("/users"), Words));
        check("-Y /users -B ascii", None, (Ascii, Some("/users"), Words));
        check("-S -Y /users", Some("/db"), (Binary, Some("/users"), Words));
        check("-S", Some("/db"), (Binary, Some("/db"), SaslPwdb));
        check("-S -B auto", Some("/db"), (Auto, Some("/db"), SaslPwdb));
        check("-S -B binary", Some("/db"), (Binary, Some("/db"), SaslPwdb));
    }

    #[test]
    fn refuses_what_would_be_open_or_mute() {
        let check = |line: &str, pwdb: Option<&str>, expect: &str| {
            let error = read(line, pwdb).unwrap_err().to_string();
            assert!(error.contains(expect), "{line}: {error}");
        };
        check("-S", None, "-S needs users");
        check("-S", Some(""), "MEMCACHED_SASL_PWDB");
        check("-S -B ascii", Some("/db"), "leave out one of the two");
        check("-S -U 1", Some("/db"), "-U and -S exclude each other");
        check("-U 1 -Y f", None, "-U and -Y exclude each other");
    }
}
