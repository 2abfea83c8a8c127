//! The machine below the server.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, fixed};
use crate::snapshot::{MountedFileSystem, ServerSnapshot};

const SWAPPINESS_MAX: u32 = 10;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "transparent-huge-pages",
        title: "Give huge pages only to who asks for them",
        reason: "The kernel makes huge pages of the server's memory while sessions wait, and \
                 small allocations grow.",
        source: "kernel documentation, transparent huge pages; MariaDB knowledge base",
        releases: "all",
        variables: &[],
        judge: huge_pages,
    },
    Rule {
        name: "swappiness",
        title: "Have the kernel drop page cache before it swaps the pool",
        reason: "A page of the pool that was swapped out is read from the swap device instead of \
                 its own.",
        source: "MySQL Enterprise and Percona advisors; kernel documentation, vm.swappiness",
        releases: "all",
        variables: &[],
        judge: swappiness,
    },
    Rule {
        name: "numa",
        title: "Spread the pool over all NUMA nodes",
        reason: "A pool that one node allocates fills that node's memory and has the other nodes \
                 ask it.",
        source: "MySQL manual, innodb_numa_interleave; S1 experiment 6 has four sockets",
        releases: "since MySQL 5.6.27 and 5.7.9 where it was built with libnuma (on by default \
            since 8.4), and in some builds of MariaDB. Otherwise start it under numactl \
            --interleave=all",
        variables: &[fixed("innodb_numa_interleave")],
        judge: numa,
    },
    Rule {
        name: "io-scheduler",
        title: "Let devices without an arm order requests themselves",
        reason: "A scheduler that is fair to processes costs CPU and holds requests back.",
        source: "kernel documentation, block layer; MySQL manual, optimizing disk I/O",
        releases: "all",
        variables: &[],
        judge: scheduler,
    },
    Rule {
        name: "mount-options",
        title: "Mount the data without access times, and with barriers",
        reason: "An access time is a write for a read. Without barriers a flush of the log is \
                 none.",
        source: "MySQL manual, optimizing disk I/O; mount(8)",
        releases: "all",
        variables: &[],
        judge: mount_options,
    },
];

fn huge_pages(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let mode = snapshot.machine.as_ref()?.transparent_huge_pages.as_deref()?;
    Proposal::seen("transparent huge pages are given to all (always)")
        .act("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, before the server starts")
        .unless(mode != "always")
        .expecting(Gain::Small)
}

fn swappiness(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let machine = snapshot.machine.as_ref()?;
    let swappiness = machine.swappiness.filter(|value| *value > SWAPPINESS_MAX)?;
    let pool_part = snapshot.pool_bytes()? / machine.memory_bytes as f64;
    let part = pool_part * 100.0;
    Proposal::seen(format!("vm.swappiness is {swappiness}, the pool has {part:.0} % of memory"))
        .act("sysctl vm.swappiness=1, and the same in /etc/sysctl.d")
        .unless(pool_part < 0.25)
        .expecting(Gain::Small)
}

fn numa(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let nodes = snapshot.machine.as_ref()?.numa_nodes;
    Proposal::seen(format!("the machine has {nodes} NUMA nodes"))
        .set(snapshot, "innodb_numa_interleave", "ON")
        .unless(nodes < 2 || snapshot.is_on("innodb_numa_interleave")?)
        .expecting(Gain::Some)
}

fn file_system(snapshot: &ServerSnapshot) -> Option<&MountedFileSystem> {
    snapshot.machine.as_ref()?.file_system.as_ref()
}

fn scheduler(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let scheduler = file_system(snapshot)?.scheduler.as_deref()?;
    let is_slow = ["bfq", "cfq"].contains(&scheduler);
    Proposal::seen(format!("the scheduler of the data's device is {scheduler}"))
        .act("echo none > /sys/block/DEVICE/queue/scheduler, and a udev rule that says the same")
        .unless(!is_slow || snapshot.is_solid_state() != Some(true))
        .expecting(Gain::Some)
}

fn mount_options(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let file_system = file_system(snapshot)?;
    let has = |option: &str| file_system.options.iter().any(|one| one == option);
    let (point, kind) = (&file_system.mount_point, &file_system.kind);
    if has("nobarrier") || has("barrier=0") {
        return Proposal::seen(format!("{point} ({kind}) is mounted without barriers"))
            .act(format!("mount -o remount,barrier {point}, and the same in /etc/fstab"))
            .at_risk(Risk::Other("flushes then wait for the device"))
            .expecting(Gain::Safety);
    }
    Proposal::seen(format!("{point} ({kind}) notes access times"))
        .act(format!("mount -o remount,noatime {point}, and the same in /etc/fstab"))
        // With either of them access times are not written for each read.
        .unless(has("noatime") || has("relatime"))
        .expecting(Gain::Small)
}
