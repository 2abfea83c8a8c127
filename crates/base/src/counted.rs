//! Numbers of things for people.

/// One of them, or so many of them: `1 warehouse`, `10 warehouses`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_one() {
        let all = [0, 1, 2].map(|count| counted(count, "check", "checks"));
        assert_eq!(all, ["0 checks", "1 check", "2 checks"]);
    }
}
