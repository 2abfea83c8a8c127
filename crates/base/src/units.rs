//! Quantities that would be bare numbers otherwise.

use crate::counted::counted;
use std::fmt;

/// A number of warehouses, the size of a TPC-C database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Warehouses(pub u32);

impl Warehouses {
    /// For people: `1 warehouse`, `2 warehouses`.
    pub fn counted(self) -> String {
        counted(self.0 as usize, "warehouse", "warehouses")
    }
}

impl fmt::Display for Warehouses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Consecutive warehouses of a database, one at least: all of them, or those of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WarehouseRange {
    first: u32,
    last: u32,
}

impl WarehouseRange {
    /// All warehouses of a database, from 1.
    pub fn all(warehouses: Warehouses) -> WarehouseRange {
        WarehouseRange { first: 1, last: warehouses.0.max(1) }
    }

    /// From the first warehouse to the last, where that is a range.
    pub fn between((first, last): (u32, u32)) -> Option<WarehouseRange> {
        (first >= 1 && first <= last).then_some(WarehouseRange { first, last })
    }

    /// These warehouses in `shards` ranges, in order: all are of one size, but for the first ones,
    /// which have one more where it does not divide. There are as many as warehouses at most.
    pub fn divided(self, shards: u32) -> Vec<WarehouseRange> {
        let shards = shards.clamp(1, self.count());
        let (each, longer) = (self.count() / shards, self.count() % shards);
        let mut first = self.first;
        let mut next = |shard: u32| {
            let last = first + each - u32::from(shard >= longer);
            let range = WarehouseRange { first, last };
            first = last + 1;
            range
        };
        (0..shards).map(&mut next).collect()
    }

    /// The first warehouse.
    pub fn first(self) -> u32 {
        self.first
    }

    /// The last warehouse.
    pub fn last(self) -> u32 {
        self.last
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.last - self.first + 1
    }

    /// Is this warehouse one of them?
    pub fn contains(self, warehouse: u32) -> bool {
        (self.first..=self.last).contains(&warehouse)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        self.first..=self.last
    }
}

impl From<Warehouses> for WarehouseRange {
    fn from(warehouses: Warehouses) -> WarehouseRange {
        WarehouseRange::all(warehouses)
    }
}

impl fmt::Display for WarehouseRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            1 => write!(f, "warehouse {}", self.first),
            _ => write!(f, "warehouses {} to {}", self.first, self.last),
        }
    }
}

/// An exact amount of money in hundredths (clause 1.4.12: money is never floating point, in the
/// client either).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cents(pub i64);

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", units / 100, units % 100)
    }
}

/// A share as people write it, `80%` or `0.8`: above 0 and at most 1.
pub fn parse_share(text: &str) -> Option<f64> {
    let text = text.trim();
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (share > 0.0 && share <= 1.0).then_some(share)
}

/// A size as MySQL servers take it: bytes, or with a suffix of K, M, G or T, which are binary:
/// `512M`. `None` where it is none or does not fit.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        (at, 't' | 'T') => (&text[..at], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A number of bytes as all servers take it and the papers write it: `3G`, `48M`, `1000`.
pub fn size_text(bytes: u64) -> String {
    let suffixes = [(30, "G"), (20, "M"), (10, "K")];
    let fitting =
        suffixes.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    match fitting {
        Some((shift, suffix)) => format!("{}{suffix}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// Parses decimal text such as `-10.5` into an integer of `scale` decimals (`-1050` at scale 2).
/// Excess decimals must be zeros. `None` where the text is not a decimal or does not fit.
pub fn parse_decimal(text: &[u8], scale: u32) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut value: i64 = 0;
    let mut decimals: Option<u32> = None;
    let mut any = false;
    for &c in digits {
        match (c, decimals) {
            (b'.', None) => decimals = Some(0),
            (b'0'..=b'9', Some(n)) if n >= scale => {
                if c != b'0' {
                    return None;
                }
            }
            (b'0'..=b'9', _) => {
                any = true;
                value = value.checked_mul(10)?.checked_add(i64::from(c - b'0'))?;
                decimals = decimals.map(|n| n + 1);
            }
            _ => return None,
        }
    }
    if !any {
        return None;
    }
    for _ in decimals.unwrap_or(0)..scale {
        value = value.checked_mul(10)?;
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::{Cents, WarehouseRange, Warehouses, parse_decimal, parse_share, parse_size};

    #[test]
    fn shards_have_every_warehouse_once_and_are_of_one_size() {
        let ends = |warehouses: u32, shards: u32| -> Vec<(u32, u32)> {
            let ranges = WarehouseRange::all(Warehouses(warehouses)).divided(shards);
            ranges.into_iter().map(|range| (range.first(), range.last())).collect()
        };
        assert_eq!(ends(20, 2), [(1, 10), (11, 20)]);
        assert_eq!(ends(5, 3), [(1, 2), (3, 4), (5, 5)]);
        assert_eq!(ends(2, 3), [(1, 1), (2, 2)]);
        for warehouses in 1..40 {
            for shards in 1..=warehouses {
                let ranges = WarehouseRange::all(Warehouses(warehouses)).divided(shards);
                let all: Vec<u32> = ranges.iter().flat_map(|range| range.iter()).collect();
                assert!(all.into_iter().eq(1..=warehouses), "{ranges:?}");
                let counts = ranges.iter().map(|range| range.count());
                assert!(counts.clone().max().unwrap() - counts.min().unwrap() <= 1, "{ranges:?}");
            }
        }
        assert_eq!(WarehouseRange::between((3, 2)), None);
        assert_eq!(WarehouseRange::between((0, 2)), None);
        assert_eq!(WarehouseRange::between((2, 2)).unwrap().to_string(), "warehouse 2");
    }

    #[test]
    fn shares_as_people_write_them() {
        assert_eq!(parse_share("80%"), Some(0.8));
        assert_eq!(parse_share(" 0.25 "), Some(0.25));
        for bad in ["", "%", "0", "0%", "-1", "80", "101%", "nan", "inf", "much"] {
            assert_eq!(parse_share(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_decimal(b"300000.00", 2), Some(30_000_000));
        assert_eq!(parse_decimal(b"-10.5", 2), Some(-1_050));
        assert_eq!(parse_decimal(b"0.1234", 4), Some(1_234));
        assert_eq!(parse_decimal(b"7", 2), Some(700));
        assert_eq!(parse_decimal(b"7.1200", 2), Some(712));
        for bad in [&b""[..], b"-", b".", b"1.2.3", b"1e3", b"7.123", b"99999999999999999999"] {
            assert_eq!(parse_decimal(bad, 2), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn cents_read_as_money() {
        assert_eq!(Cents(-5).to_string(), "-0.05");
        assert_eq!(Cents(123_456).to_string(), "1234.56");
        assert_eq!(parse_decimal(Cents(-98_765).to_string().as_bytes(), 2), Some(-98_765));
    }

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(parse_size("48M"), Some(48 << 20));
        assert_eq!(parse_size("1g"), Some(1 << 30));
        assert_eq!(parse_size(" 16k"), Some(16 << 10));
        assert_eq!(parse_size("4096"), Some(4096));
        for bad in ["", "M", "x", "-1", "1.5G", "99999999999T"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
