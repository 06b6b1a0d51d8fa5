//! Meta commands: what belongs to one key goes to its owner in one piece.

use proto_memcache::server::{BINARY_KEY_MAX, Meta, MetaVerb};
use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use crate::client::Client;
use crate::operation::Operation;
use crate::operation::meta::MetaOperation;

impl<R: Reactor> Core<R> {
    pub(super) fn meta(&mut self, reactor: &mut R, client: &mut Client, meta: &Meta) -> Flow {
        let operation = Operation::Meta(MetaOperation {
            verb: meta.verb,
            binary: meta.key.is_binary(),
            // A line is at most 2 KiB and a value at most an item, so that neither is cut off.
            flags_len: meta.flags_len as u16,
            data_len: meta.data_len as u32,
        });
        let mut room = [0; BINARY_KEY_MAX];
        let flow = self.operate(reactor, client, operation, meta.key.read(&mut room), meta.arguments);
        // memcached counts no other meta command as one.
        if flow == Flow::Next && meta.verb == MetaVerb::Debug {
            self.stats.cmd_meta += 1;
        }
        flow
    }
}
