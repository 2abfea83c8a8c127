//! Several servers that are driven together, observed as one.

use crate::error::ObserveResult;
use crate::readings::{Readings, SampleSource};
use std::sync::atomic::AtomicBool;
use store::Metric;

/// What is no amount, so that several servers have the mean of it: the share of time in which one
/// has something outstanding, and the size of a page, which is the same in all.
const MEANS: [&str; 2] = ["busy_ns", "page_size_bytes"];

/// Sources of the same kind, one for each server, read as one: amounts are summed.
struct SummedSources<S> {
    sources: Vec<S>,
}

/// Reads sources of the same kind as one. One of them stays what it is; none is none.
pub fn summed<S: SampleSource + 'static>(
    sources: impl IntoIterator<Item = S>,
) -> Option<Box<dyn SampleSource>> {
    let mut sources: Vec<S> = sources.into_iter().collect();
    Some(match sources.len() {
        0 | 1 => Box::new(sources.pop()?),
        _ => Box::new(SummedSources { sources }),
    })
}

impl<S: SampleSource> SampleSource for SummedSources<S> {
    fn title(&self) -> &'static str {
        self.sources.first().map_or("servers", |one| one.title())
    }

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> ObserveResult<()> {
        let mut all = Vec::with_capacity(self.sources.len());
        for source in &mut self.sources {
            let mut readings = Readings::default();
            source.read(&mut readings, stop)?;
            all.push(readings);
        }
        add(all, into);
        Ok(())
    }
}

/// What one server does not have is left out: a sum without it would fall and rise as it comes and
/// goes.
fn add(mut all: Vec<Readings>, into: &mut Readings) {
    let count = all.len() as i64;
    let Some(mut first) = all.pop() else {
        return;
    };
    let of = |readings: &Readings, metric: &Metric| {
        let found = readings.values.iter().find(|(other, _)| other == metric);
        found.map(|(_, value)| *value)
    };
    for (metric, value) in first.values {
        let others: Option<Vec<i64>> = all.iter().map(|one| of(one, &metric)).collect();
        let Some(others) = others else { continue };
        let sum = others.into_iter().fold(value, i64::saturating_add);
        let is_mean = MEANS.contains(&metric.name.as_str());
        into.values.push((metric, if is_mean { sum / count } else { sum }));
    }
    into.at = first.at;
    into.lost.append(&mut first.lost);
    for (part, error) in all.into_iter().flat_map(|one| one.lost) {
        if !into.lost.iter().any(|(other, _)| *other == part) {
            into.lost.push((part, error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::summed;
    use crate::error::{ObserveError, ObserveResult};
    use crate::readings::{Readings, SampleSource};
    use std::sync::atomic::AtomicBool;
    use store::MetricSource::Shim;

    /// Tells these amounts of `reads`, `busy_ns` and, where there is one, `writes`.
    struct Fake(i64, i64, Option<i64>);

    impl SampleSource for Fake {
        fn title(&self) -> &'static str {
            "a fake"
        }

        fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
            if self.0 < 0 {
                return Err(ObserveError::Server("it is gone".to_owned()));
            }
            into.taken_now();
            into.counter(Shim, "reads", "data", self.0);
            into.counter(Shim, "busy_ns", "data", self.1);
            if let Some(writes) = self.2 {
                into.counter(Shim, "writes", "data", writes);
            }
            into.lose("a part", ObserveError::Server("no".to_owned()));
            Ok(())
        }
    }

    fn read(fakes: Vec<Fake>) -> ObserveResult<Readings> {
        let mut source = summed(fakes).unwrap();
        assert_eq!(source.title(), "a fake");
        let mut readings = Readings::default();
        source.read(&mut readings, &AtomicBool::new(false))?;
        Ok(readings)
    }

    #[test]
    fn amounts_add_up_and_shares_do_not() {
        let two = read(vec![Fake(10, 400, Some(1)), Fake(5, 200, Some(2))]).unwrap();
        assert_eq!(two.value("reads", "data"), Some(15));
        assert_eq!(two.value("busy_ns", "data"), Some(300));
        assert_eq!(two.value("writes", "data"), Some(3));
        assert_eq!(two.lost().len(), 1);
        let one = read(vec![Fake(10, 400, None)]).unwrap();
        assert_eq!(one.value("busy_ns", "data"), Some(400));
        assert!(summed(Vec::<Fake>::new()).is_none());
    }

    #[test]
    fn what_one_lacks_is_no_sum() {
        let two = read(vec![Fake(10, 400, Some(1)), Fake(5, 200, None)]).unwrap();
        assert_eq!(two.value("writes", "data"), None);
        assert_eq!(two.value("reads", "data"), Some(15));
        assert!(read(vec![Fake(10, 400, None), Fake(-1, 0, None)]).is_err());
    }
}
