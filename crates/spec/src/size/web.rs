//! The sizes of a web site's files.
//!
//! Source: Chen, Galon, Delimitrou, Manne and Martínez, *Workload characterization of interactive cloud services on big
//! and small server platforms*, IISWC 2017, §IV-C: half of the files are under 1 KB and 95 % under 64 KB. That file
//! sizes are lognormal: Downey, *The structural cause of file size distributions*, MASCOTS 2001.

use super::law::Law;

/// The lognormal law that the two shares determine: half below 1023.5 B, which rounds to 1 KiB and more above, and 95 %
/// below 65 535.5 B.
///
/// σ = ln(65 535.5 / 1023.5) / 1.644 853 627, the 95th percentile of the standard normal law. The paper's third figure,
/// a 99th percentile of 32 GB, does not fit any law of this kind and is probably a misprint; here it is 367 196 B.
pub(crate) const FILE: Law = Law::LogNormal { median: 1023.5, sigma: 2.528_713_671_710_109 };
