//! Verifications of devices, as tables for people.

use super::format::{or_dash, percent};
use analyse::Table;
use storage::verify::{FigureVerdict, VerifiedFigure};

/// The figures of one device.
pub fn table(name: &str, title: &str, figures: &[VerifiedFigure]) -> String {
    let deviation = |figure: &VerifiedFigure| figure.deviation_share * 100.0;
    let table = Table::of(figures)
        .words("figure", |figure| figure.key.to_owned())
        .numbers("depth", |figure| figure.queue_depth.to_string())
        .numbers("sheet", |figure| number(figure.sheet, figure.unit))
        .numbers("measured", |figure| number(figure.measured, figure.unit))
        .numbers("deviation", |figure| format!("{:+.1} %", deviation(figure)))
        .numbers("host", |figure| number(figure.host_limit, figure.unit))
        .numbers("in time", |figure| or_dash(figure.fidelity_share, |share| percent(share, 1)))
        .words("verdict", |figure| verdict(figure));
    format!("{name}: {title}\n{}", table.text())
}

fn number(value: f64, unit: &str) -> String {
    let unit = match unit {
        "mb_per_s" => " MB/s",
        "us" => " us",
        _ => "",
    };
    let decimals = usize::from(value < 100.0);
    format!("{value:.decimals$}{unit}")
}

/// How many figures came out so.
pub fn count<'a>(
    figures: impl Iterator<Item = &'a VerifiedFigure>,
    verdict: FigureVerdict,
) -> usize {
    figures.filter(|figure| figure.verdict == verdict).count()
}

fn verdict(figure: &VerifiedFigure) -> String {
    let bound = percent(figure.bound_share, 0);
    let mut text = match figure.verdict {
        FigureVerdict::Within => format!("within {bound}"),
        FigureVerdict::Outside => format!("OUTSIDE {bound}"),
        FigureVerdict::HostLimited => {
            "host-limited: this host is too slow or too busy to tell".to_owned()
        }
    };
    if let Some(share) = figure.overrun_share.filter(|share| *share >= 0.0005) {
        text += &format!(", {} overran", percent(share, 1));
    }
    if let (FigureVerdict::HostLimited, Some(late_us)) = (figure.verdict, figure.lateness_mean_us) {
        text += &format!(", {late_us:.0} us late on average");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{count, table};
    use storage::verify::{FigureVerdict, VerifiedFigure};

    #[test]
    fn tables() {
        let figure = VerifiedFigure {
            key: "random_read_iops",
            unit: "iops",
            queue_depth: 32,
            sheet: 100_000.0,
            measured: 93_000.0,
            deviation_share: -0.07,
            bound_share: 0.05,
            host_limit: 250_000.0,
            fidelity_share: Some(0.991),
            overrun_share: Some(0.004),
            lateness_mean_us: Some(3.0),
            requests: 1,
            verdict: FigureVerdict::Outside,
        };
        let limited = VerifiedFigure {
            key: "read_latency_us",
            unit: "us",
            sheet: 90.0,
            measured: 95.5,
            host_limit: 88.0,
            fidelity_share: None,
            overrun_share: None,
            verdict: FigureVerdict::HostLimited,
            ..figure.clone()
        };
        let figures = [figure, limited];
        let said = table("x", "An X", &figures);
        assert!(said.contains("-7.0 %") && said.contains("OUTSIDE 5 %, 0.4 % overran"), "{said}");
        assert!(said.contains("95.5 us") && said.contains("host-limited"), "{said}");
        assert_eq!(count(figures.iter(), FigureVerdict::HostLimited), 1);
        assert_eq!(count(figures.iter(), FigureVerdict::Within), 0);
    }
}
