#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| proto_memcache::fuzz::client_meta_responses(bytes));
