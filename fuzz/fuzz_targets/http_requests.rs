#![no_main]

#[allow(dead_code)]
#[path = "../harness/http.rs"]
mod http;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| http::http_requests(bytes));
