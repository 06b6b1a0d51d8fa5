#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| proto_http::fuzz::http_requests(bytes));
