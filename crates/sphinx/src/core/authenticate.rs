//! A connection's first request, where clients must authenticate.

use reactor::Reactor;
use tracing::warn;

use super::Core;
use crate::auth::{Attempt, attempt};
use crate::client::{Client, State};

impl<R: Reactor> Core<R> {
    /// Reads requests until one says who the client is; returns how many bytes are done with.
    #[cold]
    pub(super) fn authenticate(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        let mut used = 0;
        while !client.is_known {
            // A client that has not logged in may make the server hold no more than others.
            if !self.may_go_on(reactor, client) {
                client.state = State::Held;
                return used;
            }
            let (length, reply): (usize, &[u8]) = match attempt(&bytes[used..]) {
                Attempt::NeedMore => return used,
                Attempt::Close => {
                    client.state = State::Closing;
                    return bytes.len();
                }
                Attempt::Refused(length, reply) => (length, reply),
                Attempt::Words(length, user, password) => {
                    self.stats.auth_cmds += 1;
                    client.is_known =
                        self.common.users.as_ref().is_none_or(|users| users.know(user, password));
                    match client.is_known {
                        true => (length, b"STORED\r\n"),
                        false => {
                            self.stats.auth_errors += 1;
                            if self.rounds.may_warn(self.now) {
                                warn!(user = %user.escape_ascii(), "a client could not authenticate");
                            }
                            (length, b"CLIENT_ERROR authentication failure\r\n")
                        }
                    }
                }
            };
            used += length;
            self.make(reactor, client, |out| out.extend_from_slice(reply));
        }
        used
    }
}
