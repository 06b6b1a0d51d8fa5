//! Data sets on disk.

use std::io::{self, Read, Write};

use units::ParseError;

use super::{DataSet, Line, error};
use crate::Size;

/// The columns, in their order.
const HEADER: [&str; 3] = ["key_size", "value_size", "popularity"];

impl DataSet {
    /// Reads CSV. Lines that start with `#` are passed over.
    ///
    /// Errors: another header, another number of columns, a field out of its bounds; with line and column.
    pub fn read(reader: impl Read) -> Result<DataSet, ParseError> {
        // Flexible, so that a wrong number of columns is reported by our message and not by the library's.
        let mut csv = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(io::BufReader::new(reader));
        let unreadable = |e: csv::Error| {
            let line = e.position().map_or(1, csv::Position::line);
            error(format!("line {line}"), format!("it cannot be read: {e}"))
        };
        let header = csv.byte_headers().map_err(unreadable)?;
        if !header.iter().eq(HEADER.map(str::as_bytes)) {
            let given = header.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(",");
            return Err(error(short(&given), format!("its header is not {}", HEADER.join(","))));
        }
        let mut lines = Vec::new();
        let mut record = csv::ByteRecord::new();
        while csv.read_byte_record(&mut record).map_err(unreadable)? {
            let number = record.position().map_or(0, csv::Position::line);
            if record.len() != HEADER.len() {
                let given = format!("line {number}");
                return Err(error(given, format!("it has {} columns instead of 3", record.len())));
            }
            let text = |column: usize| str::from_utf8(&record[column]).unwrap_or("");
            let wrong = |column: usize, allowed: &str| {
                let given = String::from_utf8_lossy(&record[column]);
                error(
                    format!("line {number}, column {}: '{}'", HEADER[column], short(&given)),
                    format!("it is not {allowed}"),
                )
            };
            let key_size =
                text(0).parse().ok().filter(|size| (1..=Size::KEY_MAX.0).contains(&u64::from(*size)));
            let value_size = text(1).parse().ok().filter(|size| u64::from(*size) <= Size::MAX.0);
            let popularity = text(2).parse().ok().filter(|p: &f64| *p >= 0.0 && p.is_finite());
            lines.push(Line {
                key_size: key_size.ok_or_else(|| wrong(0, "a whole number of bytes from 1 to 250"))?,
                value_size: value_size.ok_or_else(|| wrong(1, "a whole number of bytes from 0 to 2^30"))?,
                popularity: popularity.ok_or_else(|| wrong(2, "a number of at least 0"))?,
            });
        }
        DataSet::new(lines)
    }

    /// Writes what [`DataSet::read`] reads back to the last digit.
    pub fn write(&self, writer: impl Write) -> io::Result<()> {
        let mut writer = io::BufWriter::new(writer);
        writeln!(writer, "{}", HEADER.join(","))?;
        for line in self.lines() {
            writeln!(writer, "{},{},{}", line.key_size, line.value_size, line.popularity)?;
        }
        writer.flush()
    }
}

/// The start of a text, short enough for a message.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_a_line_an_item() {
        let text =
            "# made by hand\nkey_size, value_size ,popularity\n40,500,1.5\r\n\n250,0,0\n1,1073741824,1e-9";
        let set = DataSet::read(text.as_bytes()).unwrap();
        let expect = [(40, 500, 1.5), (250, 0, 0.0), (1, 1 << 30, 1e-9)]
            .map(|(key_size, value_size, popularity)| Line { key_size, value_size, popularity });
        assert_eq!(set.lines(), expect);
    }

    #[test]
    fn refuses_with_line_and_column() {
        let check = |text: &str, expect: &str| {
            let error = DataSet::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expect), "{text:?}: {error}");
        };
        let head = "key_size,value_size,popularity\n";
        check("", "its header is not key_size,value_size,popularity");
        check("key,value,popularity\n1,1,1\n", "'key,value,popularity': its header is not");
        check(head, "0 items");
        check(&format!("{head}40,500\n"), "line 2': it has 2 columns instead of 3");
        check(&format!("{head}40,500,1,7\n"), "it has 4 columns");
        check(
            &format!("{head}40,500,1\n0,500,1\n"),
            "line 3, column key_size: '0'': it is not a whole number",
        );
        check(&format!("{head}251,500,1\n"), "column key_size: '251'");
        check(
            &format!("{head}40,-1,1\n"),
            "column value_size: '-1'': it is not a whole number of bytes from 0",
        );
        check(&format!("{head}40,1073741825,1\n"), "column value_size");
        check(&format!("{head}40,500,NaN\n"), "column popularity: 'NaN'': it is not a number of at least 0");
        check(&format!("{head}40,500,-0.1\n"), "column popularity");
        check(&format!("{head}40,500,inf\n"), "column popularity");
        check(&format!("{head}40,500,0\n"), "do not add up");
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = DataSet::read(&bytes[..]);
            let _ = DataSet::read(&[b"key_size,value_size,popularity\n", &bytes[..]].concat()[..]);
        }

        #[test]
        fn what_is_written_reads_back(
            lines in proptest::collection::vec((1u8..=250, 0u32..=1 << 30, 0.0..1e9f64), 1..50)
        ) {
            let lines = lines.into_iter()
                .map(|(key_size, value_size, popularity)| Line { key_size, value_size, popularity });
            if let Ok(set) = DataSet::new(lines.collect()) {
                let mut bytes = Vec::new();
                set.write(&mut bytes).unwrap();
                prop_assert_eq!(DataSet::read(&bytes[..]).unwrap(), set);
            }
        }
    }
}
