use std::fmt;

use proto_memcache::client;

/// The key of the request that logs in to memcached, which ignores it.
const KEY: &[u8] = b"taillight:login";

/// A user of a server, and the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    user: Option<String>,
    password: String,
}

impl Login {
    /// Reads the line `USER:PASSWORD`, without a user for the default one; lines after it are left out.
    ///
    /// Returns `None` of a line without a colon or a password.
    pub fn read(text: &str) -> Option<Login> {
        let (user, password) = text.lines().next()?.split_once(':')?;
        let user = (!user.is_empty()).then(|| user.to_owned());
        (!password.is_empty()).then(|| Login { user, password: password.to_owned() })
    }

    /// Appends the command of RESP that logs in.
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        proto_resp::client::auth(out, self.user.as_deref().map(str::as_bytes), self.password.as_bytes());
    }

    /// Appends the request of memcached's text protocol that logs in: a `set` of the user and the password. A server
    /// without users stores them.
    ///
    /// Source: memcached's `protocol.txt`, Authentication.
    pub(super) fn append_set(&self, out: &mut Vec<u8>) {
        let user = self.user.as_deref().unwrap_or_default();
        client::set(out, KEY, 0, 0, format!("{user} {}", self.password).as_bytes());
    }

    /// Whether memcached's text protocol can name the user.
    pub(super) fn is_of_memcached(&self) -> bool {
        self.user.as_ref().is_some_and(|user| !user.contains(' '))
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_read_and_not_shown() {
        let shown = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace("\r\n", "|");
        let written = |text: &str| {
            let mut out = Vec::new();
            Login::read(text)?.append(&mut out);
            Some(shown(out))
        };
        assert_eq!(written("me:a:b\nmore").as_deref(), Some("*3|$4|AUTH|$2|me|$3|a:b|"));
        assert_eq!(written(":secret\n").as_deref(), Some("*2|$4|AUTH|$6|secret|"));
        for wrong in ["", "secret", "me:", ":\n"] {
            assert_eq!(written(wrong), None, "{wrong:?}");
        }
        assert!(!format!("{:?}", Login::read("me:secret")).contains("secret"));
        let mut out = Vec::new();
        Login::read("me:a word").unwrap().append_set(&mut out);
        assert_eq!(shown(out), "set taillight:login 0 0 9|me a word|");
    }
}
