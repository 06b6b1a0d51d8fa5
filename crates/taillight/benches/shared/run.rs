//! One run of a generator at full speed.

use crate::cpu::Cpu;

/// The outcome of one run of a generator.
pub(crate) struct Run {
    pub(crate) krps: f64,
    pub(crate) user_us: f64,
    pub(crate) kernel_us: f64,
}

impl Run {
    pub(crate) fn new(rps: f64, requests: f64, cpu: Cpu) -> Option<Run> {
        let each = |seconds: f64| 1e6 * seconds / requests;
        (requests > 0.0).then(|| Run {
            krps: rps / 1e3,
            user_us: each(cpu.user),
            kernel_us: each(cpu.kernel),
        })
    }

    pub(crate) fn cpu_us(&self) -> f64 {
        self.user_us + self.kernel_us
    }
}

pub(crate) trait Generator {
    fn name(&self) -> &'static str;
    /// Runs the generator for `seconds` at full speed; `None` if it fails.
    fn run(&self, address: &str, seconds: u32) -> Option<Run>;
}
