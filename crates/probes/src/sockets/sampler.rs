use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use reactor::monotonic_now;
use rustix::thread::set_current_timer_slack;

use super::diag::{Connection, Diag};

/// Mean time between two moments. Each moment reads one connection: reading many takes a processor from the server or
/// the client, and then counts bytes that piled up for that reason. Cost: some 10 µs each, 1 % of a processor.
const INTERVAL: Duration = Duration::from_millis(1);

/// Bytes in the queues, summed over moments, each of which reads one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Queues {
    /// Number of moments.
    pub moments: u64,
    /// Units: bytes, summed over the moments.
    pub unread: u64,
}

impl Queues {
    pub(super) fn add(&mut self, other: &Queues) {
        self.moments += other.moments;
        self.unread += other.unread;
    }
}

/// Repeatedly samples the unread bytes of one of the connections.
pub(super) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Queues>,
}

impl Sampler {
    /// Starts sampling. Errors: no further socket is available.
    pub(super) fn start(connections: &[Connection]) -> io::Result<Sampler> {
        let mut diag = Diag::open()?;
        let connections = connections.to_vec();
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            // Otherwise the kernel may delay a moment to the client's next timer, so that it coincides with sends.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            let mut queues = Queues::default();
            // Different connections in each slot.
            let first = (monotonic_now().0 / 1_000_000 % 1_000_000) as u32;
            for i in first.. {
                if stopped.recv_timeout(pause(i)) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                let Some(one) = connections.get(chosen(i, connections.len())) else { continue };
                // A closed connection is not counted among the lasting ones.
                let Ok(Some(now)) = diag.again(one) else { continue };
                queues.moments += 1;
                queues.unread += u64::from(now.unread);
            }
            queues
        });
        Ok(Sampler { stop, thread })
    }

    pub(super) fn finish(self) -> Queues {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

/// From half to one and a half intervals, uniform: a fixed pause might always sample the same phase of periodic
/// work.
fn pause(i: u32) -> Duration {
    // The golden ratio: the fractional parts of its multiples are spread as evenly as possible.
    let part = (f64::from(i) * 0.618_033_988_749_894_9).fract();
    INTERVAL.mul_f64(0.5 + part)
}

/// The connection to read in moment `i`: each connection equally often, and after pauses of every length.
fn chosen(i: u32, connections: usize) -> usize {
    // A square root that is unrelated to the ratio of the pauses.
    let part = (f64::from(i) * std::f64::consts::SQRT_2).fract();
    (part * connections as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_has_its_moments() {
        for connections in [1, 2, 16, 64, 1000] {
            let mut moments = vec![0; connections];
            (0..100 * connections as u32).for_each(|i| moments[chosen(i, connections)] += 1);
            assert!(moments.iter().all(|count| (90..=110).contains(count)), "{connections}: {moments:?}");
        }
        // No connection to choose from.
        assert_eq!(chosen(3, 0), 0);
    }

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
