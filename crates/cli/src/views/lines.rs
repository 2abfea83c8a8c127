//! Plain lines while a run goes on, one for each interval, where stdout is no terminal: for logs
//! and for `grep`.

use crate::console::live_stdout;
use crate::failure::Failure;
use crate::outlet::Outlet;
use crate::text::format::{optional, throughput};
use crate::text::{failures, silent};
use lab::{Interval, Phase};
use live::{Stage, State};
use std::time::Duration;

/// The output under way.
pub struct Lines {
    outlet: Outlet<String>,
    has_header: bool,
}

impl Lines {
    /// # Errors
    /// Where no thread can be made for the output.
    pub fn begin() -> Result<Lines, Failure> {
        Ok(Lines { outlet: live_stdout()?, has_header: false })
    }

    /// Prints the line of an interval of the run that `state` has taken.
    pub fn show(&mut self, interval: &Interval, state: &State) {
        if matches!(state.stage, Stage::Starting | Stage::Capacity) {
            return;
        }
        let mut text = String::new();
        if !self.has_header {
            self.has_header = true;
            text.push_str(&header());
        }
        text.push_str(&line(interval, state));
        if !interval.failures.is_empty() {
            text.push_str(&format!("# failed: {}\n", failures(&interval.failures)));
        }
        if let Some(silence) = state.silence() {
            text.push_str(&format!("# {}\n", silent(&silence)));
        }
        self.outlet.push(text);
    }

    /// Prints what the lines after it, or before it, are of.
    pub fn remark(&self, words: &str) {
        self.outlet.push(format!("# {words}\n"));
    }

    /// Waits until all lines are read: what is printed next comes after them.
    pub fn finish(&self) {
        self.outlet.settle(Duration::MAX);
    }
}

/// The columns; `p95 ms` is that of new orders.
fn header() -> String {
    row(["time s", "phase", "NOPM", "p95 ms", "CPU %", "reads/s", "writes/s", "errors"])
}

fn line(interval: &Interval, state: &State) -> String {
    let phase = match interval.phase {
        Phase::Warmup => "warm-up",
        Phase::Window => "window",
        Phase::Drain => "drain",
    };
    // What a drain does per minute means nothing.
    let is_measured = interval.phase != Phase::Drain;
    let nopm = is_measured.then(|| interval.primary_per_minute());
    let latency = interval.primary_latency();
    let p95_ms =
        (is_measured && latency.count() > 0).then(|| latency.at_quantile_ns(0.95) as f64 / 1e6);
    let usage = state.usage_of_interval();
    let cpu_percent = usage.cpu.busy().map(|share| share * 100.0);
    let reads = total(usage.io.iter().map(|row| row.rates.reads_per_s));
    let writes = total(usage.io.iter().map(|row| row.rates.writes_per_s));
    // Transactions that were given up, and failed reconnects.
    let errors: u64 = interval.failures.values().map(|of| of.occurrences).sum();
    row([
        &format!("{:.1}", interval.end_offset_ns as f64 / 1e9),
        phase,
        &throughput(nopm),
        &optional(p95_ms, 1),
        &optional(cpu_percent, 0),
        &optional(reads, 0),
        &optional(writes, 0),
        &errors.to_string(),
    ])
}

fn row(columns: [&str; 8]) -> String {
    let mut line = String::new();
    for (column, width) in columns.iter().zip([8, 9, 10, 10, 7, 10, 10, 8]) {
        line += &format!("{column:>width$}");
    }
    line.push('\n');
    line
}

/// `None` where a part is not known, or there is none.
fn total(mut values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let first = values.next()??;
    values.try_fold(first, |sum, value| Some(sum + value?))
}

#[cfg(test)]
mod tests {
    use super::{header, line};
    use lab::{FailedTries, Phase};
    use live::State;
    use live::testkit::{in_window, interval};

    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    #[test]
    fn an_interval_is_a_line() {
        let mut state = in_window();
        let mut of = interval(Phase::Window, 29.0..30.0, 200);
        let gone = FailedTries { occurrences: 2, first_message: "gone".to_owned() };
        of.failures.insert(("reconnect", "lost".to_owned()), gone);
        let text = line(&of, &state);
        assert_eq!(words(&text), ["30.0", "window", "12000", "10.0", "62", "1234", "1457", "2"]);
        assert_eq!(text.len(), header().len(), "columns stand under their names");
        of = interval(Phase::Drain, 70.0..70.3, 4);
        state.end_interval(&of);
        assert_eq!(words(&line(&of, &state))[..4], ["70.3", "drain", "NA", "NA"]);
    }

    #[test]
    fn what_is_not_known_is_na() {
        let mut state = State::default();
        let of = interval(Phase::Warmup, 0.0..0.5, 0);
        state.end_interval(&of);
        assert_eq!(words(&line(&of, &state)), ["0.5", "warm-up", "0", "NA", "NA", "NA", "NA", "0"]);
    }
}
