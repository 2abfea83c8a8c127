//! Values of parameters, drawn anew for each transaction.

use base::{Param, Random};
use spec::RandType;
use std::sync::atomic::{AtomicI64, Ordering};

/// Shares and iterations of sysbench's `special` distribution: its defaults --rand-spec-pct=1,
/// --rand-spec-res=75 and --rand-spec-iter=12.
const SPECIAL_RANGE_SHARE: f64 = 0.01;
const SPECIAL_SHARE: f64 = 0.75;
const ITERATIONS: u32 = 12;
/// What sysbench's random strings are made of: groups of so many digits with dashes between them.
const GROUP_DIGITS: usize = 11;

/// Where a value comes from.
#[derive(Debug)]
pub(crate) enum Generator {
    /// Every number from the first to the last alike.
    Uniform(Span),
    /// sysbench's `special`: three of four values are from the middle hundredth of the span.
    Special(Span),
    /// The mean of twelve uniform numbers.
    Gaussian(Span),
    /// The power of a uniform share that is multiplied with the span.
    Pareto(Span, f64),
    Zipf(Zipf),
    /// Counts on with each draw, over all connections of a run.
    Sequence(AtomicI64),
    /// So many groups of digits: sysbench's columns c and pad.
    DigitGroups(u32),
    /// So many letters and digits.
    Text(u32),
    /// A number of the span, with zeros before it to so many characters.
    Number(Span, u32),
    /// One of these, every one alike.
    OneOf(Vec<Literal>),
    /// Another value of the transaction, drawn before, and so much more.
    Offset {
        of: usize,
        plus: i64,
    },
}

impl Generator {
    /// Numbers of the span by a distribution of sysbench.
    pub(crate) fn of(rand_type: RandType, span: Span) -> Generator {
        match rand_type {
            RandType::Uniform => Generator::Uniform(span),
            RandType::Gaussian => Generator::Gaussian(span),
            RandType::Special => Generator::Special(span),
            RandType::Pareto { h } => Generator::Pareto(span, h.ln() / (1.0 - h).ln()),
            RandType::Zipfian { exponent } => Generator::Zipf(Zipf::new(span, exponent)),
        }
    }
}

/// The numbers from `from` to `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Span {
    /// One number alone.
    pub(crate) fn of(number: i64) -> Span {
        Span { from: number, to: number }
    }

    /// How many numbers it has.
    pub(crate) fn count(self) -> u64 {
        self.to.abs_diff(self.from).saturating_add(1)
    }

    /// The number at this share of the span, below 1.
    fn at(self, share: f64) -> i64 {
        let offset = (share * self.count() as f64) as u64;
        self.from.wrapping_add_unsigned(offset.min(self.count() - 1))
    }

    fn uniform(self, random: &mut Random) -> i64 {
        let offset = (u128::from(random.bits()) * u128::from(self.count())) >> 64;
        self.from.wrapping_add(offset as i64)
    }

    /// As sysbench 1.0.20 computes it: a quarter of the draws is the mean of twelve uniform ones,
    /// the others are mapped into the hundredth in the middle, of which they leave out the first
    /// quarter.
    pub(crate) fn special(self, random: &mut Random) -> i64 {
        let length = self.to.abs_diff(self.from) as f64;
        let unit = random.unit();
        let offset = if unit < 1.0 - SPECIAL_SHARE {
            mean_of_units(random) * length
        } else {
            let middle = length * SPECIAL_RANGE_SHARE;
            unit * (middle + 1.0) + (length - middle) / 2.0
        };
        self.from.saturating_add(offset as i64).min(self.to)
    }
}

fn mean_of_units(random: &mut Random) -> f64 {
    let sum: f64 = (0..ITERATIONS).map(|_| random.unit()).sum();
    sum / f64::from(ITERATIONS)
}

/// Zipf's law: the n-th number of the span comes in proportion to 1 / n^exponent. By rejection and
/// inversion (Hörmann and Derflinger, 1996), which needs no table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    span: Span,
    exponent: f64,
    /// Integrals of the hat at the ends.
    first: f64,
    last: f64,
}

impl Zipf {
    pub(crate) fn new(span: Span, exponent: f64) -> Zipf {
        let mut zipf = Zipf { span, exponent, first: 0.0, last: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(span.count() as f64 + 0.5);
        zipf
    }

    /// The integral of x^-exponent, with a constant that makes it whole at exponent 1.
    fn integral(self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { x.ln() } else { (x.powf(power) - 1.0) / power }
    }

    fn inverse(self, y: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { y.exp() } else { (1.0 + y * power).max(0.0).powf(1.0 / power) }
    }

    fn draw(self, random: &mut Random) -> i64 {
        loop {
            let y = self.last + random.unit() * (self.first - self.last);
            let count = self.span.count() as f64;
            let n = (self.inverse(y) + 0.5).floor().clamp(1.0, count);
            if y >= self.integral(n + 0.5) - n.powf(-self.exponent) {
                return self.span.from.wrapping_add((n - 1.0) as i64);
            }
        }
    }
}

/// A value that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    Null,
    Int(i64),
    Decimal(String),
    Text(String),
}

/// A drawn value.
#[derive(Clone, Copy, Debug)]
enum DrawnValue {
    Null,
    Int(i64),
    /// Parts of [`DrawnValues::text`].
    Decimal {
        start: usize,
        end: usize,
    },
    Text {
        start: usize,
        end: usize,
    },
}

/// The values of a transaction, by the place of their generators.
#[derive(Debug, Default)]
pub(crate) struct DrawnValues {
    values: Vec<DrawnValue>,
    text: Vec<u8>,
}

impl DrawnValues {
    pub(crate) fn drawn(generators: &[Generator], random: &mut Random) -> DrawnValues {
        let mut values =
            DrawnValues { values: Vec::with_capacity(generators.len()), text: Vec::new() };
        for generator in generators {
            let value = values.draw(generator, random);
            values.values.push(value);
        }
        values
    }

    fn draw(&mut self, generator: &Generator, random: &mut Random) -> DrawnValue {
        match generator {
            Generator::Uniform(span) => DrawnValue::Int(span.uniform(random)),
            Generator::Special(span) => DrawnValue::Int(span.special(random)),
            Generator::Gaussian(span) => DrawnValue::Int(span.at(mean_of_units(random))),
            Generator::Pareto(span, power) => DrawnValue::Int(span.at(random.unit().powf(*power))),
            Generator::Zipf(zipf) => DrawnValue::Int(zipf.draw(random)),
            Generator::Sequence(next) => DrawnValue::Int(next.fetch_add(1, Ordering::Relaxed)),
            Generator::DigitGroups(groups) => {
                self.append(|text| write_groups(text, *groups, random))
            }
            Generator::Text(length) => self.append(|text| {
                const LETTERS: &[u8; 62] =
                    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
                text.extend((0..*length).map(|_| LETTERS[random.below(62) as usize]));
            }),
            Generator::Number(span, length) => {
                let number = span.uniform(random);
                let width = *length as usize;
                self.append(|text| text.extend(format!("{number:0width$}").into_bytes()))
            }
            Generator::OneOf(literals) => {
                match &literals[random.below(literals.len() as u32) as usize] {
                    Literal::Null => DrawnValue::Null,
                    Literal::Int(value) => DrawnValue::Int(*value),
                    Literal::Decimal(of) => {
                        let start = self.text.len();
                        self.text.extend_from_slice(of.as_bytes());
                        DrawnValue::Decimal { start, end: self.text.len() }
                    }
                    Literal::Text(of) => self.append(|text| text.extend_from_slice(of.as_bytes())),
                }
            }
            Generator::Offset { of, plus } => DrawnValue::Int(self.int(*of).wrapping_add(*plus)),
        }
    }

    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> DrawnValue {
        let start = self.text.len();
        write(&mut self.text);
        DrawnValue::Text { start, end: self.text.len() }
    }

    /// The number at this place; 0 where there is something else.
    pub(crate) fn int(&self, place: usize) -> i64 {
        match self.values[place] {
            DrawnValue::Int(value) => value,
            DrawnValue::Null | DrawnValue::Decimal { .. } | DrawnValue::Text { .. } => 0,
        }
    }

    /// The value at this place for a statement.
    pub(crate) fn param(&self, place: usize) -> Param<'_> {
        match self.values[place] {
            DrawnValue::Null => Param::Null,
            DrawnValue::Int(value) => Param::Int(value),
            DrawnValue::Decimal { start, end } => Param::Decimal(&self.text[start..end]),
            DrawnValue::Text { start, end } => Param::Text(&self.text[start..end]),
        }
    }
}

/// Appends groups of eleven digits with dashes between them.
pub(crate) fn write_groups(out: &mut Vec<u8>, groups: u32, random: &mut Random) {
    for group in 0..groups {
        if group > 0 {
            out.push(b'-');
        }
        let mut number = ((u128::from(random.bits()) * 100_000_000_000) >> 64) as u64;
        let mut digits = [0; GROUP_DIGITS];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        out.extend_from_slice(&digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(generator: &Generator, count: usize) -> Vec<i64> {
        let mut random = Random::new(5, &[]);
        let one = std::slice::from_ref(generator);
        let values = (0..count).map(|_| DrawnValues::drawn(one, &mut random).int(0));
        values.collect()
    }

    #[test]
    fn special_values_come_from_the_middle() {
        let span = Span { from: 1, to: 10_000 };
        let drawn = draws(&Generator::Special(span), 100_000);
        assert!(drawn.iter().all(|value| (1..=10_000).contains(value)));
        let middle = drawn.iter().filter(|n| (4_975..=5_052).contains(*n)).count() as f64;
        // Three quarters, and what the means of twelve add: they have a deviation of 833.
        assert!((middle / 1e5 - 0.757).abs() < 0.01, "{middle}");
        let low = drawn.iter().filter(|n| **n < 4_000).count() as f64;
        assert!((low / 1e5 - 0.25 * 0.115).abs() < 0.005, "{low}");
        assert_eq!(draws(&Generator::Special(Span { from: 7, to: 7 }), 9), [7; 9]);
    }

    /// How far counts of numbers are from what is expected of each: of 20 parts the sum stays below
    /// 50 with 99.98 % probability.
    fn chi_square(drawn: &[i64], span: Span, share_below: impl Fn(f64) -> f64) -> f64 {
        let parts = 20;
        let edge = |part: i64| span.from + part * span.count() as i64 / parts;
        let of_part = |part: i64| {
            let share = |edge: i64| share_below((edge - span.from) as f64 / span.count() as f64);
            let (low, high) = (edge(part), edge(part + 1));
            let expected = drawn.len() as f64 * (share(high) - share(low));
            let found = drawn.iter().filter(|n| (low..high).contains(*n)).count() as f64;
            (found - expected).powi(2) / expected
        };
        (0..parts).map(of_part).sum()
    }

    #[test]
    fn numbers_follow_their_distributions() {
        let span = Span { from: 1, to: 1_000 };
        let uniform = draws(&Generator::of(RandType::Uniform, span), 100_000);
        assert!(chi_square(&uniform, span, |x| x) < 50.0);
        for h in [0.05, 0.2, 0.4] {
            let drawn = draws(&Generator::of(RandType::Pareto { h }, span), 100_000);
            // A number is below the share x of the span where its unit is below x^(1 / power).
            let power = f64::ln(h) / f64::ln(1.0 - h);
            let found = chi_square(&drawn, span, |x| x.powf(1.0 / power));
            assert!(found < 50.0, "{h}: {found}");
            let top = drawn.iter().filter(|n| **n as f64 <= h * 1_000.0).count() as f64 / 1e5;
            assert!((top - (1.0 - h)).abs() < 0.007, "{h}: {top}");
        }
        let gaussian = draws(&Generator::of(RandType::Gaussian, span), 100_000);
        assert!(gaussian.iter().all(|n| (1..=1_000).contains(n)));
        let mean = gaussian.iter().sum::<i64>() as f64 / 1e5;
        let variance = gaussian.iter().map(|n| (*n as f64 - mean).powi(2)).sum::<f64>() / 1e5;
        // Of twelve uniform values the mean has a twelfth of their variance, which is a twelfth.
        assert!((mean - 500.5).abs() < 1.5, "{mean}");
        assert!((variance.sqrt() - 1_000.0 / 12.0).abs() < 1.0, "{variance}");
        let within = gaussian.iter().filter(|n| (**n as f64 - mean).abs() < 83.3).count() as f64;
        assert!((within / 1e5 - 0.679).abs() < 0.01, "{within}");
        for of in [RandType::Gaussian, RandType::PARETO] {
            assert_eq!(draws(&Generator::of(of, Span { from: 7, to: 7 }), 9), [7; 9]);
        }
    }

    #[test]
    fn zipf_falls_with_the_power_of_the_rank() {
        for exponent in [0.0, 0.8, 1.0, 1.5] {
            let span = Span { from: 11, to: 1_010 };
            let drawn = draws(&Generator::Zipf(Zipf::new(span, exponent)), 200_000);
            assert!(drawn.iter().all(|value| (11..=1_010).contains(value)));
            let weights: f64 = (1..=1_000).map(|n| f64::from(n).powf(-exponent)).sum();
            for rank in [1_i64, 2, 10] {
                let expected = 200_000.0 * (rank as f64).powf(-exponent) / weights;
                let found = drawn.iter().filter(|n| **n == 10 + rank).count() as f64;
                let off = (found - expected).abs();
                assert!(off < 5.0 * expected.sqrt(), "{exponent} {rank}: {found}");
            }
        }
    }

    #[test]
    fn spans_and_sequences_have_their_ends() {
        let all = Span { from: i64::MIN, to: i64::MAX };
        assert!(draws(&Generator::Uniform(all), 100).iter().any(|n| *n < 0));
        let few = draws(&Generator::Uniform(Span { from: -1, to: 1 }), 300);
        assert!([-1, 0, 1].iter().all(|n| few.contains(n)));
        let sequence = Generator::Sequence(AtomicI64::new(5));
        assert_eq!(draws(&sequence, 3), [5, 6, 7]);
    }

    #[test]
    fn strings_have_the_shape_of_sysbench() {
        let mut text = Vec::new();
        write_groups(&mut text, 10, &mut Random::new(1, &[]));
        assert_eq!(text.len(), 119);
        for (place, byte) in text.iter().enumerate() {
            let is_right = match place % 12 {
                11 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            };
            assert!(is_right, "{place}: {byte}");
        }
    }
}
