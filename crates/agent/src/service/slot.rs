use std::sync::{Arc, Mutex, PoisonError};

/// The one place for a session: an agent that served two would have each disturb the other's load.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    holder: Arc<Mutex<Option<String>>>,
}

/// Holds the place until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    slot: Slot,
}

impl Slot {
    /// Takes the place for `holder`. Errors: who has it.
    pub(super) fn take(&self, holder: &str) -> Result<Held, String> {
        let mut place = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        match &*place {
            Some(other) => Err(other.clone()),
            None => {
                *place = Some(holder.into());
                Ok(Held { slot: self.clone() })
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.slot.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let slot = Slot::default();
        let held = slot.take("a").unwrap();
        assert_eq!(slot.clone().take("b").unwrap_err(), "a");
        drop(held);
        assert!(slot.take("b").is_ok());
    }
}
