//! How fast rows are made, per table and over the mix of one warehouse with the items:
//! `cargo bench -p tpcc`.

use base::{RowSource, Warehouses};
use criterion::{Criterion, Throughput};
use std::hint::black_box;
use std::time::Duration;
use tpcc::{Chunk, Population, Table};

fn generate(population: &Population, chunk: Chunk, buffer: &mut Vec<u8>) -> u64 {
    let mut rows = population.rows(chunk);
    loop {
        buffer.clear();
        if !rows.fill(buffer) {
            return rows.bytes();
        }
        black_box(&buffer[..]);
    }
}

fn insert(population: &Population, chunk: Chunk) -> u64 {
    let mut inserts = population.inserts(chunk);
    while let Some(statement) = inserts.next_statement() {
        black_box(statement);
    }
    inserts.rows.bytes()
}

fn main() {
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let population = Population::new(1, Warehouses(1));
    let mut buffer = Vec::new();
    let mut group = criterion.benchmark_group("population");
    for table in Table::ALL {
        let chunk = Chunk { table, warehouse: u32::from(table != Table::Item) };
        group.throughput(Throughput::Bytes(generate(&population, chunk, &mut buffer)));
        group.bench_function(table.name(), |b| {
            b.iter(|| generate(&population, chunk, &mut buffer));
        });
    }
    let mut whole = || -> u64 {
        population.chunks().map(|chunk| generate(&population, chunk, &mut buffer)).sum()
    };
    group.throughput(Throughput::Bytes(whole()));
    group.bench_function("warehouse_with_items", |b| b.iter(&mut whole));
    let inserts = || -> u64 { population.chunks().map(|chunk| insert(&population, chunk)).sum() };
    group.bench_function("warehouse_with_items_as_inserts", |b| b.iter(inserts));
    group.finish();
    criterion.final_summary();
}
