#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sphinx::fuzz::saved_memory(bytes));
