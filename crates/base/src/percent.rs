//! Numbers for people without zeros at the end, and shares as percent: three significant digits.

/// The nearest: `2 %`, `0.05 %`, `7 %`.
pub fn percent(share: f64) -> String {
    words(share, f64::round)
}

/// The next above, for a bound that must hold: `2.01 %` of 0.02004.
pub fn percent_at_most(share: f64) -> String {
    // Arithmetic in binary is no digit of the share: 0.07 x 100 is a little more than 7.
    words(share * (1.0 - 1e-9), f64::ceil)
}

fn words(share: f64, round: impl Fn(f64) -> f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || !percent.is_finite() {
        return format!("{percent} %");
    }
    let decimals = (2.0 - percent.abs().log10().floor()).clamp(0.0, 9.0) as i32;
    let scale = 10_f64.powi(decimals);
    format!("{} %", trimmed(round(percent * scale) / scale, decimals as usize))
}

/// With at most `decimals` decimals and no zeros at the end.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{percent, percent_at_most};

    #[test]
    fn digits_that_carry_meaning() {
        let all = [0.02, 0.07, 0.000_1, 0.031_24, 0.1, 0.5, 0.000_123_4, 0.0].map(percent);
        let told = ["2 %", "7 %", "0.01 %", "3.12 %", "10 %", "50 %", "0.0123 %", "0 %"];
        assert_eq!(all, told);
    }

    #[test]
    fn a_bound_holds() {
        let all = [0.020_04, 0.02, 0.07, 0.031_21, 0.000_123_4, 1.234_5].map(percent_at_most);
        let told = ["2.01 %", "2 %", "7 %", "3.13 %", "0.0124 %", "124 %"];
        assert_eq!(all, told);
    }
}
