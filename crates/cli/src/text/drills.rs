//! What survived drills, in words.

use analyse::{DrillFigures, Table};
use base::counted;

/// What a command of drills prints.
pub fn drills(of: &DrillFigures) -> String {
    let drills = counted(of.drills as usize, "drill", "drills");
    let mut text = format!("{drills} ({}): the server recovered from {}", of.fault, of.recovered);
    if let (Some(mean_s), Some(max_s)) = (of.recovery_mean_s, of.recovery_max_s) {
        text += &format!(", in {mean_s:.1} s in the mean and {max_s:.1} s at most");
    }
    if let Some(reactions) = of.reactions_in_words() {
        let errors: u64 = of.reactions.iter().map(|of| of.client_errors).sum();
        text += &format!("\nunder the fault it {reactions}; clients gave up {errors} transactions");
    }
    text.push_str("\n\n");
    text += &Table::of(&of.witnessed)
        .words("rows", |kind| kind.name.replace('_', " "))
        .numbers("acknowledged", |kind| kind.acknowledged.to_string())
        .numbers("in doubt", |kind| kind.in_doubt.to_string())
        .numbers("lost", |kind| kind.lost.to_string())
        .numbers("unexplained", |kind| kind.unexplained.to_string())
        .text();
    if of.with_losses > 0 {
        text += &format!(
            "\nafter {} of {drills} something was lost that had been acknowledged, at most what \
             was of the last {:.2} s\n",
            of.with_losses, of.lost_span_max_s
        );
    }
    if of.unstable_writes > 0 {
        text += &format!(
            "\nof {} writes that were not promised {} were lost and {} torn\n",
            of.unstable_writes, of.lost_writes, of.torn_writes
        );
    }
    if of.forced_writes > 0 {
        text += &format!(
            "{} more count as kept, as the journal had no room for what they replaced\n",
            of.forced_writes
        );
    }
    if of.torn_pages + of.corrupt_pages > 0 {
        text += &format!(
            "{} pages were not whole before the recoveries, {} at the end\n",
            of.torn_pages, of.corrupt_pages
        );
    }
    for reaction in &of.reactions {
        let said = reaction.said.as_deref().unwrap_or("its log says nothing of it");
        text += &format!("\ndrill {}: {}: {said}\n", reaction.drill, reaction.reaction);
    }
    for damage in &of.damage {
        text += &format!("\ndrill {}: {}\n", damage.drill, damage.what);
    }
    let verdict = if of.is_kept() { "nothing is lost or damaged" } else { "NOT KEPT" };
    text += &format!("\n{verdict}\n");
    text
}
