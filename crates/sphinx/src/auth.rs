use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use subtle::ConstantTimeEq;

/// How often a client may fail to say who it is; its connection is closed then. Source: OpenSSH's `MaxAuthTries`.
pub(crate) const ATTEMPTS_MAX: u8 = 6;

/// How the file of users is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsersFormat {
    /// `user:password`, as memcached's `-Y`; the user is one word.
    #[default]
    Words,
    /// `user@HOST:password`, in which the user may have blanks, and perhaps further colons, as memcached's `MEMCACHED_SASL_PWDB`. A client
    /// that names no host is of this one.
    SaslPwdb,
}

/// The users that may use the server.
pub(crate) struct Users {
    file: PathBuf,
    format: UsersFormat,
    entries: Mutex<Vec<Entry>>,
}

/// A user and the password.
type Entry = (Vec<u8>, Vec<u8>);

impl Users {
    /// Reads a file of lines `user:password`.
    ///
    /// Errors: it cannot be read, has a line of another form, or no line at all.
    pub(crate) fn read(file: &Path, format: UsersFormat) -> Result<Users> {
        Ok(Users { file: file.to_owned(), format, entries: Mutex::new(entries_of(file, format)?) })
    }

    /// Reads the file again; keeps the old entries if that fails.
    pub(crate) fn read_again(&self) -> Result<()> {
        let entries = entries_of(&self.file, self.format)?;
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = entries;
        Ok(())
    }

    /// Whether there is such a user with such a password.
    ///
    /// Cost: compares every entry, each in time independent of its content, so that the duration reveals only lengths.
    pub(crate) fn know(&self, user: &[u8], password: &[u8]) -> bool {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = entries.iter().map(|(name, secret)| name.ct_eq(user) & secret.ct_eq(password));
        fits.fold(subtle::Choice::from(0), |any, fits| any | fits).into()
    }
}

fn entries_of(file: &Path, format: UsersFormat) -> Result<Vec<Entry>> {
    let name = file.display();
    let text = std::fs::read(file).with_context(|| format!("cannot read the users' file {name}"))?;
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.split(|b| *b == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let Some(colon) = line.iter().position(|b| *b == b':') else {
            bail!("line {number} of {name} has no ':'; write user:password");
        };
        let (user, mut password) = (&line[..colon], &line[colon + 1..]);
        let is_sasl = format == UsersFormat::SaslPwdb;
        // memcached takes a colon for the end of a password, too, and files for it may have some.
        while is_sasl && let [rest @ .., b':'] = password {
            password = rest;
        }
        // In the text protocol the first blank ends the user's name.
        let is_user = !user.is_empty() && (is_sasl || !user.contains(&b' '));
        ensure!(
            is_user && !password.is_empty(),
            "line {number} of {name} has an empty name or password, or a blank in the name; write user:password"
        );
        if is_sasl && let Some(here) = of_this_host(user) {
            entries.push((here.to_vec(), password.to_vec()));
        }
        entries.push((user.to_vec(), password.to_vec()));
    }
    ensure!(!entries.is_empty(), "{name} names no user, so no client could log in; write user:password");
    Ok(entries)
}

/// The user name without this host's name. Source: Cyrus SASL, which takes the host for a realm and appends it to names
/// without one.
fn of_this_host(user: &[u8]) -> Option<&[u8]> {
    let at = user.iter().rposition(|&byte| byte == b'@')?;
    let host = rustix::system::uname();
    (at > 0 && user[at + 1..].eq_ignore_ascii_case(host.nodename().to_bytes())).then_some(&user[..at])
}

/// Classification of a connection's first request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attempt<'b> {
    NeedMore,
    /// Its line is far too long.
    Close,
    /// Not an authentication, or a bad one: the bytes used, and the reply.
    Refused(usize, &'static [u8]),
    /// A user and a password: the bytes used, and the two.
    Words(usize, &'b [u8], &'b [u8]),
}

/// Where memcached gives up looking for the end of the line. Units: bytes.
/// Source: memcached's `try_read_command_asciiauth`, as for all that follows.
const LINE_MAX: usize = 2048;
/// The longest `user password`. Units: bytes.
const WORDS_MAX: usize = 16 << 10;

/// Reads the first request of a connection: `set KEY FLAGS TTL LENGTH`, and as its value `user password`.
pub(crate) fn attempt(bytes: &[u8]) -> Attempt<'_> {
    let Some(newline) = bytes.iter().position(|b| *b == b'\n') else {
        return if bytes.len() > LINE_MAX { Attempt::Close } else { Attempt::NeedMore };
    };
    let start = newline + 1;
    let line = &bytes[..newline];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = words(line);
    let length = match (words.next(), words.nth(3)) {
        (Some(b"set"), Some(number)) => std::str::from_utf8(number).ok().and_then(|n| n.parse::<u32>().ok()),
        _ => None,
    };
    let Some(length) = length else {
        return Attempt::Refused(start, b"CLIENT_ERROR unauthenticated\r\n");
    };
    let length = length as usize;
    if length > WORDS_MAX {
        return Attempt::Refused(start, b"CLIENT_ERROR auth token too long\r\n");
    }
    let end = start + length;
    let Some(terminator) = bytes.get(end..end + 2) else { return Attempt::NeedMore };
    let used = end + 2;
    if terminator != b"\r\n" {
        return Attempt::Refused(used, b"CLIENT_ERROR bad command line termination\r\n");
    }
    let token = &bytes[start..end];
    match token.iter().position(|b| *b == b' ') {
        Some(blank) => Attempt::Words(used, &token[..blank], &token[blank + 1..]),
        None => Attempt::Refused(used, b"CLIENT_ERROR bad authentication token format\r\n"),
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b' ').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_first_request() {
        let check =
            |bytes: &str, expect: Attempt<'_>| assert_eq!(attempt(bytes.as_bytes()), expect, "{bytes:?}");
        let unknown = b"CLIENT_ERROR unauthenticated\r\n";
        check("", Attempt::NeedMore);
        check("set a 0 0 3\r", Attempt::NeedMore);
        check("set a 0 0 3\r\nu p", Attempt::NeedMore);
        check("set a 0 0 3\r\nu p\r\nget a", Attempt::Words(18, b"u", b"p"));
        check("set  a x y 8\nann xyz\r\n", Attempt::NeedMore);
        check("set a 0 0 7\nann xyz\r\n", Attempt::Words(21, b"ann", b"xyz"));
        check("set a 0 0 11\r\nann  a word\r\n", Attempt::Words(27, b"ann", b" a word"));
        check("set a 0 0 5\r\n ann \r\n", Attempt::Words(20, b"", b"ann "));
        check("set a 0 0 4\r\nann \r\n", Attempt::Words(19, b"ann", b""));
        check("get a\r\n", Attempt::Refused(7, unknown));
        check("\r\n", Attempt::Refused(2, unknown));
        check("set a 0 0\r\n", Attempt::Refused(11, unknown));
        check("set a 0 0 x\r\n", Attempt::Refused(13, unknown));
        check("set a 0 0 -1\r\n", Attempt::Refused(14, unknown));
        check(
            "set a 0 0 1\r\nu\r\n",
            Attempt::Refused(16, b"CLIENT_ERROR bad authentication token format\r\n"),
        );
        check("set a 0 0 3\r\nu pxx", Attempt::Refused(18, b"CLIENT_ERROR bad command line termination\r\n"));
        check("set a 0 0 16384\r\n", Attempt::NeedMore);
        let too_long = b"CLIENT_ERROR auth token too long\r\n";
        check("set a 0 0 16385\r\nann secret", Attempt::Refused(17, too_long));
        check("set a 0 0 4294967295\r\n", Attempt::Refused(22, too_long));
        check("set a 0 0 4294967296\r\n", Attempt::Refused(22, unknown));
        check(&"x".repeat(2048), Attempt::NeedMore);
        check(&"x".repeat(2049), Attempt::Close);
    }

    #[test]
    fn knows_whom_the_file_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("users");
        std::fs::write(&file, "ann:xyz\r\n\nbob:p:q\neve:two words\n").unwrap();
        let users = Users::read(&file, UsersFormat::Words).unwrap();
        let check = |user: &str, password: &str, expect: bool| {
            assert_eq!(users.know(user.as_bytes(), password.as_bytes()), expect, "{user} {password}");
        };
        check("ann", "xyz", true);
        check("bob", "p:q", true);
        check("eve", "two words", true);
        check("ann", "p:q", false);
        check("ann", "xy", false);
        check("", "", false);
        check("eve", "xyz", false);
        std::fs::write(&file, "eve:new").unwrap();
        users.read_again().unwrap();
        check("ann", "xyz", false);
        check("eve", "new", true);
        std::fs::write(&file, "nothing").unwrap();
        assert!(users.read_again().is_err());
        check("eve", "new", true);
        std::fs::write(&file, "ann:a secret\nbob:p:q:::\n").unwrap();
        let users = Users::read(&file, UsersFormat::SaslPwdb).unwrap();
        assert!(users.know(b"ann", b"a secret") && users.know(b"bob", b"p:q") && !users.know(b"bob", b"p"));
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        std::fs::write(&file, format!("ann@{host}:secret\nbob@elsewhere:secret\n")).unwrap();
        let users = Users::read(&file, UsersFormat::SaslPwdb).unwrap();
        assert!(users.know(b"ann", b"secret") && users.know(format!("ann@{host}").as_bytes(), b"secret"));
        assert!(!users.know(b"bob", b"secret") && users.know(b"bob@elsewhere", b"secret"));
    }

    #[test]
    fn refuses_files_of_another_form() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("users");
        let check = |text: &str, expect: &str| {
            std::fs::write(&file, text).unwrap();
            let error = Users::read(&file, UsersFormat::Words).err().unwrap().to_string();
            assert!(error.contains(expect), "{text:?}: {error}");
        };
        check("", "names no user");
        check("ann:x\nbob\n", "line 2 of");
        check("ann x:y\n", "a blank in the name");
        check(":y\n", "an empty name");
        let error = Users::read(Path::new("/no/such/file"), UsersFormat::Words).err().unwrap();
        assert!(format!("{error:#}").contains("cannot read the users' file /no/such/file"), "{error:#}");
    }
}
