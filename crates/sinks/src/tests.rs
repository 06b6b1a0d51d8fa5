//! Whole exports, to sinks that misbehave and to real ones.

mod real;
mod receivers;

use std::time::Duration;

use crate::{Destination, Error, Exported, Kept, Patience, export};

/// Nothing takes longer, unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Short pauses and few tries; an answer may take long on a busy machine.
fn hasty() -> Patience {
    Patience { tries: 3, pause: Duration::from_millis(1), answer: LIMIT, settle: Duration::ZERO }
}

/// The result of sending `kept` to `to`.
fn sent(kept: &[Kept], to: &str, patience: &Patience) -> Result<Exported, Error> {
    let to: Destination = to.parse().unwrap();
    export(kept, &to, patience, &mut |_| true)
}
