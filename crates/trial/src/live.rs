use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hist::LivePoint;
use reactor::queue::Consumer;

/// How often the threads' points are gathered: each covers 100 ms.
const EVERY: Duration = Duration::from_millis(100);

/// Prints live figures of the threads: one line of JSON for each 100 ms, all threads together.
///
/// It sleeps in between and is not pinned; the threads that send never wait for it.
pub(crate) struct Show {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Show {
    pub(crate) fn start(mut from: Vec<Consumer<LivePoint>>) -> Show {
        let (stop, stopped) = channel::<()>();
        let thread = thread::spawn(move || {
            let mut gathered = Gathered::new(from.len());
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                for queue in &mut from {
                    while let Some(point) = queue.pop() {
                        gathered.add(point);
                    }
                }
                for point in gathered.whole() {
                    print(&point);
                }
            }
        });
        Show { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn print(point: &LivePoint) {
    tell(&serde_json::json!({ "live": point }));
}

/// Prints the progress of the preparation of a load.
pub(crate) fn before(words: &str) {
    tell(&serde_json::json!({ "before": words }));
}

fn tell(line: &serde_json::Value) {
    let mut out = std::io::stdout().lock();
    // The reader may have closed standard output: the load continues.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Points of intervals that some threads, or machines, have not reported yet.
pub(crate) struct Gathered {
    threads: usize,
    waiting: BTreeMap<u64, (usize, LivePoint)>,
}

impl Gathered {
    /// Number of pending intervals; an older one is shown without the thread that missed it.
    const PATIENCE: usize = 5;

    pub(crate) fn new(threads: usize) -> Gathered {
        Gathered { threads, waiting: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, point: LivePoint) {
        match self.waiting.get_mut(&point.interval) {
            Some((seen, sum)) => {
                *seen += 1;
                sum.merge(&point);
            }
            None => {
                self.waiting.insert(point.interval, (1, point));
            }
        }
    }

    /// Removes and returns the complete points, in order, and those that have waited too long.
    pub(crate) fn whole(&mut self) -> Vec<LivePoint> {
        let mut whole = Vec::new();
        while let Some(oldest) = self.waiting.first_entry()
            && oldest.get().0 == self.threads
        {
            whole.push(oldest.remove().1);
        }
        while self.waiting.len() > Gathered::PATIENCE {
            whole.extend(self.waiting.pop_first().map(|(_, (_, point))| point));
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(interval: u64) -> LivePoint {
        LivePoint { interval, offered: 1, ..LivePoint::default() }
    }

    #[test]
    fn an_interval_is_shown_once_all_threads_have() {
        let mut gathered = Gathered::new(2);
        gathered.add(point(0));
        gathered.add(point(1));
        assert_eq!(gathered.whole(), []);
        gathered.add(point(0));
        let shown = gathered.whole();
        assert_eq!((shown.len(), shown[0].interval, shown[0].offered), (1, 0, 2));
    }

    #[test]
    fn a_thread_that_missed_one_does_not_hold_up_the_others() {
        let mut gathered = Gathered::new(2);
        for interval in 0..10 {
            gathered.add(point(interval));
        }
        let shown: Vec<u64> = gathered.whole().iter().map(|point| point.interval).collect();
        assert_eq!(shown, [0, 1, 2, 3, 4]);
    }
}
