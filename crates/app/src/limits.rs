//! Limits of this process that its children have, too.

use launch::Form;
use rustix::process::{Resource, getrlimit};

/// Used if this process has no limit: three times the largest published file set. A file kept open costs a web server
/// about 500 B of memory.
const MANY_FILES: u64 = 1 << 20;
/// Source: the limit that containers of podman are given; that of docker's daemon is higher by default.
pub(crate) const FILES_IN_ENGINE: u64 = 16_384;

/// How many files a process of a service may have open: as many as the limit of this process lets it, and no more than
/// containers of an engine get.
pub(crate) fn open_files(form: Form) -> u64 {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(MANY_FILES).min(MANY_FILES);
    if form.has_images() { most.min(FILES_IN_ENGINE) } else { most }
}
