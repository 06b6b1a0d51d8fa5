//! From requests to operations: here, at the key's owner, or everywhere.

use proto_memcache::Reply;
use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use crate::budget::FREE;
use crate::client::Client;
use crate::draft::{Draft, lent};
use crate::link;
use crate::message::{Ask, Ticket, Work};
use crate::operation::Operation;
use crate::partitions::{Partitions, Place};
use crate::replies::{Finish, Gathering};

/// What a client does whose request is being carried out, in memcached's words.
const ASKING: &str = "conn_parse_cmd";

impl<R: Reactor> Core<R> {
    /// Does something to a key, here or at its owner.
    #[inline]
    pub(super) fn operate(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        operation: Operation,
        key: &[u8],
        value: &[u8],
    ) -> Flow {
        let key = self.hasher.key(key);
        let place = self.partitions.place(key.hash);
        if operation.shows_value()
            && !self.may_grow(client)
            && self.partitions.copies(place, key, FREE, reactor.lends(client.conn), self.now)
        {
            return self.wait_for_memory(client);
        }
        let owner = match place {
            Place::Here(partition) => {
                if !matches!(operation, Operation::Get { .. }) {
                    // A write may need memory that this thread itself still looks at, and would wait for in vain.
                    self.partitions.leave();
                }
                let (now, counts) = (self.now, self.prefixes.on);
                let detail = self.make_with(reactor, client, |partitions, out| {
                    let before = out.len();
                    partitions.with(partition, |store| operation.execute(store, key, value, now, out));
                    counts.then(|| operation.detail(&out[before..])).flatten()
                });
                self.count_detail(detail, key.bytes);
                return Flow::Next;
            }
            Place::At(owner) => owner,
        };
        // What was asked of the owner may not have happened yet, so what comes after it has to line up behind it.
        if self.partitions.reads_others() && !client.awaited.is_awaited(owner) {
            let (now, counts) = (self.now, self.prefixes.on);
            let read = self.make_with(reactor, client, |partitions, out| {
                let before = out.len();
                let read = partitions.read(&operation, key, value, now, out);
                read.then(|| counts.then(|| operation.detail(&out[before..])).flatten())
            });
            if let Some(detail) = read {
                self.count_detail(detail, key.bytes);
                return Flow::Next;
            }
        }
        let link = self.links[owner].as_mut().expect("there is a link to every other thread");
        let length = key.bytes.len() + value.len();
        if !link.has_room() || (length >= link::LARGE && !self.may_ask_large(client)) {
            return self.wait_for_room(client);
        }
        let mut buffer = self.buffers.take();
        buffer.extend_from_slice(key.bytes);
        buffer.extend_from_slice(value);
        let reply = (operation.reply() == Reply::Wanted).then(|| client.replies.expect());
        let ticket = Ticket { conn: client.conn, reply };
        let work = Work::Key { hash: key.hash.to_u64(), key_len: key.bytes.len(), operation };
        let link = self.links[owner].as_mut().expect("there is a link to every other thread");
        let before = link.large_bytes();
        link.ask(Ask { ticket, work, buffer });
        self.account.charge(link.large_bytes() - before);
        if self.partitions.reads_others() {
            client.awaited.asked(owner);
        }
        self.stats.asks += 1;
        Flow::Next
    }

    /// Does something on every thread, and answers when all have done it.
    pub(super) fn everywhere(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        reply: Reply,
        finish: Finish,
        work: impl Fn() -> Work,
    ) -> Flow {
        if !self.links.iter().flatten().all(|link| link.has_room()) {
            return self.wait_for_room(client);
        }
        let mut lines = Vec::new();
        let part = self.do_everywhere(reactor, self.number, &work(), &mut lines);
        if finish == Finish::Connections {
            // It was taken out for its request.
            self.tell_connection(reactor, client, ASKING, &mut lines);
            self.tell_listeners(&mut lines);
        }
        let left = self.links.len() - 1;
        if left == 0 {
            let text = self.finished(finish, &part, &lines);
            return self.answer(reactor, client, reply, &text);
        }
        let gathering = Gathering { left, stats: part, lines, finish };
        let ticket = Ticket {
            conn: client.conn,
            reply: (reply == Reply::Wanted).then(|| client.replies.gather(gathering)),
        };
        for (peer, link) in self.links.iter_mut().enumerate() {
            let Some(link) = link else { continue };
            if self.partitions.reads_others() {
                client.awaited.asked(peer);
            }
            link.ask(Ask { ticket, work: work(), buffer: self.buffers.take() });
            self.stats.asks += 1;
        }
        Flow::Next
    }

    /// Whether there is memory for a large value on its way to another thread. One of them always may be under way, since
    /// the thread that it goes to waits for nothing.
    #[cold]
    fn may_ask_large(&mut self, client: &Client) -> bool {
        self.may_grow(client) || self.links.iter().flatten().all(|link| link.large_bytes() == 0)
    }

    #[cold]
    pub(super) fn wait_for_room(&mut self, client: &mut Client) -> Flow {
        self.stats.queue_waits += 1;
        if !client.waits {
            client.waits = true;
            self.waiting.push_back(client.conn);
        }
        Flow::Hold
    }

    /// Answers with a line, if an answer is wanted.
    pub(super) fn answer(&mut self, reactor: &mut R, client: &mut Client, reply: Reply, line: &[u8]) -> Flow {
        if reply == Reply::Wanted {
            self.make(reactor, client, |out| out.extend_from_slice(line));
        }
        Flow::Next
    }

    /// Makes a reply that comes after those that wait.
    pub(super) fn make(&mut self, reactor: &mut R, client: &mut Client, write: impl FnOnce(&mut Draft)) {
        self.make_with(reactor, client, |_, out| write(out));
    }

    /// Makes a reply of what the partitions hold.
    #[inline]
    pub(super) fn make_with<T>(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        write: impl FnOnce(&mut Partitions, &mut Draft) -> T,
    ) -> T {
        let output = reactor.output(client.conn);
        let before = output.len();
        let partitions = &mut self.partitions;
        let made =
            client.replies.make(output, &mut self.loans, &mut self.buffers, |out| write(partitions, out));
        let mut written = output.len() - before;
        if !self.loans.is_empty() {
            written += lent(&self.loans);
            self.stats.values_lent += self.loans.len() as u64;
            reactor.lend(client.conn, &mut self.loans);
        }
        self.stats.bytes_written += written as u64;
        made
    }
}
