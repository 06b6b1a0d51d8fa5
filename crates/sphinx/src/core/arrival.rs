//! Large values, received directly into the store.
//!
//! Otherwise a value that comes in many pieces is gathered in the connection's input, and copied from there: twice the
//! bytes through the processor's caches, and a buffer in addition to the server's memory. A value larger than a segment
//! is never gathered: room is made for it first ([`claims`](super::claims)).

use cache_store::{Expiry, Marks};
use proto_memcache::server::{BINARY_KEY_MAX, Refusal};
use proto_memcache::{Reply, StoreVerb};
use reactor::{Conn, Reactor};

use super::Core;
use crate::arriving::{Arriving, Command, Wanted};
use crate::client::{Client, State};
use crate::link;
use crate::message::{Ask, Commit, Ticket, Work};
use crate::partitions::Place;
use crate::service::Class;
use crate::stats::prefixes::Detail;
use crate::telling::Telling;

/// Least size of a value to receive in place. Below it a value mostly arrives in one piece, and the pin of a place
/// holds up a whole segment. Units: bytes.
pub(super) const LARGE: usize = 16 << 10;

impl<R: Reactor> Core<R> {
    /// Takes a storage command of which `bytes` are all that was received, if its value is large; from then on its
    /// bytes go directly to its place. Returns the number of bytes taken.
    #[inline]
    pub(super) fn begin_value(&mut self, client: &mut Client, bytes: &[u8]) -> usize {
        if client.parser.needed() >= LARGE { self.begin_large_value(client, bytes) } else { 0 }
    }

    #[cold]
    fn begin_large_value(&mut self, client: &mut Client, bytes: &[u8]) -> usize {
        if client.frames.is_some() {
            return 0;
        }
        if let Some((line, value)) = client.parser.awaited(bytes) {
            // A value to be joined to another is gathered.
            if matches!(line.verb, StoreVerb::Append | StoreVerb::Prepend) {
                return 0;
            }
            let expiry = Expiry::from_exptime(line.exptime, self.now);
            let command = Command::Text(line.verb, line.reply);
            return self.begin(client, line.key, (line.flags, expiry, line.length), command, (bytes, value));
        }
        let Some((set, value)) = client.parser.awaited_meta(bytes) else { return 0 };
        let mut room = [0; BINARY_KEY_MAX];
        let key = set.key.read(&mut room);
        if !self.common.config.is_claimed(key.len(), set.flags, set.length) || set.joins() {
            return 0;
        }
        // Its expiry is among the flags, which are read when the value is complete.
        let command = Command::Meta(set.words.into(), set.key.is_binary());
        self.begin(client, key, (set.flags, Expiry::NEVER, set.length), command, (bytes, value))
    }

    /// Requests room for a value that is never gathered, or moves the first part of another one to its place, if it has
    /// arrived. `value` is its offset in the bytes.
    pub(super) fn begin(
        &mut self,
        client: &mut Client,
        key: &[u8],
        (flags, expiry, length): (u32, Expiry, usize),
        command: Command,
        (bytes, value): (&[u8], usize),
    ) -> usize {
        let key = self.hasher.key(key);
        let place = self.partitions.place(key.hash);
        if self.common.config.is_claimed(key.bytes.len(), flags, length) {
            let wanted = Wanted { flags, expiry, length, place, command, outcome: None };
            return if self.want(client, key, wanted) { value } else { 0 };
        }
        let is_set = match command {
            Command::Text(verb, _) => verb == StoreVerb::Set,
            Command::Meta(..) => false,
            // Such a place has no marks.
            Command::Binary(_, marks) => marks == Marks::NONE,
        };
        let Place::Here(partition) = place else { return 0 };
        if !is_set {
            return 0;
        }
        // As before every write.
        self.partitions.leave();
        let now = self.now;
        let reservation =
            self.partitions.with(partition, |store| store.reserve(key, flags, expiry, length, now));
        let Some(reservation) = reservation else { return 0 };
        self.count_detail(Some(Detail::Set), key.bytes);
        let mut arriving = Box::new(Arriving::new(reservation, place, command));
        let taken = arriving.take(&bytes[value..]);
        debug_assert_eq!(value + taken, bytes.len(), "the parser would have taken a whole one");
        client.arriving = Some(arriving);
        client.put_back();
        bytes.len()
    }

    /// Reports that the reactor has put bytes into the value's place.
    pub(super) fn fill(&mut self, conn: Conn, length: usize) {
        if let Some(Client { arriving: Some(arriving), received, .. }) = self.client(conn) {
            arriving.reservation.fill(length);
            *received = received.wrapping_add(length as u32);
        }
    }

    /// Continues the value that arrives; returns how many of the bytes belonged to it, and releases it when complete.
    #[cold]
    pub(super) fn go_on_with_value(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        let Some(mut arriving) = client.arriving.take() else { return 0 };
        let used = arriving.take(bytes);
        let Some(well) = arriving.ends_well() else {
            client.arriving = Some(arriving);
            return used;
        };
        if let Place::At(owner) = arriving.place
            && well
            && !self.links[owner].as_ref().is_some_and(|link| link.has_room())
        {
            client.arriving = Some(arriving);
            client.state = State::Held;
            self.wait_for_room(client);
            return used;
        }
        self.rounds.claimed -= usize::from(arriving.is_claimed);
        let Arriving { reservation, place, command, .. } = *arriving;
        if !well {
            let reply = command.reply();
            if let Place::Here(partition) = place {
                self.partitions.with(partition, |store| store.abandon(reservation));
            }
            self.answer(reactor, client, reply, Refusal::BadChunk.line());
        } else if let Place::At(owner) = place {
            self.send_value(client, owner, Commit { reservation, command });
        } else {
            self.partitions.leave();
            let telling = self.telling(client.conn, self.number);
            let mut reply = self.buffers.take();
            self.finish_value(Commit { reservation, command }, place, telling, &mut reply);
            self.answer(reactor, client, Reply::Wanted, &reply);
            self.buffers.give(reply);
        }
        self.stats.values_placed += u64::from(well);
        if self.service.is_some() {
            client.batch.add(if well { Class::Store } else { Class::Other }, self.received);
        }
        used
    }

    /// Makes a fully received value the item of its key, which is here.
    pub(super) fn finish_value(
        &mut self,
        commit: Commit,
        place: Place,
        telling: Option<Telling>,
        reply: &mut Vec<u8>,
    ) {
        let Place::Here(partition) = place else { unreachable!("the peer knows who owns a key") };
        let (Commit { reservation, command }, now) = (commit, self.now);
        let key = reservation.key();
        let sampled = self.sampler.wants(self.hasher.hash(key)).then(|| key.to_vec());
        self.partitions.with(partition, |store| {
            command.finish(store, reservation, telling.as_ref(), now, reply);
        });
        if let Some(key) = sampled {
            self.note_placed(place, &key);
        }
    }

    /// Has another thread make a fully received value the item of its key.
    fn send_value(&mut self, client: &mut Client, owner: usize, commit: Commit) {
        let ask = Ask {
            ticket: Ticket { conn: client.conn, reply: Some(client.replies.expect()) },
            work: Work::Commit(Box::new(commit)),
            buffer: self.buffers.take(),
        };
        self.ask_owner(client, owner, ask);
    }

    /// Sends an ask to the owner of a key; the link has room.
    pub(super) fn ask_owner(&mut self, client: &mut Client, owner: usize, ask: Ask) {
        debug_assert!(ask.buffer.len() < link::LARGE);
        if self.partitions.reads_others() {
            client.awaited.asked(owner);
        }
        self.links[owner].as_mut().expect("there is a link to every other thread").ask(ask);
        self.stats.asks += 1;
    }

    /// The rest of the value will not come.
    pub(super) fn give_up_value(&mut self, arriving: Option<Box<Arriving>>) {
        if let Some(arriving) = arriving {
            self.rounds.claimed -= usize::from(arriving.is_claimed);
            let Arriving { reservation, place, .. } = *arriving;
            // The owner of another partition notices the drop itself.
            if let Place::Here(partition) = place {
                self.partitions.with(partition, |store| store.abandon(reservation));
            }
        }
    }
}
