//! What the ACID tests found, for people.

use lab::{AcidFinding, AcidLevels, AcidVerdict, Phenomenon};

/// Each level with its tests, their evidence, and how many passed.
pub fn acid_text(asked: AcidLevels, findings: &[AcidFinding]) -> String {
    let mut text = String::new();
    for found in findings {
        let verdict = match found.verdict {
            AcidVerdict::Passed => "ok",
            AcidVerdict::Failed if asked.requires(found.isolation) => "FAILED",
            AcidVerdict::Failed => "fails",
            AcidVerdict::NotTested => "not tested",
        };
        let phenomenon = found.phenomenon.map(|what| format!(": {}", what.name()));
        text += &format!(
            "{:<4}{verdict:<6} {} ({}), {}{}\n",
            found.test.name,
            found.test.title,
            found.test.clause,
            found.isolation.name(),
            phenomenon.unwrap_or_default()
        );
        for line in &found.evidence {
            text += &format!("           {line}\n");
        }
    }
    for level in asked.levels() {
        let of_level = findings.iter().filter(|found| found.isolation == level);
        let tested: Vec<_> =
            of_level.filter(|found| found.verdict != AcidVerdict::NotTested).collect();
        let failed = tested.iter().filter(|found| found.verdict == AcidVerdict::Failed);
        let named: Vec<String> = failed
            .map(|found| {
                let what = found.phenomenon.map_or("no verdict", Phenomenon::name);
                format!("{} {what}", found.test.name)
            })
            .collect();
        let lost = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
        let passed = tested.len() - named.len();
        text +=
            &format!("{passed} of {} ACID tests passed at {}{lost}\n", tested.len(), level.name());
    }
    text
}
