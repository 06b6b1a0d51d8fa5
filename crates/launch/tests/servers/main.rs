//! Real processes and servers, in every form that is available here, and nothing left of them whichever way they end.
//!
//! One program: each more takes seconds to compile and to link.

mod docker;
mod end;
mod memcached;
mod parent_death;
mod place;
mod process;
mod tenant;
mod traces;
