//! `mydyno device fit`.

use super::profile_file::{new_profile, profile_text, today, write_profile};
use crate::commands::show;
use crate::failure::Outcome;
use crate::text::format::{optional, percent};
use analyse::Table;
use base::document;
use clap::Args;
use device::Profile;
use std::path::PathBuf;
use storage::fit::{FittedProfile, FittedReport, FittedRequests, fit};
use storage::iostat::read_iostat;
use storage::probe::Naming;

#[derive(Args)]
pub struct DeviceFitArguments {
    /// Log of `LC_ALL=C iostat -x 1`; the longer and the more varied its load, the better
    pub log: PathBuf,
    /// Device of the log, as sda [default: the one that has reads or writes]
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// File of the profile; ends in .toml and must not exist yet [default: print it]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// So many reports are shown one by one; of more, those that are farthest off.
const SHOWN_MAX: usize = 40;
const FARTHEST: usize = 10;
/// A time that is no farther off is fitted well.
const NEAR_SHARE: f64 = 0.25;

type OfKind = fn(&FittedReport) -> Option<FittedRequests>;

const KINDS: [(&str, OfKind); 3] =
    [("reads", |of| of.read), ("writes", |of| of.write), ("flushes", |of| of.flush)];

document! {
    /// How well a log is fitted, and the profile that was made of it.
    struct FitDocument from (arguments: &DeviceFitArguments, device: String, fitted: FittedProfile);
    let (log, output) = (arguments.log.display(), arguments.profile.as_ref());
    {
        log: String = log.to_string(),
        device: String = device,
        /// The file that the profile was written to.
        output: Option<String> = output.map(|file| file.display().to_string()),
        fits: [KindDocument; 3] = KINDS.map(|kind| KindDocument::of(kind, &fitted.reports)),
        residuals: Vec<FittedReport> = fitted.reports,
        untold: Vec<String> = fitted.untold,
        profile: Profile = fitted.profile,
    }
}

document! {
    /// How far times are off, as a share of the measured ones.
    struct KindDocument from (kind: (&'static str, OfKind), reports: &[FittedReport]);
    let mut off = reports.iter().filter_map(kind.1).map(off_share).collect::<Vec<f64>>();
    let () = off.sort_by(f64::total_cmp);
    let at = |share: f64| off.get(((off.len() as f64 - 1.0) * share).round() as usize).copied();
    {
        what: &'static str = kind.0,
        reports: usize = off.len(),
        near: usize = off.partition_point(|off| *off <= NEAR_SHARE),
        off_p50_share: Option<f64> = at(0.5),
        off_p90_share: Option<f64> = at(0.9),
        off_max_share: Option<f64> = at(1.0),
    }
}

fn off_share(of: FittedRequests) -> f64 {
    (of.ratio - 1.0).abs()
}

fn shown(reports: &[FittedReport]) -> Vec<FittedReport> {
    let mut reports = reports.to_vec();
    if reports.len() > SHOWN_MAX {
        let farthest = |at: &FittedReport| {
            KINDS.iter().filter_map(|(_, of)| of(at)).map(off_share).fold(0.0, f64::max)
        };
        reports.sort_by(|a, b| farthest(b).total_cmp(&farthest(a)));
        reports.truncate(FARTHEST);
    }
    reports
}

/// Runs the command.
pub fn run(arguments: &DeviceFitArguments) -> Outcome {
    let name = new_profile(arguments.profile.as_deref(), &arguments.log)?;
    let log = read_iostat(&arguments.log, arguments.device.as_deref())?;
    let (device, file) = (&log.device, arguments.log.display());
    let source =
        format!("fitted on {} to {} reports of {device} in {file}", today(), log.reports.len());
    let fitted = fit(&log, &arguments.log, &Naming { name, source })?;
    let profile = profile_text(&fitted.profile)?;
    let found = FitDocument::of(arguments, log.device, fitted);
    let said = words(&found);
    let comments = said.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n");
    let text = format!("{}\n{profile}", comments.collect::<String>());
    write_profile(arguments.profile.as_deref(), &text)?;
    show(arguments.json, 1, &found, || match &found.output {
        None => text,
        Some(file) => format!("{said}\n{file} is written; `mydyno run --data {file}` uses it\n"),
    })
}

fn words(found: &FitDocument) -> String {
    let shown = shown(&found.residuals);
    let left_out = match found.residuals.len() - shown.len() {
        0 => String::new(),
        _ => "(those that are farthest off; --json tells of all)\n".to_owned(),
    };
    let mut table = Table::of(&shown)
        .numbers("report", |of| of.report.to_string())
        .numbers("queue", |of| format!("{:.1}", of.queue));
    for (what, of) in KINDS {
        let column = |value: fn(FittedRequests) -> f64, decimals| {
            move |at: &&FittedReport| optional(of(at).map(value), decimals)
        };
        table = table
            .numbers(&format!("{what}/s"), column(|of| of.per_s, 0))
            .numbers("ms", column(|of| of.measured_ms, 3))
            .numbers("fitted", column(|of| of.fitted_ms, 3))
            .numbers("ratio", column(|of| of.ratio, 2));
    }
    let fits = found.fits.iter().map(|fit| {
        let [half, most, all] = [fit.off_p50_share, fit.off_p90_share, fit.off_max_share]
            .map(|off| off.map_or_else(|| "NA".to_owned(), |off| percent(off, 0)));
        format!(
            "{}: {} of {} reports are fitted within 25 %; half within {half}, nine tenths within \
             {most}, all within {all}\n",
            fit.what, fit.near, fit.reports
        )
    });
    format!(
        "{} in {}\n\n{}\n{}{left_out}\nThe log does not tell:\n{}",
        found.device,
        found.log,
        fits.collect::<String>(),
        table.text(),
        found.untold.iter().map(|what| format!("- {what}\n")).collect::<String>()
    )
}
