//! What a request costs in the model, per kind of device: `cargo bench -p device`.
//!
//! Times are virtual: requests come as fast as each device takes them, so that queues are as in a
//! loaded server and the emulation, which adds this to every request of one, is seen at its worst.

use criterion::{Criterion, Throughput};
use device::page::AccessKind;
use device::{Access, Device, RequestState, builtin};
use std::hint::black_box;
use std::time::Duration;

/// Up to so many requests open; the next one is made, or the one whose turn it is asked for again,
/// every `gap_ns`.
struct Load {
    device: Device,
    now_ns: u64,
    gap_ns: u64,
    state: u64,
    open: Vec<Option<device::Ticket>>,
    turn: usize,
}

impl Load {
    fn new(name: &str, iops: f64, depth: usize) -> Load {
        let profile = builtin(name).expect("the names below are those of builtin profiles");
        Load {
            device: Device::new(&profile, 1),
            now_ns: 1_000_000_000,
            gap_ns: (1e9 / iops) as u64,
            state: 1,
            open: (0..depth).map(|_| None).collect(),
            turn: 0,
        }
    }

    fn request(&mut self, kind: AccessKind) {
        self.now_ns += self.gap_ns;
        self.turn = (self.turn + 1) % self.open.len();
        if let Some(ticket) = self.open[self.turn].take()
            && let RequestState::Queued { ticket, .. } = self.device.poll(self.now_ns, ticket)
        {
            self.open[self.turn] = Some(ticket);
            return;
        }
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let address = (self.state >> 20) % (500_000_000_000 / 16384) * 16384;
        let access = Access { kind, address, bytes: 16384 };
        if let Ok(RequestState::Queued { ticket, .. }) =
            black_box(self.device.submit(self.now_ns, access))
        {
            self.open[self.turn] = Some(ticket);
        }
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let mut group = criterion.benchmark_group("model");
    group.throughput(Throughput::Elements(1));
    for (name, iops) in [
        ("nvme-pm1725", 300_000.0),
        ("sata-850pro", 20_000.0),
        ("hdd-15k", 350.0),
        ("hdd-7k2", 140.0),
        ("raid10-hdd-8", 2_000.0),
        ("raid10-nvme-4", 1_000_000.0),
        ("cloud-gp3", 3_000.0),
    ] {
        for (what, kind) in
            [("read", AccessKind::Read), ("write", AccessKind::Write), ("flush", AccessKind::Flush)]
        {
            let mut load = Load::new(name, iops, 32);
            group.bench_function(format!("{name}/{what}"), |b| b.iter(|| load.request(kind)));
        }
    }
    group.finish();
    criterion.final_summary();
}
