//! The dashboard as a picture of the model. From the top: what runs and how far it is, throughput,
//! transactions beside CPU, I/O, notes. Sections that do not fit are left out, the last ones
//! first.

use crate::text::format::{ms, optional, throughput, time};
use crate::text::{how_far, silent};
use base::counted;
use live::{About, HISTORY, IoBy, State, Usage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph, Sparkline, Widget};

/// Columns of the table of transactions; CPU stands to its right where there is room for both.
const TYPES_WIDTH: u16 = 54;
const CPU_WIDTH: u16 = 22;
/// A title and a row for each type and the names of the columns.
const TYPES_HEIGHT: u16 = 7;
/// Where the terminal is at least so high, several notes are shown.
const HIGH: u16 = 30;
/// Titles and names of columns.
const TITLE: Style = Style::new().fg(Color::Cyan);
const PLAIN: Style = Style::new();
const BAD: Style = Style::new().fg(Color::Red);

/// Draws the whole dashboard into `area`.
pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let usage = state.usage();
    let io_height = 2 + u16::try_from(usage.io.len().clamp(1, 6)).unwrap_or(6);
    let notes_max: u16 = if area.height < HIGH { 1 } else { 5 };
    let notes_height = u16::try_from(state.notes.len()).map_or(notes_max, |n| n.min(notes_max));
    let heads: Vec<Line<'_>> = head_lines(state);
    let results: Vec<Line<'_>> = result_lines(state);
    let [heads_height, results_height] = [heads.len(), results.len()].map(|lines| lines as u16);
    let mut free = area.height;
    // From the most important to the least.
    let [head, foot, throughput, middle, results_height, storage, notes] =
        [heads_height, 1, 3, TYPES_HEIGHT, results_height, io_height, notes_height].map(|wanted| {
            let height = free.min(wanted);
            free -= height;
            height
        });
    let from_the_top = [head, throughput + free, middle, storage, results_height, notes, foot];
    let [head, throughput, middle, storage, of_results, notes, foot] =
        Layout::vertical(from_the_top.map(Constraint::Length)).areas(area);
    Paragraph::new(heads).render(head, buffer);
    Paragraph::new(results).render(of_results, buffer);
    draw_throughput(state, throughput, buffer);
    if area.width >= TYPES_WIDTH + CPU_WIDTH {
        let sides = [Constraint::Length(TYPES_WIDTH), Constraint::Min(CPU_WIDTH)];
        let [left, right] = Layout::horizontal(sides).areas(middle);
        draw_types(state, " transactions ".to_owned(), left, buffer);
        draw_cpu(&usage, right, buffer);
    } else {
        let title = format!(" transactions; CPU {} % ", percent(usage.cpu.busy()));
        draw_types(state, title, middle, buffer);
    }
    draw_io(&usage, storage, buffer);
    let newest = state.notes.iter().rev().take(usize::from(notes_height));
    let lines: Vec<Line<'_>> =
        newest.rev().map(|note| Line::from(format!("note: {note}"))).collect();
    Paragraph::new(lines).render(notes, buffer);
    foot_line(state).render(foot, buffer);
}

/// What Ctrl-C does.
fn foot_line(state: &State) -> Line<'static> {
    let (words, style) = if state.is_ending {
        ("stopping; press Ctrl-C again to stop immediately", BAD)
    } else if state.lab.is_some() {
        ("Ctrl-C stops the lab; the same command continues it", TITLE)
    } else {
        ("Ctrl-C stops the run and keeps what was measured", TITLE)
    };
    Line::styled(words, style)
}

/// Of a lab which repeat it is; what runs, and how far it is.
fn head_lines(state: &State) -> Vec<Line<'_>> {
    let title = state.lab.as_ref().map(|lab| Line::styled(lab.title.as_str(), TITLE));
    let far = match (state.doing(), state.silence()) {
        (Some(doing), _) => Line::from(doing.to_owned()),
        (None, Some(silence)) => {
            Line::styled(format!("{}: {}", state.stage.title(), silent(&silence)), BAD)
        }
        (None, None) => Line::from(how_far(state, false)),
    };
    let run = [Line::from(about(state)), far];
    title.into_iter().chain(run).collect()
}

/// What came of the last repeats of a lab.
fn result_lines(state: &State) -> Vec<Line<'_>> {
    let results = state.lab.iter().flat_map(|lab| &lab.results);
    results.map(|result| Line::from(result.as_str())).collect()
}

/// What runs: `mysql-5.7, 10 warehouses, 8 connections, workload tpcc, style statements`.
fn about(state: &State) -> String {
    let About { target, workload, style, dilation } = &state.about;
    let known = |count: Option<u32>, one: &str, many: &str| match count {
        Some(count) => format!(", {}", counted(count as usize, one, many)),
        None => String::new(),
    };
    format!(
        "{target}{}{}, workload {workload}, style {style}{}",
        known(state.warehouses.map(|of| of.0), "warehouse", "warehouses"),
        known(state.connections, "connection", "connections"),
        dilation.in_words().map_or_else(String::new, |words| format!(", {words}"))
    )
}

fn titled(title: String) -> Block<'static> {
    let block = Block::new().borders(Borders::TOP).border_style(TITLE);
    block.title(Line::styled(title, TITLE))
}

fn draw_throughput(state: &State, area: Rect, buffer: &mut Buffer) {
    let block = titled(format!(
        " NOPM {} (highest {} in the last {}; {}, {}) ",
        throughput(state.nopm()),
        throughput(state.nopm_max()),
        time(HISTORY),
        counted(state.retries() as usize, "retry", "retries"),
        counted(state.errors() as usize, "error", "errors")
    ));
    let inside = block.inner(area);
    block.render(area, buffer);
    let columns = state.history(usize::from(inside.width));
    let bars = columns.iter().map(|nopm| nopm.map(|nopm| nopm as u64));
    let highest = state.nopm_max().unwrap_or(0.0).max(1.0) as u64;
    Sparkline::default()
        .data(bars)
        .max(highest)
        .style(Style::new().fg(Color::Green))
        .render(inside, buffer);
}

fn draw_types(state: &State, title: String, area: Rect, buffer: &mut Buffer) {
    let names =
        format!("{:<13}{:>12}{:>9}{:>10}{:>9}", "", "completed/s", "p95 ms", "retries", "errors");
    let mut lines = vec![Line::styled(names, TITLE)];
    for of in &state.types {
        let line = format!(
            "{:<13}{:>12}{:>9}{:>10}{:>9}",
            of.name,
            optional(of.completed_per_s, 1),
            ms(of.p95_us()),
            of.retries(),
            of.errors
        );
        lines.push(Line::styled(line, if of.errors > 0 { BAD } else { PLAIN }));
    }
    Paragraph::new(lines).block(titled(title)).render(area, buffer);
}

fn percent(share: Option<f64>) -> String {
    optional(share.map(|share| share * 100.0), 0)
}

fn draw_cpu(usage: &Usage, area: Rect, buffer: &mut Buffer) {
    let cpu = &usage.cpu;
    let line =
        |name: &str, value: String, unit: &str| Line::from(format!("{name:<8}{value:>7} {unit}"));
    let lines = vec![
        line("user", percent(cpu.user), "%"),
        line("system", percent(cpu.system), "%"),
        line("iowait", percent(cpu.iowait), "%"),
        line("stolen", percent(cpu.steal), "%"),
        line("server", optional(usage.server_cores, 2), "cores"),
        line("mydyno", optional(usage.mydyno_cores, 2), "cores"),
    ];
    let block = titled(format!(" CPU {} % ", percent(cpu.busy())));
    Paragraph::new(lines).block(block).render(area, buffer);
}

fn draw_io(usage: &Usage, area: Rect, buffer: &mut Buffer) {
    let title = match usage.io_by {
        IoBy::Role => " I/O by role ",
        IoBy::Disk => " I/O by disk ",
    };
    let names = format!(
        "{:<13}{:>10}{:>10}{:>11}{:>11}{:>13}",
        "", "reads/s", "writes/s", "flushes/s", "MB read/s", "MB written/s"
    );
    let mut lines = vec![Line::styled(names, TITLE)];
    for row in &usage.io {
        let megabytes = |bytes: Option<f64>| optional(bytes.map(|bytes| bytes / 1e6), 2);
        lines.push(Line::from(format!(
            "{:<13}{:>10}{:>10}{:>11}{:>11}{:>13}",
            row.name,
            optional(row.rates.reads_per_s, 0),
            optional(row.rates.writes_per_s, 0),
            optional(row.rates.flushes_per_s, 0),
            megabytes(row.rates.read_bytes_per_s),
            megabytes(row.rates.write_bytes_per_s)
        )));
    }
    if usage.io.is_empty() {
        lines.push(Line::from("NA"));
    }
    Paragraph::new(lines).block(titled(title.to_owned())).render(area, buffer);
}

#[cfg(test)]
mod tests {
    use super::{draw, time};
    use live::testkit::in_window;
    use live::{About, State};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::Duration;

    /// The rows of a terminal of this size.
    fn drawn(state: &State, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(state, frame.area(), frame.buffer_mut())).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        (0..height).map(row).collect()
    }

    /// The row that begins with `start`, in words.
    #[track_caller]
    fn row<'a>(rows: &'a [String], start: &str) -> Vec<&'a str> {
        let found = rows.iter().find(|row| row.trim_start().starts_with(start));
        let row = found.unwrap_or_else(|| panic!("no {start:?} in\n{}", rows.join("\n")));
        row.split_whitespace().collect()
    }

    #[track_caller]
    fn has_all(rows: &[String], words: &[&str]) {
        let text = rows.join("\n");
        for word in words {
            assert!(text.contains(word), "no {word:?} in\n{text}");
        }
    }

    #[test]
    fn a_usual_terminal_shows_all_of_it() {
        let mut state = in_window();
        state.note("the first note");
        state.note("the second note");
        let rows = drawn(&state, 80, 24);
        has_all(
            &rows,
            &[
                "mysql-5.7, 10 warehouses, 8 connections, workload tpcc, style statements",
                "window   [=============>",
                "43 %  30 s of 1:10, 40 s left",
                "NOPM 12000 (highest 12000 in the last 2:00; 30 retries, 0 errors)",
                "CPU 62 %",
                "I/O by role",
                "note: the second note",
                "Ctrl-C stops the run",
                "█",
            ],
        );
        let new_order = row(&rows, "new_order");
        assert_eq!(new_order[1..5], ["200.0", "10.00", "0", "0"]);
        assert_eq!(new_order[5..], ["system", "12", "%"]);
        assert_eq!(row(&rows, "payment")[1..5], ["100.0", "4.00", "30", "0"]);
        assert_eq!(row(&rows, "stock_level")[1..5], ["0.0", "NA", "0", "0"]);
        assert_eq!(row(&rows, "data"), ["data", "1234", "567", "3", "20.00", "9.00"]);
        assert_eq!(row(&rows, "redo")[1..], ["0", "890", "445", "NA", "NA"]);
        has_all(&rows, &["server     1.75 cores", "mydyno       NA cores"]);
    }

    #[test]
    fn a_large_terminal_shows_more_notes() {
        let mut state = in_window();
        for number in 1..=9 {
            state.note(&format!("number {number}"));
        }
        state.is_ending = true;
        let rows = drawn(&state, 160, 50);
        has_all(&rows, &["note: number 5", "note: number 9", "NOPM 12000"]);
        has_all(&rows, &["stopping; press Ctrl-C again to stop immediately"]);
        assert!(!rows.join("").contains("number 4"));
        // The half of two minutes that has passed, all of it at the highest.
        let full = rows.iter().filter(|row| row.contains('█')).count();
        assert!(full > 15, "{}", rows.join("\n"));
    }

    #[test]
    fn of_a_lab_it_shows_which_repeat_and_the_last_results() {
        let mut state = State::default();
        let title = "3 of 8: cell 2; about 12 min left";
        state.begin_turn(title, About::default());
        state.step("cloning");
        state.end_turn("cell 1, repeat 1: 12345 NOPM");
        let rows = drawn(&state, 80, 24);
        assert!(rows[0].starts_with(title), "{}", rows[0]);
        assert!(rows[2].starts_with("cloning"), "{}", rows[2]);
        let all = ["cell 1, repeat 1: 12345 NOPM", "Ctrl-C stops the lab"];
        has_all(&rows, &all);
        // Before notes and I/O, where there is little room.
        has_all(&drawn(&state, 60, 15), &all);
    }

    #[test]
    fn any_size_can_be_drawn() {
        let states = [State::default(), in_window()];
        for (width, height) in [(20, 5), (1, 1), (40, 12), (79, 23), (300, 3), (5, 100)] {
            for state in &states {
                let rows = drawn(state, width, height);
                assert_eq!(rows.len(), usize::from(height));
            }
        }
        let rows = drawn(&in_window(), 60, 18);
        has_all(&rows, &["NOPM 12000", "new_order", "window", "CPU 62 %"]);
        has_all(&rows, &["stock_level", "I/O by role", "data"]);
        // What has no room is the last.
        let rows = drawn(&in_window(), 60, 12);
        has_all(&rows, &["NOPM 12000", "CPU 62 %", "delivery", "Ctrl-C stops"]);
        assert!(!rows.join("").contains("I/O"), "{}", rows.join("\n"));
    }

    #[test]
    fn before_anything_is_known() {
        let rows = drawn(&State::default(), 80, 24);
        has_all(&rows, &["starting", "NOPM NA", "CPU NA %", "0 s of 0 s"]);
        // The run names its types of transactions when it starts.
        assert!(!rows.iter().any(|row| row.contains("delivery")), "{rows:#?}");
    }

    #[test]
    fn times_as_people_write_them() {
        for (seconds, text) in [(0, "0 s"), (59, "59 s"), (60, "1:00"), (3_725, "1:02:05")] {
            assert_eq!(time(Duration::from_secs(seconds)), text);
        }
    }
}
