//! Lists of all items: part after part, here or by the threads that have the partitions.

use proto_memcache::Reply;
use proto_memcache::server::{Classes, DumpKind, Refusal, read_u32};
use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use crate::client::Client;
use crate::dump::{Dump, Format};
use crate::message::{Ask, Ticket, Work};
use crate::partitions::Place;

/// Classes of sizes that `stats cachedump` takes. Source: memcached's `MAX_NUMBER_OF_SLAB_CLASSES`.
const CLASSES: u32 = 64;

impl<R: Reactor> Core<R> {
    /// `lru_crawler metadump` and `lru_crawler mgdump`.
    pub(super) fn crawl(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        kind: DumpKind,
        classes: &[u8],
        reply: Reply,
    ) -> Flow {
        let refusal = match kind {
            DumpKind::Items => Refusal::NoMetadump,
            DumpKind::Keys => Refusal::NoKeyDump,
        };
        if !self.common.config.dump {
            return self.answer(reactor, client, reply, refusal.line());
        }
        let Some(classes) = Classes::read(classes) else {
            return self.answer(reactor, client, reply, Refusal::BadClass.line());
        };
        self.begin_dump(reactor, client, classes.first.then(|| Dump::of_all(kind)), Format::Crawler(kind))
    }

    /// `stats cachedump`.
    pub(super) fn cachedump(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        arguments: [Option<&[u8]>; 2],
    ) -> Flow {
        let refused = match arguments {
            _ if !self.common.config.dump => Refusal::NoCachedump,
            [Some(class), Some(limit)] => match (read_u32(class), read_u32(limit)) {
                (Some(CLASSES..), Some(_)) => Refusal::BadSlab,
                (Some(class), Some(limit)) => {
                    let dump = (class == 1).then(|| Dump::cached(limit));
                    return self.begin_dump(reactor, client, dump, Format::Cached);
                }
                _ => Refusal::BadFormat,
            },
            _ => Refusal::BadLine,
        };
        self.answer(reactor, client, Reply::Wanted, refused.line())
    }

    /// Begins a list; none is one of nothing.
    fn begin_dump(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        dump: Option<Dump>,
        format: Format,
    ) -> Flow {
        if client.frames.is_some() {
            // A datagram's reply is made whole before it leaves, and a list has no bound.
            return self.answer(reactor, client, Reply::Wanted, Refusal::Unknown.line());
        }
        self.answer(reactor, client, Reply::Wanted, format.start());
        match dump {
            None => self.answer(reactor, client, Reply::Wanted, format.end()),
            Some(dump) => {
                client.dump = Some(Box::new(dump));
                Flow::Next
            }
        }
    }

    /// Goes on with a list by one part; returns whether there is none, or it has come to its end.
    #[inline]
    pub(super) fn finish_dump(&mut self, reactor: &mut R, client: &mut Client) -> bool {
        client.dump.is_none() || self.go_on_with_dump(reactor, client)
    }

    #[cold]
    fn go_on_with_dump(&mut self, reactor: &mut R, client: &mut Client) -> bool {
        let Some(mut dump) = client.dump.take_if(|dump| !dump.asked) else { return false };
        if dump.is_over(self.partitions.count()) {
            self.answer(reactor, client, Reply::Wanted, dump.format.end());
            return true;
        }
        match self.partitions.place_of(dump.partition) {
            Place::Here(partition) => {
                // As before every write: memory for one may be wanted by a flush that is due.
                self.partitions.leave();
                let now = self.now;
                self.make_with(reactor, client, |partitions, out| {
                    partitions.with(partition, |store| dump.go_on(store, now, out));
                });
            }
            Place::At(owner) => {
                let link = self.links[owner].as_mut().expect("there is a link to every other thread");
                if !link.has_room() {
                    client.dump = Some(dump);
                    _ = self.wait_for_room(client);
                    return false;
                }
                let ticket = Ticket { conn: client.conn, reply: Some(client.replies.expect()) };
                dump.asked = true;
                link.ask(Ask { ticket, work: Work::Dump(dump.clone()), buffer: self.buffers.take() });
                if self.partitions.reads_others() {
                    client.awaited.asked(owner);
                }
                self.stats.asks += 1;
            }
        }
        client.dump = Some(dump);
        false
    }
}
