use std::sync::{Arc, Mutex, PoisonError};

/// The places for sessions: only one if the agent generates load, since two loads would disturb each other.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    holders: Arc<Mutex<Vec<Option<String>>>>,
}

/// Holds a place until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    slot: Slot,
    place: usize,
}

impl Slot {
    pub(super) fn new(places: usize) -> Slot {
        Slot { holders: Arc::new(Mutex::new(vec![None; places])) }
    }

    /// Takes a place for `holder`. Errors: the current holders, if all places are taken.
    pub(super) fn take(&self, holder: &str) -> Result<Held, String> {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        match holders.iter().position(Option::is_none) {
            None => Err(holders.iter().flatten().cloned().collect::<Vec<_>>().join(", ")),
            Some(place) => {
                holders[place] = Some(holder.into());
                Ok(Held { slot: self.clone(), place })
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.slot.holders.lock().unwrap_or_else(PoisonError::into_inner)[self.place] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_at_a_time_than_there_are_places() {
        for places in 1..4 {
            let slot = Slot::new(places);
            let mut held: Vec<Held> = (0..places).map(|n| slot.take(&n.to_string()).unwrap()).collect();
            let names: Vec<String> = (0..places).map(|n| n.to_string()).collect();
            assert_eq!(slot.clone().take("b").unwrap_err(), names.join(", "));
            held.remove(0);
            held.push(slot.take("b").unwrap());
            assert!(slot.take("c").unwrap_err().starts_with('b'));
        }
    }
}
