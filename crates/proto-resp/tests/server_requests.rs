//! Commands however they are cut, and the bytes that are none.
//!
//! Try it: `cargo test -p proto-resp --test server_requests`.

#[path = "../../../fuzz/harness/resp.rs"]
mod harness;

use harness::{Seen, requests};
use proptest::collection::vec;
use proptest::prelude::*;

/// A command as clients write it.
fn command(args: &[Vec<u8>]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        out.extend(format!("${}\r\n", arg.len()).into_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

fn read(bytes: &[u8], known: bool) -> Seen {
    requests(bytes, bytes.len(), known)
}

#[test]
fn commands_are_those_of_the_specification() {
    let check = |bytes: &str, expect: &[&[&str]]| {
        let words = |args: &&[&str]| Some(args.iter().map(|arg| arg.as_bytes().to_vec()).collect());
        let seen = read(bytes.as_bytes(), true);
        assert_eq!(seen.commands, expect.iter().map(words).collect::<Vec<_>>(), "{bytes:?}");
        assert_eq!(seen.malformed, None, "{bytes:?}");
    };
    check("*2\r\n$4\r\nLLEN\r\n$6\r\nmylist\r\n", &[&["LLEN", "mylist"]]);
    check("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n", &[&["PING"], &["PING"]]);
    check("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", &[&["ECHO", ""]]);
    check("*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\n", &[&["ECHO", "\r\n\r\n"]]);
    check(
        "PING\r\nEXISTS somekey\n\r\n*0\r\n*-1\r\nQUIT\r\n",
        &[&["PING"], &["EXISTS", "somekey"], &["QUIT"]],
    );
    check("SET k \"a b\"\r\n", &[&["SET", "k", "a b"]]);
}

#[test]
fn bytes_that_are_no_commands_have_redis_errors() {
    let check = |bytes: &str, known: bool, expect: &str| {
        let malformed = read(bytes.as_bytes(), known).malformed.map(|malformed| malformed.to_string());
        assert_eq!(malformed.as_deref(), Some(expect), "{bytes:?}");
    };
    check("*x\r\n", true, "invalid multibulk length");
    check("*1048577\r\n", true, "invalid multibulk length");
    check("*1\n", true, "invalid multibulk length");
    check("*99999999999999999999999", true, "invalid multibulk length");
    check("*11\r\n", false, "unauthenticated multibulk length");
    check("*1\r\nPING\r\n", true, "expected '$', got 'P'");
    check("*1\r\n$\r\n", true, "invalid bulk length");
    check("*1\r\n$-1\r\n", true, "invalid bulk length");
    check("*1\r\n$536870913\r\n", true, "invalid bulk length");
    check("*1\r\n$16385\r\n", false, "unauthenticated bulk length");
    check("*1\r\n$4\r\nPINGPING", true, "invalid bulk length");
    check("SET k \"a\r\n", true, "unbalanced quotes in request");
    let long = format!("SET k {}", "v".repeat(65_536));
    check(&long, true, "too big inline request");
}

#[test]
fn a_command_that_is_too_long_is_skipped_to_its_end() {
    let args = |lengths: &[usize]| lengths.iter().map(|length| vec![b'v'; *length]).collect::<Vec<_>>();
    let check = |lengths: &[usize], fits: bool| {
        let own = args(lengths);
        let bytes = [command(&own), command(&args(&[1]))].concat();
        let expect = vec![fits.then_some(own), Some(args(&[1]))];
        for step in [1, 7, 5000] {
            assert_eq!(requests(&bytes, step, true), Seen { commands: expect.clone(), malformed: None });
        }
    };
    // The limits are 300 B for an argument, and 1000 B for a command.
    check(&[3, 300], true);
    check(&[3, 301], false);
    check(&[301, 3, 3], false);
    check(&[300, 300, 300], true);
    check(&[300, 300, 300, 300], false);
    check(&[3, 1, 100_000, 3], false);
}

proptest! {
    #[test]
    fn what_is_written_is_read_however_it_is_cut(
        commands in vec(vec(vec(any::<u8>(), 0..40), 1..6), 1..6),
        step in 1..60usize,
    ) {
        let bytes: Vec<u8> = commands.iter().flat_map(|args| command(args)).collect();
        let expect = Seen { commands: commands.into_iter().map(Some).collect(), malformed: None };
        prop_assert_eq!(requests(&bytes, step, true), expect);
    }

    #[test]
    fn any_bytes_are_read_alike_however_they_are_cut(
        bytes in vec(prop_oneof![Just(b'*'), Just(b'$'), Just(b'\r'), Just(b'\n'), b'0'..=b'9', any::<u8>()], 0..200),
    ) {
        harness::resp_requests(&bytes);
    }
}
