//! Starts instances again that have ended, each later than the time before if it does not stay.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::state::{Row, State};
use crate::Running;

/// Before the first attempt. A service that was killed under load is back within a second.
const FIRST: Duration = Duration::from_millis(100);
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(10);
/// An instance that ran for this long starts again with the shortest pause.
const STAYS: Duration = Duration::from_secs(30);

/// The instances that ended, by service and number.
#[derive(Default)]
pub(super) struct Revivals(BTreeMap<(String, usize), Revival>);

struct Revival {
    /// Attempts since it last stayed.
    attempts: u32,
    /// The next attempt; `None` while it runs.
    due: Option<Instant>,
    /// When it was last started again.
    started: Instant,
}

impl Revivals {
    /// Starts an instance that has ended `how` again, if its time has come. Returns whether `state` has changed.
    pub(super) fn attend(
        &mut self,
        running: &mut Running,
        state: &mut State,
        (service, number): (&str, usize),
        how: &str,
    ) -> bool {
        let now = Instant::now();
        let one = self.0.entry((service.to_owned(), number)).or_insert(Revival {
            attempts: 0,
            due: None,
            started: now,
        });
        let Some(row) = state.services.iter_mut().find(|row| row.name == service && row.instance == number)
        else {
            return false;
        };
        let Some(due) = one.due else {
            if one.started.elapsed() > STAYS {
                one.attempts = 0;
            }
            one.due = Some(now + pause(one.attempts));
            ends(row, how);
            return true;
        };
        if now < due {
            return false;
        }
        one.attempts += 1;
        match running.revive(service, number) {
            Ok(()) => {
                (one.due, one.started) = (None, Instant::now());
                row.restarts += 1;
                row.ended = None;
                row.ready_ms = Some(due.elapsed().as_millis() as u64);
            }
            Err(error) => {
                one.due = Some(Instant::now() + pause(one.attempts));
                ends(row, &error.to_string());
            }
        }
        true
    }
}

fn ends(row: &mut Row, how: &str) {
    *row =
        Row { pid: 0, ready_ms: None, memory_bytes: 0, processes: 0, ended: Some(how.into()), ..row.clone() };
}

/// The pause before the attempt after this many.
fn pause(attempts: u32) -> Duration {
    FIRST.saturating_mul(1 << attempts.min(16)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound() {
        let check = |attempts: u32, ms: u64| assert_eq!(pause(attempts), Duration::from_millis(ms));
        check(0, 100);
        check(1, 200);
        check(6, 6_400);
        check(7, 10_000);
        check(u32::MAX, 10_000);
    }
}
