//! A video server without files: it serves the ranges of a set of videos, whose contents it computes.
//!
//! For a demo on a machine without NGINX, since it needs neither a disk nor to be installed; and for tests of what clients
//! make of faults, which it plants in every n-th answer: it stalls, trickles, resets, cuts a body short, answers 503 or 404,
//! sends another range or the whole file, or another byte. It knows a generator's description of the set
//! ([`datasets::videos::Catalog`]) and none of its code.
//!
//! Try it: `taillight serve video-server --videos 10x1`, then `curl -r 0-99 http://ADDRESS/v000000/240p.bin | xxd`.

mod answer;
mod counts;
mod faults;
mod server;

pub use counts::ServerCounters;
pub use faults::{Fault, Faults, Planted};
pub use server::{Limits, VideoServer};
