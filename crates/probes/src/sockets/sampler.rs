use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::diag::{Connection, Diag};

/// So many connections are asked each time, spread over all of them. Cost: 3 µs each.
const CONNECTIONS: usize = 16;
/// Between two times, on average: with [`CONNECTIONS`] 0.5 % of a processor.
const INTERVAL: Duration = Duration::from_millis(10);

/// What stood in the queues, summed over moments and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Queues {
    /// Moments.
    pub moments: u64,
    /// Units: bytes, summed over the moments.
    pub unread: u64,
    pub unacknowledged: u64,
}

impl Queues {
    pub(super) fn add(&mut self, other: &Queues) {
        self.moments += other.moments;
        self.unread += other.unread;
        self.unacknowledged += other.unacknowledged;
    }
}

/// Looks again and again how much waits in some connections' queues.
pub(super) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Queues>,
}

/// Those of `connections` that are asked.
pub(super) fn chosen(connections: &[Connection]) -> impl Iterator<Item = &Connection> {
    connections.iter().step_by(connections.len().div_ceil(CONNECTIONS).max(1))
}

impl Sampler {
    /// Begins. Errors: there is no more socket to ask by.
    pub(super) fn start(connections: &[Connection]) -> io::Result<Sampler> {
        let mut diag = Diag::open()?;
        let connections: Vec<Connection> = chosen(connections).cloned().collect();
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut queues = Queues::default();
            for i in 0.. {
                if stopped.recv_timeout(pause(i)) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                queues.moments += 1;
                for connection in &connections {
                    let Ok(Some(now)) = diag.again(connection) else { continue };
                    queues.unread += u64::from(now.unread);
                    queues.unacknowledged += u64::from(now.unacknowledged);
                }
            }
            queues
        });
        Ok(Sampler { stop, thread })
    }

    /// Ends it.
    pub(super) fn finish(self) -> Queues {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

/// From half to one and a half intervals, spread evenly: a fixed one might always meet the same moment of something that
/// repeats.
fn pause(i: u32) -> Duration {
    // The golden ratio: its multiples, without their whole parts, lie as even as any numbers can.
    let part = (f64::from(i) * 0.618_033_988_749_894_9).fract();
    INTERVAL.mul_f64(0.5 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_spread_around_the_interval() {
        let pauses: Vec<Duration> = (0..1000).map(pause).collect();
        let mean = pauses.iter().sum::<Duration>().div_f64(1000.0 * INTERVAL.as_secs_f64()).as_secs_f64();
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        for tenth in 0..10 {
            let from = INTERVAL.mul_f64(0.5 + f64::from(tenth) / 10.0);
            let count = pauses.iter().filter(|p| **p >= from && **p < from + INTERVAL / 10).count();
            assert!((90..=110).contains(&count), "{tenth}: {count}");
        }
    }
}
