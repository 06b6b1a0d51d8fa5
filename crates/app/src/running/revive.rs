//! Restarts an instance that has ended, in its place.

use std::time::Duration;

use super::{Part, Started};
use crate::{Error, Running};

/// How long one is waited for that is ending: a killed process of many threads takes some ms.
const ENDING: Duration = Duration::from_secs(2);

impl Running {
    /// Restarts an instance that has ended, in its place, with its addresses and configuration, so that its callers
    /// find it again. A store continues with its written data.
    ///
    /// Errors: it is running, or does not exist on this machine; it does not become ready, and is ended then.
    pub fn revive(&mut self, service: &str, number: usize) -> Result<(), Error> {
        let unfit = |problem: String| Error::Unfit { service: service.into(), problem };
        let nowhere = || unfit("it does not run on this machine".into());
        let started = self.started_mut(service).ok_or_else(nowhere)?;
        let of = started.instances.len();
        let instance = started.instances.get_mut(number);
        let instance = instance
            .ok_or_else(|| unfit(format!("there is no instance {number}; {of} were started, from 0 on")))?;
        if instance.process.wait(ENDING).is_err() {
            return Err(unfit(format!("instance {number} runs; one that has ended can be started anew")));
        }
        let started = self.here().find(|one| self.name(one) == service).ok_or_else(nowhere)?;
        let seat = self.seat(started, number);
        let (place, addresses) = (started.first_place + number, started.addresses[number].clone());
        let context = self.context(&seat, &addresses)?;
        let (spec, _) = self.spec(&seat, &context)?;
        let mut instance = self.places.start(place, spec)?;
        self.await_ready(&mut instance, &seat, place, addresses, &context)?;
        let started = self.started_mut(service).ok_or_else(nowhere)?;
        started.instances[number] = instance;
        Ok(())
    }

    fn started_mut(&mut self, service: &str) -> Option<&mut Started> {
        let Running { parts, plan, .. } = self;
        parts.iter_mut().find_map(|part| match part {
            Part::Here(one) if plan.app().services[one.at].name == service => Some(one),
            _ => None,
        })
    }
}
