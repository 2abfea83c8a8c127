//! Private servers that are kept to some cores.

use crate::support::{
    AMPLE, Mydyno, SMALL_REDO, directory, float, install, list, mydyno, number, result,
    servers_under, text,
};
use base::CpuList;
use rustix::process::Signal;
use server::KeptToCpus;
use std::fs;
use std::path::Path;

const ENGINE: &str = "mysql-5.7";

fn run(work: &Path, arguments: &[&str]) -> Mydyno {
    install(ENGINE);
    mydyno(["run", "--engine", ENGINE, "-w", "1", "-c", "4", "--json"])
        .and_args(SMALL_REDO)
        .and_args(arguments)
        .in_directory(work)
}

/// The CPUs of a task, as /proc has them; none where it has ended.
fn allowed(task: &str) -> Option<CpuList> {
    let status = fs::read_to_string(format!("{task}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.parse().unwrap())
}

/// The CPUs of all threads of a process whose names begin like this.
fn allowed_of_threads(process: u32, name: &str) -> Vec<CpuList> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let tasks = tasks.map(|task| task.unwrap().path().display().to_string());
    let of_name = |task: &String| {
        fs::read_to_string(format!("{task}/comm")).is_ok_and(|of| of.starts_with(name))
    };
    tasks.filter(of_name).filter_map(|task| allowed(&task)).collect()
}

#[test]
fn a_server_has_one_core_and_the_driver_the_others() {
    let work = directory();
    let file = work.path().join("mydyno.db");
    let all = allowed("/proc/self").unwrap();
    let first: CpuList = all.iter().take(1).collect();
    let others = if all.len() > 1 { all.without(&first) } else { all.clone() };
    let mut running =
        run(work.path(), &["--cores", "1", "--warmup", "0", "--window", AMPLE]).spawn();
    running.until_measuring(work.path());
    let servers = servers_under(running.pid());
    assert_eq!(servers.len(), 1);
    // Every thread of the server, and those of mydyno that measure.
    let of_server = allowed_of_threads(servers[0], "");
    assert!(of_server.len() > 4 && of_server.iter().all(|cpus| *cpus == first), "{of_server:?}");
    let of_driver = allowed_of_threads(running.pid(), "driver-");
    assert!(!of_driver.is_empty() && of_driver.iter().all(|cpus| *cpus == others), "{of_driver:?}");
    running.signal(Signal::INT);
    let document = running.wait().exits(130).json();
    assert_eq!(number(&document, "/cores"), 1);
    assert_eq!(text(&document, "/server_cpus"), first.to_string());
    assert_eq!(text(&document, "/driver_cpus"), others.to_string());
    let stored = "SELECT cores || ' ' || server_cpus FROM cell JOIN repeat ON cell_id = cell.id";
    assert_eq!(result(&file, stored), format!("1 {first}"));
}

#[test]
#[ignore = "make soak"]
fn servers_together_share_their_cores() {
    let work = directory();
    let arguments = ["--instances", "2", "--cores", "1", "--warmup", "0", "--window", "3s"];
    let document = run(work.path(), &arguments).run().exits(0).json();
    assert_eq!((number(&document, "/instances"), number(&document, "/cores")), (2, 1));
    let each = list(&document, "/nopm_by_instance");
    assert!(each.len() == 2 && each.iter().all(|nopm| nopm.as_f64() > Some(0.0)), "{each:?}");
    // Two servers on one core have one second of it in a second, and some ticks.
    let used = float(&document, "/resources/server_process/cpu_cores_used");
    assert!(used > 0.05 && used < 1.1, "{used}");
}

#[test]
fn more_cores_than_mydyno_may_use_are_refused() {
    let work = directory();
    let command = run(work.path(), &["--cores", "2"]);
    // What this thread starts is kept to one CPU, too.
    let one: CpuList = allowed("/proc/thread-self").unwrap().iter().take(1).collect();
    let _kept = KeptToCpus::new(&one).unwrap();
    let there = format!("may use 1 CPU ({one})");
    command.run().exits(4).says(&["2 cores are asked", &there]).finds_nothing();
    let plan = work.path().join("plan.toml");
    let text = "lab.name = 'x'\n[server]\nengine = 'mysql-5.7'\ncores = [1, 2]\n\
                [load]\nwarehouses = 1\nconnections = 2\n";
    fs::write(&plan, text).unwrap();
    let planned = || mydyno(["lab", "plan", "plan.toml"]).in_directory(work.path());
    planned().run().exits(3).says(&["plan.toml:4:13: ", "2 cores are asked"]);
    let fewer = text.replace("[1, 2]", "1");
    fs::write(&plan, fewer).unwrap();
    planned().run().exits(0);
}
