//! The known name that was most likely meant.

use strsim::levenshtein;

/// The nearest of the known names, and of equally near ones the first; none where all are
/// strangers. Upper case is none of a difference.
pub fn nearest<'a, S: AsRef<str>>(name: &str, known: &'a [S]) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let distance = |known: &str| {
        let changes = levenshtein(&name, known);
        // `hdd` for `hdd-15k`, `pm1725` for `nvme-pm1725`.
        let is_part = name.len() >= 2 && (known.contains(&name) || name.contains(known));
        (if is_part { 0 } else { changes }, changes)
    };
    let best = known.iter().map(S::as_ref).min_by_key(|known| distance(known))?;
    (distance(best).0 <= best.len().max(name.len()) / 2).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name() {
        let known = ["hdd-15k", "sata-850pro", "nvme-pm1725"];
        assert_eq!(nearest("hdd", &known), Some("hdd-15k"));
        assert_eq!(nearest("pm1725", &known), Some("nvme-pm1725"));
        assert_eq!(nearest("sata-840pro", &known), Some("sata-850pro"));
        assert_eq!(nearest("HDD-15K", &known), Some("hdd-15k"));
        assert_eq!(nearest("floppy", &known), None);
    }
}
