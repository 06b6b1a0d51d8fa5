//! Requests to stop a run.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use thiserror::Error;

/// The signals that end a run in good order, and their names in messages.
const SIGNALS: [(i32, &str); 3] =
    [(SIGINT, "Ctrl-C"), (SIGTERM, "SIGTERM"), (SIGHUP, "the end of the terminal session")];

/// The request that signals raise, once their handlers are installed.
static SIGNALLED: OnceLock<Interrupt> = OnceLock::new();

/// The error of a run that a request to stop ended, with its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted by {0}")]
pub struct Interrupted(pub &'static str);

/// A request to stop that any part of a run can look at. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// The place of the signal in [`SIGNALS`] plus 1; 0: none came.
    raised: Arc<AtomicUsize>,
}

impl Interrupt {
    /// One that only [`Interrupt::raise`] raises.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// One that Ctrl-C, SIGTERM and SIGHUP raise from now on.
    ///
    /// Only call it once in a process. Errors: the handlers cannot be set.
    pub fn on_signals() -> io::Result<Interrupt> {
        let interrupt = Interrupt::new();
        for (i, (signal, _)) in SIGNALS.iter().enumerate() {
            signal_hook::flag::register_usize(*signal, Arc::clone(&interrupt.raised), i + 1)?;
        }
        Ok(SIGNALLED.get_or_init(|| interrupt).clone())
    }

    /// The request made by [`Interrupt::on_signals`] in this process; before that, one that is never raised.
    pub fn signalled() -> Interrupt {
        SIGNALLED.get().cloned().unwrap_or_default()
    }

    /// Asks to stop, as Ctrl-C does.
    pub fn raise(&self) {
        self.raised.store(1, Ordering::SeqCst);
    }

    /// The cause of the stop request; `None` if not raised.
    pub fn cause(&self) -> Option<&'static str> {
        let raised = self.raised.load(Ordering::SeqCst);
        raised.checked_sub(1).and_then(|i| SIGNALS.get(i)).map(|(_, name)| *name)
    }

    /// Errors: the run is to stop.
    pub fn check(&self) -> Result<(), Interrupted> {
        self.cause().map_or(Ok(()), |cause| Err(Interrupted(cause)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_the_request() {
        let interrupt = Interrupt::new();
        let copy = interrupt.clone();
        assert_eq!(copy.cause(), None);
        interrupt.raise();
        assert_eq!(copy.cause(), Some("Ctrl-C"));
    }

    #[test]
    fn a_signal_raises_it_and_does_not_kill() {
        let interrupt = Interrupt::on_signals().unwrap();
        assert_eq!(Interrupt::signalled().cause(), None);
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert_eq!(interrupt.cause(), Some("SIGTERM"));
        assert_eq!(Interrupt::signalled().cause(), Some("SIGTERM"));
    }
}
