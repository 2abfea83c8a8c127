//! Stacked bars: what a time consists of, a bar for each of several.

use crate::bars::with_interval;
use crate::format::{ms, percent, us};
use crate::lab::missing::plus_minus;
use crate::table::shown_as;
use analyse::{MeanValue, Table};
use itertools::Itertools;
use maud::{Markup, html};

/// One bar.
pub struct Stack {
    pub name: Markup,
    pub parts: Vec<StackPart>,
}

pub struct StackPart {
    pub title: String,
    /// In the style sheet, from 1.
    pub color: usize,
    /// Its mean; below 0 where parts overlap.
    pub us: f64,
    pub time: MeanValue,
}

impl Stack {
    fn time_us(&self) -> f64 {
        self.parts.iter().map(|part| part.us).sum()
    }
}

/// The parts of all bars, each once, in the order of their colors.
fn titles(stacks: &[Stack]) -> Vec<(&str, usize)> {
    let parts = stacks.iter().flat_map(|stack| &stack.parts);
    parts.map(|part| (part.title.as_str(), part.color)).unique_by(|(title, _)| *title).collect()
}

/// The figure; nothing where there is no bar. Bars are shares of their own time, or times on one
/// scale. `table` has the same numbers.
pub fn stacked(title: &str, stacks: &[Stack], table: &Markup) -> Markup {
    let longest = stacks.iter().map(Stack::time_us).fold(0.0, f64::max);
    html! {
        @if longest > 0.0 {
            figure.stacks {
                figcaption { b { (title) }
                    @if stacks.len() > 1 {
                        label { "Bars are " select data-scale="" aria-label={ (title) ": scale" } {
                            option value="shares" { "shares of the time" }
                            option value="times" { "times" }
                        } }
                    }
                }
                div.legend { @for (title, color) in titles(stacks) {
                    button type="button" aria-pressed="true" data-part=(color) title=
                        "show or hide this part" style={ "--key:var(--c" (color) ")" } { (title) }
                } }
                @for stack in stacks { (row(stack, longest)) }
                details.small { summary { "Data table" } (table) }
            }
        }
    }
}

fn row(stack: &Stack, longest_us: f64) -> Markup {
    let total_us = stack.time_us();
    let tip = |part: &StackPart| {
        let share = if total_us > 0.0 { part.us / total_us } else { 0.0 };
        let time = with_interval(part.us, part.time.half_width(), us);
        format!("{}: {time} ({})", part.title, percent(share))
    };
    html! {
        div.bar-row {
            span.name { (stack.name) }
            span.track aria-hidden="true" {
                span.stack style={ "--of:" (format!("{:.2}", total_us * 100.0 / longest_us)) "%" } {
                    @for part in stack.parts.iter().filter(|part| part.us > 0.0) {
                        @let share = format!("flex-grow:{:.0}", part.us * 1e3);
                        i class={ "k" (part.color) } style=(share) data-tip=(tip(part)) {}
                    }
                }
            }
            span.num { (us(total_us)) }
        }
    }
}

/// The table of all parts in ms, a row for each bar.
pub fn parts_table(first: &str, stacks: &[Stack]) -> Markup {
    let mut table = Table::of(stacks)
        .words(first, |stack| &stack.name)
        .numbers_in(("all", "ms"), |stack| ms(stack.time_us() * 1e3));
    for (title, _) in titles(stacks) {
        table = table.numbers_in((title, "ms"), |stack| {
            let part = stack.parts.iter().find(|part| part.title == title);
            part.map_or_else(|| html! { "-" }, time_in_ms)
        });
    }
    shown_as("grid", "", table)
}

/// A time in µs as ms with its interval.
pub fn time_in_ms(part: &StackPart) -> Markup {
    let shown = |us: f64| ms(us * 1e3);
    html! { (shown(part.us)) (plus_minus(part.time.half_width(), shown)) }
}
