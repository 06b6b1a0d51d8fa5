//! The bandwidth of a device's egress, by the queueing disciplines HTB and TBF.

use std::env;
use std::path::Path;

use super::Planner;
use crate::action::Step;
use crate::{Error, Namespace, Reading, Shaper};

/// The handle of our discipline; `tc` shows it, so that no other discipline is mistaken for ours. 7a11 reads as "tail".
pub(super) const HANDLE: &str = "7a11:";
const CLASS: &str = "7a11:1";
/// A packet that would wait for longer is dropped: some round trips of a data centre, and less than a time-out of TCP.
const LATENCY: &str = "50ms";
/// The slowest kernel clock that refills buckets, in Hz: a bucket must hold the bytes of one tick.
/// Source: `tc-tbf(8)`.
const SLOWEST_TICK_HZ: u64 = 100;
/// The largest packet, one that the card or `lo` splits, plus its headers. Units: bytes.
const LARGEST_PACKET: u64 = 65_536 + 128;

impl Planner<'_> {
    pub(super) fn net_rate(&mut self, bits: u64, by: Shaper) -> Result<(), Error> {
        let device = self.device()?;
        let namespace = self.namespace()?;
        let burst = (bits / 8 / SLOWEST_TICK_HZ).max(LARGEST_PACKET);
        // tc counts buckets in 32 bits.
        if burst > u64::from(u32::MAX) {
            return Err(self.usage("the kernel shapes up to 3.4 Tbit/s", "write a lower rate"));
        }
        let remove = format!("tc qdisc del dev {device} root");
        let qdiscs = format!("tc qdisc show dev {device}");
        match by {
            Shaper::Htb => {
                let reading = Reading::Qdisc { handle: HANDLE.into() };
                let add = format!("tc qdisc add dev {device} root handle {HANDLE} {{}} default 1");
                self.tool([&qdiscs, &add, &remove], reading, "htb", &namespace)?;
                let reading = Reading::Rate { handle: CLASS.into() };
                let add = format!(
                    "tc class add dev {device} parent {HANDLE} classid {CLASS} htb rate {{}}bit ceil {{}}bit burst {burst} cburst {burst}"
                );
                let remove = format!("tc class del dev {device} classid {CLASS}");
                let show = format!("tc class show dev {device}");
                self.tool([&show, &add, &remove], reading, &bits.to_string(), &namespace)
            }
            Shaper::Tbf => {
                let reading = Reading::Rate { handle: HANDLE.into() };
                let add = format!(
                    "tc qdisc add dev {device} root handle {HANDLE} tbf rate {{}}bit burst {burst} latency {LATENCY}"
                );
                self.tool([&qdiscs, &add, &remove], reading, &bits.to_string(), &namespace)
            }
        }
    }

    /// Adds an action by commands that show, set and remove the state.
    ///
    /// Errors: the program is not installed.
    pub(super) fn tool(
        &mut self,
        [show, set, unset]: [&str; 3],
        reading: Reading,
        want: &str,
        namespace: &Option<Namespace>,
    ) -> Result<(), Error> {
        self.need_program(show.split(' ').next().unwrap_or_default())?;
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let step = Step::Tool {
            show: words(show),
            reading,
            set: words(set),
            unset: words(unset),
            want: Some(want.into()),
            namespace: namespace.clone(),
        };
        self.push(step);
        Ok(())
    }

    /// Checks that a program is installed; a test's machine has those that the test simulates.
    pub(super) fn need_program(&self, program: &str) -> Result<(), Error> {
        let paths = env::var_os("PATH").unwrap_or_default();
        if self.subject.root != Path::new("/")
            || env::split_paths(&paths).any(|folder| folder.join(program).is_file())
        {
            return Ok(());
        }
        let limit = format!("the program {program} is in no folder of PATH");
        let package = if ["tc", "ip"].contains(&program) { "iproute2" } else { program };
        Err(self.unsupported(limit, format!("install it: apt install {package}")))
    }
}
