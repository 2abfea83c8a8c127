//! Response times of a type of transactions, as terminal and report show them.

use store::TransactionSummary;

/// One of them.
#[derive(Clone, Copy)]
pub struct ResponseTime {
    pub title: &'static str,
    /// In documents, where its unit follows.
    pub(crate) name: &'static str,
    us: fn(&TransactionSummary) -> Option<f64>,
}

impl ResponseTime {
    pub const P95: ResponseTime = ResponseTime { title: "p95", name: "p95", us: |of| of.p95_us };
    /// In the order in which they are shown.
    pub const ALL: [ResponseTime; 7] = [
        ResponseTime { title: "Mean", name: MEAN, us: |of| of.mean_us },
        ResponseTime { title: "p50", name: "p50", us: |of| of.p50_us },
        ResponseTime { title: "p90", name: "p90", us: |of| of.p90_us },
        ResponseTime::P95,
        ResponseTime { title: "p99", name: "p99", us: |of| of.p99_us },
        ResponseTime { title: "p99.9", name: "p999", us: |of| of.p999_us },
        ResponseTime { title: "Max", name: "max", us: |of| of.max_us },
    ];

    /// That of a type, as `show` has microseconds; with ≥ where it is at least so long.
    pub fn shown(&self, of: &TransactionSummary, show: impl FnOnce(f64) -> String) -> String {
        let longer_us = longer_mean_us(of).filter(|_| self.name == MEAN);
        let is_at_least = longer_us.is_some() || self.is_at_least(of);
        marked(longer_us.or((self.us)(of)).map_or_else(|| "NA".to_owned(), show), is_at_least)
    }

    /// That of a type; `None` also where it is only known that it is as long or longer.
    pub(crate) fn exact_us(&self, of: &TransactionSummary) -> Option<f64> {
        (self.us)(of).filter(|_| !self.is_at_least(of))
    }

    fn is_at_least(&self, of: &TransactionSummary) -> bool {
        of.at_least.iter().any(|key| key.strip_suffix("_us") == Some(self.name))
    }
}

/// A time for people; with ≥ where it is at least so long.
pub fn marked(time: String, is_at_least: bool) -> String {
    if is_at_least { format!("≥{time}") } else { time }
}

const MEAN: &str = "mean";

/// Where what was in flight makes the mean longer: at least that, by how much more nobody knows.
fn longer_mean_us(of: &TransactionSummary) -> Option<f64> {
    of.mean_with_in_flight_us.filter(|us| *us > 1.01 * of.mean_us.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::{ResponseTime, TransactionSummary};
    use crate::run::document::measurement;
    use testkit::Scratch;

    #[test]
    fn what_was_in_flight_marks_times_and_mean() {
        let scratch = Scratch::default();
        let repeat = scratch.begin(&testkit::cell());
        testkit::measure(&scratch, repeat, 100);
        let mut of = measurement(&scratch, repeat).unwrap().summary.primary;
        (of.mean_us, of.p50_us, of.p99_us) = (Some(1_000.0), Some(900.0), Some(2_000.0));
        (of.p90_us, of.mean_with_in_flight_us) = (None, Some(1_500.0));
        of.at_least = vec!["p99_us".to_owned()];
        let shown = |of: &TransactionSummary| {
            ResponseTime::ALL.map(|time| time.shown(of, |us| format!("{us:.0}")))
        };
        let [mean, p50, p90, _, p99, ..] = shown(&of);
        assert_eq!([mean, p50, p90, p99], ["≥1500", "900", "NA", "≥2000"]);
        // A hundredth does not matter.
        of.mean_with_in_flight_us = Some(1_010.0);
        assert_eq!(shown(&of)[0], "1000");
    }
}
