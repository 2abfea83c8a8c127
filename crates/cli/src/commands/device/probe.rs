//! `mydyno device probe`.

use super::profile_file::{new_profile, profile_text, today, write_profile};
use crate::arguments::job_duration;
use crate::commands::show;
use crate::console::{Console, stop_flag, tell};
use crate::failure::Outcome;
use base::document;
use clap::Args;
use device::{Profile, SEQUENTIAL_QUEUE_DEPTH};
use std::path::PathBuf;
use std::time::Duration;
use storage::fio::{Fio, FioResult};
use storage::probe::{Naming, ProbeOptions, Probed, expected_duration, probe};

#[derive(Args)]
pub struct DeviceProbeArguments {
    /// Directory on the storage to measure; a file of up to 1 GiB is made there and removed
    pub directory: PathBuf,
    /// File of the profile; ends in .toml and must not exist yet [default: print it]
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Measured time of each of about ten jobs, in seconds
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

document! {
    /// What was measured, and the profile that was made of it.
    struct ProbeDocument from (
        fio: &Fio,
        arguments: &DeviceProbeArguments,
        probed: &Probed,
        profile: Profile
    );
    let output = arguments.profile.as_ref();
    {
        fio_version: String = fio.version.clone(),
        directory: String = arguments.directory.display().to_string(),
        model: Option<String> = probed.facts.model.clone(),
        rotational: Option<bool> = probed.facts.rotational,
        direct_io: bool = probed.direct,
        file_bytes: u64 = probed.file_bytes,
        /// The file that the profile was written to.
        output: Option<String> = output.map(|file| file.display().to_string()),
        measurements: Vec<MeasurementDocument> = measurements(probed),
        profile: Profile = profile,
    }
}

document! {
    struct MeasurementDocument from (what: &'static str, queue_depth: u32, measured: &FioResult);
    {
        what: &'static str = what,
        queue_depth: u32 = queue_depth,
        iops: f64 = measured.iops,
        mb_per_s: f64 = measured.mb_per_s,
        latency_mean_us: f64 = measured.latency.mean_us,
        latency_deviation_us: f64 = measured.latency.deviation_us,
        latency_p50_us: f64 = measured.latency.p50_us,
        latency_p99_us: f64 = measured.latency.p99_us,
        latency_max_us: f64 = measured.latency.max_us,
        flush_mean_us: Option<f64> = measured.flush.map(|flush| flush.mean_us),
    }
}

/// Runs the command.
pub fn run(arguments: &DeviceProbeArguments) -> Outcome {
    let naming_base = new_profile(arguments.profile.as_deref(), &arguments.directory)?;
    let fio = Fio::find()?;
    let stop = stop_flag();
    let mut console = Console::new()?;
    let options =
        ProbeOptions { directory: arguments.directory.clone(), runtime: arguments.seconds };
    let total = expected_duration(options.runtime);
    let probed = probe(&fio, &options, &stop, &mut |what, done| {
        console.show_work(what, done, total);
    })?;
    console.done();
    if !probed.direct {
        tell(format_args!(
            "note: the file system of {} has no O_DIRECT: its page cache was measured too",
            arguments.directory.display()
        ));
    }
    if let Some(caveat) = probed.caveat() {
        tell(format_args!("note: {} is on {caveat}", arguments.directory.display()));
    }
    let profile =
        probed.profile(&Naming { name: naming_base, source: source(&fio, arguments, &probed) })?;
    let text = profile_text(&profile)?;
    write_profile(arguments.profile.as_deref(), &text)?;
    let found = ProbeDocument::of(&fio, arguments, &probed, profile);
    show(arguments.json, 1, &found, || match &found.output {
        None => text,
        Some(file) => {
            let measured: String = found.measurements.iter().map(words).collect();
            format!(
                "{measured}{file} is written; `mydyno device verify {file}` tries it, `mydyno run \
                 --data {file}` uses it\n"
            )
        }
    })
}

fn words(measured: &MeasurementDocument) -> String {
    let MeasurementDocument { what, queue_depth, iops, mb_per_s, .. } = measured;
    let [mean_us, p99_us] = [measured.latency_mean_us, measured.latency_p99_us];
    format!(
        "{what:<18} depth {queue_depth:>3}: {iops:>9.0} IOPS {mb_per_s:>8.1} MB/s, {mean_us:>9.1} \
         us mean, {p99_us:>9.1} us p99\n"
    )
}

fn source(fio: &Fio, arguments: &DeviceProbeArguments, probed: &Probed) -> String {
    let date = today();
    let model = probed.facts.model.as_ref().map(|model| format!(" ({model})"));
    let cache = if probed.direct { "" } else { ", with the page cache" };
    let caveat = probed.caveat().map(|caveat| format!("; {caveat}"));
    format!(
        "measured by {} on {date} on {}{}{cache}{}",
        fio.version,
        arguments.directory.display(),
        model.unwrap_or_default(),
        caveat.unwrap_or_default()
    )
}

fn measurements(probed: &Probed) -> Vec<MeasurementDocument> {
    let of = MeasurementDocument::of;
    let mut all = vec![of("random_read", 1, &probed.read)];
    let deep = probed.deep_reads.iter();
    all.extend(deep.map(|(depth, measured)| of("random_read", *depth, measured)));
    all.push(of("random_write", 1, &probed.write));
    all.push(of("random_write", Probed::WRITE_DEPTH, &probed.deep_write));
    let sequential = SEQUENTIAL_QUEUE_DEPTH;
    all.push(of("sequential_read", sequential, &probed.sequential_read));
    all.push(of("sequential_write", sequential, &probed.sequential_write));
    all.push(of("flushed_write", 1, &probed.flushed_write));
    all
}
