//! `get`: one key after the other, with a rest for later where the connection has to wait in between.

use proto_memcache::server::Keys;
use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use crate::client::{Client, RestOfGet};
use crate::operation::Operation;

impl<R: Reactor> Core<R> {
    /// Looks up the keys of a `get`; what cannot be done now is kept for [`Core::finish_get`].
    #[inline]
    pub(super) fn get(&mut self, reactor: &mut R, client: &mut Client, keys: Keys, with_cas: bool) -> Flow {
        let rest = self.look_up(reactor, client, keys, with_cas);
        if let Some((words, count)) = rest {
            client.get = Some(RestOfGet { words: words.to_vec(), at: 0, count, with_cas });
        }
        Flow::Next
    }

    /// Goes on with a `get` that had to stop; returns whether none is left.
    #[inline]
    pub(super) fn finish_get(&mut self, reactor: &mut R, client: &mut Client) -> bool {
        let Some(mut get) = client.get.take() else { return true };
        let keys = Keys::resume(&get.words[get.at..], get.count);
        let rest =
            self.look_up(reactor, client, keys, get.with_cas).map(|(words, count)| (words.len(), count));
        if let Some((length, count)) = rest {
            (get.at, get.count) = (get.words.len() - length, count);
            client.get = Some(get);
        }
        rest.is_none()
    }

    /// Looks up one key after the other; returns the rest where the connection has to wait.
    #[inline]
    fn look_up<'b>(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        mut keys: Keys<'b>,
        with_cas: bool,
    ) -> Option<(&'b [u8], usize)> {
        loop {
            let rest = keys.rest();
            let key = keys.next()?;
            let operation = Operation::Get { with_cas, last: keys.len() == 0 };
            if self.operate(reactor, client, operation, key, b"") == Flow::Hold {
                return Some(rest);
            }
            if keys.len() > 0 && !self.may_go_on(reactor, client) {
                return Some(keys.rest());
            }
        }
    }
}
