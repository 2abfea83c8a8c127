//! Server variables that changed during a run.

use base::value_of;

type Variables = [(String, String)];

/// What tells servers apart; MariaDB has no `server_uuid`.
const IDENTITY: [&str; 4] = ["server_uuid", "hostname", "port", "server_id"];

/// The variables of these names that have other values after a run than before it, in words.
fn changed(before: &Variables, after: &Variables, is_told: impl Fn(&str) -> bool) -> Vec<String> {
    let told = after.iter().filter(|(name, _)| is_told(name));
    let changed = told.filter_map(|(name, value)| {
        let earlier = value_of(before, name).filter(|earlier| earlier != value)?;
        Some(format!("{name} from {earlier:?} to {value:?}"))
    });
    changed.collect()
}

/// That another server answered after a run than before it, as after a failover, where one did.
pub(crate) fn another_server(before: &Variables, after: &Variables) -> Option<String> {
    let told = changed(before, after, |name| IDENTITY.contains(&name));
    (!told.is_empty()).then(|| {
        format!("another server answered after the run than before it ({})", told.join(", "))
    })
}

/// The note on variables that have other values after a run than before it: its numbers are of no
/// one configuration.
pub(crate) fn note_on_changed(before: &Variables, after: &Variables) -> Option<String> {
    // Positions in the binary log, which every commit moves.
    let is_setting = |name: &str| !name.to_ascii_lowercase().starts_with("gtid_");
    let another = another_server(before, after);
    // Each server has files and ports of its own.
    let is_own = |name: &str| {
        let is_path = value_of(after, name).is_some_and(|value| value.contains('/'));
        another.is_some() && (is_path || name.ends_with("port") || IDENTITY.contains(&name))
    };
    let changed = changed(before, after, |name| is_setting(name) && !is_own(name)).join(", ");
    match (&another, changed.as_str()) {
        (None, "") => None,
        (None, changed) => Some(format!(
            "server variables changed during the run, so that its numbers are of no one \
             configuration: {changed}"
        )),
        (Some(another), changed) => Some(format!(
            "{another}: what its counters rose by, and the sums of rows before and after, are \
             differences of two servers{}{changed}",
            if changed.is_empty() { "" } else { ", which have other variables, too: " }
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{another_server, note_on_changed};

    #[test]
    fn changed_variables_are_told() {
        let variables = |pool: &str, gtid: &str| {
            let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            vec![pair("innodb_buffer_pool_size", pool), pair("gtid_executed", gtid)]
        };
        let before = variables("1", "a:1-5");
        assert_eq!(note_on_changed(&before, &variables("1", "a:1-9")), None);
        let note = note_on_changed(&before, &variables("2", "a:1-9")).unwrap();
        assert!(note.contains("innodb_buffer_pool_size from \"1\" to \"2\""), "{note}");
        assert_eq!(another_server(&before, &variables("2", "a:1-9")), None);
    }

    #[test]
    fn another_server_is_told() {
        let variables = |port: &str, pool: &str| {
            let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let of_its_own = [pair("datadir", &format!("/{port}")), pair("report_port", port)];
            [&of_its_own[..], &[pair("port", port), pair("innodb_buffer_pool_size", pool)]].concat()
        };
        let (before, after) = (variables("3306", "1"), variables("3307", "1"));
        let which = another_server(&before, &after).unwrap();
        assert!(which.ends_with("before it (port from \"3306\" to \"3307\")"), "{which}");
        let note = note_on_changed(&before, &after).unwrap();
        assert!(note.starts_with(&which) && note.ends_with("of two servers"), "{note}");
        let note = note_on_changed(&before, &variables("3307", "2")).unwrap();
        assert!(note.ends_with("too: innodb_buffer_pool_size from \"1\" to \"2\""), "{note}");
    }
}
