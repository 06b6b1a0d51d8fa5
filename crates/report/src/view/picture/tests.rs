use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;

/// A server that answers in 50 to 100 µs, has a second speed from 2.5 s on, and stalls at 4 s; the same each time.
fn state(intervals: u64) -> State {
    let mut state = State {
        subject: "sphinx · cache · 50.0 krps".into(),
        place: "trial 3 of about 12 · 0:42 left".into(),
        context: "block 1 of 3: sweep · last p99 410 µs, valid".into(),
        ..State::default()
    };
    for interval in 0..intervals {
        let stalled = (40..43).contains(&interval);
        let offered = 5_000 + interval * 37 % 211;
        let answered = if stalled { 700 } else { offered };
        let slow = if interval >= 25 { answered / 20 } else { 0 };
        let mut times = vec![(64, answered / 2), (65, answered / 3), (67, answered / 9), (70, 3)];
        times.extend((slow > 0).then_some((76, slow)));
        times.extend(stalled.then_some((106, 600)));
        let times: Vec<String> = times.iter().map(|(cell, count)| format!("[{cell},{count}]")).collect();
        let (failed, backlog) = if stalled { (17, 12_345) } else { (0, 0) };
        state.series.read(&format!(
            r#"{{"live":{{"interval":{interval},"offered":{offered},"answered":{answered},"failed":{failed},"in_flight":{},"backlog":{backlog},"times":[{}]}}}}"#,
            3 + interval % 5,
            times.join(",")
        ));
    }
    state
}

fn drawn(state: &State, width: u16, height: u16, color: bool) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| frame.render_widget(Picture { state, color }, frame.area())).unwrap();
    terminal.backend().clone()
}

/// The colours of a picture: a letter for each, bold and dim ones without a colour as `+` and `-`.
fn colors(picture: &TestBackend) -> String {
    let mut seen = Vec::new();
    let mut text = String::new();
    for (i, cell) in picture.buffer().content.iter().enumerate() {
        if i > 0 && i % usize::from(picture.buffer().area.width) == 0 {
            text.push('\n');
        }
        text.push(match cell.fg {
            Color::Indexed(index) => {
                let place = seen.iter().position(|known| *known == index).unwrap_or_else(|| {
                    seen.push(index);
                    seen.len() - 1
                });
                char::from(b'a' + place as u8)
            }
            _ if cell.modifier.contains(Modifier::BOLD) => '+',
            _ if cell.modifier.contains(Modifier::DIM) => '-',
            _ => '.',
        });
    }
    let letters: Vec<String> =
        ('a'..).zip(&seen).map(|(letter, index)| format!("{letter} {index}")).collect();
    format!("{}\n\n{text}", letters.join(", "))
}

#[test]
fn narrow() {
    insta::assert_snapshot!(drawn(&state(60), 59, LOWEST, false));
}

#[test]
fn usual() {
    insta::assert_snapshot!(drawn(&state(60), 99, 20, false));
}

#[test]
fn wide() {
    insta::assert_snapshot!(drawn(&state(1_000), WIDEST, HIGHEST, false));
}

#[test]
fn colors_narrow() {
    insta::assert_snapshot!(colors(&drawn(&state(60), 59, LOWEST, true)));
}

#[test]
fn colors_usual() {
    let picture = drawn(&state(60), 99, 20, true);
    insta::assert_snapshot!(format!("{picture}\n{}", colors(&picture)));
}

#[test]
fn colors_wide() {
    insta::assert_snapshot!(colors(&drawn(&state(1_000), WIDEST, HIGHEST, true)));
}

#[test]
fn without_colors_there_are_none() {
    let picture = drawn(&state(60), 99, 20, false);
    assert!(picture.buffer().content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}

#[test]
fn before_the_window_and_before_the_first_answer() {
    let text = |state: &State| drawn(state, 80, LOWEST, false).to_string();
    let mut state = state(0);
    assert!(text(&state).contains("the window has not begun"));
    state.closed = true;
    state.series.read(
        r#"{"live":{"interval":0,"offered":9,"answered":0,"failed":0,"in_flight":9,"backlog":0,"times":[]}}"#,
    );
    let text = text(&state);
    assert!(text.contains("no answer yet") && text.contains("CLOSED LOOP"), "{text}");
}

#[test]
fn long_words_are_cut_and_no_size_is_too_small() {
    let mut state = state(60);
    state.subject = "x".repeat(300);
    state.context = "长".repeat(300);
    for (width, height) in [(0, 0), (58, 16), (59, 15), (59, 16), (60, 40), (1_000, 16)] {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        Picture { state: &state, color: true }.render(area, &mut buffer);
        let blank = buffer == Buffer::empty(area);
        assert_eq!(blank, width < NARROWEST || height < LOWEST, "{width} × {height}");
    }
    let text = drawn(&state, 60, LOWEST, false).to_string();
    assert!(text.contains("xxx…  trial 3 of about 12"), "{text}");
}

#[test]
fn text_is_cut_by_columns() {
    let check =
        |text: &str, width: usize, expect: &str| assert_eq!(cut(text, width), expect, "{text} {width}");
    check("abc", 3, "abc");
    check("abcd", 3, "ab…");
    check("长长", 4, "长长");
    check("长长", 3, "长…");
    check("长长", 2, "…");
    check("ab", 1, "…");
    check("ab", 0, "");
}

#[test]
fn counts_are_grouped() {
    let check = |count: u64, expect: &str| assert_eq!(grouped(count, ' '), expect);
    check(0, "0");
    check(999, "999");
    check(1_000, "1 000");
    check(12_345_678, "12 345 678");
}
