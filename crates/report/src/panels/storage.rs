//! Requests to storage over time, by role or by disk.

use super::Dash::{self, Dashed, Solid};
use super::{Panel, PanelSamples};
use analyse::IoCounters;
use itertools::Itertools;
use store::MetricSource::{Host, Shim};

/// Roles by the number of their colour, which is the same in all panels.
const ROLES: [&str; 6] = ["data", "redo", "doublewrite", "undo", "temp", "binlog"];

/// A kind of request: its word, its counter, and how its line looks.
type Requests = (&'static str, &'static str, Dash);

const REQUESTS: [Requests; 2] = [("reads", "reads", Solid), ("writes", "writes", Dashed)];
const FLUSHES: [Requests; 1] = [("flushes", "flushes", Solid)];
const BYTES: [Requests; 2] = [("read", "read_bytes", Solid), ("written", "write_bytes", Dashed)];

impl PanelSamples<'_> {
    /// By role where the shim counts, else by the machine's disks.
    pub(super) fn storage(&self) -> [Panel; 4] {
        let by_role = self.samples.labels(Shim, "reads").next().is_some();
        let each = if by_role { "role" } else { "disk" };
        let counters = if by_role { IoCounters::OF_ROLES } else { IoCounters::OF_DISKS };
        let panel = |name, title, axis, unit, kinds: &[Requests], by| {
            let mut panel = Panel::new(name, &format!("{title} by {each}"), axis, unit);
            for (label, color) in self.places(by_role) {
                for (word, counter, dash) in kinds {
                    let values = self.scaled(counters.source, &counters.name(counter), label, by);
                    panel = panel.with(&format!("{label} {word}"), color, *dash, values);
                }
            }
            panel.without_idle()
        };
        [
            panel("requests", "Reads and writes", "requests per second", "/s", &REQUESTS, 1.0),
            panel("flushes", "Flushes", "flushes per second", "/s", &FLUSHES, 1.0),
            panel("bytes", "Throughput of storage", "MB per second", "MB/s", &BYTES, 1e-6),
            self.flash(),
        ]
    }

    /// What emulated flash writes for what the server does: 1 while space is erased, more where
    /// cleaning copies.
    fn flash(&self) -> Panel {
        let axis = "bytes that flash writes for one";
        let mut panel = Panel::new("flash", "Write amplification of flash", axis, "");
        for (role, color) in self.places(true) {
            let amplification = self.each(|get| {
                let [flash, server] =
                    ["programmed_bytes", "write_bytes"].map(|name| get(Shim, name, role));
                flash.zip(server).filter(|both| both.0 > 0.0 && both.1 > 0.0).map(|(f, s)| f / s)
            });
            panel = panel.with(role, color, Solid, amplification);
        }
        panel
    }

    /// Roles, or disks, each with the number of its colour.
    fn places(&self, by_role: bool) -> Vec<(&str, usize)> {
        let colors = ROLES.len();
        if !by_role {
            let disks = self.samples.labels(Host, "disk_reads");
            return disks.enumerate().map(|(n, disk)| (disk, n % colors + 1)).collect();
        }
        let color = |role| {
            let known = ROLES.iter().position(|known| *known == role);
            (role, known.map_or(colors, |place| place + 1))
        };
        let roles = self.samples.labels(Shim, "reads").map(color);
        roles.sorted_by_key(|(_, color)| *color).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::panels::tests::{drawn, line, panel, rising};
    use store::MetricSource::{Host, Shim};

    #[test]
    fn roles_keep_their_colour_and_idle_ones_are_left_out() {
        let of = drawn(
            vec![
                rising((Shim, "reads", "data"), 2, 300),
                rising((Shim, "reads", "redo"), 2, 0),
                rising((Shim, "writes", "data"), 2, 40),
                rising((Shim, "writes", "redo"), 2, 50),
                rising((Shim, "write_bytes", "redo"), 2, 512_000),
                rising((Shim, "programmed_bytes", "redo"), 2, 768_000),
                // A disk has no flash.
                rising((Shim, "write_bytes", "data"), 2, 512_000),
                rising((Shim, "programmed_bytes", "data"), 2, 0),
                // Beside the shim nobody looks at the disks.
                rising((Host, "disk_reads", "vda"), 2, 9),
            ],
            2.0,
        );
        let names: Vec<_> = panel(&of, "requests").lines.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["data reads", "data writes", "redo writes"]);
        assert_eq!(line(&of, "requests", "redo writes").color, 2);
        let bytes = line(&of, "bytes", "redo written");
        assert_eq!((bytes.color, bytes.values[0]), (2, Some(0.512)));
        assert_eq!(panel(&of, "bytes").unit, "MB/s");
        let flash = panel(&of, "flash");
        assert_eq!((flash.lines.len(), flash.lines[0].values[0]), (1, Some(1.5)));
        assert!(panel(&of, "requests").is_seen_at_once() && !panel(&of, "bytes").is_seen_at_once());
    }

    #[test]
    fn without_a_shim_disks_are_drawn() {
        let series = vec![
            rising((Host, "disk_reads", "nvme0n1"), 2, 9),
            rising((Host, "disk_reads", "vda"), 2, 0),
            rising((Host, "disk_flushes", "nvme0n1"), 2, 3),
        ];
        let of = drawn(series, 2.0);
        assert_eq!(panel(&of, "requests").title, "Reads and writes by disk");
        assert_eq!(line(&of, "requests", "nvme0n1 reads").values, [Some(9.0); 2]);
        assert_eq!(line(&of, "flushes", "nvme0n1 flushes").values, [Some(3.0); 2]);
    }
}
