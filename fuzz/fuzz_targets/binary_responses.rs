#![no_main]

#[allow(dead_code)]
#[path = "../harness/memcache.rs"]
mod memcache;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| memcache::binary_responses(bytes));
