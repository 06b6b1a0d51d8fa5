#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| proto_memcache::fuzz::udp_replies(bytes));
