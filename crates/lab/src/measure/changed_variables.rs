//! Server variables that changed during a run.

use base::value_of;

/// The note on variables that have other values after a run than before it: its numbers are of no
/// one configuration.
pub(crate) fn note_on_changed(
    before: &[(String, String)],
    after: &[(String, String)],
) -> Option<String> {
    // Positions in the binary log, which every commit moves.
    let is_setting = |name: &str| !name.to_ascii_lowercase().starts_with("gtid_");
    let settings = after.iter().filter(|(name, _)| is_setting(name));
    let changed: Vec<String> = settings
        .filter_map(|(name, value)| {
            let earlier = value_of(before, name).filter(|earlier| earlier != value)?;
            Some(format!("{name} from {earlier:?} to {value:?}"))
        })
        .collect();
    (!changed.is_empty()).then(|| {
        format!(
            "server variables changed during the run, so that its numbers are of no one \
             configuration: {}",
            changed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::note_on_changed;

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
    }
}
