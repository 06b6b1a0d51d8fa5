use std::time::Duration;

use crate::{CONTENT_TYPE, Error, Metrics};

/// A receiver that takes longer than this would hold up the program that measured.
const PATIENCE: Duration = Duration::from_secs(10);

impl Metrics {
    /// Puts the OpenMetrics text to `address`, such as a push gateway's `http://HOST:9091/metrics/job/taillight`.
    ///
    /// Errors: an address that is not plain HTTP, a receiver that cannot be reached within 10 s or refuses.
    pub fn push_openmetrics(&self, address: &str) -> Result<(), Error> {
        let agent = agent();
        let request = agent.put(address).header("Content-Type", CONTENT_TYPE);
        request.send(self.openmetrics()).map(drop).map_err(|error| failed(address, &error))
    }
}

pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into()
}

pub(crate) fn failed(address: &str, error: &ureq::Error) -> Error {
    Error::Push { address: address.into(), problem: error.to_string() }
}
