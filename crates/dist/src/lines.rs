use std::io::{BufRead, Read};

use units::ParseError;

/// Calls `each` with every line that is not blank, without the blanks around it.
///
/// Errors, which `error` makes from the line and its problem: a problem that `each` reports; a line of more than `most`
/// bytes; a line that cannot be read.
pub(crate) fn each_line(
    mut reader: impl BufRead,
    most: usize,
    error: fn(String, String) -> ParseError,
    mut each: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), ParseError> {
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = Read::take(&mut reader, most as u64 + 1).read_until(b'\n', &mut line);
        let text = line.trim_ascii();
        let outcome = match read {
            Ok(0) => break,
            Ok(_) if line.len() > most => Err(format!("it is longer than {most} bytes")),
            Ok(_) if text.is_empty() => Ok(()),
            Ok(_) => each(text),
            Err(e) => Err(format!("it cannot be read: {e}")),
        };
        outcome.map_err(|problem| {
            let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
            error(format!("line {number}: '{shown}'"), problem)
        })?;
    }
    Ok(())
}
