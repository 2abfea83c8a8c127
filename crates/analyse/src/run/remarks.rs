//! What a reader of a window's numbers has to know of it, in sentences: that nothing ended for a
//! while, or that it was too short for what it is asked.

use base::{counted, percent};
use itertools::Itertools;
use store::{ConnectionTimeSummary, NewCell, SilenceSummary, WindowSummary};

/// Silences of a window that are told one by one, the longest ones.
const SILENCES_TOLD_MAX: usize = 3;
/// What is missing, or not in balance, from this share of the connections on is told of.
const TOLD_SHARE: f64 = 0.01;
/// Response times that a window has to hold, so that what begins before it and what ends after it
/// is little beside the rest.
const RESPONSE_TIMES_MIN: f64 = 10.0;

/// What is to be known of the window of a cell.
pub fn remarks(window: &WindowSummary, cell: &NewCell) -> Vec<String> {
    let balance = window.connection_time.iter().flat_map(|time| balance(window, time, cell));
    silences(window).into_iter().chain(balance).collect()
}

/// The longest time in which nothing ended well.
pub fn longest_silence_s(window: &WindowSummary) -> Option<f64> {
    window.silences.iter().map(|of| of.duration_s).max_by(f64::total_cmp)
}

/// The share of the window in which nothing ended well.
pub(crate) fn silent_share(window: &WindowSummary) -> f64 {
    let inside =
        |of: &SilenceSummary| (of.end_s.min(window.window_s) - of.start_s.max(0.0)).max(0.0);
    let silent_s: f64 = window.silences.iter().map(inside).sum();
    if window.window_s > 0.0 { silent_s / window.window_s } else { 0.0 }
}

/// Is a window too short for the response time of its transactions?
pub fn is_too_short(window: &WindowSummary, cell: &NewCell) -> bool {
    window.connection_time.as_ref().is_some_and(|time| {
        let is_short = |held: f64| held < RESPONSE_TIMES_MIN;
        let is_balanced = unbalanced(time, cell).abs() <= TOLD_SHARE;
        !is_balanced && time.response_times_in_window.is_none_or(is_short)
    })
}

/// Those with failures first, which are what a failover costs.
fn silences(window: &WindowSummary) -> Vec<String> {
    let (failed, silent): (Vec<_>, Vec<_>) = window.silences.iter().partition(|of| of.failures > 0);
    [failed, silent].iter().flat_map(|of| longest_told(window, of)).collect()
}

fn longest_told(window: &WindowSummary, silences: &[&SilenceSummary]) -> Vec<String> {
    let by_length =
        |a: &&SilenceSummary, b: &&SilenceSummary| b.duration_s.total_cmp(&a.duration_s);
    let mut rest = silences.iter().copied().sorted_by(by_length);
    let longest = rest.by_ref().take(SILENCES_TOLD_MAX);
    let longest = longest.sorted_by(|one, other| one.start_s.total_cmp(&other.start_s));
    let mut told = longest.map(|of| in_words(of, window.window_s)).collect_vec();
    if rest.len() > 0 {
        let times = counted(rest.len(), "more time", "more times");
        let all_s: f64 = rest.map(|of| of.duration_s).sum();
        told.push(format!("nothing ended for {times}, {all_s:.1} s in all"));
    }
    told
}

/// `nothing ended from 9.1 s to the end and for 4.0 s after it (8.9 s), with 4 transactions in
/// flight`; `recovery took 7.3 s: nothing was committed from 5.0 s to 12.3 s of the window, with 48
/// transactions or reconnects that failed`
fn in_words(silence: &SilenceSummary, window_s: f64) -> String {
    let SilenceSummary { start_s, end_s, duration_s, in_flight, failures, recovery_s } = silence;
    let from = match *start_s < 0.0 {
        true => format!("from {:.1} s before the window", -start_s),
        false => format!("from {start_s:.1} s"),
    };
    let to = match end_s - window_s {
        after_s if after_s > 0.05 => format!("to the end and for {after_s:.1} s after it"),
        after_s if after_s > -0.05 => "to the end".to_owned(),
        _ => format!("to {end_s:.1} s of the window"),
    };
    if *failures > 0 {
        let failed =
            counted(*failures as usize, "transaction or reconnect", "transactions or reconnects");
        let none = format!("nothing was committed {from} {to}");
        return match recovery_s {
            Some(s) => format!("recovery took {s:.1} s: {none}, with {failed} that failed"),
            None => format!("{none} ({duration_s:.1} s), with {failed} that failed"),
        };
    }
    let in_flight = counted(*in_flight as usize, "transaction", "transactions");
    format!("nothing ended {from} {to} ({duration_s:.1} s), with {in_flight} in flight")
}

/// By how much throughput times response time is more than the connections in transactions, as a
/// share of all connections; 0 where a connection is no more than one of many that may serve.
fn unbalanced(time: &ConnectionTimeSummary, cell: &NewCell) -> f64 {
    if cell.rate_asked.is_some() || cell.terminals.is_some() {
        return 0.0;
    }
    (time.throughput_times_response - time.in_transactions) / f64::from(cell.connections.max(1))
}

/// Where the connections were, as far as that is not in the response times.
fn balance(window: &WindowSummary, time: &ConnectionTimeSummary, cell: &NewCell) -> Vec<String> {
    let connections = f64::from(cell.connections.max(1));
    let mut told = Vec::new();
    if time.missing_share > TOLD_SHARE {
        told.push(format!(
            "{} of the connections' time is in no transaction, pause or reconnection: it is not \
             known where they were",
            percent(time.missing_share)
        ));
    }
    for (mean, what) in [(time.error_pauses, "paused after errors"), (time.lost, "were lost")] {
        if mean > TOLD_SHARE * connections {
            told.push(format!("{mean:.1} of {connections} connections {what}, in the mean"));
        }
    }
    if unbalanced(time, cell).abs() > TOLD_SHARE {
        told.push(format!(
            "throughput x response time is {:.1} of {:.1} connections that were in transactions: \
             what ended in the window does not tell of what was in flight at its begin and end",
            time.throughput_times_response, time.in_transactions
        ));
    }
    if is_too_short(window, cell) {
        let held = time.response_times_in_window.filter(|held| *held > 0.0);
        let response = held.map_or_else(
            || "nothing ended in it".to_owned(),
            |held| {
                let response_s = window.window_s / held;
                format!("it holds {held:.1} response times of {response_s:.1} s")
            },
        );
        told.push(format!(
            "the window of {:.1} s is too short: {response}; take one of at least \
             {RESPONSE_TIMES_MIN:.0}",
            window.window_s
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::{is_too_short, longest_silence_s, remarks, silent_share};
    use store::{ConnectionTimeSummary, NewCell, SilenceSummary, WindowSummary};

    fn silence(start_s: f64, end_s: f64) -> SilenceSummary {
        let duration_s = end_s - start_s;
        SilenceSummary { start_s, end_s, duration_s, in_flight: 4, failures: 0, recovery_s: None }
    }

    fn window(silences: Vec<SilenceSummary>, in_transactions: f64, product: f64) -> WindowSummary {
        let time = ConnectionTimeSummary {
            in_transactions,
            idle: 0.0,
            error_pauses: 0.0,
            lost: 0.0,
            missing_share: 0.0,
            throughput_times_response: product,
            response_times_in_window: Some(600.0),
        };
        WindowSummary { window_s: 14.0, silences, connection_time: Some(time) }
    }

    #[test]
    fn only_what_is_silent_inside_the_window_is_of_it() {
        let all = vec![silence(-1.0, 1.4), silence(5.0, 6.4), silence(12.6, 20.0)];
        assert!((silent_share(&window(all, 4.0, 4.0)) - 0.3).abs() < 1e-9);
        assert!(silent_share(&window(Vec::new(), 4.0, 4.0)).abs() < 1e-9);
    }

    fn cell(connections: u32) -> NewCell {
        NewCell { connections, ..testkit::cell() }
    }

    #[test]
    fn a_silence_is_told_with_its_place() {
        let window =
            window(vec![silence(-1.25, 3.0), silence(9.1, 18.0), silence(5.0, 7.0)], 4.0, 4.0);
        assert_eq!(
            remarks(&window, &cell(4)),
            [
                "nothing ended from 1.2 s before the window to 3.0 s of the window (4.2 s), with 4 \
                 transactions in flight",
                "nothing ended from 5.0 s to 7.0 s of the window (2.0 s), with 4 transactions in \
                 flight",
                "nothing ended from 9.1 s to the end and for 4.0 s after it (8.9 s), with 4 \
                 transactions in flight",
            ]
        );
        assert_eq!(longest_silence_s(&window), Some(8.9));
        let many = (0..10).map(|at| silence(f64::from(at) + 0.5, f64::from(at) + 1.5)).collect();
        let told = remarks(&self::window(many, 4.0, 4.0), &cell(4));
        assert_eq!(told[3..], ["nothing ended for 7 more times, 7.0 s in all"]);
    }

    #[test]
    fn a_failover_is_told_with_its_recovery_time() {
        let failed = |start_s: f64, end_s: f64, is_over: bool| {
            let recovery_s = is_over.then_some(end_s - start_s);
            SilenceSummary { failures: 48, recovery_s, ..silence(start_s, end_s) }
        };
        let stalls = [8.0, 9.5, 11.0].map(|at_s| silence(at_s, at_s + 1.25));
        let all = [failed(5.0, 5.25, true), failed(12.5, 14.5, false)];
        let told = remarks(&window([&stalls[..], &all].concat(), 4.0, 4.0), &cell(4));
        assert_eq!(
            told[..2],
            [
                "recovery took 0.2 s: nothing was committed from 5.0 s to 5.2 s of the window, \
                 with 48 transactions or reconnects that failed",
                "nothing was committed from 12.5 s to the end and for 0.5 s after it (2.0 s), with \
                 48 transactions or reconnects that failed",
            ]
        );
        assert!(told.len() == 5 && told[2].starts_with("nothing ended from 8.0 s"), "{told:?}");
    }

    #[test]
    fn connections_that_are_not_in_response_times_are_told() {
        assert!(remarks(&window(Vec::new(), 3.99, 3.97), &cell(4)).is_empty());
        let stalled = window(Vec::new(), 4.0, 2.2);
        let told = remarks(&stalled, &cell(4));
        assert!(told[0].starts_with("throughput x response time is 2.2 of 4.0"), "{told:?}");
        assert!(told.len() == 1 && !is_too_short(&stalled, &cell(4)));
        let open = NewCell { rate_asked: Some("5/s".to_owned()), ..cell(4) };
        assert!(remarks(&stalled, &open).is_empty());
        // 3,000 connections on two warehouses.
        let mut short = window(Vec::new(), 3_000.0, 428.0);
        short.connection_time.as_mut().unwrap().response_times_in_window = Some(0.2);
        let told = remarks(&short, &cell(3_000));
        assert!(told[1].contains("it holds 0.2 response times of 70.0 s"), "{told:?}");
        assert!(is_too_short(&short, &cell(3_000)));
        let mut unknown = window(Vec::new(), 3.5, 3.5);
        let time = unknown.connection_time.as_mut().unwrap();
        (time.missing_share, time.error_pauses) = (0.1, 0.5);
        let told = remarks(&unknown, &cell(4));
        assert!(told[0].starts_with("10 % of the connections' time is in no"), "{told:?}");
        assert_eq!(told[1], "0.5 of 4 connections paused after errors, in the mean");
    }
}
