//! Fuzzing harness: parses arbitrary descriptions of sites.
//!
//! Try it: `cargo test -p workloads --test it corpus`.

use spec::workload::SocialOperation;
use workloads::social::{By, Site};

/// The longest input that is tried. Units: bytes.
const LENGTH_MAX: usize = 16 * 1024;

/// Parses a description.
///
/// Panics if it is accepted without the requests of every session, or refused without a message.
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
