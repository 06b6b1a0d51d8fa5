#![no_main]

#[path = "../harness/resp.rs"]
mod resp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| resp::resp_requests(bytes));
