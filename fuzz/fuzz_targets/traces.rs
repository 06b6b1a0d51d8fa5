#![no_main]

#[allow(dead_code)]
#[path = "../harness/trace.rs"]
mod trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trace::traces(bytes));
