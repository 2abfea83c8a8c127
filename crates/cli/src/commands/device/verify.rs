//! `mydyno device verify`.

use crate::arguments::device::DeviceVerifyArguments;
use crate::commands::show;
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text::device::{count, table};
use crate::text::format::percent;
use base::{Dilation, Exit, document};
use device::Profile;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;
use storage::fio::Fio;
use storage::verify::{
    FigureVerdict, VerifiedFigure, VerifyOptions, default_directory, expected_duration, verify,
};

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
    let profiles: Vec<Profile> = profiles(arguments)?.into_iter().map(used).collect();
    let fio = Fio::find()?;
    storage::shim_library()?;
    let options = VerifyOptions {
        directory: directory(arguments)?,
        runtime: arguments.seconds,
        dilation: arguments.dilate,
    };
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
        });
        let figures = match figures {
            Ok(figures) => figures,
            Err(error) => {
                console.done();
                return Err(error.into());
            }
        };
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
        let by_use: Vec<String> =
            by_use.map(|at| format!("{} {:.0}", percent(at.used_share, 0), at.iops)).collect();
        match by_use.is_empty() {
            true => format!("{table}\n"),
            false => format!(
                "{table}random writes per second by the share in use: {}\n\n",
                by_use.join(", ")
            ),
        }
    });
    format!(
        "{}, {} s for each figure{}, files in {}\n\n{}{} within, {} host-limited, {} outside\n",
        document.fio_version,
        document.seconds,
        dilated,
        document.directory,
        tables.collect::<String>(),
        document.within,
        document.host_limited,
        document.outside
    )
}

fn profiles(arguments: &DeviceVerifyArguments) -> Result<Vec<Profile>, Failure> {
    if arguments.all {
        return Ok(device::builtins());
    }
    let read = |name: &String| storage::profile(name).map_err(Failure::from);
    arguments.profiles.iter().map(read).collect()
}

/// Memory, or mydyno's own directory, unless one is named.
fn directory(arguments: &DeviceVerifyArguments) -> Result<PathBuf, Failure> {
    match &arguments.directory {
        Some(directory) => Ok(directory.clone()),
        None => Ok(default_directory(server::Home::from_env()?.root())),
    }
}
