//! What each setting does, in all cells at once and on each device by itself: the central finding
//! of the white papers as a picture.

use crate::format::signed;
use analyse::{DeviceEffects, DimensionEffects, Extremes, LabOutcome, ValueEffect};
use base::{by_key, counted};
use itertools::Itertools;
use maud::{Markup, html};
use std::iter::once;

/// Of the strongest effect: how much of the color its cell has.
const SHADE_MAX_PERCENT: f64 = 30.0;

/// A column: effects in these cells.
type Column<'a> = (&'a str, &'a [DimensionEffects]);

/// A value of a setting: the baseline, or one that is held against it.
struct EffectRow<'a> {
    dimension: &'a str,
    value: &'a str,
    is_baseline: bool,
}

/// A table of all settings, shaded by what they do; nothing where fewer than two things vary.
pub fn effects(outcome: &LabOutcome) -> Markup {
    let devices = &outcome.device_effects;
    let mut columns: Vec<Column<'_>> = vec![("all cells", &outcome.effects)];
    columns.extend(devices.iter().map(|of| (of.device.as_str(), of.effects.as_slice())));
    columns.retain(|(_, effects)| !effects.is_empty());
    let settings = || columns.iter().flat_map(|(_, effects)| *effects);
    let values = settings().flat_map(|of| &of.values);
    let logs = values.filter_map(|of| Some(of.ratio.value?.ln().abs()));
    let largest = logs.fold(0.0, f64::max);
    let rows = settings().flat_map(rows_of).unique_by(|row| (row.dimension, row.value));
    let dimensions = by_key(rows.map(|row| (row.dimension, row)));
    html! {
        @if largest > 0.0 {
            p.soft.small {
                "Throughput with a value against that with the first value of its setting. Of all \
                 cells at once: the logarithm of throughput as a sum of what blocks and settings \
                 do (least squares); what settings do only together is noise there, and the \
                 comparisons show it. Of each device: from its cells by themselves. Shaded cells \
                 differ from the first value: their 95 % interval, each taken by itself, leaves 0 \
                 out. Best and worst are values whose intervals do not overlap."
            }
            @for (dimension, _) in &dimensions {
                @for sentence in contradictions(devices, dimension) {
                    p { b { (dimension) } ": " (sentence) }
                }
            }
            div.scroll { table.grid.heat {
                thead { tr {
                    th scope="col" { "Setting" } th scope="col" { "Value" }
                    @for (of, _) in &columns { th.num scope="col" { (of) span.unit { "%" } } }
                } }
                @for (_, rows) in &dimensions {
                    tbody { @for row in rows { (table_row(&columns, row, largest)) } }
                }
            } }
        }
    }
}

/// The baseline of a setting and its other values.
fn rows_of(of: &DimensionEffects) -> impl Iterator<Item = EffectRow<'_>> {
    let row = move |value, is_baseline| EffectRow { dimension: &of.dimension, value, is_baseline };
    once(row(&of.baseline, true)).chain(of.values.iter().map(move |of| row(&of.value, false)))
}

/// Values that are best on one device and worst on another.
fn contradictions(devices: &[DeviceEffects], dimension: &str) -> Vec<String> {
    let known = devices.iter().filter_map(|device| {
        let of = device.effects.iter().find(|of| of.dimension == dimension)?;
        Some((device.device.as_str(), of.extremes()?))
    });
    let known: Vec<(&str, Extremes<'_>)> = known.collect();
    let with = |is: &dyn Fn(&Extremes<'_>) -> bool| -> Vec<&str> {
        known.iter().filter(|(_, of)| is(of)).map(|(device, _)| *device).collect()
    };
    let values = known.iter().map(|(_, of)| of.best).sorted_unstable().dedup();
    let sentence = |value: &str| {
        let (best, worst) = (with(&|of| of.best == value), with(&|of| of.worst == value));
        (!worst.is_empty()).then(|| {
            format!("{value} is best on {}, and worst on {}.", best.join(", "), worst.join(", "))
        })
    };
    values.filter_map(sentence).collect()
}

fn table_row(columns: &[Column<'_>], row: &EffectRow<'_>, largest: f64) -> Markup {
    html! {
        tr {
            th scope="row" { @if row.is_baseline { (row.dimension) } }
            td { (row.value) }
            @for (_, effects) in columns {
                @let of = effects.iter().find(|of| of.dimension == row.dimension);
                @let mark = of.and_then(|of| mark(of.extremes()?, row.value));
                @let effect = of.and_then(|of| of.values.iter().find(|of| of.value == row.value));
                @match effect {
                    Some(effect) => (shaded(effect, largest, mark)),
                    None if row.is_baseline && of.is_some() => {
                        td.num.soft { "baseline" (marked(mark)) }
                    },
                    None => { td.num.soft { "" } },
                }
            }
        }
    }
}

fn mark(of: Extremes<'_>, value: &str) -> Option<&'static str> {
    let mark = [(of.best, "best"), (of.worst, "worst")].into_iter().find(|(of, _)| *of == value);
    mark.map(|(_, mark)| mark)
}

fn marked(mark: Option<&str>) -> Markup {
    html! {
        @if let Some(mark) = mark {
            " " span.tag.good[mark == "best"].bad[mark == "worst"] { (mark) }
        }
    }
}

fn shaded(effect: &ValueEffect, largest: f64, mark: Option<&str>) -> Markup {
    let percent = |ratio: f64| signed((ratio - 1.0) * 100.0).trim_end_matches(" %").to_owned();
    let Some(ratio) = effect.ratio.value else {
        return html! { td.num.soft { "cannot be told from another setting" } };
    };
    let interval = effect.ratio.interval();
    let is_shown = interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let color = if ratio > 1.0 { "--good" } else { "--bad" };
    let share = ratio.ln().abs() / largest * SHADE_MAX_PERCENT;
    let shade = is_shown
        .then(|| format!("background:color-mix(in srgb, var({color}) {share:.0}%, transparent)"));
    html! {
        td.num.soft[!is_shown] style=[shade]
            title={ "of " (counted(effect.repeats, "repeat", "repeats")) } {
            (percent(ratio)) (marked(mark))
            @if let Some((low, high)) = interval {
                span.pm { (percent(low)) " to " (percent(high)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::contradictions;
    use analyse::{DeviceEffects, DimensionEffects, RatioInterval, ValueEffect};

    fn on(device: &str, ratios: [f64; 2]) -> DeviceEffects {
        let value = |(value, ratio): (&str, f64)| ValueEffect {
            value: value.to_owned(),
            repeats: 3,
            ratio: RatioInterval::of(Some(ratio), Some([ratio * 0.97, ratio * 1.03])),
        };
        DeviceEffects {
            device: device.to_owned(),
            effects: vec![DimensionEffects {
                dimension: "innodb_io_capacity".to_owned(),
                baseline: "200".to_owned(),
                values: ["2000", "20000"].into_iter().zip(ratios).map(value).collect(),
            }],
        }
    }

    #[test]
    fn best_here_and_worst_there() {
        let told = |devices: &[DeviceEffects]| contradictions(devices, "innodb_io_capacity");
        let devices = [on("hdd-15k", [0.9, 0.5]), on("nvme", [1.5, 1.9]), on("sas", [1.1, 1.6])];
        assert_eq!(
            told(&devices),
            [
                "200 is best on hdd-15k, and worst on nvme, sas.",
                "20000 is best on nvme, sas, and worst on hdd-15k."
            ]
        );
        assert!(told(&devices[1..]).is_empty());
        // Nothing is shown where intervals overlap.
        assert!(told(&[on("hdd-15k", [0.99, 0.98]), on("nvme", [1.5, 1.9])]).is_empty());
    }
}
