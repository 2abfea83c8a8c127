//! What a search found, for people.

use super::format::optional;
use super::proof::gain;
use analyse::DimensionEffects;
use base::counted;
use tune::{Found, FoundCell};

/// The best setting with its gain, and what each value does by itself.
pub fn text(found: &Found) -> String {
    let mut out = format!(
        "{} of {} of the plan were measured, the better ones more often; objective: {}\n",
        found.tried,
        counted(found.cells, "cell", "cells"),
        found.objective.name(),
    );
    if found.interrupted {
        out.push_str("interrupted: the same command goes on\n");
    }
    out += &format!("\nstart  {}\n", settings(&found.start));
    match &found.best {
        Some(best) => out += &format!("best   {}\n", settings(best)),
        None if found.interrupted => {}
        None => out.push_str("nothing that was measured is better than the start\n"),
    }
    if let Some(whole) = &found.gain {
        let of = gain(whole.ratio);
        out += &format!(
            "gain   {} ({} of fresh windows, {} against {}; 95 % interval)\n",
            of.unwrap_or_else(|| "not known".to_owned()),
            counted(whole.pairs, "pair", "pairs"),
            optional(whole.chosen_value, 1),
            optional(whole.start_value, 1),
        );
        // Within a limit the best may be slower than a start that is not.
        if !whole.is_confirmed() && found.p95_max_ms.is_none() {
            out.push_str("this is no gain beyond doubt: stay with the start, or search longer\n");
        }
    }
    if !found.effects.is_empty() {
        out.push_str(
            "\nthroughput by each setting alone, all windows together (95 % intervals of so many; \
             the search chose which, so that what seemed good reads high):\n",
        );
    }
    for of in &found.effects {
        effects(&mut out, of);
    }
    out
}

fn settings(cell: &FoundCell) -> String {
    let all = cell.settings.iter().map(|(name, value)| format!("{name}={value}"));
    let p95 = cell.p95_ms.map_or_else(String::new, |ms| format!("; new order p95 {ms:.1} ms"));
    format!("cell {}: {}{p95}", cell.ordinal, all.collect::<Vec<_>>().join(" "))
}

fn effects(out: &mut String, of: &DimensionEffects) {
    for value in &of.values {
        let gain = gain(value.ratio);
        *out += &format!(
            "  {} {} -> {}: {} ({})\n",
            of.dimension,
            of.baseline,
            value.value,
            gain.unwrap_or_else(|| "cannot be told from another setting".to_owned()),
            counted(value.repeats, "window", "windows"),
        );
    }
}
