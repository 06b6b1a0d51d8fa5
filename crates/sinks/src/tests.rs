//! Whole exports, to sinks that misbehave and to real ones.

mod real;
mod receivers;

use std::time::Duration;

use crate::{Destination, Error, Exported, Kept, Patience, export};

/// Nothing takes longer, unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Short time limits, so that tests do not wait for answers that never come.
fn hasty() -> Patience {
    Patience {
        tries: 3,
        pause: Duration::from_millis(1),
        answer: Duration::from_millis(500),
        settle: Duration::ZERO,
    }
}

/// The result of sending `kept` to `to`.
fn sent(kept: &[Kept], to: &str, patience: &Patience) -> Result<Exported, Error> {
    let to: Destination = to.parse().unwrap();
    export(kept, &to, patience, &mut |_| true)
}
