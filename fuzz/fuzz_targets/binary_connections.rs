#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sphinx::fuzz::binary_connections(bytes));
