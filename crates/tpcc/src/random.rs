//! TPC-C's random rules: NURand and its constants (clause 2.1.6), last names (4.3.2.3), random text
//! (4.3.2.2).
//!
//! Everything draws from a [`Random`] that the caller seeds, so that a seed names its data to the
//! byte (contract 7).

use base::Random;
use std::ops::RangeInclusive;

/// First step of the path of every stream that this file draws from: none of them is one of the
/// population's.
const PATH_CONSTANTS: u64 = 0x7470_6363_0000_0001;

/// Largest C of NURand for C_LAST (clause 2.1.6: C lies in 0..=A).
pub const C_LAST_MAX: u32 = 255;
/// Largest C of NURand for C_ID.
pub const C_ID_MAX: u32 = 1023;
/// Largest C of NURand for OL_I_ID.
pub const OL_I_ID_MAX: u32 = 8191;

/// NURand(a, low, high) with constant `c` (clause 2.1.6): a skewed number in `low..=high`.
#[inline]
pub fn nurand(random: &mut Random, a: u32, range: RangeInclusive<u32>, c: u32) -> u32 {
    let (low, high) = range.clone().into_inner();
    (((random.between(0..=a) | random.between(range)) + c) % (high - low + 1)) + low
}

/// The number of a last name, 0..=999, by C_load where the database is populated (customers
/// 1001..=3000 of a district), by C_run in a run (clauses 2.5.1.2, 2.6.1.2).
#[inline]
pub fn last_name_number(c_last: u32, random: &mut Random) -> u32 {
    nurand(random, 255, 0..=999, c_last)
}

/// Draws C_load, the C of NURand for C_LAST while populating, from the seed of the population:
/// 0..=255. The load draws last names only, so there is no other (clause 4.3.3.1); it is kept in
/// `mydyno_meta`, because a run may not choose its own freely.
pub fn load_constant(seed: u64) -> u32 {
    Random::new(seed, &[PATH_CONSTANTS, 0]).between(0..=C_LAST_MAX)
}

/// The NURand constants of one run: the same for every connection and process of it (clause 2.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunConstants {
    /// C_run: for C_LAST, 0..=255, legal beside the database's C_load.
    pub c_last: u32,
    /// For C_ID, 0..=1023.
    pub c_id: u32,
    /// For OL_I_ID, 0..=8191.
    pub ol_i_id: u32,
}

impl RunConstants {
    /// Draws the constants of a run from its seed. `c_load` is that of the database
    /// (`Database::c_load`); without one (another tool loaded it) C_run is any constant and clause
    /// 2.1.6.1 cannot be shown to hold.
    pub fn for_run(c_load: Option<u32>, seed: u64) -> RunConstants {
        let mut random = Random::new(seed, &[PATH_CONSTANTS, 1]);
        RunConstants {
            c_last: run_constant(c_load, &mut random),
            c_id: random.between(0..=C_ID_MAX),
            ol_i_id: random.between(0..=OL_I_ID_MAX),
        }
    }

    /// A customer's id, 1..=3000 (clauses 2.4.1.2, 2.5.1.2, 2.6.1.2).
    #[inline]
    pub fn customer(self, random: &mut Random) -> u32 {
        nurand(random, 1023, 1..=3000, self.c_id)
    }

    /// An item's id, 1..=100000 (clause 2.4.1.5).
    #[inline]
    pub fn item(self, random: &mut Random) -> u32 {
        nurand(random, 8191, 1..=100_000, self.ol_i_id)
    }
}

/// Clause 2.1.6.1: |C_load - C_run| must be in 65..=119, but not 96 and not 112.
fn is_legal_delta(delta: u32) -> bool {
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// A C_run for C_LAST, uniform among those that are legal beside `c_load` (clause 2.1.6.1); each
/// `c_load` has some. Where it is unknown, any is.
fn run_constant(c_load: Option<u32>, random: &mut Random) -> u32 {
    let is_legal = |c_run: u32| c_load.is_none_or(|c_load| is_legal_delta(c_load.abs_diff(c_run)));
    let legal = || (0..=C_LAST_MAX).filter(|c_run| is_legal(*c_run));
    // A C_load above 374 has no legal partner; only a forged mydyno_meta holds one, and then no
    // choice is right.
    let count = legal().count().max(1) as u32;
    legal().nth(random.below(count) as usize).unwrap_or(C_LAST_MAX)
}

const SYLLABLES: [&[u8]; 10] =
    [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];
/// Longest name: three syllables of five letters.
const NAME_BYTES_MAX: usize = 15;
/// Each name, its length in the last byte.
static LAST_NAMES: [[u8; NAME_BYTES_MAX + 1]; 1000] = last_names();

const fn last_names() -> [[u8; NAME_BYTES_MAX + 1]; 1000] {
    let mut names = [[0; NAME_BYTES_MAX + 1]; 1000];
    let mut number = 0;
    while number < 1000 {
        let digits = [number / 100, number / 10 % 10, number % 10];
        let mut len = 0;
        let mut d = 0;
        while d < 3 {
            let syllable = SYLLABLES[digits[d]];
            let mut i = 0;
            while i < syllable.len() {
                names[number][len] = syllable[i];
                len += 1;
                i += 1;
            }
            d += 1;
        }
        names[number][NAME_BYTES_MAX] = len as u8;
        number += 1;
    }
    names
}

/// The last name of `number`, 0..=999: a syllable for each decimal digit, most significant first
/// (clause 4.3.2.3).
#[inline]
pub fn last_name(number: u32) -> &'static [u8] {
    let name = &LAST_NAMES[number as usize];
    &name[..usize::from(name[NAME_BYTES_MAX])]
}

/// 0-9, A-Z, a-z by index, computed instead of looked up so that the compiler can use vector
/// instructions.
#[inline]
fn alphanumeric(index: u16) -> u8 {
    let upper = if index > 9 { 7 } else { 0 };
    let lower = if index > 35 { 6 } else { 0 };
    (index + 48 + upper + lower) as u8
}

#[inline]
fn letter(index: u16) -> u8 {
    let lower = if index > 25 { 6 } else { 0 };
    (index + 65 + lower) as u8
}

/// Characters of an alphabet of `SIZE`, four from each draw. Multiply and shift of 16 bits:
/// characters differ in probability by less than 0.1 %. `CHARACTERS` is four times `DRAWS`; all
/// draws first and all characters after them is the form that becomes vector instructions.
#[inline]
fn block<const SIZE: u32, const DRAWS: usize, const CHARACTERS: usize>(
    random: &mut Random,
    character: impl Fn(u16) -> u8,
) -> [u8; CHARACTERS] {
    const { assert!(CHARACTERS == 4 * DRAWS) };
    let mut parts = [0u16; CHARACTERS];
    for four in parts.chunks_exact_mut(4) {
        let bits = random.bits();
        for (i, part) in four.iter_mut().enumerate() {
            *part = (bits >> (16 * i)) as u16;
        }
    }
    let mut text = [0u8; CHARACTERS];
    for (byte, part) in text.iter_mut().zip(parts) {
        *byte = character(((u32::from(part) * SIZE) >> 16) as u16);
    }
    text
}

#[inline]
fn extend<const SIZE: u32>(
    out: &mut Vec<u8>,
    random: &mut Random,
    len: usize,
    character: impl Fn(u16) -> u8 + Copy,
) {
    // Whole blocks and one cut are faster than a copy of a length that is not known, and 32
    // characters by vector instructions cost little more than 8 without.
    let end = out.len() + len;
    if len <= 4 {
        out.extend_from_slice(&block::<SIZE, 1, 4>(random, character));
    } else {
        for _ in 0..len.div_ceil(32) {
            out.extend_from_slice(&block::<SIZE, 8, 32>(random, character));
        }
    }
    out.truncate(end);
}

/// Appends an a-string: random characters of a-z, A-Z, 0-9 of a random length in `lengths` (clause
/// 4.3.2.2).
#[inline]
pub fn write_a_string(out: &mut Vec<u8>, random: &mut Random, lengths: RangeInclusive<u32>) {
    let len = random.between(lengths) as usize;
    extend::<62>(out, random, len, alphanumeric);
}

/// Appends `len` random decimal digits: an n-string (clause 4.3.2.2).
#[inline]
pub fn write_n_string(out: &mut Vec<u8>, random: &mut Random, len: usize) {
    extend::<10>(out, random, len, |digit| b'0' + digit as u8);
}

/// Random letters a-z, A-Z of a number that the compiler knows, which is four times `DRAWS`.
#[inline]
pub(crate) fn letters<const DRAWS: usize, const LETTERS: usize>(
    random: &mut Random,
) -> [u8; LETTERS] {
    block::<52, DRAWS, LETTERS>(random, letter)
}

/// Appends `len` random letters A-Z.
#[inline]
pub fn write_capitals(out: &mut Vec<u8>, random: &mut Random, len: usize) {
    extend::<26>(out, random, len, |letter| b'A' + letter as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_by_syllables() {
        assert_eq!(last_name(371), b"PRICALLYOUGHT");
        assert_eq!(last_name(40), b"BARPRESBAR");
        assert_eq!(last_name(0), b"BARBARBAR");
        assert_eq!(last_name(999), b"EINGEINGEING");
        assert_eq!(last_name(777).len(), NAME_BYTES_MAX);
        let distinct: std::collections::BTreeSet<_> = (0..1000).map(last_name).collect();
        assert_eq!(distinct.len(), 1000);
    }

    #[test]
    fn legal_pairs_are_53_deltas() {
        let legal: Vec<u32> = (0..=255).filter(|&c| is_legal_delta(c)).collect();
        assert_eq!(legal.len(), 53);
        assert!(legal.contains(&65) && legal.contains(&119));
        for bad in [0, 64, 96, 112, 120] {
            assert!(!legal.contains(&bad), "{bad}");
        }
        assert!(is_legal_delta(157_u32.abs_diff(223)));
    }

    #[test]
    fn every_load_constant_gets_a_legal_run_constant() {
        for c_load in 0..=C_LAST_MAX {
            for seed in 0..20 {
                let constants = RunConstants::for_run(Some(c_load), seed);
                assert!(
                    is_legal_delta(c_load.abs_diff(constants.c_last)),
                    "{c_load} {constants:?}"
                );
                assert!(constants.c_last <= C_LAST_MAX);
                assert!(constants.c_id <= C_ID_MAX && constants.ol_i_id <= OL_I_ID_MAX);
            }
        }
        assert!(RunConstants::for_run(Some(9_999), 1).c_last <= C_LAST_MAX);
        let load: std::collections::BTreeSet<_> = (0..1000).map(load_constant).collect();
        assert!(load.len() > 240 && load.iter().all(|&c| c <= C_LAST_MAX));
    }

    #[test]
    fn nurand_stays_in_range_and_is_skewed() {
        let mut random = Random::new(1, &[]);
        let constants = RunConstants::for_run(Some(157), 1);
        let mut seen = vec![0u32; 3001];
        for _ in 0..300_000 {
            seen[constants.customer(&mut random) as usize] += 1;
            assert!((1..=100_000).contains(&constants.item(&mut random)));
            assert!(last_name_number(constants.c_last, &mut random) <= 999);
        }
        assert_eq!(seen[0], 0);
        // Uniform would give 100 each, with a maximum near 140; NURand's favourites have many times
        // that.
        assert!(seen.iter().max().is_some_and(|&n| n > 500));
        assert!(seen[1..].iter().filter(|&&n| n > 0).count() > 2_500);
    }

    #[test]
    fn nurand_by_hand() {
        // With a = 0 the OR keeps the uniform part, so that the constant only rotates the range.
        let mut random = Random::new(5, &[]);
        let mut same = Random::new(5, &[]);
        for _ in 0..1000 {
            same.between(0..=0);
            let plain = same.between(10..=19);
            assert_eq!(nurand(&mut random, 0, 10..=19, 3), 10 + (plain + 3) % 10, "{plain}");
        }
    }

    #[test]
    fn text_is_of_its_alphabet_and_near_uniform() {
        let mut random = Random::new(2, &[]);
        let mut text = Vec::new();
        write_a_string(&mut text, &mut random, 620_000..=620_000);
        assert_eq!(text.len(), 620_000);
        let mut seen = [0u32; 256];
        text.iter().for_each(|&c| seen[usize::from(c)] += 1);
        for c in 0..=255u8 {
            let n = seen[usize::from(c)];
            if c.is_ascii_alphanumeric() {
                // 10,000 expected, standard deviation 100.
                assert!((9_500..10_500).contains(&n), "{c} {n}");
            } else {
                assert_eq!(n, 0, "{c}");
            }
        }
        for len in 0..40 {
            text.clear();
            write_n_string(&mut text, &mut random, len);
            assert!(text.len() == len && text.iter().all(u8::is_ascii_digit));
            text.clear();
            write_capitals(&mut text, &mut random, len);
            assert!(text.len() == len && text.iter().all(u8::is_ascii_uppercase));
        }
    }

    #[test]
    fn letters_are_of_both_cases() {
        let text: [u8; 5_200] = letters::<1_300, 5_200>(&mut Random::new(4, &[]));
        for c in 0..=255u8 {
            let n = text.iter().filter(|&&seen| seen == c).count();
            // 100 expected, standard deviation 10.
            let expected = if c.is_ascii_alphabetic() { 50..150 } else { 0..1 };
            assert!(expected.contains(&n), "{c} {n}");
        }
    }

    #[test]
    fn a_strings_have_every_length() {
        let mut random = Random::new(3, &[]);
        let mut seen = [0u32; 32];
        for _ in 0..11_000 {
            let mut text = Vec::new();
            write_a_string(&mut text, &mut random, 14..=24);
            seen[text.len()] += 1;
        }
        // 1,000 expected for each of 11 lengths, standard deviation 30.
        for (len, &n) in seen.iter().enumerate() {
            assert!(
                if (14..=24).contains(&len) { (850..1150).contains(&n) } else { n == 0 },
                "{len} {n}"
            );
        }
    }
}
