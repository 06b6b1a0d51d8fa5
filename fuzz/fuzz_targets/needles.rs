#![no_main]

#[allow(dead_code)]
#[path = "../harness/user.rs"]
mod user;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| user::needles(bytes));
