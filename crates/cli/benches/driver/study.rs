//! The parts that need no driver: the floor in its forms, connections per worker, and the limits of the engine.

use crate::bed::Bed;
use crate::engine::{self, Load};
use crate::floor::{self, Form, Shape};
use crate::meter::{Measured, Span, interrupted, median};
use crate::stub::Stub;
use crate::table::{Table, number};
use anyhow::{Result, bail};
use base::Random;
use std::time::Duration;
use wire::ConnectOptions;

const SPAN: Span = Span {
    warmup: Duration::from_millis(150),
    window: Duration::from_millis(400),
};
const CONNECTIONS: [u32; 3] = [1, 8, 32];
const IN_FLIGHT: [u32; 2] = [1, 10];
const SCAN_CONNECTIONS: [u32; 3] = [8, 64, 256];
/// No-op statements that the engine must send and have answered per second of CPU.
const STATEMENTS_PER_CPU_S_MIN: f64 = 200_000.0;

/// All that was measured of one thing; or why it could not be.
#[derive(Default)]
struct Samples {
    measured: Vec<Measured>,
    failed: Option<String>,
}

impl Samples {
    fn add(&mut self, measured: Result<Measured>) -> Result<()> {
        if interrupted() {
            bail!("interrupted");
        }
        match measured {
            Ok(measured) => self.measured.push(measured),
            Err(error) => self.failed = Some(format!("{error:#}")),
        }
        Ok(())
    }

    fn median_of(&self, value: impl Fn(&Measured) -> f64) -> Option<f64> {
        median(self.measured.iter().map(value))
    }

    /// CPU per statement and statements per second, as two cells.
    fn cells(&self) -> [String; 2] {
        if let Some(why) = &self.failed {
            return [format!("n/a: {why}"), "n/a".to_owned()];
        }
        [
            number(self.median_of(Measured::cpu_us_per_statement), 2),
            number(self.median_of(|m| m.statements_per_s), 0),
        ]
    }
}

/// One cell of a table of floors.
struct Cell<'a> {
    login: &'a ConnectOptions,
    shape: Shape,
    samples: Samples,
}

/// Measures all cells once a round, each time in another order.
fn rounds(what: &str, cells: &mut [Cell<'_>], rounds: u32) -> Result<()> {
    for round in 0..rounds {
        eprintln!("{what}: round {} of {rounds}", round + 1);
        let mut order: Vec<usize> = (0..cells.len()).collect();
        Random::new(round.into(), &[]).shuffle(&mut order);
        for index in order {
            let cell = &mut cells[index];
            if cell.samples.failed.is_none() {
                let measured = floor::measure(cell.login, cell.shape, SPAN);
                cell.samples.add(measured)?;
            }
        }
    }
    Ok(())
}

fn headings(first: &[&str], connections: &[u32]) -> Vec<String> {
    let mut columns: Vec<String> = first.iter().map(|&name| name.to_owned()).collect();
    for n in connections {
        columns.push(format!("{n} conn.: CPU us/statement"));
        columns.push("statements/s".to_owned());
    }
    columns
}

/// Threads, epoll or io_uring.
pub fn forms(bed: &Bed, how_often: u32) -> Result<()> {
    let mut transports = vec![(transport_name(&bed.login), &bed.login)];
    if let Some(socket) = bed
        .socket_login
        .as_ref()
        .filter(|login| **login != bed.login)
    {
        transports.push(("unix", socket));
    }
    let mut cells = Vec::new();
    let mut labels = Vec::new();
    for (transport, login) in transports {
        for form in [Form::Epoll, Form::Threads, Form::IoUring] {
            for in_flight in IN_FLIGHT {
                labels.push([
                    form.name().to_owned(),
                    transport.to_owned(),
                    in_flight.to_string(),
                ]);
                cells.extend(CONNECTIONS.map(|connections| Cell {
                    login,
                    shape: Shape {
                        form,
                        connections,
                        in_flight,
                        workers: 1,
                    },
                    samples: Samples::default(),
                }));
            }
        }
    }
    rounds("floor", &mut cells, how_often)?;
    let first = ["bare loop", "transport", "in flight"];
    let mut table = Table::new(
        &format!("The floor: one prepared point select, client CPU (median of {how_often})"),
        &headings(&first, &CONNECTIONS),
    );
    for (label, cells) in labels.iter().zip(cells.chunks(CONNECTIONS.len())) {
        let numbers = cells.iter().flat_map(|cell| cell.samples.cells());
        table.row(&label.iter().cloned().chain(numbers).collect::<Vec<_>>());
    }
    table.print();
    Ok(())
}

fn transport_name(login: &ConnectOptions) -> &'static str {
    match login.address {
        wire::Address::Tcp { .. } => "tcp",
        wire::Address::Unix(_) => "unix",
    }
}

/// Connections per worker.
pub fn scan(bed: &Bed, how_often: u32) -> Result<()> {
    let workers = [1, 2];
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for workers in workers {
        cells.extend(SCAN_CONNECTIONS.map(|connections| Cell {
            login: &bed.login,
            shape: Shape {
                form: Form::Epoll,
                connections,
                in_flight: 1,
                workers,
            },
            samples: Samples::default(),
        }));
    }
    rounds("connections per worker", &mut cells, how_often)?;
    let mut table = Table::new(
        &format!(
            "Connections per worker: the floor on epoll, one in flight (median of {how_often})"
        ),
        &headings(&["workers"], &SCAN_CONNECTIONS),
    );
    for (workers, cells) in workers.iter().zip(cells.chunks(SCAN_CONNECTIONS.len())) {
        let numbers = cells.iter().flat_map(|cell| cell.samples.cells());
        table.row(
            &std::iter::once(workers.to_string())
                .chain(numbers)
                .collect::<Vec<_>>(),
        );
    }
    table.print();
    Ok(())
}

/// What the engine does against a server that answers at once. An error where it allocates.
pub fn limits(how_often: u32) -> Result<()> {
    let stub = Stub::start()?;
    let columns = [
        "transport",
        "connections",
        "in flight",
        "wire + reactor: CPU us/statement",
        "bare epoll loop: CPU us/statement",
        "wire + reactor: statements per CPU s",
        "at least 200,000?",
        "allocations/statement",
    ];
    let mut table = Table::new(
        &format!(
            "Limits of the engine: no-op statements, CPU of the client's thread (median of {how_often})"
        ),
        &columns.map(str::to_owned),
    );
    let mut allocations = 0;
    for (transport, login) in [("tcp", stub.tcp()), ("unix", stub.unix())] {
        for in_flight in IN_FLIGHT {
            for connections in CONNECTIONS {
                eprintln!("limits: {transport}, {connections} connections, {in_flight} in flight");
                let (mut engine, mut bare) = (Samples::default(), Samples::default());
                let mut statements = 0;
                let mut allocated = 0;
                for _ in 0..how_often {
                    let load = Load {
                        connections,
                        in_flight,
                    };
                    let driven = engine::measure(&login, load, SPAN)?;
                    statements += driven.measured.statements;
                    allocated += driven.allocations;
                    engine.add(Ok(driven.measured))?;
                    let shape = Shape {
                        form: Form::Epoll,
                        connections,
                        in_flight,
                        workers: 1,
                    };
                    bare.add(floor::measure(&login, shape, SPAN))?;
                }
                allocations += allocated;
                let per_cpu_s = engine.median_of(Measured::statements_per_cpu_s);
                let met = per_cpu_s.is_some_and(|n| n >= STATEMENTS_PER_CPU_S_MIN);
                let [engine_us, _] = engine.cells();
                let [bare_us, _] = bare.cells();
                table.row(&[
                    transport.to_owned(),
                    connections.to_string(),
                    in_flight.to_string(),
                    engine_us,
                    bare_us,
                    number(per_cpu_s, 0),
                    if met { "yes" } else { "no" }.to_owned(),
                    format!("{:.6}", allocated as f64 / statements.max(1) as f64),
                ]);
            }
        }
    }
    table.print();
    stub.stop()?;
    if allocations > 0 {
        bail!("the engine allocated {allocations} times after warm-up; it must not");
    }
    Ok(())
}
