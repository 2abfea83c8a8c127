//! Numbers of things for people.

/// One of them, or so many of them: `1 warehouse`, `10 warehouses`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `1234567` as `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let threes = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    threes.collect::<Vec<_>>().join(",")
}

/// A throughput: its fraction means nothing to people, and is cut off, as clause 5.4.4 wants it.
pub fn truncated(value: f64) -> String {
    grouped(value.max(0.0) as u64)
}

/// `a, b and c`.
pub fn joined(words: &[String]) -> String {
    match words.split_last() {
        Some((last, others @ [_, ..])) => format!("{} and {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// The first words of a list that may be long: `a, b, c and 4 more`.
pub fn first_of(words: &[String]) -> String {
    const SHOWN: usize = 3;
    match words.get(SHOWN..) {
        Some(more) if !more.is_empty() => {
            format!("{} and {} more", words[..SHOWN].join(", "), more.len())
        }
        _ => words.join(", "),
    }
}

/// Items of the same key together, in the order in which the keys come.
pub fn by_key<K: PartialEq, V>(items: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// The first value of this name.
pub fn value_of<'a>(all: &'a [(String, String)], name: &str) -> Option<&'a str> {
    all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::{counted, first_of, joined};

    #[test]
    fn a_long_list_is_cut() {
        let words = ["a", "b", "c", "d", "e"].map(str::to_owned);
        let shown = [0, 1, 3, 5].map(|count| first_of(&words[..count]));
        assert_eq!(shown, ["", "a", "a, b, c", "a, b, c and 2 more"]);
    }

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
