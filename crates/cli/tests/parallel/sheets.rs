//! What fio measures: what holds of every figure on every host, and a directory becomes a profile,
//! as a log of iostat does.
//! That each sheet is met is judged where the host is quick enough, in `serial`.

use crate::support::{
    PATIENT, assert_described, directory, list, mydyno, number, shim, text, verified,
};
use std::fs;

#[test]
fn a_sheet_is_verified_by_fio() {
    shim();
    assert!(verified(PATIENT, "1").len() >= 4);
}

#[test]
fn a_directory_becomes_a_profile() {
    shim();
    let work = directory();
    let ran =
        mydyno(["device", "probe", ".", "--profile", "mine.toml", "--seconds", "1", "--json"]);
    let ran = ran.in_directory(work.path()).run();
    let document = ran.exits(0).json();
    assert_eq!(text(&document, "/output"), "mine.toml");
    assert_described(&document);
    assert_eq!(text(&document, "/profile/name"), "mine");
    let measurements = list(&document, "/measurements");
    assert!(measurements.len() >= 9, "{document:#}");
    let source = text(&document, "/profile/sources/sheet.read_latency_us");
    assert!(source.starts_with("measured by fio-"), "{source}");
    // Nothing stays but the profile.
    let left: Vec<_> = fs::read_dir(work.path()).unwrap().collect();
    assert_eq!(left.len(), 1);

    let show = mydyno(["device", "show", "mine.toml"]).in_directory(work.path());
    show.run().exits(0);
    let again =
        mydyno(["device", "probe", ".", "--profile", "mine.toml"]).in_directory(work.path());
    again.run().exits(2).says(&["mine.toml is there already"]);
}

/// What `iostat -x` would have written of a published study, row by row.
fn log_of_study() -> String {
    let study = include_str!("../../../storage/tests/percona-2026.csv");
    let table = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        let [reads, read_ms, writes, write_ms, kib, flushes, flush_ms, queue] = cells[4..] else {
            panic!("{row}");
        };
        let of = |text: &str| text.parse::<f64>().unwrap();
        let (read_kib, write_kib) = (of(reads) * 16.0, of(writes) * of(kib));
        let names = "r/s rkB/s r_await w/s wkB/s w_await f/s f_await aqu-sz %util";
        format!(
            "\nDevice {names}\nloop0 0 0 0 0 0 0 0 0 0 0\nsda {reads} {read_kib} {read_ms} \
             {writes} {write_kib} {write_ms} {flushes} {flush_ms} {queue} 70.00\n"
        )
    };
    let rows: Vec<&str> = study.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    // The first table is of the time since the system's start.
    let tables = [rows[0]].into_iter().chain(rows.iter().copied()).map(table);
    format!("Linux 6.8.0 (db1)\t11/29/26\n{}", tables.collect::<String>())
}

#[test]
fn a_log_of_iostat_becomes_a_profile() {
    let work = directory();
    let fit = |arguments: &[&str]| {
        let ran = mydyno([&["device", "fit", "iostat.log"], arguments].concat());
        ran.in_directory(work.path()).run()
    };
    let write = |log: &str| fs::write(work.path().join("iostat.log"), log).unwrap();
    write(&log_of_study());
    let document = fit(&["-o", "mine.toml", "--json"]).exits(0).json();
    assert_described(&document);
    assert_eq!(text(&document, "/device"), "sda");
    assert_eq!(text(&document, "/profile/name"), "mine");
    for (kind, near) in ["reads", "writes", "flushes"].iter().zip([30, 30, 24]) {
        let fits = list(&document, "/fits");
        let of = fits.iter().find(|fit| text(fit, "/what") == *kind).unwrap();
        assert_eq!(number(of, "/reports"), 30);
        assert!(number(of, "/near") >= near, "{of:#}");
    }
    assert_eq!(list(&document, "/residuals").len(), 30);
    let source = text(&document, "/profile/sources/solid_state.read_latency_us");
    assert!(source.contains("30 reports of sda in iostat.log"), "{source}");
    // The file has the residuals and what the log does not tell, as comments.
    let file = fs::read_to_string(work.path().join("mine.toml")).unwrap();
    assert!(file.contains("# The log does not tell:\n# - how large the device"), "{file}");
    mydyno(["device", "show", "mine.toml"]).in_directory(work.path()).run().exits(0);
    fit(&["-o", "mine.toml"]).exits(2).says(&["mine.toml is there already"]);
    // A printed profile is the file.
    let printed = fit(&[]).exits(0).stdout;
    assert!(
        printed.starts_with("# sda in iostat.log\n#\n# reads: 30 of 30 reports are"),
        "{printed}"
    );
    toml::from_str::<toml::Table>(&printed).unwrap();

    fit(&["--device", "sdb"]).exits(2).says(&["no device sdb; --device takes loop0, sda"]);
    fit(&["--device", "loop0"]).exits(2).says(&["no table after the first has reads or writes"]);
    let whole = log_of_study();
    let few: Vec<&str> = whole.lines().take(17).collect();
    write(&(few.join("\n") + "\n"));
    fit(&[]).exits(2).says(&["3 of its tables have reads and 3 have writes"]);
    write("r/s w/s\n");
    fit(&[]).exits(2).says(&["no second table", "LC_ALL=C iostat -x 1 > iostat.log"]);
}
