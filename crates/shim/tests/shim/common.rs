//! Running programs under the shim.

use base::{CLOCK_VARIABLE, DilatedClock, Dilation};
use device::page::{AccessKind, Global, OfKind, Snapshot, global_word};
use device::{CacheSetup, DeviceSetup, Profile, Role, RoleSetup, SETUP_VARIABLE, Setup, builtin};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use tempfile::TempDir;

/// Names the job of a child, which is this test's own program under the shim.
const JOB: &str = "MYDYNO_SHIM_TEST_JOB";
const FILES: &str = "MYDYNO_SHIM_TEST_FILES";

/// A library that is preloaded, with the other one built if they are not there.
fn library(file: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let target = test.ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "shim", "-p", "clock"]);
        if target.ends_with("release") {
            build.arg("--release");
        }
        // Tests are told to say their times by it; cargo would build dependencies anew for it.
        build.env_remove("RUSTC_BOOTSTRAP").current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().unwrap().success(), "the libraries do not build");
        target.to_owned()
    });
    directory.join(file)
}

/// A profile: one that comes with mydyno, whose latency is far above the host's noise.
pub fn profile(name: &str) -> Profile {
    builtin(name).unwrap_or_else(|| {
        Profile::parse(
            "name = \"stand-in\"\ntitle = \"\"\ncapacity_bytes = 800000000000\n[sheet]\n",
        )
        .unwrap()
    })
}

/// A profile that lets 500 requests pass in a second: 32 of them need times that no host's delays
/// come near to.
pub fn slow() -> Profile {
    let slow = concat!(env!("CARGO_MANIFEST_DIR"), "/../device/tests/slow.toml");
    Profile::parse(&fs::read_to_string(slow).unwrap()).unwrap()
}

/// A directory that is watched, a page and a setup.
pub struct Bench {
    /// Times are compared: one at a time.
    _alone: MutexGuard<'static, ()>,
    pub directory: TempDir,
    pub setup: Setup,
    pub dilation: Dilation,
}

impl Bench {
    /// All roles of `roles` are on one emulated device, and it is armed.
    pub fn new(roles: &[Role]) -> Bench {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir(path("files")).unwrap();
        let place = |role: &Role| RoleSetup { role: *role, device: 0 };
        let setup = Setup {
            page: path("page"),
            directories: vec![path("files")],
            spin: true,
            cache: CacheSetup { bytes: 64 << 20, read_ahead_bytes: 128 << 10 },
            devices: vec![DeviceSetup {
                profile: profile("nvme-pm1725"),
                seed: 1,
                preconditioned: false,
            }],
            roles: roles.iter().map(place).collect(),
            ..Setup::default()
        };
        fs::write(path("page"), Snapshot::fresh()).unwrap();
        let bench = Bench { _alone: alone, directory, setup, dilation: Dilation::NONE };
        bench.arm(true);
        bench
    }

    pub fn arm(&self, armed: bool) {
        let page = OpenOptions::new().write(true).open(&self.setup.page).unwrap();
        let at = global_word(Global::Armed) as u64 * 8;
        page.write_at(&u64::from(armed).to_ne_bytes(), at).unwrap();
    }

    pub fn page(&self) -> Snapshot {
        Snapshot::decode(&fs::read(&self.setup.page).unwrap()).unwrap()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join("files").join(name)
    }

    /// A file of that many bytes of 7.
    pub fn fill(&self, name: &str, bytes: usize) {
        fs::write(self.file(name), vec![7; bytes]).unwrap();
    }

    /// A program under the shim.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        self.command_with(program, "setup.toml")
    }

    /// The same, with this setup in a file of that name.
    fn command_with(&self, program: impl AsRef<std::ffi::OsStr>, setup: &str) -> Command {
        let setup = self.directory.path().join(setup);
        fs::write(&setup, self.setup.to_toml().unwrap()).unwrap();
        let mut command = Command::new(program);
        let mut preload = library("libmydyno_shim.so").into_os_string();
        if !self.dilation.is_none() {
            preload.push(":");
            preload.push(library("libmydyno_clock.so"));
            command.env(CLOCK_VARIABLE, self.clock().to_string());
        }
        command
            .env("LD_PRELOAD", preload)
            .env(SETUP_VARIABLE, setup)
            .env(FILES, self.directory.path().join("files"));
        command
    }

    /// Dilated from the start of this machine on.
    fn clock(&self) -> DilatedClock {
        DilatedClock { dilation: self.dilation, origin_ns: 0 }
    }

    /// A job of this test's own program; see [`job`].
    pub fn job(&self, name: &str) -> Command {
        self.job_with(name, "setup.toml")
    }

    fn job_with(&self, name: &str, setup: &str) -> Command {
        let mut command = self.command_with(std::env::current_exe().unwrap(), setup);
        command.args(["--exact", "child", "--nocapture"]).env(JOB, name);
        command
    }

    /// Begins a job with the present setup, in a file of that name.
    pub fn spawn(&self, name: &str, setup: &str) -> Running {
        let mut command = self.job_with(name, setup);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    /// Runs a job to its end and returns what it tells.
    pub fn run(&self, name: &str) -> Told {
        told(&mut self.job(name))
    }
}

/// A job under way.
pub struct Running(Child);

impl Running {
    /// Ends it as nothing else does: it cannot do anything about it.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits for its end; what it told.
    pub fn told(self) -> Told {
        Told::of(&self.0.wait_with_output().unwrap())
    }
}

/// Runs a command to its end and returns what it tells.
pub fn told(command: &mut Command) -> Told {
    Told::of(&command.output().unwrap())
}

/// The job of this process and the directory of its files, where it is a child.
pub fn job() -> Option<(String, PathBuf)> {
    let name = std::env::var(JOB).ok()?;
    Some((name, PathBuf::from(std::env::var(FILES).unwrap())))
}

/// Tells a number to the parent.
pub fn tell(name: &str, value: u64) {
    let line = format!("\n@{name} {value}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// What a job told.
pub struct Told(String);

impl Told {
    fn of(output: &Output) -> Told {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {text}{errors}", output.status);
        Told(text)
    }

    pub fn get(&self, name: &str) -> u64 {
        let prefix = format!("@{name} ");
        let found = self.0.lines().find_map(|line| line.strip_prefix(&prefix));
        found.unwrap_or_else(|| panic!("{name} was not told: {}", self.0)).parse().unwrap()
    }
}

/// Memory for direct I/O.
#[repr(align(4096))]
pub struct Aligned(pub [u8; 65536]);

pub fn open(path: &Path, flags: i32) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.custom_flags(flags).open(path).unwrap()
}

pub fn timed(name: &str, run: impl FnOnce()) {
    let began = Instant::now();
    run();
    tell(name, began.elapsed().as_nanos() as u64);
}

/// Reads, writes and flushes.
pub fn requests(page: &Snapshot, role: Role) -> [u64; 3] {
    AccessKind::ALL.map(|kind| page.of_kind(role, kind, OfKind::Requests))
}
