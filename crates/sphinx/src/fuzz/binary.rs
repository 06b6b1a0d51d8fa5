use proto_memcache::binary::testing::{Read, read};
use proto_memcache::binary::{REQUEST, opcode};
use proto_memcache::client::udp::Header;

use super::foreign::answer_to;

/// Longer inputs reveal no more than these. Units: bytes.
const INPUT_MAX: usize = 4096;
/// The longest body of a response: an item, as large as the server takes it. Units: bytes.
const BODY_MAX: usize = 64 << 10;

/// Sends bytes as a connection of the binary protocol in two ways, whole and in steps, and as a datagram, and asserts
/// that whole responses come back, the same in each way, and that the server continues to answer others. The first byte
/// chooses the steps.
pub fn binary_connections(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let sent = [&[REQUEST], &rest[..rest.len().min(INPUT_MAX)]].concat();
    let step = [1, 3, 23, 24, 25, 64][usize::from(choice) % 6];
    let whole = answered(&answer_to(&sent, sent.len(), false, "auto").0);
    assert_eq!(answered(&answer_to(&sent, step, false, "auto").0), whole, "in steps of {step}");
    // A datagram has one request, or several; an incomplete request in one is never completed.
    let (datagrams, _) = answer_to(&sent, sent.len(), true, "auto");
    let mut text = Vec::new();
    let mut rest = &datagrams[..];
    while !rest.is_empty() {
        let one = &rest[..rest.len().min(Header::DATAGRAM_MAX)];
        let (_, part) = Header::read(one).expect("a datagram begins with its header");
        text.extend_from_slice(part);
        rest = &rest[one.len()..];
    }
    assert_eq!(answered(&text), whole, "as a datagram");
}

/// The responses, except statistics, which depend on the time. Panics on other bytes between them.
fn answered(mut bytes: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let Read::Done { consumed, response } = read(bytes, BODY_MAX) else {
            panic!("no response: {}", bytes.escape_ascii());
        };
        if response.header.opcode != opcode::STAT {
            let value = response.value.escape_ascii();
            all.push(format!("{:?} {} {value}", response.header.echo(), response.header.status));
        }
        bytes = &bytes[consumed..];
    }
    all
}
