//! Several servers on one machine in the report.

use crate::common::{ONE_CELL, never_start, new_cell, new_lab};
use store::{InstanceResult, NewCell};
use testkit::Scratch;

fn cell_of(ordinal: u32, instances: u32) -> NewCell {
    NewCell { instances, ..new_cell(&ONE_CELL, "mysql-5.7", ordinal, 16) }
}

/// A lab with a cell for each of these; each number is a server's new orders. Then a cell of so
/// many servers that never started.
fn report_of(cells: &[&[u64]], never_started: Option<u32>) -> String {
    let results = Scratch::with(&new_lab(&ONE_CELL));
    for (ordinal, servers) in (1..).zip(cells) {
        let repeat = results.begin(&cell_of(ordinal, servers.len() as u32));
        if servers.len() > 1 {
            let rows = (1..).zip(*servers).map(|(instance, transactions)| InstanceResult {
                instance,
                primary_transactions: *transactions,
            });
            results.put(repeat, &rows.collect::<Vec<_>>()).unwrap();
        }
        testkit::measure(&results, repeat, servers.iter().sum());
    }
    if let Some(servers) = never_started {
        let ordinal = cells.len() as u32 + 1;
        never_start(&results, results.lab, cell_of(ordinal, servers), 1);
    }
    report::render(&results, results.lab).unwrap()
}

#[test]
fn servers_together_stand_beside_one_alone() {
    let html = report_of(&[&[1000], &[700, 800]], None);
    for words in [
        "By servers on one machine",
        "1 server, 16 connections",
        "2 servers, 16 connections",
        "NOPM of each of 2 servers: <b>700, 800</b>",
        ">150<",
        ">9.4<",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn cores_of_servers_are_told() {
    let results = Scratch::with(&new_lab(&ONE_CELL));
    for (ordinal, servers, cores) in [(1, 1, 1), (2, 1, 2), (3, 2, 2)] {
        let cell = NewCell { cores: Some(cores), ..cell_of(ordinal, servers) };
        let repeat = results.begin(&cell);
        testkit::measure(&results, repeat, 1_000 * u64::from(cores));
    }
    let html = report::render(&results, results.lab).unwrap();
    for words in [
        "server on 1 core, ",
        "server on 2 cores, ",
        "2 servers on 2 cores, ",
        "1 server, 1 core, 16 connections",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn one_number_of_servers_has_no_table() {
    let html = report_of(&[&[1000], &[900]], None);
    assert!(!html.contains("By servers on one machine") && !html.contains("NOPM of each"));
}

#[test]
fn servers_that_never_started_are_not_available_among_their_like() {
    let html = report_of(&[&[1000], &[700, 800]], Some(4));
    let table = html.split("By servers on one machine").nth(1).unwrap();
    let table = table.split("</table>").next().unwrap();
    let row = table.split("4 servers, 16 connections").nth(1).unwrap();
    assert_eq!(row.matches("NA").count(), 2, "{row}");
}
