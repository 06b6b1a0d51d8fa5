use proto_memcache::client::{self, Expect, Outcome};

use super::{Control, ControlError, PROBE, SET, wants_authentication, words};
use crate::cache::Login;
use crate::peer::excerpt;

impl Control {
    /// Logs in by memcached's text protocol, if the server wants that: others would store the password as an item.
    ///
    /// Errors: the server refuses the login, or wants none.
    pub(super) fn log_in(&mut self, login: &Login) -> Result<(), ControlError> {
        let get = |out: &mut Vec<u8>| client::get(out, PROBE);
        let asked = self.ask(get, Expect::Values { keys: 1 }, "get", |outcome| match outcome {
            Outcome::Error { text, .. } if wants_authentication(text) => Ok(true),
            Outcome::Error { .. } => Err(words(&outcome)),
            _ => Ok(false),
        });
        if !asked.map_err(ControlError::of_read)? {
            return Err(ControlError::Unlocked { server: self.server.clone() });
        }
        let set = |out: &mut Vec<u8>| login.append_set(out);
        let refused = self.ask(set, Expect::Stored, SET, |outcome| match outcome {
            Outcome::Stored => Ok(None),
            Outcome::Error { text, .. } => Ok(Some(excerpt(text))),
            other => Err(words(&other)),
        })?;
        match refused {
            Some(answer) => Err(ControlError::Login { server: self.server.clone(), answer }),
            None => Ok(()),
        }
    }
}
