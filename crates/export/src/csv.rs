use crate::{Cell, Table};

impl Table {
    /// The table as CSV: RFC 4180 with a header, a decimal point, and an empty cell for a missing figure.
    pub fn csv(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(|column| column.name.to_owned()).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(written).collect());
        std::iter::once(heads).chain(rows).map(|cells| cells.join(",") + "\r\n").collect()
    }
}

fn written(cell: &Cell) -> String {
    match cell {
        Cell::Text(words) => quoted(words),
        Cell::Count(n) => n.to_string(),
        Cell::Number(value) => value.to_string(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Empty => String::new(),
    }
}

/// A text as a cell of CSV.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text != text.trim() {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Type};

    #[test]
    fn cells_are_written_as_the_rfc_has_them() {
        let check = |cell: Cell, expect: &str| {
            let columns =
                vec![Column { name: "a", kind: Type::Text }, Column { name: "b", kind: Type::Count }];
            let table = Table { columns, rows: vec![vec![cell, Cell::Count(1)]] };
            assert_eq!(table.csv(), format!("a,b\r\n{expect},1\r\n"));
        };
        check(Cell::Empty, "");
        check("plain".into(), "plain");
        check("a,b".into(), "\"a,b\"");
        check("say \"x\"\n".into(), "\"say \"\"x\"\"\n\"");
        check(0.1.into(), "0.1");
        check(1e21.into(), "1000000000000000000000");
        check(f64::NAN.into(), "");
        check(true.into(), "true");
        check(Some(3u64).into(), "3");
        check(None::<f64>.into(), "");
    }
}
