//! Does an emulated device meet its sheet? Each figure is measured by fio under the shim, on a file
//! of the host, and judged against what the host can do at all.

mod figure;

pub use figure::{FigureVerdict, VerifiedFigure};

use crate::backing::{self, Need};
use crate::error::StorageResult;
use crate::fio::{Content, EmulatedResult, Emulation, Fio, FioJob, JobWatch, TestFile};
use base::Dilation;
use device::Profile;
use figure::{FigureCheck, SPAN_BYTES, checks};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What is asked.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Where fio's file goes; [`default_directory`] chooses.
    pub directory: PathBuf,
    /// Measured time of each figure, dilated.
    pub runtime: Duration,
    /// Of the device and of fio.
    pub dilation: Dilation,
}

/// Memory where it has room, else `fallback`.
pub fn default_directory(fallback: &Path) -> PathBuf {
    let need = Need { bytes: SPAN_BYTES * 2, buffer_pool_bytes: 0 };
    let memory = backing::memory_files(true);
    let chosen = backing::choose(need, &memory, backing::available_memory_bytes());
    chosen.unwrap_or_else(|_| fallback.to_owned())
}

/// How long a verification takes, in the time of its devices.
///
/// # Errors
/// [`StorageError::EmptySheet`] where there is nothing to verify.
pub fn expected_duration(profile: &Profile, runtime: Duration) -> StorageResult<Duration> {
    let checks = checks(profile, runtime)?;
    Ok(checks.iter().map(FigureCheck::duration).sum())
}

/// Measures every figure of the sheet; `on_progress` is told which, and the time that the jobs
/// have taken.
pub fn verify(
    fio: &Fio,
    profile: &Profile,
    options: &VerifyOptions,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(&str, Duration),
) -> StorageResult<Vec<VerifiedFigure>> {
    let checks = checks(profile, options.runtime)?;
    let file = TestFile::lay_out(&options.directory, content(profile), stop)?;
    let mut done = Duration::ZERO;
    let mut figures = Vec::with_capacity(checks.len());
    let dilation = options.dilation;
    for check in &checks {
        let mut run = |job: &FioJob, armed| -> StorageResult<EmulatedResult> {
            let elapsed = |real: Duration| done + real.div_f64(dilation.factor());
            let on_tick = &mut |real| on_progress(check.key, elapsed(real));
            let mut watch = JobWatch { stop, on_tick };
            let preconditioned = check.preconditioned;
            let emulation = Emulation { profile, preconditioned, armed, dilation };
            let measured = fio.run_emulated(job, &emulation, &file, &mut watch)?;
            done += job.ramp + job.runtime;
            Ok(measured)
        };
        let host = run(&check.host_job(), false)?;
        let host_limit = check.metric.value(&host.measured);
        let emulated = run(&check.job, true)?;
        figures.push(VerifiedFigure::of(check, &emulated, host_limit));
    }
    Ok(figures)
}

/// A disk is measured over all of its cylinders: a long file, which is a hole but for what is
/// written.
fn content(profile: &Profile) -> Content {
    if profile.is_disk() {
        Content::Hole { bytes: profile.capacity_bytes }
    } else {
        Content::Random
    }
}
