//! One measurement that several processes drive against a real server, as launchers start them.

use crate::support::{
    AMPLE, Mydyno, Running, Server, all_checks_hold, counts_agree, directory, execute, float, lent,
    list, mydyno, number, result, signal, text,
};
use rustix::process::Signal;
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const TOKEN: &str = "only for this test";

/// An address where nobody listens.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// `command` as one rank of a fleet of `size`, by the variables of a launcher.
fn rank(
    (launcher, command): ([&str; 2], &[&str]),
    (number, size): (u32, u32),
    address: &str,
    work: &Path,
) -> Mydyno {
    let [rank_variable, size_variable] = launcher;
    mydyno(command)
        .and_args(["--fleet", "--join", address, "--fleet-wait", "30s"])
        .env("MYDYNO_FLEET_TOKEN", TOKEN)
        .env(rank_variable, number.to_string())
        .env(size_variable, size.to_string())
        .in_directory(work)
}

const SLURM: [&str; 2] = ["SLURM_PROCID", "SLURM_NTASKS"];
const MPI: [&str; 2] = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"];
const INDEXED_JOB: [&str; 2] = ["JOB_COMPLETION_INDEX", "MYDYNO_FLEET_SIZE"];

/// Ranks 1 and above of a fleet whose command is that of `rank`.
fn followers(
    (launcher, command): ([&str; 2], &[&str]),
    size: u32,
    address: &str,
    work: &Path,
) -> Vec<Running> {
    let follow = |number| rank((launcher, command), (number, size), address, work).spawn();
    (1..size).map(follow).collect()
}

fn run_on(server: &Server) -> Vec<&str> {
    vec!["run", "--dsn", &server.dsn, "-c", "7", "--warmup", "1s", "--window", "3s", "--check"]
}

#[test]
fn three_ranks_drive_one_measurement() {
    let (server, work, address) = (lent(), directory(), free_address());
    let command = run_on(&server);
    let followers = followers((SLURM, &command), 3, &address, work.path());
    let leader = rank((SLURM, &command), (0, 3), &address, work.path());
    let document = leader.and_args(["--json"]).run().exits(0).json();
    followers.into_iter().for_each(|follower| {
        let ended = follower.wait().exits(0);
        assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    });
    counts_agree(&document);
    all_checks_hold(&document);
    assert_eq!(number(&document, "/connections"), 7);
    let ranks = list(&document, "/ranks");
    assert_eq!(ranks.len(), 3);
    let of_ranks: u64 = ranks.iter().map(|rank| number(rank, "/primary_transactions")).sum();
    let of_all = number(&document, "/transactions/new_order/committed")
        + number(&document, "/transactions/new_order/rolled_back");
    assert_eq!(of_ranks, of_all);
    assert!(ranks.iter().all(|rank| number(rank, "/primary_transactions") > 0), "{ranks:#?}");
    assert!(ranks.iter().all(|rank| rank["lost"].is_null()));
    assert_eq!(result(&work.path().join("mydyno.db"), "SELECT count(*) FROM fleet_rank"), "3");
}

#[test]
#[ignore = "make soak"]
fn ranks_load_a_database_that_is_equal_to_the_byte() {
    let (server, work, address) = (lent(), directory(), free_address());
    let load = |schema: &str| {
        let dsn = server.schema(schema);
        ["load", "--dsn", &dsn, "-w", "2", "--threads", "1"].map(str::to_owned)
    };
    let alone = mydyno(load("alone")).and_args(["--json"]).in_directory(work.path()).run();
    let together = load("together");
    let command: Vec<&str> = together.iter().map(String::as_str).collect();
    let followers = followers((SLURM, &command), 2, &address, work.path());
    let leader = rank((SLURM, &command), (0, 2), &address, work.path()).and_args(["--json"]).run();
    followers.into_iter().for_each(|follower| drop(follower.wait().exits(0)));
    let (alone, leader) = (alone.exits(0).json(), leader.exits(0).json());
    assert_eq!(list(&leader, "/tables"), list(&alone, "/tables"));
    assert!(number(&leader, "/row_bytes") < number(&alone, "/row_bytes"));
    mydyno(["check", "--dsn", &server.schema("together")]).run().exits(0);
    execute(&server.dsn, ["DROP DATABASE alone", "DROP DATABASE together"]);
}

#[test]
fn a_killed_rank_fails_the_run_or_marks_it() {
    let (server, work) = (lent(), directory());
    let dsn = server.dsn.clone();
    let killed = |tolerate: &str, exit: i32| -> Value {
        let address = free_address();
        let window = if tolerate == "0" { AMPLE } else { "6s" };
        let command =
            ["run", "--dsn", &dsn, "-c", "6", "--warmup", "0", "--window", window, "--json"];
        let command = [&command[..], &["--tolerate", tolerate]].concat();
        let file = work.path().join("mydyno.db");
        let followers = followers((MPI, &command), 3, &address, work.path());
        let mut leader = rank((MPI, &command), (0, 3), &address, work.path()).spawn();
        let measuring = "SELECT count(*) > 1 FROM interval JOIN repeat ON repeat.id = repeat_id \
                         WHERE status = 'running'";
        leader.until_stored(&file, measuring);
        signal(followers[1].pid(), Signal::KILL);
        let ended = leader.wait().exits(exit);
        drop(followers);
        ended.json()
    };
    let failed = killed("0", 1);
    assert_eq!(text(&failed, "/reason_code"), "rank_lost");
    let reason = text(&failed, "/reason");
    assert!(reason.starts_with("rank 2 (") && reason.contains("is lost"), "{reason}");
    let marked = killed("1", 0);
    assert_eq!(text(&marked, "/status"), "done");
    let ranks = list(&marked, "/ranks");
    assert!(ranks[2]["lost"].is_string() && ranks[1]["lost"].is_null(), "{ranks:#?}");
    let notes = list(&marked, "/notes");
    let says =
        |note: &Value| note.as_str().is_some_and(|note| note.contains("was lost while it drove"));
    assert!(notes.iter().any(says), "{notes:#?}");
}

#[test]
fn ranks_that_do_not_belong_together_are_refused() {
    let (server, work, address) = (lent(), directory(), free_address());
    let command = ["run", "--dsn", &server.dsn, "-c", "4", "--window", "1s"];
    let other = ["run", "--dsn", &server.dsn, "-c", "5", "--window", "1s"];
    let leader = rank((INDEXED_JOB, &command), (0, 2), &address, work.path()).spawn();
    let words = "asks for another measurement";
    rank((INDEXED_JOB, &other), (1, 2), &address, work.path()).run().exits(4).says(&[words]);
    leader.wait().exits(4).says(&["rank 1 is refused", words]);
    // One process, no token, a private server, all ranks to be lost.
    let alone =
        |more: &[&str]| mydyno(command).and_args(["--fleet", "--join", &address]).and_args(more);
    alone(&["--rank", "0", "--size", "1"]).run().exits(2).says(&["2 to 1024 ranks"]);
    alone(&["--rank", "0", "--size", "2"]).run().exits(2).says(&["MYDYNO_FLEET_TOKEN"]);
    let with_token = |more: &[&str]| alone(more).env("MYDYNO_FLEET_TOKEN", TOKEN);
    with_token(&["--rank", "0", "--size", "2", "--tolerate", "2"]).run().exits(2).says(&["rank 0"]);
    let late = with_token(&["--rank", "1", "--size", "2", "--fleet-wait", "1s"]);
    late.run().exits(4).says(&["no rank 0 answers at"]);
    mydyno([
        "run",
        "--engine",
        "mysql-5.7",
        "--fleet",
        "--rank",
        "0",
        "--size",
        "2",
        "--join",
        &address,
    ])
    .env("MYDYNO_FLEET_TOKEN", TOKEN)
    .run()
    .exits(4)
    .says(&["all ranks reach"]);
}

/// As in `silences`, of all ranks together.
#[test]
#[ignore = "make soak"]
fn a_fleet_names_a_stall() {
    let server = Server::loaded("mysql-5.7", &[]);
    let (work, address) = (directory(), free_address());
    let command = ["run", "--dsn", &server.dsn, "-c", "6", "--warmup", "1s", "--window", "10s"];
    let followers = followers((MPI, &command), 3, &address, work.path());
    let leader = rank((MPI, &command), (0, 3), &address, work.path());
    let mut leader = leader.and_args(["--json"]).spawn();
    leader.until_measuring(work.path());
    signal(server.pid, Signal::STOP);
    let from = Instant::now();
    sleep(Duration::from_secs(3));
    signal(server.pid, Signal::CONT);
    let stall_s = from.elapsed().as_secs_f64();
    let document = leader.wait().exits(0).json();
    followers.into_iter().for_each(|follower| drop(follower.wait().exits(0)));
    let silences = list(&document, "/silences");
    assert_eq!(silences.len(), 1, "{silences:#?}");
    let off = float(&silences[0], "/duration_s") / stall_s - 1.0;
    assert!(off.abs() < 0.1, "{stall_s} s: {silences:#?}");
    assert_eq!(number(&silences[0], "/in_flight"), 6);
    assert!(float(&document, "/connection_time/in_transactions") > 5.94, "{document:#}");
    counts_agree(&document);
}
