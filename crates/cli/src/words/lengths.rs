//! Warm-ups and windows of automatic length: what they wait for, and what they came to.

use lab::Awaited;
use std::fmt::Write;
use std::time::Duration;
use store::Summary;

/// What a phase waits for, in a run that has gone on for `elapsed`.
pub fn awaited(awaited: Awaited, elapsed: Duration) -> String {
    match awaited {
        Awaited::Steadiness { of, most } => format!(
            "waits for {} to be steady, {} s of at most {} s",
            of.unwrap_or("the server"),
            elapsed.as_secs(),
            most.as_secs()
        ),
        Awaited::Precision {
            asked_share,
            reached_share,
            about,
            most,
        } => {
            let asked = percent(asked_share);
            let reached = reached_share
                .map_or_else(String::new, |share| format!("±{} % of ", percent(share)));
            let length = about.map_or_else(
                || format!("at most {} s", most.as_secs()),
                |about| format!("about {} s", about.as_secs()),
            );
            format!("{reached}±{asked} %, {length}")
        }
    }
}

/// How long the phases of automatic length were, and why they ended.
pub fn lengths(out: &mut String, summary: &Summary) {
    if !summary.warmup_auto && !summary.window_auto {
        return;
    }
    let mut said = Vec::new();
    if let (true, Some(seconds)) = (summary.warmup_auto, summary.warmup_measured_s) {
        let why = match summary.warmup_steady {
            Some(true) => "until the server was steady",
            _ => "the most that it might take, and the server was not steady",
        };
        said.push(format!("warm-up {seconds:.1} s, {why}"));
    }
    if let (true, Some(seconds), Some(asked)) = (
        summary.window_auto,
        summary.window_s,
        summary.precision_share,
    ) {
        let reached = summary.window_precision_share.map_or_else(
            || "it was too short to tell how well its mean is known".to_owned(),
            |share| format!("its mean is known to ±{} %", percent(share)),
        );
        said.push(format!(
            "window {seconds:.1} s, {reached} (±{} % asked)",
            percent(asked)
        ));
    }
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}", said.join("; "));
}

/// Two digits are enough.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent < 1.0 { 2 } else { 1 };
    let text = format!("{percent:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{awaited, percent};
    use lab::Awaited;
    use std::time::Duration;

    const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);

    #[test]
    fn what_is_awaited() {
        let told = |of: Awaited| awaited(of, Duration::from_millis(84_900));
        let steadiness = |of| Awaited::Steadiness {
            of,
            most: HALF_AN_HOUR,
        };
        assert_eq!(
            told(steadiness(Some("dirty pages"))),
            "waits for dirty pages to be steady, 84 s of at most 1800 s"
        );
        assert_eq!(
            told(steadiness(None)),
            "waits for the server to be steady, 84 s of at most 1800 s"
        );
        let precision = |reached_share, about| Awaited::Precision {
            asked_share: 0.02,
            reached_share,
            about,
            most: HALF_AN_HOUR,
        };
        assert_eq!(
            told(precision(Some(0.0312), Some(Duration::from_secs(140)))),
            "±3.1 % of ±2 %, about 140 s"
        );
        assert_eq!(told(precision(None, None)), "±2 %, at most 1800 s");
    }

    #[test]
    fn percent_are_short() {
        let all = [0.02, 0.005, 0.0312, 0.1, 0.0004].map(percent);
        assert_eq!(all, ["2", "0.5", "3.1", "10", "0.04"]);
    }
}
