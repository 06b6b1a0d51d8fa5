//! Lines to a null server.

use anyhow::Result;
use openloop::Recording;
use workloads::null::Null;

use crate::noise::Watch;
use crate::workload::Run;

/// It has no parameters.
pub(super) struct Offered;

impl super::Offered for Offered {
    fn run(self: Box<Self>, run: &mut Run<'_>) -> Result<(Recording, Watch)> {
        run.record(|generator| Ok(generator.run(|_| Null)?))
    }
}
