//! What each setting does, in all cells at once and on each device by itself: the central finding
//! of the white papers as a picture.

use crate::format::signed;
use analyse::{DeviceEffects, DimensionEffects, Extremes, LabOutcome, ValueEffect};
use base::counted;
use itertools::Itertools;
use maud::{Markup, html};

/// Of the strongest effect: how much of the color its cell has.
const SHADE_MAX_PERCENT: f64 = 30.0;

/// A column: effects in these cells.
type Column<'a> = (&'a str, &'a [DimensionEffects]);

/// A setting in all columns.
struct EffectRow<'a> {
    dimension: &'a str,
    value: &'a str,
    /// `None` where no cell there has it, or for the baseline.
    on: Vec<Option<&'a ValueEffect>>,
    is_baseline: bool,
}

/// A table of all settings, shaded by what they do; nothing where fewer than two things vary.
pub fn effects(outcome: &LabOutcome) -> Markup {
    let devices = &outcome.device_effects;
    let mut columns: Vec<Column<'_>> = vec![("all cells", &outcome.effects)];
    columns.extend(devices.iter().map(|of| (of.device.as_str(), of.effects.as_slice())));
    columns.retain(|(_, effects)| !effects.is_empty());
    let rows = rows(&columns);
    let logs = rows.iter().flat_map(|row| row.on.iter().flatten()).filter_map(|of| of.ratio.value);
    let largest = logs.map(|ratio| ratio.ln().abs()).fold(0.0, f64::max);
    html! {
        @if largest > 0.0 {
            section id="effects" {
                h2 { "What each setting does" }
                p.soft.small {
                    "Throughput with a value against that with the first value of its setting. Of \
                     all cells at once: the logarithm of throughput as a sum of what blocks and \
                     settings do (least squares); what settings do only together is noise there, \
                     and the comparisons show it. Of each device: from its cells by themselves. "
                    "Shaded cells differ from the first value: their 95 % interval, each taken by \
                     itself, leaves 0 out. "
                    "Best and worst are values whose intervals do not overlap."
                }
                @for dimension in dimensions(&rows) {
                    @for sentence in contradictions(devices, dimension) {
                        p { b { (dimension) } ": " (sentence) }
                    }
                }
                div.scroll { table.grid.heat {
                    thead { tr {
                        th scope="col" { "Setting" } th scope="col" { "Value" }
                        @for (title, _) in &columns {
                            th.num scope="col" { (title) span.unit { "%" } }
                        }
                    } }
                    @for dimension in dimensions(&rows) {
                        tbody {
                            @for row in rows.iter().filter(|row| row.dimension == dimension) {
                                (table_row(&columns, row, largest))
                            }
                        }
                    }
                } }
            }
        }
    }
}

fn rows<'a>(columns: &[Column<'a>]) -> Vec<EffectRow<'a>> {
    let mut rows: Vec<EffectRow<'_>> = Vec::new();
    for (at, (_, effects)) in columns.iter().enumerate() {
        for of in *effects {
            let values = of.values.iter().map(|value| (value.value.as_str(), Some(value)));
            for (value, effect) in std::iter::once((of.baseline.as_str(), None)).chain(values) {
                let known =
                    rows.iter().position(|row| row.dimension == of.dimension && row.value == value);
                let place = known.unwrap_or_else(|| {
                    rows.push(EffectRow {
                        dimension: &of.dimension,
                        value,
                        on: vec![None; columns.len()],
                        is_baseline: effect.is_none(),
                    });
                    rows.len() - 1
                });
                rows[place].on[at] = effect;
            }
        }
    }
    rows
}

fn dimensions<'a>(rows: &[EffectRow<'a>]) -> Vec<&'a str> {
    rows.iter().map(|row| row.dimension).unique().collect()
}

fn extremes<'a>(effects: &'a [DimensionEffects], dimension: &str) -> Option<Extremes<'a>> {
    effects.iter().find(|of| of.dimension == dimension)?.extremes()
}

/// Values that are best on one device and worst on another.
fn contradictions(devices: &[DeviceEffects], dimension: &str) -> Vec<String> {
    let known: Vec<(&str, Extremes<'_>)> = devices
        .iter()
        .filter_map(|of| Some((of.device.as_str(), extremes(&of.effects, dimension)?)))
        .collect();
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
            @for ((_, effects), effect) in columns.iter().zip(&row.on) {
                @let place = extremes(effects, row.dimension);
                @let mark = place.and_then(|of| mark(of, row.value));
                @let varies = effects.iter().any(|of| of.dimension == row.dimension);
                @match effect {
                    Some(effect) => (shaded(effect, largest, mark)),
                    None if row.is_baseline && varies => {
                        td.num.soft { "baseline" (marked(mark)) }
                    },
                    None => { td.num.soft { "" } },
                }
            }
        }
    }
}

fn mark(of: Extremes<'_>, value: &str) -> Option<&'static str> {
    if of.best == value {
        return Some("best");
    }
    (of.worst == value).then_some("worst")
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
