#![no_main]

#[allow(dead_code)]
#[path = "../harness/site.rs"]
mod site;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| site::site_descriptions(bytes));
