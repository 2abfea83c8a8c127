//! Named parameters of SQL text.

/// The statement with `?` in place of each `:name`, and the names in order. What stands between
/// quotes stays.
pub(crate) fn named_parameters(sql: &str) -> (String, Vec<String>) {
    let mut out = String::with_capacity(sql.len());
    let mut names = Vec::new();
    let mut quote = None;
    let mut rest = sql.chars().peekable();
    while let Some(c) = rest.next() {
        match quote {
            Some(open) => {
                out.push(c);
                if c == '\\' && open != '`' {
                    out.extend(rest.next());
                } else if c == open {
                    quote = None;
                }
            }
            None if c == ':' && rest.peek().is_some_and(|c| c.is_ascii_alphabetic()) => {
                let mut name = String::new();
                while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                names.push(name);
                out.push('?');
            }
            None => {
                quote = matches!(c, '\'' | '"' | '`').then_some(c);
                out.push(c);
            }
        }
    }
    (out, names)
}

/// What a statement does: its first word.
pub(crate) fn verb(sql: &str) -> String {
    let word = sql.split(|c: char| !c.is_ascii_alphabetic());
    let first = word.into_iter().find(|word| !word.is_empty());
    first.unwrap_or("statement").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_outside_of_quotes() {
        let (sql, names) = named_parameters(
            "SELECT ':a', \":b\", `:c`, '\\':d', @x := 1 FROM t WHERE i = :id AND j=:last_2",
        );
        assert_eq!(names, ["id", "last_2"]);
        assert_eq!(sql, "SELECT ':a', \":b\", `:c`, '\\':d', @x := 1 FROM t WHERE i = ? AND j=?");
        assert_eq!(verb("  (select 1)"), "select");
        assert_eq!(verb(""), "statement");
    }
}
