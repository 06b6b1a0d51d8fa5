use serde::{Deserialize, Serialize};

use super::{CodeShare, Counter};

/// Probe results of the threads of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServiceCode {
    /// Its name within the application.
    pub name: String,
    /// Samples by clock.
    pub samples: u64,
    /// By owner of the code: `kernel`, the program itself, each library. They sum up to 1; empty without samples.
    pub shares: Vec<CodeShare>,
    /// Samples by instructions.
    pub instruction_samples: u64,
    /// The same for instructions; empty if the machine does not count them.
    pub instruction_shares: Vec<CodeShare>,
    /// The available counters of the processor and of the kernel over its threads.
    pub counters: Vec<Counter>,
}
