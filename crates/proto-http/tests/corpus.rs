//! Replays the fuzzers' corpus through the code that they fuzz.

#[path = "../../../fuzz/harness/http.rs"]
mod harness;
#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/harness/user.rs"]
mod user;

use replay::replay;

#[test]
fn http_responses() {
    replay("http_responses", harness::http_responses);
}

#[test]
fn http_requests() {
    replay("http_requests", harness::http_requests);
}

#[test]
fn user_fields() {
    replay("user_fields", user::user_fields);
}

#[test]
fn needles() {
    replay("needles", user::needles);
}
