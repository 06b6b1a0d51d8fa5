use std::io;

use results::Probes;

use spec::Probe;

/// One probe at work. It looks in slots; between them it costs nothing.
pub(crate) trait Instrument {
    /// Which.
    fn probe(&self) -> Probe;

    /// Begins to look.
    ///
    /// Errors: it cannot; it is put aside then, with the reason.
    fn resume(&mut self) -> io::Result<()>;

    /// Ends it, and returns what was seen since [`Instrument::resume`].
    fn pause(&mut self) -> Box<dyn Reading>;
}

/// What one probe saw in one slot.
pub(crate) trait Reading: Send {
    /// Adds what the same probe saw in another slot.
    fn add(&mut self, other: &dyn Reading);

    /// The same once more.
    fn same(&self) -> Box<dyn Reading>;

    /// For [`Reading::add`].
    fn as_any(&self) -> &dyn std::any::Any;

    /// Writes the sum of the slots, `observed_s` together, into the record. Returns what was lost, where too much was.
    fn enter(&self, observed_s: f64, into: &mut Probes) -> Option<String>;
}
