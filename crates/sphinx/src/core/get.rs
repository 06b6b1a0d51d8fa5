//! `get` and `gat`: one key after the other, with a rest for later where the connection has to wait in between.

use proto_memcache::Reply;
use proto_memcache::server::{Keys, reply};
use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use crate::client::{Client, Lookup, RestOfGet};
use crate::operation::Operation;

impl<R: Reactor> Core<R> {
    /// Looks up the keys of a `get`; what cannot be done now is kept for [`Core::finish_get`].
    #[inline]
    pub(super) fn get(&mut self, reactor: &mut R, client: &mut Client, keys: Keys, how: Lookup) -> Flow {
        let rest = self.look_up(reactor, client, keys, how);
        if let Some((words, count)) = rest {
            client.get = Some(RestOfGet { words: words.to_vec(), at: 0, count, how });
        }
        Flow::Next
    }

    /// Looks up the keys of a `gat` and gives their items another expiry.
    pub(super) fn get_and_touch(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        keys: Keys,
        exptime: i32,
        with_cas: bool,
    ) -> Flow {
        if keys.len() == 0 {
            return self.answer(reactor, client, Reply::Wanted, reply::END);
        }
        self.get(reactor, client, keys, Lookup { with_cas, exptime: Some(exptime) })
    }

    /// Goes on with a `get` that had to stop; returns whether none is left.
    #[inline]
    pub(super) fn finish_get(&mut self, reactor: &mut R, client: &mut Client) -> bool {
        let Some(mut get) = client.get.take() else { return true };
        let keys = Keys::resume(&get.words[get.at..], get.count);
        let rest = self.look_up(reactor, client, keys, get.how).map(|(words, count)| (words.len(), count));
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
        how: Lookup,
    ) -> Option<(&'b [u8], usize)> {
        loop {
            let rest = keys.rest();
            let key = keys.next()?;
            let (with_cas, last) = (how.with_cas, keys.len() == 0);
            let operation = match how.exptime {
                None => Operation::Get { with_cas, last },
                Some(exptime) => Operation::GetAndTouch { exptime, with_cas, last },
            };
            if self.operate(reactor, client, operation, key, b"") == Flow::Hold {
                return Some(rest);
            }
            if keys.len() > 0 && !self.may_go_on(reactor, client) {
                return Some(keys.rest());
            }
        }
    }
}
