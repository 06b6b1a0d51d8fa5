//! The table of services: for a terminal that is drawn over, and as text.

use app::{Row, State};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

const HEADS: [&str; 8] = ["no", "service", "language", "pid", "address", "ready after", "restarts", "memory"];
/// Those whose cells are numbers.
const RIGHT: [bool; 8] = [true, false, false, true, false, true, true, true];

/// The lines of the table, the heads first.
pub(super) fn lines(state: &State) -> Vec<String> {
    let mut rows: Vec<[String; 8]> = vec![HEADS.map(str::to_owned)];
    rows.extend(state.services.iter().map(cells));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let line = |row: &[String; 8]| {
        let cell = |column: usize| {
            let (text, width) = (&row[column], widths[column]);
            if RIGHT[column] { format!("{text:>width$}") } else { format!("{text:<width$}") }
        };
        (0..HEADS.len()).map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn cells(row: &Row) -> [String; 8] {
    let known = |is_known: bool, text: String| if is_known { text } else { "–".into() };
    [
        row.number.map_or_else(String::new, |number| number.to_string()),
        row.label(),
        row.language.clone(),
        known(row.pid > 0, row.pid.to_string()),
        known(!row.address.is_empty(), row.address.clone()),
        row.ready_ms.map_or_else(|| "–".into(), |ms| format!("{:.2} s", ms as f64 / 1e3)),
        row.restarts.to_string(),
        known(row.memory_bytes > 0, format!("{:.1} MB", row.memory_bytes as f64 / 1e6)),
    ]
}

/// The sum of the memory of all services, as text.
pub(super) fn memory(state: &State) -> String {
    let processes: usize = state.services.iter().map(|row| row.processes).sum();
    let bytes: u64 = state.services.iter().map(|row| row.memory_bytes).sum();
    format!("{processes} processes, {:.0} MB", bytes as f64 / 1e6)
}

/// `head` and the part of the table that fits a terminal of `columns` and `rows`; `status` is the command that shows all.
pub(super) fn picture(head: &str, status: &str, state: &State, columns: u16, rows: u16) -> Buffer {
    let mut all = vec![head.to_owned()];
    all.extend(lines(state));
    let most = usize::from(rows.saturating_sub(1).max(1));
    if all.len() > most {
        let hidden = all.len() - most + 1;
        all.truncate(most.saturating_sub(1).max(1));
        all.push(format!("… and {hidden} more: {status}"));
        all.truncate(most);
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns.saturating_sub(1).max(1), all.len() as u16));
    for (y, line) in all.iter().enumerate() {
        buffer.set_stringn(0, y as u16, line, usize::from(buffer.area.width), Style::new());
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(services: usize) -> State {
        let row = |at: usize| Row {
            number: Some(at as u16),
            name: format!("service-{at}"),
            language: "C++".into(),
            instances: 1,
            pid: 100,
            address: "127.0.0.1:4000".into(),
            ready_ms: (at > 1).then_some(1_250),
            memory_bytes: 12_345_678,
            processes: 2,
            ..Row::default()
        };
        State { services: (1..=services).map(row).collect(), ..State::default() }
    }

    #[test]
    fn columns_stand_below_their_heads() {
        let lines = lines(&state(2));
        assert_eq!(lines[0], "no  service    language  pid  address         ready after  restarts   memory");
        assert_eq!(lines[1], " 1  service-1  C++       100  127.0.0.1:4000            –         0  12.3 MB");
        assert_eq!(lines[2], " 2  service-2  C++       100  127.0.0.1:4000       1.25 s         0  12.3 MB");
        assert_eq!(memory(&state(2)), "4 processes, 25 MB");
    }

    #[test]
    fn a_small_terminal_shows_what_fits() {
        let check = |columns: u16, rows: u16, width: u16, height: u16| {
            let area = picture("head", "status", &state(40), columns, rows).area;
            assert_eq!((area.width, area.height), (width, height));
        };
        check(120, 50, 119, 42);
        check(120, 42, 119, 41);
        check(40, 10, 39, 9);
        check(1, 1, 1, 1);
        let shown = picture("head", "status", &state(40), 120, 10);
        let last: String = (0..40).map(|x| shown[(x, 8)].symbol()).collect();
        assert!(last.starts_with("… and 34 more"), "{last}");
    }
}
