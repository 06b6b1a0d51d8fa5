//! The movie application as a whole, where its programs are built: `taillight movies build --out target/movies`.
//!
//! One application at a time, as each is 50 processes. Run them: `cargo test -p app --test it movies`, and those of the slow tier by
//! `cargo test -p app --test it movies -- --ignored`. What faults do is printed: add `--nocapture`.

mod edges;
mod exact;
mod faults;
mod frames;
mod http;
mod money;
mod shards;
pub(crate) mod site;
mod twins;
mod unready;
mod visit;
