//! Messages between threads, and requests that every thread has a part in.

use std::sync::atomic::Ordering;

use cache_store::{Key, KeyHash};
use proto_memcache::Reply;
use proto_memcache::binary::Echo;
use proto_memcache::server::reply;
use reactor::{Address, Conn, Reactor};

use super::Core;
use super::requests::Flow;
use crate::binary;
use crate::budget::{self, FREE, counted};
use crate::client::Client;
use crate::draft::Draft;
use crate::message::{Answer, Ask, DetailVerb, Extra, Task, Ticket, Work};
use crate::operation::Operation;
use crate::partitions::{Place, execute};
use crate::phase::Phase;
use crate::replies::{Finish, Gathering};
use crate::stats::connections::{self, Told};
use crate::stats::general::Moment;
use crate::stats::prefixes::{Detail, Prefixes};
use crate::stats::{CoreStats, groups, sampled};

/// Messages of each kind taken from one peer before the others and the sockets have their turn.
const MESSAGES_PER_TURN: usize = 128;
/// Bytes of values copied for one peer in that time. Units: bytes.
const COPIED_PER_TURN: usize = 512 << 10;
/// The activity of a client whose request is being carried out, in memcached's words.
const ASKING: &str = "conn_parse_cmd";

impl<R: Reactor> Core<R> {
    /// Executes other threads' asks, and takes their answers; returns whether there were any.
    pub(super) fn take_messages(&mut self, reactor: &mut R) -> bool {
        if self.links.len() == 1 {
            return false;
        }
        let mut busy = false;
        for peer in 0..self.links.len() {
            busy |= self.take_asks(reactor, peer) | self.take_answers(peer);
        }
        if busy {
            self.release_replies(reactor);
            self.resume_waiting(reactor);
            self.ring(reactor);
        }
        busy
    }

    fn take_asks(&mut self, reactor: &R, peer: usize) -> bool {
        let mut copied = 0;
        for taken in 0..MESSAGES_PER_TURN {
            let Some(ask) = self.links[peer].as_mut().and_then(|link| link.next_ask()) else {
                return taken > 0;
            };
            if taken == 0 {
                self.tell_time(reactor.now());
            }
            if let Work::Claim(wish) = &ask.work {
                self.claim_for(peer, ask.ticket, wish, &ask.buffer);
                self.buffers.give(ask.buffer);
                continue;
            }
            let answer = self.do_work(reactor, peer, ask);
            copied += answer.buffer.len();
            let link = self.links[peer].as_mut().expect("the ask came from it");
            link.answer(answer);
            if copied >= COPIED_PER_TURN {
                break;
            }
        }
        true
    }

    fn do_work(&mut self, reactor: &R, peer: usize, ask: Ask) -> Answer {
        let Ask { ticket, work, buffer: question } = ask;
        // As before every write.
        self.partitions.leave();
        let mut buffer = self.buffers.take();
        let extra = match work {
            Work::Key { hash, key_len, operation } => {
                let (key, value) = question.split_at(key_len);
                let key = Key { bytes: key, hash: KeyHash::from_u64(hash) };
                let (place, now) = (self.partitions.place(key.hash), self.now);
                if operation.shows_value()
                    && !self.account.budget().has_room(budget::largest(self.common.config.item_max))
                    && let Some((length, true)) = self.partitions.value(place, key, true, now)
                    && length > FREE
                    && !self.account.budget().has_room(length)
                {
                    operation.no_memory(&mut buffer);
                    self.buffers.give(question);
                    return Answer { ticket, buffer, extra: Extra::Refused };
                }
                self.do_to_key((peer, ticket.conn), &operation, key, value, &mut buffer);
                // One key has one value.
                self.loans.pop().map_or(Extra::None, |loan| Extra::Loan(Box::new(loan)))
            }
            Work::Summand { hash, key_len, operation } => {
                let (key, value) = question.split_at(key_len);
                let key = Key { bytes: key, hash: KeyHash::from_u64(hash) };
                self.do_to_key((peer, ticket.conn), &operation, key, value, &mut buffer);
                Extra::Summand
            }
            Work::Scan(scan) => {
                self.scan_here(scan, &question, &mut buffer);
                Extra::None
            }
            Work::Dump(mut dump) => {
                let (place, now) = (self.partitions.place_of(dump.partition), self.now);
                let Place::Here(partition) = place else {
                    unreachable!("the peer knows who has a partition")
                };
                self.partitions.with(partition, |store| dump.go_on(store, now, &mut buffer));
                Extra::Dump(dump)
            }
            Work::Commit(commit) => {
                let place = self.partitions.place(self.hasher.hash(commit.reservation.key()));
                self.finish_value(*commit, place, self.telling(ticket.conn, peer), &mut buffer);
                Extra::None
            }
            Work::Everywhere(task) => {
                Extra::Part(Box::new(self.do_everywhere(reactor, peer, task, &mut buffer)))
            }
            Work::Claim(_) => unreachable!("it is taken up apart"),
        };
        self.buffers.give(question);
        // Until the peer has it, it is in no account.
        self.account.budget().depart(counted(buffer.capacity()));
        Answer { ticket, buffer, extra }
    }

    /// Does something to a key that is here, for a connection of a thread, and appends the reply.
    #[inline]
    pub(super) fn do_to_key(
        &mut self,
        (thread, conn): (usize, Conn),
        operation: &Operation,
        key: Key,
        value: &[u8],
        buffer: &mut Vec<u8>,
    ) {
        let (place, now) = (self.partitions.place(key.hash), self.now);
        let Place::Here(partition) = place else { unreachable!("the peer knows who owns a key") };
        let telling = self.telling(conn, thread);
        let mut draft = Draft::new(buffer, &mut self.loans);
        self.partitions.with(partition, |store| {
            execute(operation, telling.as_ref(), store, key, value, now, &mut draft);
        });
        self.count_detail(operation.detail(buffer), key.bytes);
        if self.sampler.wants(key.hash) {
            self.note(operation, place, key);
        }
    }

    /// Has every thread do its part of a task, and answers when all have done it.
    pub(super) fn everywhere(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        reply: Reply,
        finish: Finish,
        task: Task,
    ) -> Flow {
        let finish = if reply == Reply::Wanted { finish } else { Finish::Silent };
        self.everywhere_with(reactor, client, Vec::new(), finish, task)
    }

    /// The same with the first of the lines that the reply is made from.
    pub(super) fn everywhere_with(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        mut lines: Vec<u8>,
        finish: Finish,
        task: Task,
    ) -> Flow {
        let has_room = self.links.iter().flatten().all(|link| link.has_room());
        // One after the other: how long it gets is known when the other threads have made their parts.
        if !has_room || finish.is_long() && self.listing.is_some() {
            return self.wait_for_room(client);
        }
        if finish.is_long()
            && let Some(flow) = self.put_off(client, budget::largest(self.common.config.item_max), true)
        {
            return flow;
        }
        let part = self.do_everywhere(reactor, self.number, task, &mut lines);
        if finish == Finish::Connections {
            // It was taken out for its request.
            self.tell_connection(reactor, client, ASKING, &mut lines);
            self.tell_listeners(&mut lines);
        }
        self.count_part(lines.len());
        let left = self.links.len() - 1;
        let echo = client.binary.as_ref().map(|binary| binary.echo);
        if left == 0 {
            let text = self.finished(finish, &part, &lines, echo);
            return self.answer(reactor, client, Reply::Wanted, &text);
        }
        if finish.is_long() {
            self.listing = Some(client.conn);
        }
        let gathering = Gathering { left, stats: part, lines, finish, echo };
        let ticket = Ticket { conn: client.conn, reply: Some(client.replies.gather(gathering)) };
        for (peer, link) in self.links.iter_mut().enumerate() {
            let Some(link) = link else { continue };
            if self.partitions.reads_others() {
                client.awaited.asked(peer);
            }
            link.ask(Ask { ticket, work: Work::Everywhere(task), buffer: self.buffers.take() });
            self.stats.asks += 1;
        }
        Flow::Next
    }

    /// This thread's part of a task, for a client of thread `asker`.
    ///
    /// Appends its lines of the reply to `lines`, if there are any.
    pub(super) fn do_everywhere(
        &mut self,
        reactor: &R,
        asker: usize,
        task: Task,
        lines: &mut Vec<u8>,
    ) -> CoreStats {
        let now = self.now;
        match task {
            Task::Flush { delay } => {
                self.partitions.for_all_of(asker, |store| store.flush_all(delay, now));
                if asker == self.number {
                    self.note_flush(delay);
                }
            }
            Task::Memory => self.change_memory(asker),
            Task::Reset => {
                self.stats.reset();
                self.spinner.reset();
                self.prefixes.reset();
                self.reset_samples();
                self.partitions.reset_stats();
            }
            Task::Connections => self.tell_connections(reactor, lines),
            Task::Detail(DetailVerb::On) => self.prefixes.on = true,
            Task::Detail(DetailVerb::Off) => self.prefixes.on = false,
            Task::Detail(DetailVerb::Dump) => self.prefixes.write(lines),
            Task::HotKeys => self.sampler.write_hot_keys(lines),
            Task::Report => self.hand_samples_over(),
            Task::RespClients => self.tell_resp_clients(reactor, lines),
        }
        let (spin_us, spin_found) = (self.spinner.looked.0 / 1_000, self.spinner.found);
        let connection_memory = self.account.used() as u64;
        CoreStats { store: self.partitions.stats(), spin_us, spin_found, connection_memory, ..self.stats }
    }

    /// Appends the descriptions of this thread's connections.
    fn tell_connections(&self, reactor: &R, lines: &mut Vec<u8>) {
        for client in self.clients.iter().flatten() {
            self.tell_connection(reactor, client, client.activity(), lines);
        }
    }

    /// Appends the descriptions of the listening sockets, of which every thread has its own.
    fn tell_listeners(&self, lines: &mut Vec<u8>) {
        let config = &self.common.config;
        let encrypted = config.tls.iter().flat_map(|tls| tls.listen.iter().map(|at| Address::Tcp(*at)));
        let silent = self.now.saturating_sub(self.common.clock.seconds(self.common.started));
        for (number, address) in config.listen.iter().cloned().chain(encrypted).enumerate() {
            // memcached shows a socket for datagrams as a connection that is read from.
            let state = if address.is_datagram() { "conn_read" } else { "conn_listening" };
            Told { number, address: Some(address), server: None, state, silent }.write(lines);
        }
    }

    /// Appends the description of a connection, unless it is only a peer that sends datagrams.
    fn tell_connection(&self, reactor: &R, client: &Client, state: &'static str, lines: &mut Vec<u8>) {
        if client.frames.is_some() {
            return;
        }
        let (address, server) = reactor.addresses(client.conn).unzip();
        let told = Told {
            number: self.number_of(client.conn, self.number),
            address,
            server,
            state,
            silent: self.now.saturating_sub(client.heard),
        };
        told.write(lines);
    }

    /// Counts an operation on a key, if `stats detail` is on.
    #[inline]
    pub(super) fn count_detail(&mut self, detail: Option<Detail>, key: &[u8]) {
        if let Some(detail) = detail.filter(|_| self.prefixes.on) {
            self.prefixes.count(key, detail);
        }
    }

    /// The reply when every thread has done its part. Cost: only `stats` and its groups are long. `echo`: the fields
    /// echoed in the binary protocol.
    fn finished(&mut self, finish: Finish, stats: &CoreStats, lines: &[u8], echo: Option<Echo>) -> Vec<u8> {
        let mut text = self.buffers.take();
        match finish {
            Finish::Silent => return text,
            Finish::Ok => text.extend_from_slice(reply::OK),
            Finish::Items => groups::items(&stats.store, self.now, &mut text),
            Finish::Slabs => groups::slabs(&stats.store, &self.common.config, &mut text),
            Finish::Connections => {
                connections::write_sorted(lines, &mut text);
                text.extend_from_slice(reply::END);
            }
            Finish::Detail => Prefixes::answer(lines, &mut text),
            Finish::Curve => sampled::curve(self.common.curve().as_ref(), &mut text),
            Finish::HotKeys => sampled::hot_keys(lines, &mut text),
            Finish::Reset => text.extend_from_slice(reply::RESET),
            Finish::Resp(finish) => self.finish_resp(finish, stats, lines, &mut text),
            Finish::Stats => {
                let now = self.now;
                let uptime = now.saturating_sub(self.common.clock.seconds(self.common.started));
                let accepting = Phase::of(self.common.phase.load(Ordering::Relaxed)) == Phase::Serving;
                let (memory, watch) = (self.common.memory.bytes(), self.common.watchers.counts());
                let curve = self.common.curve();
                let moment = Moment { now, uptime, accepting, memory, watch, curve };
                stats.write(&self.common.config, &moment, &mut text);
            }
        }
        match echo {
            Some(echo) => binary::response(finish, &text, echo),
            None => text,
        }
    }

    fn take_answers(&mut self, peer: usize) -> bool {
        for taken in 0..MESSAGES_PER_TURN {
            let Some(link) = self.links[peer].as_mut() else { return taken > 0 };
            let before = link.large_bytes();
            let Some(answer) = link.next_answer() else { return taken > 0 };
            let answered = before - link.large_bytes();
            if answered > 0 {
                self.account.release(answered);
            }
            self.take_answer(peer, answer);
            // Each of the lists that were put together is work.
            if self.is_turn_over() {
                break;
            }
        }
        true
    }

    fn take_answer(&mut self, peer: usize, answer: Answer) {
        let Answer { ticket, buffer, extra } = answer;
        let large = counted(buffer.capacity());
        if self.partitions.reads_others()
            && let Some(client) = self.client(ticket.conn)
        {
            client.awaited.answered(peer);
        }
        if let Extra::Claimed(outcome) = extra {
            self.buffers.give(buffer);
            self.claimed(ticket.conn, *outcome);
            self.answered.push(ticket.conn);
            return;
        }
        // With the connection closed, the answer has done its duty by making room.
        let Some(mut client) = ticket.reply.and_then(|_| self.take_client(ticket.conn)) else {
            self.account.budget().arrive(large);
            self.buffers.give(buffer);
            return;
        };
        let number = ticket.reply.expect("it was just looked at");
        match extra {
            Extra::None => client.replies.fill(number, buffer, None),
            Extra::Loan(loan) => client.replies.fill(number, buffer, Some(*loan)),
            Extra::Dump(mut dump) => {
                client.replies.fill(number, buffer, None);
                dump.asked = false;
                client.dump = Some(dump);
            }
            Extra::Claimed(_) => unreachable!("it has been looked at"),
            Extra::Summand => {
                client.replies.add_summand(number, &buffer);
                self.buffers.give(buffer);
            }
            Extra::Refused => self.refuse_reply(&mut client, number, buffer),
            Extra::Part(part) => {
                let whole = client.replies.add(number, &part, &buffer);
                let whole = whole
                    .map(|whole| (whole.finish, whole.stats, std::mem::take(&mut whole.lines), whole.echo));
                self.buffers.give(buffer);
                if let Some((finish, stats, lines, echo)) = whole {
                    if finish.is_long() {
                        self.listing = None;
                    }
                    let text = self.finished(finish, &stats, &lines, echo);
                    self.count_part(text.len());
                    client.replies.fill(number, text, None);
                }
            }
        }
        if large > 0 {
            // In this order, and not at the connection's turn: until then others would take it for free memory.
            let charged = client.charged[1] + large;
            self.account.exchange(&mut client.charged[1], charged);
            self.account.budget().arrive(large);
        }
        if self.answered.last() != Some(&ticket.conn) {
            self.answered.push(ticket.conn);
        }
        self.clients[ticket.conn.slot as usize] = Some(client);
    }

    /// Sends the replies that no longer need to wait, and resumes reading that was paused for them.
    fn release_replies(&mut self, reactor: &mut R) {
        let mut answered = std::mem::take(&mut self.answered);
        for conn in answered.drain(..) {
            let Some(mut client) = self.take_client(conn) else { continue };
            self.release(reactor, &mut client);
            self.clients[conn.slot as usize] = Some(client);
            self.go_on(reactor, conn);
        }
        self.answered = answered;
    }

    /// Continues the connections that waited for room in a link, in order of arrival.
    fn resume_waiting(&mut self, reactor: &mut R) {
        for _ in 0..self.waiting.len() {
            let Some(conn) = self.waiting.pop_front() else { break };
            if let Some(client) = self.client(conn) {
                client.waits = false;
            }
            self.go_on(reactor, conn);
        }
    }
}
