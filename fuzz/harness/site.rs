//! What the fuzzer runs: descriptions of sites, whatever they hold.
//!
//! Try it: `cargo test -p workloads --test it corpus`.

use spec::workload::SocialOperation;
use workloads::social::{By, Site};

/// The longest input that is looked at. Units: bytes.
const LENGTH_MAX: usize = 16 * 1024;

/// Reads a description.
///
/// Panics where it is taken without what each session needs, or refused without a word.
pub(crate) fn site_descriptions(bytes: &[u8]) {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LENGTH_MAX)]);
    match Site::read("x", &text) {
        Ok(site) => {
            let lacks = site.lacks();
            assert!(
                site.has_way(SocialOperation::Login, By::Page)
                    && site.has_way(SocialOperation::Logout, By::Page)
            );
            assert!(
                SocialOperation::ALL
                    .into_iter()
                    .all(|operation| site.has(operation) != lacks.contains(&operation))
            );
        }
        Err(error) => assert!(error.to_string().len() > "the description of the site x: ".len()),
    }
}
