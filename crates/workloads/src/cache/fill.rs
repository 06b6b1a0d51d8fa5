use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::cache::{Control, ControlError, Items};

/// Requests that are sent before the first answer is read: 8 B of answer each.
const BATCH: usize = 512;

/// Stores the whole data set, each item on its server or on all. Each element of `workers` is one thread's
/// connections, one to each server.
///
/// `progress` receives the number of items stored, from any thread. The values stored have version 0.
pub(super) fn fill(
    workers: &mut [Vec<Control>],
    items: &Items,
    expiry: impl Fn(u64) -> i32 + Sync,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(), ControlError> {
    let (stored, threads) = (AtomicU64::new(0), workers.len() as u64);
    let share = |worker: u64| worker * items.total() / threads;
    thread::scope(|scope| {
        let running: Vec<_> = (0u64..)
            .zip(workers)
            .map(|(i, controls)| {
                let (stored, expiry) = (&stored, &expiry);
                let range = share(i)..share(i + 1);
                scope.spawn(move || {
                    fill_range(controls, items, range, expiry, |count| {
                        progress(stored.fetch_add(count, Ordering::Relaxed) + count);
                    })
                })
            })
            .collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("filling does not panic"))
    })
}

/// The next bytes for one server, and the requests that it has not answered.
#[derive(Default)]
struct Pipe {
    out: Vec<u8>,
    written: usize,
    unanswered: usize,
}

fn fill_range(
    controls: &mut [Control],
    items: &Items,
    range: std::ops::Range<u64>,
    expiry: &(impl Fn(u64) -> i32 + Sync),
    stored: impl Fn(u64),
) -> Result<(), ControlError> {
    let mut pipes: Vec<Pipe> = controls.iter().map(|_| Pipe::default()).collect();
    let mut key = Vec::new();
    let mut since = 0;
    for i in range {
        let (kind, n) = items.item(i);
        key.clear();
        items.append_key(kind, n, &mut key);
        for server in items.server(&key).map_or(0..pipes.len(), |server| server..server + 1) {
            let pipe = &mut pipes[server];
            let size = items.stored_size(kind, n);
            let value = |out: &mut Vec<u8>| items.append_value(kind, n, &key, 0, out);
            controls[server].append_set(&mut pipe.out, &key, expiry(i), size, value);
            pipe.written += 1;
            if pipe.written == BATCH || pipe.out.len() >= controls[server].ahead() {
                pipe.flush(&mut controls[server])?;
            }
        }
        since += 1;
        if since == BATCH as u64 {
            stored(since);
            since = 0;
        }
    }
    for (pipe, control) in pipes.iter_mut().zip(controls) {
        pipe.flush(control)?;
        pipe.await_answers(control)?;
    }
    stored(since);
    Ok(())
}

impl Pipe {
    /// Sends the written bytes, after the answers to the batch before: the next batch is made while the server works on
    /// one.
    fn flush(&mut self, control: &mut Control) -> Result<(), ControlError> {
        self.await_answers(control)?;
        control.write(&self.out, "set")?;
        self.out.clear();
        self.unanswered = std::mem::take(&mut self.written);
        Ok(())
    }

    fn await_answers(&mut self, control: &mut Control) -> Result<(), ControlError> {
        while self.unanswered > 0 {
            control.stored()?;
            self.unanswered -= 1;
        }
        Ok(())
    }
}
