use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which code used the processors on behalf of the server, by sampling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Processor {
    /// How long the probe looked.
    pub observed_s: f64,
    /// Samples that were taken.
    pub samples: u64,
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// Samples a second of a thread that runs.
    pub rate_hz: u64,
    /// By owner of the code: `kernel`, the program itself, each library. They sum up to 1.
    pub shares: Vec<CodeShare>,
    /// The same for instructions; empty if the machine does not count them, and in results of earlier versions.
    #[serde(default)]
    pub instruction_shares: Vec<CodeShare>,
    /// The most frequent stacks, with the remainder under `(other)`; a flame graph is drawn from these.
    pub stacks: Vec<Stack>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// A part of the code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodeShare {
    /// `kernel`, or the file's name: `memcached`, `libc.so.6`.
    pub code: String,
    /// Its share of all samples, 0 to 1.
    pub share: f64,
}

/// How the code divides into three.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CodeSplit {
    /// The share of the kernel, 0 to 1.
    pub kernel: f64,
    /// Share of libraries: files named `….so…`.
    pub library: f64,
    /// Share of the program itself.
    pub own: f64,
}

impl CodeSplit {
    /// The split of `shares`; `None` without samples.
    pub fn of(shares: &[CodeShare]) -> Option<CodeSplit> {
        let mut split = CodeSplit::default();
        for CodeShare { code, share } in shares {
            let part = match code.as_str() {
                "kernel" => &mut split.kernel,
                library if library.contains(".so") => &mut split.library,
                _ => &mut split.own,
            };
            *part += share;
        }
        (!shares.is_empty()).then_some(split)
    }
}

/// One stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// Functions from the outermost to the innermost, with `;` between.
    pub frames: String,
    /// Samples with this stack.
    pub count: u64,
}

/// One counter of the processor or the kernel over the slots in which it was enabled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counter {
    /// `ipc`, `llc_misses_per_kilo_instruction`, `page_faults_per_s` and the like.
    pub name: String,
    /// Its value.
    pub value: f64,
}
