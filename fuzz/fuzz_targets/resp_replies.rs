#![no_main]

#[path = "../harness/replies.rs"]
mod replies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| replies::resp_replies(bytes));
