//! `mydyno device verify`.

use crate::arguments::job_duration;
use crate::commands::show;
use crate::console::{Console, stop_flag};
use crate::failure::Outcome;
use crate::text::format::{or_dash, percent};
use analyse::Table;
use base::{Dilation, Exit, document, parse_share};
use clap::Args;
use device::Profile;
use serde::Serialize;
use spec::parse_dilation;
use std::path::PathBuf;
use std::time::Duration;
use storage::fio::Fio;
use storage::verify::{
    FigureVerdict, VerifiedFigure, VerifyOptions, default_directory, expected_duration, verify,
};

#[derive(Args)]
pub struct DeviceVerifyArguments {
    /// Names of `device list`, or files that end in .toml
    #[arg(required_unless_present = "all", value_name = "PROFILE")]
    pub profiles: Vec<String>,
    /// Verify every device of `device list`
    #[arg(long, conflicts_with = "profiles")]
    pub all: bool,
    /// Directory of fio's file [default: memory where it has room, else mydyno's own directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Measured time of each figure, in seconds
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Run fio's clock and the device K times slower than real ones, 1/32 to 100 (faster below 1),
    /// so that a small host is fast enough for the device; --seconds are those of that clock
    #[arg(long, value_name = "K", default_value = "1", value_parser = parse_dilation)]
    pub dilate: Dilation,
    /// Share of each device that holds live data, as 5%; flash then takes random writes faster, and
    /// what its sheet says of an arm is left out
    #[arg(long, value_name = "SHARE", value_parser = used_share)]
    pub used: Option<f64>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

fn used_share(text: &str) -> Result<f64, String> {
    let share = parse_share(text).filter(|share| device::is_occupancy(*share));
    share.ok_or_else(|| "give a share from 0.1% to 100%, as 5%".to_owned())
}

document! {
    /// What was found of all devices that were asked for.
    struct VerifyDocument from (fio: Fio, options: &VerifyOptions, found: Vec<VerifiedDocument>);
    let counted =
        |verdict| count(found.iter().flat_map(|device| &device.figures), verdict);
    let [within, host_limited, outside] =
        [FigureVerdict::Within, FigureVerdict::HostLimited, FigureVerdict::Outside].map(counted);
    {
        fio_version: String = fio.version,
        directory: String = options.directory.display().to_string(),
        seconds: f64 = options.runtime.as_secs_f64(),
        /// How many times slower than real ones fio's clock and the devices ran.
        dilation: f64 = options.dilation.factor(),
        /// No figure is outside.
        passed: bool = outside == 0,
        /// Figures by their verdicts.
        within: usize = within,
        host_limited: usize = host_limited,
        outside: usize = outside,
        devices: Vec<VerifiedDocument> = found,
    }
}

#[derive(Serialize)]
struct VerifiedDocument {
    name: String,
    title: String,
    figures: Vec<VerifiedFigure>,
    random_writes_by_use: Vec<WritesByUse>,
}

/// What the model makes of `random_write_iops` where so much of the device holds live data.
#[derive(Serialize)]
struct WritesByUse {
    used_share: f64,
    iops: f64,
}

const USED_SHARES: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.85, 0.95, 1.0];

/// None of disks, and of what promises no writes.
fn writes_by_use(profile: &Profile) -> Vec<WritesByUse> {
    let full = profile.sheet.random_write_iops.filter(|_| !profile.is_disk());
    let of = |full: f64| {
        USED_SHARES.map(|used_share| WritesByUse {
            used_share,
            iops: full * profile.random_write_gain(used_share),
        })
    };
    full.map(of).into_iter().flatten().collect()
}

/// Runs the command.
pub fn run(arguments: &DeviceVerifyArguments) -> Outcome {
    // A sheet is of what has been written for long.
    let used = |profile: Profile| profile.occupied(arguments.used.unwrap_or(profile.occupancy()));
    let named = arguments.profiles.iter().map(|name| storage::profile(name));
    let all = if arguments.all { device::builtins() } else { named.collect::<Result<_, _>>()? };
    let profiles: Vec<Profile> = all.into_iter().map(used).collect();
    let fio = Fio::find()?;
    storage::shim_library()?;
    let directory = match &arguments.directory {
        Some(directory) => directory.clone(),
        None => default_directory(server::Home::from_env()?.root()),
    };
    let options =
        VerifyOptions { directory, runtime: arguments.seconds, dilation: arguments.dilate };
    let stop = stop_flag();
    let mut console = Console::new()?;
    let real = |dilated: Duration| dilated.mul_f64(options.dilation.factor());
    let expected = |profile: &Profile| expected_duration(profile, options.runtime).map(real);
    // Before anything is measured: a sheet that promises nothing is refused.
    let durations: Vec<Duration> = profiles.iter().map(expected).collect::<Result<_, _>>()?;
    let total: Duration = durations.iter().sum();
    let mut before = Duration::ZERO;
    let mut devices = Vec::with_capacity(profiles.len());
    for (profile, duration) in profiles.iter().zip(durations) {
        let figures = verify(&fio, profile, &options, &stop, &mut |figure, done| {
            let what = format!("{}: {figure}", profile.name);
            console.show_work(&what, before + real(done), total);
        })?;
        before += duration;
        devices.push(VerifiedDocument {
            name: profile.name.clone(),
            title: match arguments.used {
                Some(share) => format!(
                    "{}, {} used: the sheet is that of a full one as the model converts it",
                    profile.title,
                    percent(share, 0)
                ),
                None => profile.title.clone(),
            },
            figures,
            random_writes_by_use: writes_by_use(profile),
        });
    }
    console.done();
    let document = VerifyDocument::of(fio, &options, devices);
    show(arguments.json, 1, &document, || words(&document))?;
    Ok(if document.passed { Exit::Ok } else { Exit::CheckFailed })
}

fn words(document: &VerifyDocument) -> String {
    let dilated = Dilation::new(document.dilation).and_then(Dilation::in_words);
    let dilated = dilated.map_or_else(String::new, |words| format!(" ({words})"));
    let tables = document.devices.iter().map(|device| {
        let table = table(&device.name, &device.title, &device.figures);
        let by_use = device.random_writes_by_use.iter();
        let by_use = by_use.map(|at| format!("{} {:.0}", percent(at.used_share, 0), at.iops));
        let by_use = by_use.collect::<Vec<_>>().join(", ");
        match by_use.is_empty() {
            true => format!("{table}\n"),
            false => format!("{table}random writes per second by the share in use: {by_use}\n\n"),
        }
    });
    let tables: String = tables.collect();
    let VerifyDocument { fio_version, seconds, directory, within, .. } = document;
    let VerifyDocument { host_limited, outside, .. } = document;
    format!(
        "{fio_version}, {seconds} s for each figure{dilated}, files in {directory}\n\n{tables}\
         {within} within, {host_limited} host-limited, {outside} outside\n"
    )
}

/// The figures of one device.
fn table(name: &str, title: &str, figures: &[VerifiedFigure]) -> String {
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
fn count<'a>(figures: impl Iterator<Item = &'a VerifiedFigure>, verdict: FigureVerdict) -> usize {
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
