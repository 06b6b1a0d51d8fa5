//! Two whole machines that we lack, as trees of files, to test code that reads or changes a machine.
//!
//! They are the two of IISWC'17 (Table I, §III-B): an Intel Xeon of two sockets with SMT, cpufreq, resctrl and a NIC of
//! 8 queues, on an Ubuntu of its time with control groups of version 1; and a Cavium ThunderX of 48 cores without any
//! of these, on a later Ubuntu with control groups of version 2. Every file is an ordinary one and can be written, but
//! no kernel is behind it: a fixture accepts writes that a kernel would refuse or change.

mod device;
mod plant;
mod thunderx;
mod xeon;

pub(crate) use thunderx::thunderx;
pub(crate) use xeon::xeon;
