//! State of a running application: its stores and its counters.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::context::{Seat, tcp};
use crate::description::{Store, StoreAction};
use crate::elsewhere::Address;
use crate::running::Started;
use crate::{Error, Running, counters, template, thrift};

/// How long a fill or a reset of a store may take: a database of some GB is copied within this time.
const FILL: Duration = Duration::from_secs(1800);

impl Running {
    pub(crate) fn seat<'a>(&'a self, started: &'a Started, number: usize) -> Seat<'a> {
        let service = &self.plan.app().services[started.at];
        let whole = self.plan.placement(&service.name).expect("it has one");
        let folder = started.folders.get(number);
        Seat { service, found: &started.found, placement: whole.of_instance(number), number, folder }
    }

    /// Fills the stores. Errors: the first that cannot be.
    pub(crate) fn fill(&self) -> Result<(), Error> {
        self.stores("fill", |store| store.fill.as_ref())
    }

    /// Resets this machine's stores to the state after their fill, if they describe how.
    ///
    /// Errors: the first failure.
    pub fn reset(&self) -> Result<(), Error> {
        self.stores("reset", |store| store.reset.as_ref())
    }

    fn stores(&self, doing: &str, action: impl Fn(&Store) -> Option<&StoreAction>) -> Result<(), Error> {
        for (kept, action) in self.plan.app().stores.iter().filter_map(|one| Some((one, action(one)?))) {
            let of = self.here().filter(|started| self.name(started) == kept.service);
            for (started, number) in
                of.flat_map(|one| (0..one.instances.len()).map(move |number| (one, number)))
            {
                let seat = self.seat(started, number);
                let addresses = &started.addresses[number];
                self.act(action, &seat, addresses).map_err(|problem| Error::Answer {
                    service: kept.service.clone(),
                    doing: format!("{doing} the store '{}'", kept.name),
                    problem,
                })?;
            }
        }
        Ok(())
    }

    fn act(&self, action: &StoreAction, seat: &Seat<'_>, addresses: &[Address]) -> Result<(), String> {
        if let Some(send) = &action.send {
            let address = tcp(addresses).ok_or("its service has no TCP address")?;
            counters::sent(address, send, counters::WAIT)?;
        }
        if let Some(command) = &action.command {
            self.run_command(seat, addresses, command, FILL).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// The counters of the service `name`, summed over its instances; `None` if it has none or runs elsewhere.
    ///
    /// Errors: one does not answer, or not as described.
    pub fn counters(&self, name: &str) -> Result<Option<BTreeMap<String, f64>>, Error> {
        let Some(started) = self.here().find(|one| self.name(one) == name) else { return Ok(None) };
        let service = &self.plan.app().services[started.at];
        let Some(wanted) = &service.counters else { return Ok(None) };
        let mut sum = BTreeMap::new();
        for (number, addresses) in started.addresses.iter().enumerate() {
            let seat = self.seat(started, number);
            let answer = || -> Result<String, String> {
                let address = || tcp(addresses).ok_or_else(|| "it has no TCP address".to_owned());
                match (&wanted.send, &wanted.http, &wanted.command) {
                    (Some(send), ..) => counters::sent(address()?, send, counters::WAIT),
                    (_, Some(path), _) => {
                        let context = self.context(&seat, addresses).map_err(|e| e.to_string())?;
                        let environment = template::environment(seat.found);
                        counters::got(address()?, &template::render(&environment, path, &context)?)
                    }
                    (.., Some(command)) => {
                        let printed = self.run_command(&seat, addresses, command, counters::WAIT);
                        printed.map(|lines| lines.join("\n")).map_err(|e| e.to_string())
                    }
                    _ => Err("it has none".into()),
                }
            };
            let found = match (&wanted.thrift, tcp(addresses)) {
                (Some(method), Some(address)) => thrift::asked(address, method, counters::WAIT),
                _ => answer().and_then(|answer| counters::read(&answer, &wanted.patterns)),
            };
            let found = found.map_err(|problem| Error::Answer {
                service: name.into(),
                doing: "read its counters".into(),
                problem,
            })?;
            found.into_iter().for_each(|(name, value)| *sum.entry(name).or_insert(0.0) += value);
        }
        Ok(Some(sum))
    }
}
