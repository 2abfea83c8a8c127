//! Times of one kind: a histogram with exact sum and maximum.

use crate::merge::Merge;
use base::limits;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

/// Times in ns of what happened in an interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "EncodedTimes")]
pub struct Times {
    /// None until there is a time, so that an empty interval costs nothing.
    #[serde(serialize_with = "in_v2_format")]
    pub histogram: Option<Box<Histogram<u64>>>,
    pub sum_ns: u64,
    pub max_ns: u64,
    /// Times that the histogram cannot hold: in sum and maximum only.
    pub out_of_bounds: u64,
}

/// Digits of a response time.
const DIGITS: u8 = 3;
/// Digits where there are many histograms: 28 KB each instead of 190.
const COARSE_DIGITS: u8 = 2;

/// From 1 us, below which no server answers. Fixed bounds: no resize on the hot path.
fn histogram(digits: u8) -> Box<Histogram<u64>> {
    const LOWEST_NS: u64 = 1_000;
    const HIGHEST_NS: u64 = limits::LATENCY_MAX.as_nanos() as u64;
    let histogram = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, digits);
    Box::new(histogram.expect("1 us and 1 h are in order and up to 5 digits are supported"))
}

impl Times {
    /// Counts a time.
    pub fn record(&mut self, ns: u64) {
        self.record_at(ns, DIGITS);
    }

    /// Counts a time at two digits. All times of one kind are counted in one way.
    pub fn record_coarsely(&mut self, ns: u64) {
        self.record_at(ns, COARSE_DIGITS);
    }

    #[inline]
    fn record_at(&mut self, ns: u64, digits: u8) {
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
        if self.histogram.get_or_insert_with(|| histogram(digits)).record(ns).is_err() {
            self.out_of_bounds += 1;
        }
    }

    /// These without some of them, which are among them. The longest of the rest is not known to
    /// more than the histogram's three digits.
    pub fn without(&self, some: &Times) -> Times {
        let mut rest = self.clone();
        if let (Some(all), Some(some)) = (&mut rest.histogram, &some.histogram) {
            all.subtract(some.as_ref()).expect("what is taken away is part of it");
        }
        rest.sum_ns -= some.sum_ns;
        rest.out_of_bounds -= some.out_of_bounds;
        if rest.out_of_bounds == 0 {
            let longest = rest.histogram.as_ref().map_or(0, |times| times.max());
            rest.max_ns = rest.max_ns.min(longest);
        }
        rest
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |times| times.len()) + self.out_of_bounds
    }

    /// Their exact mean, where there were any.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// The time in ns that this share did not exceed, of those that the histogram holds; 0 where
    /// there were none.
    pub fn at_quantile_ns(&self, quantile: f64) -> u64 {
        let times = self.histogram.as_ref();
        times.map_or(0, |times| times.value_at_quantile(quantile))
    }
}

impl Merge for Times {
    fn merge(&mut self, other: &Times) {
        match (&mut self.histogram, &other.histogram) {
            (_, None) => {}
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (Some(mine), Some(theirs)) => {
                mine.add(theirs.as_ref()).expect("histograms of times of one kind have one shape");
            }
        }
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.out_of_bounds += other.out_of_bounds;
    }
}

/// Times as another process told them, with the histogram in HdrHistogram's V2 format: small, and
/// exact when it is merged.
#[derive(Deserialize)]
pub(crate) struct EncodedTimes {
    histogram: Option<Vec<u8>>,
    sum_ns: u64,
    max_ns: u64,
    out_of_bounds: u64,
}

impl TryFrom<EncodedTimes> for Times {
    type Error = &'static str;

    fn try_from(encoded: EncodedTimes) -> Result<Times, &'static str> {
        let EncodedTimes { histogram, sum_ns, max_ns, out_of_bounds } = encoded;
        let histogram = histogram.map(|bytes| of_v2_format(&bytes).ok_or("no histogram of times"));
        Ok(Times { histogram: histogram.transpose()?, sum_ns, max_ns, out_of_bounds })
    }
}

fn in_v2_format<S: Serializer>(
    histogram: &Option<Box<Histogram<u64>>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let bytes = histogram.as_deref().map(|histogram| {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).map(|_| bytes)
    });
    bytes.transpose().map_err(S::Error::custom)?.serialize(to)
}

/// The histogram, in the shape of those that are recorded here; `None` where it is none, or holds
/// what cannot be recorded here.
fn of_v2_format(bytes: &[u8]) -> Option<Box<Histogram<u64>>> {
    if !takes_no_more_than_ours(bytes) {
        return None;
    }
    let theirs: Histogram<u64> = Deserializer::new().deserialize(&mut &*bytes).ok()?;
    let digits = theirs.sigfig();
    let mut own = [DIGITS, COARSE_DIGITS].contains(&digits).then(|| histogram(digits))?;
    own.add(theirs).ok()?;
    Some(own)
}

/// Is memory for this histogram in proportion to its bytes? Its head could ask for gigabytes of
/// counts that do not follow, for more digits, or for text that swells when it is unpacked.
fn takes_no_more_than_ours(bytes: &[u8]) -> bool {
    /// Cookie, length of the counts, an offset, digits, lowest and highest value, a ratio.
    const HEAD_BYTES: usize = 40;
    const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
    /// Last byte of the digits.
    const DIGITS_AT: usize = 15;
    let Some((head, counts)) = bytes.split_at_checked(HEAD_BYTES) else {
        return false;
    };
    let length = u32::try_from(counts.len()).unwrap_or(u32::MAX).to_be_bytes();
    head.starts_with(&COOKIE) && head[4..8] == length && head[DIGITS_AT] <= DIGITS
}

#[cfg(test)]
mod tests {
    use super::Times;
    use crate::merge::Merge;

    #[test]
    fn times_are_nanoseconds_and_excess_is_counted() {
        let mut times = Times::default();
        for ms in 1..=100u64 {
            times.record(ms * 1_000_000);
        }
        let p95_ms = times.at_quantile_ns(0.95) as f64 / 1e6;
        assert!((p95_ms - 95.0).abs() < 0.2, "{p95_ms}");
        assert_eq!(times.mean_ns(), Some(50_500_000.0));
        times.record(u64::MAX / 4);
        assert_eq!(times.out_of_bounds, 1);
        let mut sum = Times::default();
        sum.merge(&times);
        sum.merge(&times);
        assert_eq!((sum.count(), sum.out_of_bounds), (202, 2));
        let rest = sum.without(&times);
        assert_eq!((rest.count(), rest.sum_ns), (times.count(), times.sum_ns));
        assert_eq!(rest.without(&times).count(), 0);
    }

    #[test]
    fn the_longest_of_the_rest_is_known_to_the_histograms_digits() {
        let of = |all: &[u64]| {
            let mut times = Times::default();
            all.iter().for_each(|ns| times.record(*ns));
            times
        };
        let (short, long, endless) = (1_000_000, 5_000_000, u64::MAX / 4);
        let rest = of(&[short, long]).without(&of(&[long]));
        assert!(rest.max_ns.abs_diff(short) < short / 1_000, "{}", rest.max_ns);
        // What the histogram cannot hold keeps its own.
        let rest = of(&[short, long, endless]).without(&of(&[long]));
        assert_eq!((rest.max_ns, rest.out_of_bounds), (endless, 1));
    }
}
