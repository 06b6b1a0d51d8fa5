use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CodeShare, Counter};

/// What probes saw of the threads of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceCode {
    /// Its name within the application.
    pub name: String,
    /// Samples that were taken of it by the clock.
    pub samples: u64,
    /// By owner of the code: `kernel`, the program itself, each library. They sum up to 1; empty without samples.
    pub shares: Vec<CodeShare>,
    /// Samples that were taken of it by instructions.
    pub instruction_samples: u64,
    /// The same of the instructions that were run; empty where the machine does not count them.
    pub instruction_shares: Vec<CodeShare>,
    /// Counters of the processor and of the kernel over its threads, those that are there.
    pub counters: Vec<Counter>,
}
