use std::fmt;

/// A user of a server of RESP, and the password.
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

    /// Appends the command that logs in.
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        proto_resp::client::auth(out, self.user.as_deref().map(str::as_bytes), self.password.as_bytes());
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
        let written = |text: &str| {
            let mut out = Vec::new();
            Login::read(text)?.append(&mut out);
            Some(String::from_utf8(out).unwrap().replace("\r\n", "|"))
        };
        assert_eq!(written("me:a:b\nmore").as_deref(), Some("*3|$4|AUTH|$2|me|$3|a:b|"));
        assert_eq!(written(":secret\n").as_deref(), Some("*2|$4|AUTH|$6|secret|"));
        for wrong in ["", "secret", "me:", ":\n"] {
            assert_eq!(written(wrong), None, "{wrong:?}");
        }
        assert!(!format!("{:?}", Login::read("me:secret")).contains("secret"));
    }
}
