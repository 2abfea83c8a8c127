//! What warm-ups and windows of automatic length wait for.

use crate::text::format::{bar, time};
use analyse::Awaited;
use base::{percent, percent_at_most};
use live::{Stage, State};

/// How far the run is: `window   [===>   ]  45 %  27 s of 60 s, 33 s left`, in a narrow place
/// without the time that has passed; or what a phase of automatic length waits for.
pub fn how_far(state: &State, is_narrow: bool) -> String {
    let run = &state.run;
    if let (Some(of), Stage::Warmup | Stage::Window) = (run.awaited, state.stage) {
        return format!("{:<8} {}", state.stage.title(), awaited(of));
    }
    let passed = match is_narrow {
        true => String::new(),
        false => format!("{} of {}, ", time(run.elapsed), time(run.total)),
    };
    format!(
        "{:<8} {}  {passed}{} left{}",
        state.stage.title(),
        bar(state.done_share()),
        time(state.left()),
        if run.total_is_most { " at most" } else { "" }
    )
}

/// What a phase waits for, and how long it has.
fn awaited(awaited: Awaited) -> String {
    match awaited {
        Awaited::Steadiness { of, so_far, most } => format!(
            "waits for {} to be steady, {} s of at most {} s",
            of.unwrap_or("the server"),
            so_far.as_secs(),
            most.as_secs()
        ),
        Awaited::Precision { asked_share, reached_share, so_far, about, most } => {
            let asked = percent(asked_share);
            let reached = reached_share
                .map_or_else(String::new, |share| format!("±{} of ", percent_at_most(share)));
            let length = about.map_or_else(
                || format!("at most {} s", most.as_secs()),
                |about| format!("about {} s", about.as_secs()),
            );
            format!("{reached}±{asked}, {} s of {length}", so_far.as_secs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::awaited;
    use analyse::Awaited;
    use std::time::Duration;

    const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);

    #[test]
    fn what_is_awaited() {
        let so_far = Duration::from_millis(84_900);
        let steadiness = |of| Awaited::Steadiness { of, so_far, most: HALF_AN_HOUR };
        assert_eq!(
            awaited(steadiness(Some("dirty pages"))),
            "waits for dirty pages to be steady, 84 s of at most 1800 s"
        );
        assert_eq!(
            awaited(steadiness(None)),
            "waits for the server to be steady, 84 s of at most 1800 s"
        );
        let precision = |reached_share, about| Awaited::Precision {
            asked_share: 0.02,
            reached_share,
            so_far,
            about,
            most: HALF_AN_HOUR,
        };
        assert_eq!(
            awaited(precision(Some(0.0312), Some(Duration::from_secs(140)))),
            "±3.12 % of ±2 %, 84 s of about 140 s"
        );
        assert_eq!(awaited(precision(None, None)), "±2 %, 84 s of at most 1800 s");
    }
}
