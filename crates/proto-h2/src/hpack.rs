//! Header fields: read with a dynamic table, written without one. Source: RFC 7541.

use std::collections::VecDeque;

use crate::limits::{HEAD_MAX, TABLE_MAX};
use crate::static_fields::FIELDS;
use crate::{Defect, huffman};

/// Bytes by which a field exceeds its name and value in the size of a table. Source: RFC 7541 §4.1.
const OVERHEAD: usize = 32;

/// Reads the fields of one connection.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The newest first.
    table: VecDeque<Entry>,
    size: usize,
    room: usize,
    /// The memory of the entry that left last.
    spare: Vec<u8>,
    name: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    text: Vec<u8>,
    name: usize,
}

impl Entry {
    fn parts(&self) -> (&[u8], &[u8]) {
        self.text.split_at(self.name)
    }
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder {
            table: VecDeque::new(),
            size: 0,
            room: TABLE_MAX,
            spare: Vec::new(),
            name: Vec::new(),
            value: Vec::new(),
        }
    }
}

/// The bytes of a text, and how they stand for it.
struct Coded<'a> {
    bytes: &'a [u8],
    huffman: bool,
}

impl<'a> Coded<'a> {
    /// Reads a text from the front of `block`.
    fn read(block: &mut &'a [u8]) -> Result<Coded<'a>, Defect> {
        let huffman = block.first().is_some_and(|byte| byte & 0x80 != 0);
        let length = integer(block, 7)?;
        let (bytes, rest) = block.split_at_checked(length).ok_or(Defect::Fields("a text that is cut off"))?;
        *block = rest;
        Ok(Coded { bytes, huffman })
    }

    /// Its text, in `room` if it has to be decoded.
    fn text<'b>(&self, room: &'b mut Vec<u8>) -> Result<&'b [u8], Defect>
    where
        'a: 'b,
    {
        if !self.huffman {
            return Ok(self.bytes);
        }
        room.clear();
        huffman::decode(self.bytes, room)?;
        Ok(room)
    }
}

impl Decoder {
    /// Passes the fields of a whole block to `field`, in order.
    ///
    /// Errors: bytes that are no fields; more than [`HEAD_MAX`]; any error of `field`.
    pub(crate) fn decode(
        &mut self,
        mut block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Defect> {
        let (mut total, mut begun) = (0, false);
        let mut count = |name: &[u8], value: &[u8]| {
            total += name.len() + value.len() + OVERHEAD;
            if total > HEAD_MAX { Err(Defect::HeadTooLong) } else { Ok(()) }
        };
        while let Some(&first) = block.first() {
            if first & 0xe0 == 0x20 {
                let room = integer(&mut block, 5)?;
                if begun || room > TABLE_MAX {
                    return Err(Defect::Fields("a change of the table's size that is not allowed"));
                }
                self.room = room;
                self.evict();
                continue;
            }
            begun = true;
            if first & 0x80 != 0 {
                let (name, value) = known(&self.table, integer(&mut block, 7)?)?;
                count(name, value)?;
                field(name, value);
                continue;
            }
            let keeps = first & 0x40 != 0;
            let number = integer(&mut block, if keeps { 6 } else { 4 })?;
            let Decoder { table, name: name_room, value: value_room, .. } = self;
            let name = match number {
                0 => Coded::read(&mut block)?.text(name_room)?,
                number => known(table, number)?.0,
            };
            let value = Coded::read(&mut block)?.text(value_room)?;
            count(name, value)?;
            field(name, value);
            if keeps {
                let mut text = std::mem::take(&mut self.spare);
                text.clear();
                text.extend_from_slice(name);
                text.extend_from_slice(value);
                let name = name.len();
                self.keep(Entry { text, name });
            }
        }
        Ok(())
    }

    fn keep(&mut self, entry: Entry) {
        self.size += entry.text.len() + OVERHEAD;
        self.table.push_front(entry);
        self.evict();
    }

    fn evict(&mut self) {
        while self.size > self.room
            && let Some(oldest) = self.table.pop_back()
        {
            self.size -= oldest.text.len() + OVERHEAD;
            self.spare = oldest.text;
        }
    }
}

/// The field of this number.
fn known(table: &VecDeque<Entry>, number: usize) -> Result<(&[u8], &[u8]), Defect> {
    let unknown = Defect::Fields("a number of a field that is not in the table");
    let Some(place) = number.checked_sub(1) else { return Err(unknown) };
    if let Some((name, value)) = FIELDS.get(place) {
        return Ok((name.as_bytes(), value.as_bytes()));
    }
    table.get(place - FIELDS.len()).map(Entry::parts).ok_or(unknown)
}

/// Reads a number that begins in the low `bits` of the first byte. Source: RFC 7541 §5.1.
fn integer(block: &mut &[u8], bits: u32) -> Result<usize, Defect> {
    let cut = Defect::Fields("a number that is cut off");
    let Some((first, mut rest)) = block.split_first() else { return Err(cut) };
    let most = (1usize << bits) - 1;
    let mut number = usize::from(*first) & most;
    if number == most {
        let mut shift = 0;
        loop {
            let Some((byte, after)) = rest.split_first() else { return Err(cut) };
            rest = after;
            // Four bytes suffice for every length and number here.
            if shift > 21 {
                return Err(Defect::Fields("a number that is too high"));
            }
            number += usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *block = rest;
    Ok(number)
}

/// Appends a number whose first byte has `flags` above its low `bits`.
pub(crate) fn write_integer(mut number: usize, bits: u32, flags: u8, out: &mut Vec<u8>) {
    let most = (1usize << bits) - 1;
    if number < most {
        out.push(flags | number as u8);
        return;
    }
    out.push(flags | most as u8);
    number -= most;
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a field that the receiver does not keep. The fields that both sides know are named by their numbers.
pub(crate) fn write_field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    if let Some(whole) = FIELDS.iter().position(|(n, v)| *n == name && v.as_bytes() == value) {
        out.push(0x80 | (whole + 1) as u8);
        return;
    }
    write_name(name, out);
    write_integer(value.len(), 7, 0, out);
    out.extend_from_slice(value);
}

/// Appends the beginning of such a field: its value follows, with its length before it.
pub(crate) fn write_name(name: &str, out: &mut Vec<u8>) {
    match FIELDS.iter().position(|(known, _)| *known == name) {
        Some(known) => write_integer(known + 1, 4, 0, out),
        None => {
            out.push(0);
            write_integer(name.len(), 7, 0, out);
            out.extend_from_slice(name.as_bytes());
        }
    }
}

/// Appends that the receiver need not keep any field of ours.
pub(crate) fn write_no_table(out: &mut Vec<u8>) {
    out.push(0x20);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    fn read(decoder: &mut Decoder, block: &str) -> Result<Vec<String>, Defect> {
        let mut all = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decoder.decode(&hex(block), |name, value| all.push(format!("{}={}", text(name), text(value))))?;
        Ok(all)
    }

    /// The examples of RFC 7541 appendices C.2 to C.6: blocks of one connection, their fields, and the size of the table.
    #[test]
    fn the_examples_of_the_standard() {
        let check = |room: usize, blocks: &[(&str, &str, usize)]| {
            let mut decoder = Decoder { room, ..Decoder::default() };
            for (block, fields, size) in blocks {
                assert_eq!(read(&mut decoder, block).unwrap().join("\n"), *fields, "{block}");
                assert_eq!(decoder.size, *size, "{block}");
            }
        };
        check(
            4096,
            &[("400a637573746f6d2d6b65790d637573746f6d2d686561646572", "custom-key=custom-header", 55)],
        );
        check(4096, &[("040c2f73616d706c652f70617468", ":path=/sample/path", 0)]);
        check(4096, &[("100870617373776f726406736563726574", "password=secret", 0)]);
        check(4096, &[("82", ":method=GET", 0)]);
        let first = ":method=GET\n:scheme=http\n:path=/\n:authority=www.example.com";
        let second = &format!("{first}\ncache-control=no-cache");
        let third = ":method=GET\n:scheme=https\n:path=/index.html\n:authority=www.example.com\ncustom-key=custom-value";
        let requests = |blocks: [&str; 3]| {
            check(4096, &[(blocks[0], first, 57), (blocks[1], second, 110), (blocks[2], third, 164)]);
        };
        requests([
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ]);
        requests([
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ]);
        let date = "Mon, 21 Oct 2013 20:13:21 GMT";
        let rest = format!("cache-control=private\ndate={date}\nlocation=https://www.example.com");
        let first = &format!(":status=302\n{rest}");
        let second = &format!(":status=307\n{rest}");
        let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
        let third = &format!(
            ":status=200\ncache-control=private\ndate=Mon, 21 Oct 2013 20:13:22 GMT\nlocation=https://www.example.com\n\
             content-encoding=gzip\nset-cookie={cookie}"
        );
        let responses = |blocks: [&str; 3]| {
            check(256, &[(blocks[0], first, 222), (blocks[1], second, 222), (blocks[2], third, 215)]);
        };
        responses([
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e17687474\
             70733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a\
             4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
        ]);
        responses([
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
            "4883640effc1c0bf",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960\
             d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ]);
    }

    #[test]
    fn what_is_no_field_is_refused() {
        let check = |block: &str, says: &str| {
            let error = read(&mut Decoder::default(), block).unwrap_err().to_string();
            assert!(error.contains(says), "{block}: {error}");
        };
        check("80", "not in the table");
        check("be", "not in the table");
        check("ff80808001", "not in the table");
        check("ffffffffff7f", "too high");
        check("ff", "cut off");
        check("0005", "cut off");
        check("000161", "cut off");
        check("00016182ff", "cut off");
        check("00016181ff", "code that is none");
        check("3fe21f", "table's size");
        check("8220", "table's size");
        // A field of 4096 B in the table, named 80 times.
        let long = format!("4001617fe01e{}", "61".repeat(4063));
        let error = read(&mut Decoder::default(), &format!("{long}{}", "be".repeat(80))).unwrap_err();
        assert_eq!(error, Defect::HeadTooLong);
    }

    #[test]
    fn a_field_that_is_written_is_read() {
        for (name, value) in [(":path", "/"), (":path", "/a"), ("x-long", &*"y".repeat(5000)), ("x", "")] {
            let mut out = Vec::new();
            write_no_table(&mut out);
            write_field(name, value.as_bytes(), &mut out);
            let mut seen = Vec::new();
            let mut decoder = Decoder::default();
            decoder.decode(&out, |n, v| seen.push((n.to_vec(), v.to_vec()))).unwrap();
            assert_eq!(seen, [(name.as_bytes().to_vec(), value.as_bytes().to_vec())]);
            assert_eq!((decoder.room, decoder.size), (0, 0));
        }
    }
}
