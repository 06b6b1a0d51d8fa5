//! Operations that are [sampled](crate::sampling).

use cache_store::{Expiry, Key};
use reactor::Reactor;

use super::Core;
use crate::operation::Operation;
use crate::partitions::Place;
use crate::sampling::KeyEvent;
use crate::telling::deletes;

impl<R: Reactor> Core<R> {
    /// Notes a sampled operation on a key, when it was carried out: before it, a lookup would take an expired item away from the
    /// operation's own.
    #[cold]
    pub(super) fn note(&mut self, operation: &Operation, place: Place, key: Key) {
        if !self.sampler.has_room() {
            return;
        }
        let what = match (self.partitions.footprint(place, key, self.now), operation.shows_value()) {
            (Some(item), true) => KeyEvent::Read(item),
            (None, true) => KeyEvent::Missed,
            (Some(item), false) => KeyEvent::Written(item),
            (None, false) if deletes(operation).is_some() => KeyEvent::Deleted,
            (None, false) => KeyEvent::Nothing,
        };
        self.sampler.note(key, what);
    }

    /// Notes that the value of a sampled key was received directly into the store.
    #[cold]
    pub(super) fn note_placed(&mut self, place: Place, key: &[u8]) {
        let key = self.hasher.key(key);
        if self.sampler.has_room()
            && let Some(item) = self.partitions.footprint(place, key, self.now)
        {
            self.sampler.note(key, KeyEvent::Written(item));
        }
    }

    /// Notes a `flush_all`.
    pub(super) fn note_flush(&self, delay: i32) {
        if let Some(curve) = &self.common.curve {
            let left = Expiry::from_exptime(delay, self.now).left(self.now).unwrap_or(0);
            curve.flush(self.now.saturating_add(left), self.now);
        }
    }

    /// Forgets the samples, as `stats reset` does.
    pub(super) fn reset_samples(&mut self) {
        self.sampler.reset();
        if let Some(curve) = &self.common.curve {
            curve.reset();
        }
    }

    /// Hands over the samples taken since the last time.
    pub(super) fn hand_samples_over(&mut self) {
        if let Some(curve) = &self.common.curve {
            self.sampler.hand_over(curve, self.common.memory.bytes().0, self.now_ends, self.now);
        }
    }
}
