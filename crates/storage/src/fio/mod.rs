//! Runs fio, the tool by which people judge storage: devices are verified and probed by it, not by
//! code of ours.

mod job;
mod output;
mod process;
mod space;

pub(crate) use job::RANDOM_BYTES;
pub use job::{EmulatedResult, Emulation, FioJob, JobWatch, Pattern};
pub use output::{FioResult, Latency};
pub use space::{Content, TestFile};

use crate::arrange::{SPIN_CORES_MIN, cores};
use crate::counters::ShimPage;
use crate::delta::Delta;
use crate::error::{StorageError, StorageResult, io_at};
use crate::library;
use base::Dilation;
use device::page::Snapshot;
use device::{DeviceSetup, Role, RoleSetup, Setup};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "fio";
const OUTPUT_FILE: &str = "fio.json";
/// The oldest with all that is read of its documents.
const VERSION_MIN: (u32, u32) = (3, 16);

/// Time from its start to its first request.
const START_UP: Duration = Duration::from_millis(200);
/// Beyond its run time, fio starts threads, opens files and writes its document.
const GRACE: Duration = Duration::from_secs(60);

/// fio, as it is installed.
#[derive(Clone, Debug)]
pub struct Fio {
    /// `fio-3.33`
    pub version: String,
}

impl Fio {
    /// The one on PATH.
    ///
    /// # Errors
    /// [`StorageError::NoFio`] where there is none, or an old one.
    pub fn find() -> StorageResult<Fio> {
        let missing = |why: String| StorageError::NoFio { why };
        let asked = Command::new(PROGRAM).arg("--version").output();
        let output = asked.map_err(|error| missing(format!("it does not run: {error}")))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let Some(numbers) = version_numbers(&version) else {
            return Err(missing(format!("`fio --version` said {version:?}")));
        };
        if numbers < VERSION_MIN {
            let (major, minor) = VERSION_MIN;
            return Err(missing(format!("{version} is older than {major}.{minor}")));
        }
        Ok(Fio { version })
    }

    /// Runs a job on real storage.
    ///
    /// # Errors
    /// [`StorageError::FioFailed`] with what fio said; [`StorageError::Interrupted`] where it was
    /// stopped.
    pub fn run_bare(
        &self,
        job: &FioJob,
        file: &TestFile,
        watch: &mut JobWatch<'_>,
    ) -> StorageResult<FioResult> {
        run(job, file, Dilation::NONE, Vec::new(), watch)
    }

    /// Runs a job under the shim.
    ///
    /// # Errors
    /// As [`Fio::run_bare`]; [`StorageError::NoShim`]; [`StorageError::FioFailed`] where fio did
    /// not load the shim.
    pub fn run_emulated(
        &self,
        job: &FioJob,
        emulation: &Emulation<'_>,
        file: &TestFile,
        watch: &mut JobWatch<'_>,
    ) -> StorageResult<EmulatedResult> {
        let setup_path = file.directory().join(ShimPage::SETUP_FILE);
        let page_path = file.directory().join(ShimPage::FILE);
        let setup = setup(emulation, file, &page_path)?;
        std::fs::write(&setup_path, setup).map_err(io_at("write", &setup_path))?;
        std::fs::write(&page_path, Snapshot::fresh()).map_err(io_at("write", &page_path))?;
        let page = ShimPage::in_directory(file.directory());
        page.arm(emulation.armed)?;
        let at_start = page.snapshot()?;
        let mut after_ramp = None;
        let clock = library::clock_from_now(emulation.dilation);
        let environment = library::environment(setup_path.as_os_str(), clock)?;
        let real = |duration: Duration| duration.mul_f64(emulation.dilation.factor());
        let mut tick = |elapsed: Duration| {
            (watch.on_tick)(elapsed);
            if after_ramp.is_none() && elapsed > real(job.ramp + START_UP) {
                // What cannot be read now fails at the end.
                after_ramp = page.snapshot().ok();
            }
        };
        let mut inner = JobWatch { stop: watch.stop, on_tick: &mut tick };
        let measured = run(job, file, emulation.dilation, environment, &mut inner)?;
        if !page.is_taken()? {
            return Err(StorageError::FioFailed {
                why: "fio did not load the shim; is it statically linked?".to_owned(),
            });
        }
        let begin = after_ramp.unwrap_or(at_start);
        Ok(EmulatedResult { counters: Delta::between(&begin, &page.snapshot()?), measured })
    }
}

fn run(
    job: &FioJob,
    file: &TestFile,
    dilation: Dilation,
    environment: Vec<(OsString, OsString)>,
    watch: &mut JobWatch<'_>,
) -> StorageResult<FioResult> {
    let output = file.directory().join(OUTPUT_FILE);
    let errors = file.directory().join("fio.err");
    let stderr = std::fs::File::create(&errors).map_err(io_at("write", &errors))?;
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments(job, file, dilation))
        .envs(environment)
        .current_dir(file.directory())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr);
    // In real time.
    let limit = (job.ramp + job.runtime).mul_f64(dilation.factor()) + GRACE;
    let status = process::run(command, limit, watch)?;
    let said = std::fs::read_to_string(&errors).unwrap_or_default();
    let failed = |why: String| StorageError::FioFailed { why };
    if !status.success() {
        let first = said.lines().find(|line| !line.trim().is_empty());
        return Err(failed(format!("{status}: {}", first.unwrap_or("it said nothing"))));
    }
    let text = std::fs::read_to_string(&output).map_err(io_at("read", &output))?;
    output::parse(&text, job.pattern).map_err(failed)
}

fn arguments(job: &FioJob, file: &TestFile, dilation: Dilation) -> Vec<String> {
    let engine = if job.queue_depth > 1 { "libaio" } else { "psync" };
    let direct = u8::from(job.direct);
    let seconds = |duration: Duration| format!("{}ms", duration.as_millis());
    let mut arguments = vec![
        "--name=mydyno".to_owned(),
        // A process of one thread: the shim's page is that of one process.
        "--thread".to_owned(),
        format!("--rw={}", job.pattern.name()),
        format!("--bs={}", job.block_bytes),
        format!("--iodepth={}", job.queue_depth),
        format!("--ioengine={engine}"),
        format!("--direct={direct}"),
        format!("--size={}", job.span_bytes.min(file.bytes)),
        "--time_based".to_owned(),
        format!("--runtime={}", seconds(job.runtime)),
        format!("--ramp_time={}", seconds(job.ramp)),
        "--group_reporting".to_owned(),
        // Every address as likely as any other at all times, as the addresses of a busy server.
        "--norandommap".to_owned(),
        "--randrepeat=1".to_owned(),
        "--allow_file_create=0".to_owned(),
        "--fallocate=none".to_owned(),
        "--output-format=json".to_owned(),
        format!("--output={OUTPUT_FILE}"),
        // fio takes a list of files, with colons between them.
        format!("--filename={}", file.path().display().to_string().replace(':', "\\:")),
    ];
    let more = [
        (job.pattern == Pattern::RandomMixed, "--rwmixread=70"),
        (job.pattern == Pattern::FlushedWrite, "--fdatasync=1"),
        // Its other clock is the core's counter, which is real.
        (!dilation.is_none(), "--clocksource=clock_gettime"),
    ];
    let more = more.into_iter().filter(|(is_needed, _)| *is_needed);
    arguments.extend(more.map(|(_, option)| option.to_owned()));
    arguments
}

/// The text of a setup in which the file is all that a device holds.
fn setup(emulation: &Emulation<'_>, file: &TestFile, page: &Path) -> StorageResult<String> {
    let setup = Setup {
        page: page.display().to_string(),
        directories: vec![file.device_directory().display().to_string()],
        every_file: Some(Role::Data),
        spin: cores() >= SPIN_CORES_MIN,
        devices: vec![DeviceSetup {
            profile: emulation.profile.clone(),
            seed: 1,
            preconditioned: emulation.preconditioned,
        }],
        roles: vec![RoleSetup { role: Role::Data, device: 0 }],
        ..Setup::default()
    };
    Ok(setup.to_toml()?)
}

/// `fio-3.33`, `fio-3.33-22-gabc`
fn version_numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix("fio-")?.split(['.', '-']);
    let major = parts.next()?.parse().ok()?;
    Some((major, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::version_numbers;

    #[test]
    fn versions() {
        assert_eq!(version_numbers("fio-3.33"), Some((3, 33)));
        assert_eq!(version_numbers("fio-3.36-22-gabc"), Some((3, 36)));
        assert_eq!(version_numbers("flexible"), None);
    }
}
