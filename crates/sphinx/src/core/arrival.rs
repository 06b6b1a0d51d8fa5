//! Large values, written where they will be read as they arrive.
//!
//! A value that comes in many pieces is gathered in the connection's input otherwise, and copied from there: twice the
//! bytes through the processor's caches, and a buffer beside the memory that the server was given.

use cache_store::{Expiry, Stored};
use proto_memcache::StoreVerb;
use proto_memcache::server::Refusal;
use reactor::{Conn, Reactor};

use super::Core;
use crate::arriving::Arriving;
use crate::client::Client;
use crate::operation;
use crate::partitions::Place;
use crate::service::Class;
use crate::stats::prefixes::Detail;

/// Requests from this on. Below it a value mostly comes in one piece, and the pin that a place takes holds up a whole
/// segment. Units: bytes.
pub(super) const LARGE: usize = 16 << 10;

impl<R: Reactor> Core<R> {
    /// Takes a `set` of which `bytes` is all that has come, if it is large and its place is here; from then on the value
    /// goes there.
    #[inline]
    pub(super) fn begin_value(&mut self, client: &mut Client, bytes: &[u8]) -> bool {
        client.parser.needed() >= LARGE && self.begin_large_value(client, bytes)
    }

    #[cold]
    fn begin_large_value(&mut self, client: &mut Client, bytes: &[u8]) -> bool {
        let Some((line, value)) = client.parser.awaited(bytes) else { return false };
        let key = self.hasher.key(line.key);
        let Place::Here(partition) = self.partitions.place(key.hash) else { return false };
        if line.verb != StoreVerb::Set || client.frames.is_some() {
            return false;
        }
        // As before every write.
        self.partitions.leave();
        let (now, expiry) = (self.now, Expiry::from_exptime(line.exptime, self.now));
        let reservation =
            self.partitions.with(partition, |store| store.reserve(key, line.flags, expiry, line.length, now));
        let Some(reservation) = reservation else { return false };
        if self.prefixes.on {
            self.count_detail(Some(Detail::Set), line.key);
        }
        let mut arriving = Box::new(Arriving::new(reservation, partition, line.reply));
        let taken = arriving.take(&bytes[value..]);
        debug_assert_eq!(value + taken, bytes.len(), "the parser would have taken a whole one");
        client.arriving = Some(arriving);
        client.parser.put_back();
        true
    }

    /// Says that the reactor has put bytes where the value goes.
    pub(super) fn fill(&mut self, conn: Conn, length: usize) {
        if let Some(Client { arriving: Some(arriving), .. }) = self.client(conn) {
            arriving.reservation.fill(length);
        }
    }

    /// Goes on with the value that arrives; returns how many of the bytes were its own, and lets go of it when it is whole.
    #[cold]
    pub(super) fn go_on_with_value(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        let Some(mut arriving) = client.arriving.take() else { return 0 };
        let used = arriving.take(bytes);
        let Some(well) = arriving.ends_well() else {
            client.arriving = Some(arriving);
            return used;
        };
        if let Some(echo) = arriving.echo {
            self.end_binary_value(reactor, client, *arriving, echo);
            return used;
        }
        self.partitions.leave();
        let now = self.now;
        let Arriving { reservation, partition, reply, .. } = *arriving;
        let telling = self.telling(client.conn, self.number);
        let line = self.partitions.with(partition, |store| {
            if well {
                let told = telling.map(|telling| (telling, reservation.key().to_vec()));
                let (left, length) = (reservation.expiry().left(now), reservation.length());
                let stored = store.commit(reservation, now);
                if let Some((telling, key)) = told {
                    telling.placed(&key, stored == Stored::Stored, left, length);
                }
                return operation::stored(StoreVerb::Set, stored);
            }
            store.abandon(reservation);
            Refusal::BadChunk.line()
        });
        self.stats.values_placed += u64::from(well);
        self.answer(reactor, client, reply, line);
        if self.service.is_some() {
            client.batch.add(if well { Class::Store } else { Class::Other }, self.received);
        }
        used
    }

    /// The rest of the value will not come.
    pub(super) fn give_up_value(&mut self, arriving: Option<Box<Arriving>>) {
        if let Some(arriving) = arriving {
            let Arriving { reservation, partition, .. } = *arriving;
            self.partitions.with(partition, |store| store.abandon(reservation));
        }
    }
}
