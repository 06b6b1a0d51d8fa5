use serde::{Deserialize, Serialize};

/// Use of the processors by the server's code, from samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Processor {
    /// Time of observation.
    pub observed_s: f64,
    /// Number of samples.
    pub samples: u64,
    /// Samples that the kernel dropped for lack of room.
    pub lost: u64,
    /// Samples per second of a running thread.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stack {
    /// Functions from the outermost to the innermost, with `;` between.
    pub frames: String,
    /// Samples with this stack.
    pub count: u64,
}

/// One counter of the processor or the kernel over the slots in which it was enabled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Counter {
    /// Name, such as `ipc`, `llc_misses_per_kilo_instruction` or `page_faults_per_s`.
    pub name: String,
    /// Its value.
    pub value: f64,
}
