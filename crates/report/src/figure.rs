//! A chart of a lab as one SVG or PNG file, for papers and slides: what the page draws with a
//! script.

use crate::error::{ReportError, ReportResult};
use crate::format::{significant, trimmed, truncated};
use crate::lab::curves::{CurveBand, Curves, by_connections};
use crate::lab::sweeps::variables;
use crate::model::LabView;
use itertools::Itertools;
use maud::{Markup, html};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use store::{LabId, Results};

/// Of the picture and of what surrounds the plot, in pixels.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 58.0;
/// Of a line of the legend.
const LEGEND_HEIGHT: f64 = 20.0;
const TICKS: f64 = 5.0;
const WHISKER: f64 = 4.0;
/// Pixels of a PNG for one of the picture: pages and slides are printed.
const PNG_SCALE: u32 = 2;
/// What a PNG is written with, the first that is there.
const FONTS: [&str; 4] = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial"];
/// Those of the page in its light form, told apart in grey too by marks of their own.
const COLORS: [&str; 8] =
    ["#0b6bb0", "#c2570c", "#2f7d4f", "#8a3ffc", "#6b7280", "#b3261e", "#0f766e", "#a16207"];

/// The chart of this name (`throughput-by-connections`) as SVG.
///
/// # Errors
/// There is no such lab or chart; the message names those that there are.
pub fn figure(results: &Results, lab: LabId, name: &str) -> ReportResult<String> {
    let view = LabView::read(results, lab)?;
    let swept = variables(&view);
    let connections = by_connections(&view);
    let all = connections.iter().chain(swept.iter().map(|variable| &variable.curves));
    let mut known = Vec::new();
    for curves in all {
        for key in curves.keys() {
            let this = name_of(key, &curves.x_name);
            if this == name {
                return Ok(drawn(curves, key).into_string());
            }
            known.push(this);
        }
    }
    Err(ReportError::NoFigure { name: name.to_owned(), known })
}

/// An SVG as PNG, of twice its size in pixels.
///
/// # Errors
/// The machine has no font to write with, or the picture cannot be read or held in memory.
pub fn raster(svg: &str) -> ReportResult<Vec<u8>> {
    let failed = |cause: &dyn std::fmt::Display| ReportError::Raster(cause.to_string());
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    let families: Vec<String> =
        fonts.faces().flat_map(|face| face.families.iter().map(|(name, _)| name.clone())).collect();
    let usual = FONTS.into_iter().find(|font| families.iter().any(|family| family == font));
    let Some(family) = usual.or(families.first().map(String::as_str)) else {
        return Err(failed(
            &"this machine has no fonts; install some (apt install fonts-dejavu-core)",
        ));
    };
    fonts.set_sans_serif_family(family);
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size().to_int_size();
    let mut pixels = Pixmap::new(PNG_SCALE * size.width(), PNG_SCALE * size.height())
        .ok_or_else(|| failed(&"there is no memory for it"))?;
    let scale = PNG_SCALE as f32;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(&error))
}

/// `Throughput, NOPM` over `connections` is `throughput-by-connections`.
fn name_of(key: &str, over: &str) -> String {
    let title = key.split(", ").next().unwrap_or(key);
    let plain = |text: &str| -> String {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.filter(|word| !word.is_empty()).join("-").to_lowercase()
    };
    format!("{}-by-{}", plain(title), plain(over))
}

/// Where values are on the picture.
struct PlotScale {
    columns: usize,
    most: f64,
}

impl PlotScale {
    fn x(&self, column: usize) -> f64 {
        let room = WIDTH - LEFT - RIGHT;
        LEFT + room * (column as f64 + 0.5) / self.columns.max(1) as f64
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value / self.most).clamp(0.0, 1.0)
    }
}

/// The least round number of steps that holds the value: 1, 2 or 5 times a power of ten.
fn step_of(most: f64) -> f64 {
    let rough = (most / TICKS).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let of = [1.0, 2.0, 5.0, 10.0].into_iter().find(|of| of * power >= rough);
    of.unwrap_or(10.0) * power
}

fn drawn(curves: &Curves, key: &str) -> Markup {
    let bands: Vec<(&str, &CurveBand)> = curves.bands(key).collect();
    let values = || bands.iter().flat_map(|(_, band)| band.mean.iter().chain(&band.high));
    let most = values().flatten().copied().fold(0.0, f64::max);
    let step = step_of(most);
    let ticks = (most / step).ceil().max(1.0);
    let scale = PlotScale { columns: curves.x_text.len(), most: ticks * step };
    let height = HEIGHT + LEGEND_HEIGHT * bands.len() as f64;
    let decimals = if step < 1.0 { (-step.log10()).ceil() as usize } else { 0 };
    let label = |tick: usize| {
        let value = tick as f64 * step;
        if decimals == 0 { truncated(value) } else { trimmed(value, decimals) }
    };
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) }
            width=(WIDTH) height=(height) font-family="sans-serif" font-size="13" fill="#1b2328"
        {
            title { (key) " by " (curves.x_name) }
            rect width=(WIDTH) height=(height) fill="#fff" {}
            text x=(LEFT) y="24" font-size="16" font-weight="bold" { (key) " by " (curves.x_name) }
            @for tick in 0..=ticks as usize {
                @let y = scale.y(tick as f64 * step);
                line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(y) y2=(y) stroke="#d9dfe3" {}
                text x=(LEFT - 8.0) y=(y + 4.0) text-anchor="end" { (label(tick)) }
            }
            @for (column, text) in curves.x_text.iter().enumerate() {
                text x=(scale.x(column)) y=(HEIGHT - BOTTOM + 20.0) text-anchor="middle" { (text) }
            }
            text x=((LEFT + WIDTH - RIGHT) / 2.0) y=(HEIGHT - BOTTOM + 42.0) text-anchor="middle" {
                (curves.x_name)
            }
            @for (index, (name, band)) in bands.iter().enumerate() {
                (line(&scale, index, name, band))
            }
        }
    }
}

/// A line with its whiskers, its marks, and its entry below the plot. It is broken where a cell has
/// no result.
fn line(scale: &PlotScale, index: usize, name: &str, band: &CurveBand) -> Markup {
    let color = COLORS[index % COLORS.len()];
    let mut path = String::new();
    let mut pen = 'M';
    for (column, mean) in band.mean.iter().enumerate() {
        if let Some(mean) = mean {
            path += &format!("{pen}{:.1} {:.1}", scale.x(column), scale.y(*mean));
        }
        pen = if mean.is_some() { 'L' } else { 'M' };
    }
    let ends = |column: usize| {
        let end = |of: &[Option<f64>]| of.get(column).copied().flatten();
        end(&band.low).zip(end(&band.high))
    };
    let y = HEIGHT + LEGEND_HEIGHT * index as f64;
    html! {
        path d=(path) fill="none" stroke=(color) stroke-width="2" {}
        @for (column, mean) in band.mean.iter().enumerate() { @if let Some(mean) = mean {
            @let x = scale.x(column);
            @if let Some((low, high)) = ends(column) {
                @let (low, high) = (scale.y(low), scale.y(high));
                path fill="none" stroke=(color) d={
                    "M" (x) " " (low) "V" (high)
                    "M" (x - WHISKER) " " (low) "h" (2.0 * WHISKER)
                    "M" (x - WHISKER) " " (high) "h" (2.0 * WHISKER)
                } {}
            }
            @let says = format!("{name}: {}", significant(*mean));
            (mark(index, (x, scale.y(*mean)), color, Some(&says)))
        } }
        (mark(index, (LEFT + 8.0, y - 4.0), color, None))
        text x=(LEFT + 22.0) y=(y) { (name) }
    }
}

/// A disc, a square or a diamond.
fn mark(index: usize, (x, y): (f64, f64), color: &str, says: Option<&str>) -> Markup {
    let title = html! { @if let Some(says) = says { title { (says) } } };
    match index % 3 {
        0 => html! { circle cx=(x) cy=(y) r="4" fill=(color) { (title) } },
        1 => html! { rect x=(x - 3.5) y=(y - 3.5) width="7" height="7" fill=(color) { (title) } },
        _ => html! { path d={ "M" (x) " " (y - 5.0) "l5 5l-5 5l-5 -5z" } fill=(color) { (title) } },
    }
}

#[cfg(test)]
mod tests {
    use super::{name_of, step_of};

    #[test]
    fn charts_have_plain_names() {
        assert_eq!(name_of("Throughput, NOPM", "connections"), "throughput-by-connections");
        assert_eq!(
            name_of("Reads of data, 1/s", "innodb_io_capacity"),
            "reads-of-data-by-innodb_io_capacity"
        );
    }

    #[test]
    fn axes_have_round_numbers() {
        for (most, step) in [(9_500.0, 2_000.0), (4.2, 1.0), (0.31, 0.1), (100.0, 20.0)] {
            assert!((step_of(most) / step - 1.0).abs() < 1e-9, "{most}: {}", step_of(most));
        }
        assert!(step_of(0.0) > 0.0);
    }
}
