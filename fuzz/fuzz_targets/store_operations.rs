#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cache_store::fuzz::operations_from_bytes(bytes));
