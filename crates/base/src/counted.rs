//! Numbers of things for people.

/// One of them, or so many of them: `1 warehouse`, `10 warehouses`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `a, b and c`.
pub fn joined(words: &[String]) -> String {
    match words.split_last() {
        Some((last, others @ [_, ..])) => format!("{} and {last}", others.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, joined};

    #[test]
    fn the_last_is_told_apart() {
        let words = ["a", "b", "c"].map(str::to_owned);
        let joined = [0, 1, 2, 3].map(|count| joined(&words[..count]));
        assert_eq!(joined, ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn one_is_one() {
        let all = [0, 1, 2].map(|count| counted(count, "check", "checks"));
        assert_eq!(all, ["0 checks", "1 check", "2 checks"]);
    }
}
