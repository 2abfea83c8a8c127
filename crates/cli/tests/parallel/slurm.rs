//! `contrib/slurm-lab.sh` on a real Slurm of two nodes, both on this machine, with a configuration,
//! ports and keys of its own. Slurm and munge run as root only.

use crate::support::{
    BINARY, alive, directory, home, mydyno, populate, result, results, shim, signal, text, until,
};
use rustix::process::Signal;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const ENGINE: &str = "mysql-5.7";
/// Its lab has so many repeats of 2 s each, of which two run at a time.
const REPEATS: u64 = 16;
const PLAN: &str = "[lab]\nname = 'array'\nrepeats = 8\n[server]\nengine = 'mysql-5.7'\n\
                    set = { innodb_log_file_size = '16M' }\n[load]\nwarehouses = 1\n\
                    connections = [1, 2]\nwarmup = '0s'\nwindow = '2s'\n";
/// The whole array, requeues included, takes some minutes.
const PATIENCE: Duration = Duration::from_secs(1_200);

/// Its daemons, which end where it is dropped.
struct Slurm {
    directory: tempfile::TempDir,
}

impl Slurm {
    fn up() -> Slurm {
        assert!(rustix::process::getuid().is_root(), "slurmctld, slurmd and munged want root");
        let slurm = Slurm { directory: directory() };
        let path = |name: &str| slurm.path(name).display().to_string();
        let key: Vec<u8> = (0..=255_u8).cycle().take(1_024).collect();
        fs::write(path("key"), key).unwrap();
        fs::set_permissions(path("key"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::create_dir(path("state")).unwrap();
        fs::write(path("slurm.conf"), slurm.configuration()).unwrap();
        // munged wants nobody else to be able to write to the way to its socket.
        let munged = ["socket", "key-file", "pid-file", "seed-file", "log-file"].map(|option| {
            let file = if option == "key-file" { "key" } else { option };
            format!("--{option}={}", path(file))
        });
        slurm.tell("munged", &[&["--force".to_owned()][..], &munged].concat());
        slurm.tell("slurmctld", &[]);
        for node in ["n1", "n2"] {
            slurm.tell("slurmd", &["-N".to_owned(), node.to_owned()]);
        }
        let idle = || slurm.ask("sinfo", &["-h", "-t", "idle", "-o", "%D"]) == "2";
        until("both nodes are idle", idle);
        slurm
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn configuration(&self) -> String {
        let host = Command::new("hostname").arg("-s").output().unwrap().stdout;
        let host = String::from_utf8(host).unwrap();
        let listeners = [(); 3].map(|()| TcpListener::bind(("127.0.0.1", 0)).unwrap());
        let [control, first, second] = listeners.map(|of| of.local_addr().unwrap().port());
        let node = |name: &str, port: u16| {
            format!(
                "NodeName={name} NodeHostname={} NodeAddr=127.0.0.1 Port={port} CPUs=1 \
                 RealMemory=1000 State=UNKNOWN\n",
                host.trim()
            )
        };
        format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={control}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={here}/socket\nStateSaveLocation={here}/state\n\
             SlurmdSpoolDir={here}/spool-%n\nSlurmctldPidFile={here}/control.pid\n\
             SlurmdPidFile={here}/%n.pid\nSlurmctldLogFile={here}/control.log\n\
             SlurmdLogFile={here}/%n.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nReturnToService=2\nMpiDefault=none\nMinJobAge=3600\n\
             {}{}PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            node("n1", first),
            node("n2", second),
            host = host.trim(),
            here = self.directory.path().display(),
        )
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let binaries = Path::new(BINARY).parent().unwrap().display();
        let path = std::env::var("PATH").unwrap();
        command
            .env("SLURM_CONF", self.path("slurm.conf"))
            .env("PATH", format!("{binaries}:/usr/sbin:{path}"))
            .env("MYDYNO_HOME", home())
            .current_dir(self.directory.path());
        command
    }

    /// Runs one that ends, or goes to the background.
    #[track_caller]
    fn tell(&self, program: &str, arguments: &[String]) {
        let output = self.command(program).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}");
    }

    /// What it answers; nothing where it fails, as while a daemon starts.
    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// States of the tasks that have not ended.
    fn states(&self) -> Vec<String> {
        let asked = self.ask("squeue", &["-h", "-r", "-t", "all", "-o", "%T"]);
        asked.lines().filter(|state| *state != "COMPLETED").map(str::to_owned).collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for file in ["n1.pid", "n2.pid", "control.pid", "pid-file"] {
            let pid = fs::read_to_string(self.path(file)).ok().and_then(|t| t.trim().parse().ok());
            let Some(pid) = pid else { continue };
            signal(pid, Signal::TERM);
            let begun = Instant::now();
            while alive(pid) && begun.elapsed() < Duration::from_secs(10) {
                sleep(Duration::from_millis(50));
            }
        }
    }
}

#[test]
#[ignore = "make soak"]
fn an_array_that_is_requeued_measures_everything() {
    shim();
    populate(ENGINE);
    let slurm = Slurm::up();
    fs::write(slurm.path("plan.toml"), PLAN).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/slurm-lab.sh");
    let script = script.display().to_string();
    let job = slurm.ask("sbatch", &["--parsable", "--array=1-2", &script, "plan.toml", "2"]);
    assert!(job.parse::<u32>().is_ok(), "no job: {job}");
    let logs = || {
        [1, 2].map(|task| {
            let log = slurm.path(&format!("mydyno-lab-{task}.log"));
            fs::read_to_string(log).unwrap_or_default()
        })
    };
    // At other moments in every run, which are told where it fails.
    let now = base::now_utc_ns().unsigned_abs();
    for moment_ms in [now % 4_000, now / 7 % 9_000, now / 31 % 14_000] {
        println!("requeued {moment_ms} ms after it ran");
        let runs = || slurm.states().iter().any(|state| state == "RUNNING");
        until("the job runs", || runs() || slurm.states().is_empty());
        sleep(Duration::from_millis(moment_ms));
        // It may have ended by now.
        slurm.ask("scontrol", &["requeue", &job]);
        until("the job is stopped", || !slurm.states().iter().any(|state| state == "COMPLETING"));
        // Slurm would wait for two minutes.
        slurm.ask("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
    }
    let begun = Instant::now();
    while !slurm.states().is_empty() {
        let goes_on = |state: &String| ["PENDING", "RUNNING", "COMPLETING"].contains(&&**state);
        let states = slurm.states();
        assert!(states.iter().all(goes_on), "{states:?}\n{:#?}", logs());
        assert!(begun.elapsed() < PATIENCE, "{states:?}\n{:#?}", logs());
        sleep(Duration::from_millis(500));
    }
    let restarts = slurm.ask("scontrol", &["show", "job", &job]);
    assert!(restarts.contains("Restarts=3"), "{restarts}");
    let merge = ["merge", "shards/1.db", "shards/2.db", "--into", "all.db", "--json"];
    let merged = mydyno(merge).in_directory(slurm.directory.path()).run().exits(0).json();
    assert_eq!(text(&merged, "/labs/0/status"), "done", "{merged:#}\n{:#?}", logs());
    let all = slurm.path("all.db");
    let done = "SELECT DISTINCT c.ordinal, r.ordinal FROM repeat r JOIN cell c ON c.id = r.cell_id \
                WHERE r.status = 'done' AND NOT r.interrupted";
    assert_eq!(results(&all, done).len() as u64, REPEATS);
    let failed = "SELECT COUNT(*) FROM repeat WHERE status = 'failed' AND reason_code IS NOT \
                  'interrupted'";
    assert_eq!(result(&all, failed), "0");
}
