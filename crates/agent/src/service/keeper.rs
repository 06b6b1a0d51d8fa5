//! The thread that controls a server.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;

use super::child::{Child, ChildEvent};
use crate::message::{Event, Order, Serve, Serving};
use crate::servers::{Served, Servers};

/// How often the thread checks that the server runs; in between it sleeps and uses no processor time.
const LOOK: Duration = Duration::from_millis(100);

/// Starts the server that `serve` describes and keeps it until an order to stop or the end of the session.
pub(super) fn keep(servers: Arc<dyn Servers>, session: u64, serve: Serve) -> Result<Child, String> {
    Child::work("server", move |orders, tell| {
        let end = run(|| servers.start(session, &serve), &orders, &tell);
        if let Some(end) = end {
            let _ = tell.blocking_send(ChildEvent::Ended(end));
        }
    })
}

/// Runs until the server has ended: its log, or why it ended; `None` if the session ended. The server is stopped then.
fn run(
    start: impl FnOnce() -> Result<Box<dyn Served>, String>,
    orders: &Receiver<Order>,
    tell: &Sender<ChildEvent>,
) -> Option<Result<Vec<u8>, String>> {
    let begun = Instant::now();
    let mut server = match start() {
        Ok(server) => server,
        Err(why) => return Some(Err(why)),
    };
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let send = |event: Event| drop(tell.blocking_send(ChildEvent::Told(event)));
    let serving = |server: &dyn Served, start: Duration| {
        send(Event::Serving(Serving { record: server.record(), start_ns: nanos(start) }));
    };
    serving(&*server, begun.elapsed());
    loop {
        match orders.recv_timeout(LOOK) {
            Ok(Order::Stop(())) => {
                let log = server.logs().join("\n").into_bytes();
                server.stop();
                return Some(Ok(log));
            }
            Ok(Order::Halt(())) => match server.halt() {
                Ok(stop) => send(Event::Halted(nanos(stop))),
                Err(why) => return Some(Err(why)),
            },
            Ok(Order::Resume(called)) => match server.resume(&called) {
                Ok(start) => serving(&*server, start),
                Err(why) => return Some(Err(why)),
            },
            Ok(Order::Usage(number)) => send(Event::answer(number, Ok(server.usage()))),
            Ok(Order::Watch(watch)) => send(Event::answer(watch.number, server.watch(&watch))),
            // A server is already running.
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => {
                server.stop();
                return None;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(why) = server.gone() {
                    return Some(Err(why));
                }
            }
        }
    }
}
