//! `watch`: connections that become streams of lines about events in the server, in memcached's form.
//!
//! ```text
//!   thread that does something ──line──▶ buffer of each watcher of that kind ──▶ thread of the watcher's connection
//!                                        bounded: a line that finds no room is counted, and the count is told later
//! ```
//!
//! While no watcher is connected an operation reads one word that nothing writes to. While one is, threads share a lock for
//! as long as a line is copied; a thread that does not get it at once drops its line and counts it, so that none waits.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{SystemTime, UNIX_EPOCH};

use cache_store::Evicted;
use proto_memcache::server::Watched;
use proto_memcache::server::reply::list::percent_encode;
use reactor::{Address, Conn};

/// Source: memcached's `WATCHER_LIMIT`.
const WATCHERS_MAX: usize = 20;
/// Room reserved in a buffer for the count of dropped lines. Units: bytes. Source: memcached.
const SPARE: usize = 128;
/// Attempts to lock the buffers before a thread drops its line: a line is copied in less than a µs.
const TRIES: u32 = 100;

pub(crate) struct Watchers {
    /// The kinds that any of them wants.
    wanted: AtomicU16,
    /// Lines that were made, which have this number.
    lines: AtomicU64,
    /// Lines dropped because the lock was taken; not yet reported to watchers.
    missed: AtomicU64,
    /// Size of a buffer. Units: bytes.
    room: usize,
    all: Mutex<Vec<Watcher>>,
    /// By thread: whether a buffer of its connections has something new.
    news: Box<[AtomicBool]>,
    sent: AtomicU64,
    skipped: AtomicU64,
}

struct Watcher {
    thread: usize,
    conn: Conn,
    kinds: Watched,
    /// Ends the thread's sleep.
    wake: Arc<dyn Fn() + Send + Sync>,
    buffer: Vec<u8>,
    /// Lines dropped for lack of room since the last one stored.
    skipped: u64,
}

/// Their figures in `stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Lines that were put into buffers.
    pub(crate) sent: u64,
    /// Lines that found no room.
    pub(crate) skipped: u64,
    pub(crate) watchers: u64,
}

impl Watchers {
    /// No watchers yet, for `threads` threads; each will have a buffer of `room` bytes.
    pub(crate) fn new(threads: usize, room: usize) -> Watchers {
        Watchers {
            wanted: AtomicU16::new(0),
            lines: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            room,
            all: Mutex::new(Vec::new()),
            news: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            sent: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
        }
    }

    /// Whether any of these kinds is wanted.
    #[inline]
    pub(crate) fn want(&self, kinds: Watched) -> bool {
        Watched::from_bits(self.wanted.load(Ordering::Relaxed)).has(kinds)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        // Lines are whole in any case.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Vec<Watcher>>> {
        for _ in 0..TRIES {
            match self.all.try_lock() {
                Ok(all) => return Some(all),
                Err(TryLockError::Poisoned(all)) => return Some(all.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }

    fn note_wanted(&self, all: &[Watcher]) {
        let wanted = all.iter().fold(Watched::NONE, |wanted, watcher| wanted.with(watcher.kinds));
        self.wanted.store(wanted.bits(), Ordering::Relaxed);
    }

    /// Adds a connection of a thread; returns whether there was room for it.
    pub(crate) fn add(
        &self,
        thread: usize,
        conn: Conn,
        kinds: Watched,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> bool {
        let mut all = self.lock();
        if all.len() >= WATCHERS_MAX {
            return false;
        }
        all.push(Watcher { thread, conn, kinds, wake, buffer: Vec::new(), skipped: 0 });
        self.note_wanted(&all);
        true
    }

    /// The connection is closed.
    pub(crate) fn remove(&self, thread: usize, conn: Conn) {
        let mut all = self.lock();
        all.retain(|watcher| (watcher.thread, watcher.conn) != (thread, conn));
        self.note_wanted(&all);
    }

    /// Reports an event to the interested watchers; `write` appends it after the time and the number.
    #[cold]
    pub(crate) fn tell(&self, kind: Watched, write: impl FnOnce(&mut Vec<u8>)) {
        let number = self.lines.fetch_add(1, Ordering::Relaxed) + 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut line = Vec::with_capacity(256);
        let (seconds, micros) = (now.as_secs(), now.subsec_micros());
        write!(line, "ts={seconds}.{micros:06} gid={number} ").expect("memory takes it");
        write(&mut line);
        line.push(b'\n');
        let Some(mut all) = self.try_lock() else {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let (missed, mut asleep) = (self.missed.swap(0, Ordering::Relaxed), Vec::new());
        for watcher in all.iter_mut() {
            watcher.skipped += missed;
            if watcher.kinds.has(kind) && self.put(watcher, &line) {
                asleep.push(Arc::clone(&watcher.wake));
            }
        }
        self.skipped.fetch_add(missed, Ordering::Relaxed);
        // A system call, for which no other thread should have to drop its line.
        drop(all);
        asleep.iter().for_each(|wake| wake());
    }

    /// Puts a line into a buffer; returns whether the thread of its connection should be notified.
    fn put(&self, watcher: &mut Watcher, line: &[u8]) -> bool {
        if watcher.buffer.len() + line.len() + SPARE > self.room {
            watcher.skipped += 1;
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let skipped = std::mem::take(&mut watcher.skipped);
        if skipped > 0 {
            writeln!(watcher.buffer, "skipped={skipped}").expect("memory takes it");
        }
        watcher.buffer.extend_from_slice(line);
        self.sent.fetch_add(1, Ordering::Relaxed);
        !self.news[watcher.thread].swap(true, Ordering::AcqRel)
    }

    /// Whether buffers of a thread's connections have something new.
    #[inline]
    pub(crate) fn has_news(&self, thread: usize) -> bool {
        self.news[thread].load(Ordering::Acquire)
    }

    /// A connection of the thread may take something again.
    pub(crate) fn look_again(&self, thread: usize) {
        self.news[thread].store(true, Ordering::Release);
    }

    /// Passes the buffers of a thread's watchers to `take`, and clears those that it accepts.
    pub(crate) fn deliver(&self, thread: usize, mut take: impl FnMut(Conn, &[u8]) -> bool) {
        self.news[thread].store(false, Ordering::Release);
        for watcher in self.lock().iter_mut().filter(|watcher| watcher.thread == thread) {
            if !watcher.buffer.is_empty() && take(watcher.conn, &watcher.buffer) {
                watcher.buffer.clear();
            }
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            sent: self.sent.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
            watchers: self.lock().len() as u64,
        }
    }

    /// An item made room for others.
    pub(crate) fn evicted(&self, item: &Evicted<'_>) {
        if !self.want(Watched::EVICTIONS) {
            return;
        }
        let Evicted { key, fetched, left, idle, length } = *item;
        self.tell(Watched::EVICTIONS, |line| {
            line.extend_from_slice(b"type=eviction key=");
            percent_encode(key, line);
            let (fetched, left) = (if fetched { "yes" } else { "no" }, left.map_or(-1, i64::from));
            let _ = write!(line, " fetch={fetched} ttl={left} la={idle} clsid=1 size={length}");
        });
    }

    /// A connection began, or ended for the reason that is given.
    pub(crate) fn connection(&self, peer: Option<&Address>, reason: Option<&str>, number: usize) {
        self.tell(Watched::CONNECTIONS, |line| {
            let kind = if reason.is_some() { "conn_close" } else { "conn_new" };
            let (ip, port, transport) = match peer {
                Some(Address::Tcp(socket)) => (socket.ip().to_string(), socket.port(), "tcp"),
                Some(Address::Udp(socket)) => (socket.ip().to_string(), socket.port(), "udp"),
                Some(Address::Unix(_)) => ("unix".into(), 0, "local"),
                None => ("unknown".into(), 0, "tcp"),
            };
            let _ = write!(line, "type={kind} rip={ip} rport={port} transport={transport}");
            if let Some(reason) = reason {
                let _ = write!(line, " reason={reason}");
            }
            let _ = write!(line, " cfd={number}");
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn conn(slot: u32) -> Conn {
        Conn { slot, generation: 1 }
    }

    fn add(watchers: &Watchers, thread: usize, slot: u32, kinds: Watched) -> Arc<AtomicUsize> {
        let woken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&woken);
        let wake = Arc::new(move || _ = counter.fetch_add(1, Ordering::Relaxed));
        assert!(watchers.add(thread, conn(slot), kinds, wake));
        woken
    }

    /// The lines sent to the thread's watchers, without time and number.
    fn delivered(watchers: &Watchers, thread: usize) -> Vec<(u32, String)> {
        let mut all = Vec::new();
        watchers.deliver(thread, |conn, lines| {
            for line in String::from_utf8(lines.to_vec()).unwrap().lines() {
                let text = line.split_once("type=").map_or(line, |(_, text)| text);
                all.push((conn.slot, text.to_owned()));
            }
            true
        });
        all
    }

    fn evict(watchers: &Watchers) {
        let item = Evicted { key: b"a b", fetched: true, left: None, idle: 5, length: 7 };
        watchers.evicted(&item);
    }

    #[test]
    fn each_is_told_what_it_wants() {
        let watchers = Watchers::new(2, 1000);
        evict(&watchers);
        assert!(!watchers.want(Watched::EVICTIONS) && !watchers.has_news(0));
        let woken = add(&watchers, 0, 1, Watched::EVICTIONS);
        add(&watchers, 1, 1, Watched::CONNECTIONS);
        evict(&watchers);
        evict(&watchers);
        watchers.connection(Some(&Address::Tcp("1.2.3.4:5".parse().unwrap())), None, 9);
        watchers.connection(None, Some("normal"), 9);
        watchers.connection(Some(&Address::Unix("/s".into())), Some("idle_timeout"), 9);
        assert!(watchers.has_news(0) && watchers.has_news(1));
        assert_eq!(woken.load(Ordering::Relaxed), 1, "once for all that is not delivered");
        let evicted = "eviction key=a%20b fetch=yes ttl=-1 la=5 clsid=1 size=7";
        assert_eq!(delivered(&watchers, 0), [(1, evicted.to_owned()), (1, evicted.to_owned())]);
        let lines: Vec<String> = delivered(&watchers, 1).into_iter().map(|(_, line)| line).collect();
        assert_eq!(
            lines,
            [
                "conn_new rip=1.2.3.4 rport=5 transport=tcp cfd=9",
                "conn_close rip=unknown rport=0 transport=tcp reason=normal cfd=9",
                "conn_close rip=unix rport=0 transport=local reason=idle_timeout cfd=9",
            ]
        );
        assert!(!watchers.has_news(0) && delivered(&watchers, 0).is_empty());
        watchers.remove(0, conn(1));
        assert!(!watchers.want(Watched::EVICTIONS) && watchers.want(Watched::CONNECTIONS));
        assert_eq!(watchers.counts(), Counts { sent: 5, skipped: 0, watchers: 1 });
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let watchers = Watchers::new(1, 400);
        add(&watchers, 0, 1, Watched::EVICTIONS);
        (0..10).for_each(|_| evict(&watchers));
        let first = delivered(&watchers, 0).len();
        assert!((1..5).contains(&first), "{first}");
        evict(&watchers);
        let lines = delivered(&watchers, 0);
        assert_eq!((lines.len(), &lines[0].1), (2, &format!("skipped={}", 10 - first)));
        assert_eq!(watchers.counts().skipped, 10 - first as u64);
        // A watcher that accepts nothing keeps its buffer.
        evict(&watchers);
        watchers.deliver(0, |_, _| false);
        assert_eq!(delivered(&watchers, 0).len(), 1);
    }

    #[test]
    fn a_thread_that_does_not_get_at_the_buffers_goes_on() {
        let watchers = Watchers::new(1, 1000);
        add(&watchers, 0, 1, Watched::EVICTIONS);
        let held = watchers.lock();
        evict(&watchers);
        drop(held);
        evict(&watchers);
        assert_eq!(delivered(&watchers, 0)[0].1, "skipped=1");
    }

    #[test]
    fn there_are_only_so_many() {
        let watchers = Watchers::new(1, 1000);
        (0..20).for_each(|slot| _ = add(&watchers, 0, slot, Watched::FETCHERS));
        assert!(!watchers.add(0, conn(20), Watched::FETCHERS, Arc::new(|| ())));
    }
}
