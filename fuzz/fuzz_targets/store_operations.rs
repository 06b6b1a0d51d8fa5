#![no_main]

#[allow(dead_code)]
#[path = "../harness/store.rs"]
mod store;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| store::operations_from_bytes(bytes));
