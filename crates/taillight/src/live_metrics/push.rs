//! The figures of a run, sent while it lasts.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use export::Live;
use jiff::Timestamp;

use super::{LiveMetrics, lock};
use crate::outputs::http_address;
use crate::terminal::tell;

/// The time between two requests to a receiver. Source: ours, because a load lasts for 10 s by default.
const INTERVAL: Duration = Duration::from_secs(5);

/// Receivers of the figures of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct PushArgs {
    /// Send the figures of the run to a receiver of Prometheus' remote write every 5 s while it lasts, and at its end, such as
    /// http://127.0.0.1:9090/api/v1/write.
    #[arg(long, value_name = "URL", value_parser = http_address)]
    remote_write: Option<String>,
    /// Send the figures of the run to an OpenTelemetry collector's HTTP address every 5 s while it lasts, and at its end, such
    /// as http://127.0.0.1:4318.
    #[arg(long, value_name = "URL", value_parser = http_address)]
    push_otlp: Option<String>,
}

impl PushArgs {
    /// Sends the figures from now on, if there is a receiver.
    ///
    /// Errors: no thread can be started.
    pub(crate) fn start(&self, metrics: Option<LiveMetrics>) -> Result<Option<LiveMetrics>> {
        if self.remote_write.is_none() && self.push_otlp.is_none() {
            return Ok(metrics);
        }
        let mut metrics = metrics.unwrap_or_default();
        let (over, is_over) = mpsc::channel::<()>();
        let (to, live, started) = (self.clone(), Arc::clone(&metrics.live), Timestamp::now());
        let repeat = move || {
            while is_over.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // A receiver that cannot be reached is named at the end.
                let _ = to.send(&live, started);
            }
        };
        thread::Builder::new().name("push".into()).spawn(repeat).context("cannot start a thread")?;
        let (to, live) = (self.clone(), Arc::clone(&metrics.live));
        metrics._at_end = Some(AtEnd { to, live, started, _over: over });
        Ok(Some(metrics))
    }

    /// Sends the figures to each receiver, also if the other one fails.
    ///
    /// Errors: a receiver cannot be reached, or refuses.
    fn send(&self, live: &Mutex<Live>, started: Timestamp) -> [Result<(), sinks::Error>; 2] {
        let (metrics, now) = (lock(live).metrics(), Timestamp::now());
        let nanos = |time: Timestamp| u64::try_from(time.as_nanosecond()).unwrap_or(0);
        let write = |to: &String| sinks::remote_write(&metrics, to, now.as_millisecond());
        let push = |to: &String| sinks::push_otlp(&metrics, to, nanos(started), nanos(now));
        [self.remote_write.as_ref().map_or(Ok(()), write), self.push_otlp.as_ref().map_or(Ok(()), push)]
    }
}

/// Dropped when the run is over: ends the thread, and sends the figures for the last time.
pub(super) struct AtEnd {
    to: PushArgs,
    live: Arc<Mutex<Live>>,
    started: Timestamp,
    _over: mpsc::Sender<()>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        for error in self.to.send(&self.live, self.started).into_iter().filter_map(Result::err) {
            tell(&format!("taillight: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_figures_are_sent_when_the_run_is_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/api/v1/write", listener.local_addr().unwrap());
        let receiver = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 24];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
            request
        });
        let none = PushArgs { remote_write: None, push_otlp: None };
        assert!(none.start(None).unwrap().is_none());
        let one = PushArgs { remote_write: Some(address), push_otlp: None };
        drop(one.start(None).unwrap());
        assert_eq!(&receiver.join().unwrap(), b"POST /api/v1/write HTTP/");
    }
}
