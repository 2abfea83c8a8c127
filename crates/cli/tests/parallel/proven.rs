//! `mydyno advise --prove`: what is kept helps, what is not is left out, and a server that is not
//! mydyno's own is left as it was.

use crate::support::{
    Held, Server, alive, directory, float, home, install, list, mydyno, number, result, shim, text,
    until,
};
use advise::{Finding, Gain, VariableChange};
use base::Warehouses;
use lab::{Job, LabRunOptions, Progress};
use rustix::process::Signal;
use serde_json::Value;
use server::{ChangeJournal, Home, ServerChange};
use spec::{
    Cell, Connections, Dilate, Length, Lengths, Load, Meters, Place, PopulationSpec, Private,
    Server as Asked,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::Results;
use tune::{JudgeLimits, ProposalVerdict, Prover};

/// What a proof of a small server changes.
const WATCHED: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_spin_wait_delay', \
                       'innodb_io_capacity', 'innodb_io_capacity_max', 'innodb_flush_neighbors', \
                       'innodb_adaptive_hash_index', 'innodb_lru_scan_depth', \
                       'innodb_buffer_pool_size', 'innodb_max_dirty_pages_pct_lwm')";
const WRONG: [&str; 1] = ["innodb_spin_wait_delay=96"];

/// A window in which a new order ends even where other tests hold the disk up for a second.
const WINDOW: &str = "3s";

fn prove(dsn: &str, work: &Path) -> crate::support::Mydyno {
    mydyno(["advise", "--dsn", dsn, "--prove", "--allow-changes", "--pairs", "4", "-c", "2"])
        .and_args(["--warmup", "0", "--window", WINDOW, "--device", "sata-850pro", "--json"])
        .in_directory(work)
}

#[test]
fn a_server_is_set_back_after_a_kill_9() {
    let server = Server::loaded("mysql-5.7", &WRONG);
    let before = Held::open(&server.dsn).query(WATCHED);
    let work = directory();
    let mut proving = prove(&server.dsn, work.path()).spawn();
    proving.until("a variable is changed", || Held::open(&server.dsn).query(WATCHED) != before);
    proving.signal(Signal::KILL);
    until("the command is gone", || !alive(proving.pid()));
    drop(proving);
    assert_ne!(Held::open(&server.dsn).query(WATCHED), before);
    // Whatever comes next.
    let next = mydyno(["check", "--dsn", &server.dsn]).in_directory(work.path());
    next.run().exits(0).says(&["was killed", "set back"]);
    assert_eq!(Held::open(&server.dsn).query(WATCHED), before);
    what_was_changed_since_is_left_alone(&server, work.path());
}

fn what_was_changed_since_is_left_alone(server: &Server, work: &Path) {
    let mut session = Held::open(&server.dsn);
    let identity = session.query("SELECT @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir");
    let journal = ChangeJournal::take(&Home::at(home().to_owned()).unwrap(), &identity[0]);
    let named = |variables: &[(&str, &str)]| {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let change = ServerChange {
        before: named(&[("innodb_lru_scan_depth", "300"), ("innodb_spin_wait_delay", "6")]),
        taken: named(&[("innodb_lru_scan_depth", "400"), ("innodb_spin_wait_delay", "7")]),
    };
    journal.unwrap().unwrap().write(&change).unwrap();
    session.query("SET GLOBAL innodb_lru_scan_depth = 400");
    session.query("SET GLOBAL innodb_spin_wait_delay = 8");
    let next = mydyno(["check", "--dsn", &server.dsn]).in_directory(work);
    next.run().exits(0).says(&[
        "innodb_lru_scan_depth set back",
        "innodb_spin_wait_delay left alone, as changed since",
    ]);
    let now =
        session.query("SELECT @@GLOBAL.innodb_lru_scan_depth, @@GLOBAL.innodb_spin_wait_delay");
    assert_eq!(now, ["300|8"]);
}

#[test]
fn an_interrupted_proof_leaves_nothing_changed() {
    let server = Server::loaded("mysql-5.7", &WRONG);
    let before = Held::open(&server.dsn).query(WATCHED);
    let work = directory();
    let mut proving = prove(&server.dsn, work.path()).spawn();
    proving.until("a variable is changed", || Held::open(&server.dsn).query(WATCHED) != before);
    proving.signal(Signal::INT);
    let advised = proving.wait().exits(130).json();
    assert_eq!(advised["proof"]["interrupted"], true, "{advised:#}");
    assert_eq!(Held::open(&server.dsn).query(WATCHED), before);
    let status = result(&work.path().join("mydyno.db"), "SELECT status FROM lab");
    assert_eq!(status, "interrupted");
}

#[test]
fn who_may_set_nothing_is_told() {
    let server = Server::loaded("mysql-5.7", &WRONG);
    let mut root = Held::open(&server.dsn);
    root.query("CREATE USER plain@'127.0.0.1' IDENTIFIED BY 'x'");
    root.query("GRANT SELECT, INSERT, UPDATE, DELETE ON tpcc.* TO plain@'127.0.0.1'");
    let before = root.query(WATCHED);
    let work = directory();
    let (_, address) = server.dsn.rsplit_once('@').unwrap();
    let advised = prove(&format!("mysql://plain:x@{address}"), work.path()).run().exits(0).json();
    let mut measured = proposals(&advised).filter(|of| of["judged"].is_object()).peekable();
    assert!(measured.peek().is_some(), "{advised:#}");
    for of in measured {
        assert_eq!(text(of, "/judged/verdict"), "fails");
        assert!(text(of, "/judged/reason").contains("denied"), "{of:#}");
    }
    assert!(advised["proof"]["whole"].is_null());
    assert_eq!(root.query(WATCHED), before);
}

#[test]
fn changes_have_to_be_allowed() {
    let work = directory();
    let advise = |arguments: &[&str]| {
        mydyno(["advise", "--prove"]).and_args(arguments).in_directory(work.path()).run()
    };
    advise(&["--dsn", "mysql://h/s"]).exits(2).says(&["--allow-changes", "--engine"]);
    let watched = mydyno(["advise", "--dsn", "mysql://h/s", "-c", "4"]);
    watched.in_directory(work.path()).run().exits(2).says(&["under its own load"]);
    advise(&["--engine", "mysql-5.7", "--allow-changes"]).exits(2).says(&["--allow-changes"]);
    advise(&["--engine", "mysql-5.7", "--rate", "50"]).exits(2).says(&["--rate", "share"]);
    mydyno(["advise", "--gain-min", "5%"]).in_directory(work.path()).run().exits(2);
}

fn proposals(advised: &Value) -> impl Iterator<Item = &Value> {
    list(advised, "/proof/proposals").iter()
}

/// A pool of 8 MB for a database of 100 MB.
#[test]
#[ignore = "make soak"]
fn a_larger_pool_is_kept_and_confirmed() {
    install("mysql-5.7");
    shim();
    let work = directory();
    let advised = mydyno(["advise", "--engine", "mysql-5.7", "-w", "1", "--prove", "--json"])
        .and_args(["--set", "innodb_buffer_pool_size=8M", "--data", "sata-850pro", "-c", "4"])
        .and_args(["--warmup", "1s", "--window", "2s", "--preset", "config-3", "--pairs", "4"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    let pool = proposals(&advised).find(|of| of["rule"] == "pool-size").unwrap();
    assert_eq!(text(pool, "/judged/verdict"), "kept", "{advised:#}");
    assert!(float(pool, "/judged/ratio_low") > 1.0);
    let lines: Vec<&str> =
        list(&advised, "/proof/option_lines").iter().map(|line| line.as_str().unwrap()).collect();
    assert!(lines.iter().any(|line| line.starts_with("innodb_buffer_pool_size = ")), "{lines:?}");
    assert!(float(&advised, "/proof/whole/ratio_low") > 1.2, "{advised:#}");
    // It is a lab like any other.
    let lab = number(&advised, "/proof/lab_id").to_string();
    let file = work.path().join("mydyno.db");
    let status = result(&file, &format!("SELECT status FROM lab WHERE id = {lab}"));
    assert_eq!(status, "done");
    mydyno(["report", &lab, "-o", "r.html"]).in_directory(work.path()).run().exits(0);
}

fn planted(variable: &'static str, proposed: &str) -> Finding {
    Finding {
        rule: "planted",
        topic: "test",
        title: "Planted",
        gain: Gain::Large,
        seen: String::new(),
        reason: "",
        source: "",
        changes: vec![VariableChange {
            variable,
            current: String::new(),
            proposed: proposed.to_owned(),
        }],
        action: None,
        risks: Vec::new(),
        restart_needed: false,
        statements: Vec::new(),
        option_lines: vec![format!("{variable} = {proposed}")],
    }
}

/// One that changes nothing, and one that takes most of the pool away.
#[test]
#[ignore = "make soak"]
fn planted_proposals_are_left_out() {
    install("mysql-5.7");
    shim();
    let work = directory();
    let results = Results::create_or_open(&work.path().join("mydyno.db")).unwrap();
    let mut private = Private {
        set: [("innodb_buffer_pool_size", "64M"), ("innodb_log_file_size", "64M")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        population: PopulationSpec { warehouses: Warehouses(1), ..PopulationSpec::default() },
        dilate: Dilate::NONE,
        ..Private::of_engine("mysql-5.7")
    };
    let sata = Place::Emulated {
        profile: Box::new(storage::profile("sata-850pro").unwrap()),
        file: None,
        at: None,
    };
    private.placement.places.insert(device::Role::Data, sata);
    let cell = Cell {
        server: Asked::Private(private),
        load: Load { connections: Connections::Fixed(4), ..Load::of_seed(1) },
        lengths: Lengths {
            warmup: Length::fixed(Duration::from_secs(1)),
            window: Length::fixed(Duration::from_secs(2)),
            ..Lengths::default()
        },
        checks: false,
        lock_wait_timeouts_max_share: None,
        meters: Meters::default(),
    };
    let (options, stop) = (LabRunOptions::default(), AtomicBool::new(false));
    let mut told = |_: Progress<'_>| {};
    let job = Job::new(&stop, &mut told);
    let mut prover = Prover::new(&results, &options, cell, JudgeLimits::default(), &job);
    let mut looked = prover.look(None).unwrap();
    looked.findings =
        vec![planted("long_query_time", "9"), planted("innodb_buffer_pool_size", "5M")];
    let proof = prover.prove(&looked).unwrap();
    let verdicts: Vec<Option<ProposalVerdict>> =
        proof.proposals.iter().map(|of| of.judged.as_ref().map(|of| of.verdict)).collect();
    let [useless, harmful] = verdicts[..] else { panic!("{proof:#?}") };
    assert_ne!(useless, Some(ProposalVerdict::Kept), "{proof:#?}");
    assert!(
        [Some(ProposalVerdict::Harms), Some(ProposalVerdict::NoGain)].contains(&harmful),
        "{proof:#?}"
    );
    assert!(proof.whole.is_none() && proof.option_lines.is_empty());
    prover.finish(true).unwrap();
}
