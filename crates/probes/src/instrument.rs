use std::any::Any;
use std::io;

use results::Probes;

use spec::Probe;

/// An active probe. It observes in slots; between them it costs nothing.
pub(crate) trait Instrument {
    fn probe(&self) -> Probe;

    /// Starts observing.
    ///
    /// Errors: the probe cannot start; it is removed then, with the reason.
    fn resume(&mut self) -> io::Result<()>;

    /// Stops observing, and returns the results since [`Instrument::resume`].
    fn pause(&mut self) -> Box<dyn Reading>;
}

/// Results of one probe in one slot.
pub(crate) trait Reading: Any + Send {
    /// Adds the results of the same probe in another slot.
    fn add(&mut self, other: &dyn Reading);

    /// A copy.
    fn same(&self) -> Box<dyn Reading>;

    /// Writes the sum of the slots, `observed_s` together, into the record. Returns a description of lost data if too
    /// much was lost.
    fn enter(&self, observed_s: f64, into: &mut Probes) -> Option<String>;
}

/// A [`Reading`] of one probe, which is only added to readings of the same probe.
pub(crate) trait Summed: Clone + Send + 'static {
    /// Adds the results of another slot.
    fn merge(&mut self, other: &Self);

    /// As [`Reading::enter`].
    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String>;
}

impl<T: Summed> Reading for T {
    fn add(&mut self, other: &dyn Reading) {
        if let Some(other) = (other as &dyn Any).downcast_ref() {
            self.merge(other);
        }
    }

    fn same(&self) -> Box<dyn Reading> {
        Box::new(self.clone())
    }

    fn enter(&self, observed_s: f64, into: &mut Probes) -> Option<String> {
        self.write_into(into, observed_s)
    }
}
