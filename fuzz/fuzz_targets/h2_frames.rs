#![no_main]

#[allow(dead_code)]
#[path = "../harness/h2.rs"]
mod h2;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| h2::h2_frames(bytes));
