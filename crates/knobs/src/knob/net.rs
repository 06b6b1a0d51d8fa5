//! The bandwidth of a device's egress, by the queueing disciplines HTB and TBF.

use std::env;
use std::path::Path;

use super::quantity::{self, BITS};
use super::value::words;
use super::{About, Definition};
use crate::action::Step;
use crate::plan::Planner;
use crate::{Error, Namespace, Reading};

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

/// A queueing discipline that limits a bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shaper {
    /// Hierarchical token bucket, the paper's.
    Htb,
    /// Token bucket filter.
    Tbf,
}

/// `net.rate=1gbit`, `net.rate=1gbit:tbf`: the bandwidth of the device's egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetRate {
    /// Units: bits per second.
    pub bits: u64,
    /// The queueing discipline.
    pub by: Shaper,
}

pub(super) const NET_RATE: Definition<NetRate> = Definition {
    about: About {
        name: "net.rate",
        does: "the bandwidth of the device's egress, by HTB or TBF",
        syntax: "bits per second, such as net.rate=1gbit or net.rate=100mbit:tbf",
        source: "IISWC'17 §V-A: qdisc with hierarchical token buckets",
    },
    read: |value| {
        let (rate, by) = match value.split_once(':') {
            None => (value, Shaper::Htb),
            Some((rate, "htb")) => (rate, Shaper::Htb),
            Some((rate, "tbf")) => (rate, Shaper::Tbf),
            Some(_) => return None,
        };
        Some(NetRate { bits: quantity::read(rate, BITS)?, by })
    },
    write: |rate| {
        let by = if rate.by == Shaper::Tbf { ":tbf" } else { "" };
        quantity::write(rate.bits, BITS) + by
    },
    plan: |rate, planner| {
        let NetRate { bits, by } = *rate;
        let device = planner.device()?;
        let namespace = planner.namespace()?;
        let burst = (bits / 8 / SLOWEST_TICK_HZ).max(LARGEST_PACKET);
        // tc counts buckets in 32 bits.
        if burst > u64::from(u32::MAX) {
            return Err(planner.usage("the kernel shapes up to 3.4 Tbit/s", "write a lower rate"));
        }
        let remove = format!("tc qdisc del dev {device} root");
        let qdiscs = format!("tc qdisc show dev {device}");
        match by {
            Shaper::Htb => {
                let reading = Reading::Qdisc { handle: HANDLE.into() };
                let add = format!("tc qdisc add dev {device} root handle {HANDLE} {{}} default 1");
                planner.tool([&qdiscs, &add, &remove], reading, "htb", &namespace)?;
                let reading = Reading::Rate { handle: CLASS.into() };
                let add = format!(
                    "tc class add dev {device} parent {HANDLE} classid {CLASS} htb rate {{}}bit ceil {{}}bit burst {burst} cburst {burst}"
                );
                let remove = format!("tc class del dev {device} classid {CLASS}");
                let show = format!("tc class show dev {device}");
                planner.tool([&show, &add, &remove], reading, &bits.to_string(), &namespace)
            }
            Shaper::Tbf => {
                let reading = Reading::Rate { handle: HANDLE.into() };
                let add = format!(
                    "tc qdisc add dev {device} root handle {HANDLE} tbf rate {{}}bit burst {burst} latency {LATENCY}"
                );
                planner.tool([&qdiscs, &add, &remove], reading, &bits.to_string(), &namespace)
            }
        }
    },
};

impl Planner<'_> {
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
