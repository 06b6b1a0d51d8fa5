//! Operator commands: statistics, limits, lists of all items, the end.
//!
//! A list is made in parts, here or by the threads that own the partitions.

use std::borrow::Cow;

use proto_memcache::Reply;
use proto_memcache::server::{Classes, DumpKind, Refusal, Shutdown, read_u32, reply};
use reactor::Reactor;
use tracing::{info, warn};

use super::Core;
use super::requests::Flow;
use crate::certificates::Certificates;
use crate::client::Client;
use crate::dump::{Dump, Format};
use crate::message::{Ask, DetailVerb, Task, Ticket, Work};
use crate::partitions::Place;
use crate::replies::Finish;
use crate::server::End;
use crate::stats::{groups, settings};

/// Classes of sizes that `stats cachedump` takes. Source: memcached's `MAX_NUMBER_OF_SLAB_CLASSES`.
const CLASSES: u32 = 64;

/// The source of a group's statistics.
pub(super) enum Statistics {
    /// From this thread: all lines.
    Here(Vec<u8>),
    /// From all threads.
    OfAll(Finish, Task),
}

impl<R: Reactor> Core<R> {
    /// `stats` and its groups.
    pub(super) fn stats(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        group: &[u8],
        arguments: [Option<&[u8]>; 2],
    ) -> Flow {
        match group {
            // Without external storage memcached answers the same.
            b"extstore" => return self.answer(reactor, client, Reply::Wanted, reply::END),
            b"cachedump" => return self.cachedump(reactor, client, arguments),
            _ => {}
        }
        match self.statistics(group, arguments[0]) {
            Ok(Statistics::Here(text)) => self.answer(reactor, client, Reply::Wanted, &text),
            Ok(Statistics::OfAll(finish, task)) => {
                self.everywhere(reactor, client, Reply::Wanted, finish, task)
            }
            Err(refusal) => self.answer(reactor, client, Reply::Wanted, refusal.line()),
        }
    }

    /// The statistics of a group that every protocol of memcached has; `detail` is the word after `detail`.
    pub(super) fn statistics(&self, group: &[u8], detail: Option<&[u8]>) -> Result<Statistics, Refusal> {
        let config = &self.common.config;
        let mut text = Vec::new();
        let (finish, task) = match group {
            b"" => (Finish::Stats, Task::Report),
            b"items" => (Finish::Items, Task::Report),
            b"slabs" => (Finish::Slabs, Task::Report),
            b"conns" => (Finish::Connections, Task::Connections),
            b"mrc" => (Finish::Curve, Task::Report),
            // As other commands that list keys.
            b"hotkeys" if !config.dump => return Err(Refusal::NoHotKeys),
            b"hotkeys" => (Finish::HotKeys, Task::HotKeys),
            b"reset" => (Finish::Reset, Task::Reset),
            b"detail" => match detail {
                _ if !config.dump => return Err(Refusal::NoDetail),
                Some(b"on") => (Finish::Ok, Task::Detail(DetailVerb::On)),
                Some(b"off") => (Finish::Ok, Task::Detail(DetailVerb::Off)),
                Some(b"dump") => (Finish::Detail, Task::Detail(DetailVerb::Dump)),
                _ => return Err(Refusal::StatsDetail),
            },
            _ => {
                match group {
                    b"settings" => {
                        settings::write(config, self.common.memory.bytes(), self.prefixes.on, &mut text);
                    }
                    b"sizes" => groups::sizes(&mut text),
                    b"partitions" => groups::partitions(config, &mut text),
                    _ => return Err(Refusal::Unknown),
                }
                return Ok(Statistics::Here(text));
            }
        };
        Ok(Statistics::OfAll(finish, task))
    }

    /// `cache_memlimit`.
    pub(super) fn memory_limit(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        megabytes: u32,
        reply: Reply,
    ) -> Flow {
        match self.common.memory.set(megabytes) {
            Err(refusal) => self.answer(reactor, client, reply, refusal.line()),
            Ok(limit) => {
                info!(%limit, "cache_memlimit: the memory for items is changed");
                self.everywhere(reactor, client, reply, Finish::Ok, Task::Memory)
            }
        }
    }

    /// Applies the current memory limit to the partitions here, except those that belong to another thread.
    pub(super) fn change_memory(&mut self, asker: usize) {
        let share = self.common.memory.bytes().0 as usize / self.partitions.count();
        let mut given = true;
        self.partitions.for_all_of(asker, |store| given &= store.set_memory(share));
        if !given {
            warn!(
                thread = self.number,
                "the system does not give the memory of cache_memlimit; less is used"
            );
        }
    }

    /// `refresh_certs`: reads the files of TLS again, for new connections.
    pub(super) fn refresh_certificates(&self) -> Cow<'static, [u8]> {
        match self.common.certificates.as_ref().map(Certificates::read_again) {
            None => Refusal::NoTls.line().into(),
            Some(Ok(())) => reply::OK.into(),
            Some(Err(error)) => {
                // A path may have line ends, which would look like another reply.
                let reason = format!("{error:#}").replace(char::is_control, " ");
                format!("SERVER_ERROR {reason}; the certificates stay as they were\r\n").into_bytes().into()
            }
        }
    }

    /// `shutdown`: as in memcached, the connection is closed without an answer, and the server ends. Both ways of it let
    /// replies leave first.
    pub(super) fn shutdown(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        how: Shutdown,
        reply: Reply,
    ) -> Flow {
        if !self.common.config.shutdown {
            return self.answer(reactor, client, reply, Refusal::NoShutdown.line());
        }
        match how {
            Shutdown::Now | Shutdown::Graceful => {
                let graceful = how == Shutdown::Graceful;
                client.ends = "shutdown";
                // If the receiver was dropped the end has begun already.
                let _ = self.common.end.send(if graceful { End::Graceful } else { End::Interrupted });
                Flow::Close
            }
            Shutdown::Unknown => self.answer(reactor, client, reply, Refusal::ShutdownMode.line()),
        }
    }

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

    /// Begins a list; an empty one without items.
    fn begin_dump(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        dump: Option<Dump>,
        format: Format,
    ) -> Flow {
        if client.frames.is_some() {
            // A datagram's reply is completed before it is sent, and a list has no bound.
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

    /// Advances a list by one part; returns whether there is none, or it is complete.
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
