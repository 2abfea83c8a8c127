//! What each setting does on each device by itself: what is best for one device may be worst for
//! another, which is what the white papers found.

use crate::lab::cells::{CellOutcome, DATA, matrix};
use crate::lab::effects::{DimensionEffects, fitted};
use base::{by_key, value_of};
use serde::Serialize;

/// The effects of the cells whose data is on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceEffects {
    /// The device of data, as [`CellOutcome::names`] has it.
    pub device: String,
    pub effects: Vec<DimensionEffects>,
}

/// The values with the most and the least throughput of one setting on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extremes<'a> {
    pub best: &'a str,
    pub worst: &'a str,
}

/// Those of all devices, in the order of the cells; nothing where there is one device only, or
/// nothing else varies.
pub(crate) fn device_effects(cells: &[CellOutcome]) -> Vec<DeviceEffects> {
    let with_device =
        |cell: &CellOutcome| Some((value_of(&cell.names(), DATA)?.to_owned(), cell.clone()));
    let by_device =
        by_key(cells.iter().map(with_device).collect::<Option<Vec<_>>>().unwrap_or_default());
    if by_device.len() < 2 {
        return Vec::new();
    }
    let of_device = |(device, cells): (String, Vec<CellOutcome>)| DeviceEffects {
        device,
        effects: fitted(&cells, &matrix(&cells)),
    };
    let all: Vec<DeviceEffects> = by_device.into_iter().map(of_device).collect();
    if all.iter().all(|of| of.effects.is_empty()) { Vec::new() } else { all }
}

impl DimensionEffects {
    /// The best and the worst of its values, the baseline among them; `None` where their 95 %
    /// intervals overlap, so that neither is known.
    pub fn extremes(&self) -> Option<Extremes<'_>> {
        let mut known = vec![(self.baseline.as_str(), 1.0, 1.0, 1.0)];
        for value in &self.values {
            let (low, high) = value.ratio.interval()?;
            known.push((&value.value, value.ratio.value?, low, high));
        }
        let best = known.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let worst = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        (best.2 > worst.3).then_some(Extremes { best: best.0, worst: worst.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::{Extremes, device_effects};
    use crate::lab::cells::{CellOutcome, tests::cell};

    const CAPACITIES: [&str; 3] = ["200", "2000", "20000"];

    /// Cells of two devices, with the throughput of three capacities on each.
    fn cells(devices: [(&str, [f64; 3]); 2]) -> Vec<CellOutcome> {
        let mut all = Vec::new();
        for (device, throughputs) in devices {
            for (place, nopm) in throughputs.into_iter().enumerate() {
                let capacity = CAPACITIES[place];
                // Noise that is no block's.
                let mut repeats = [nopm, nopm * 1.01, nopm * 0.99];
                repeats.rotate_left(place);
                all.push(cell(all.len() as u32 + 1, (device, capacity), 8, &repeats));
            }
        }
        all
    }

    #[test]
    fn one_devices_best_is_anothers_worst() {
        let all = cells([("hdd-15k", [100.0, 90.0, 50.0]), ("nvme-pm1725", [100.0, 150.0, 190.0])]);
        let found = device_effects(&all);
        assert_eq!(found.len(), 2);
        let extremes: Vec<_> = found.iter().map(|of| of.effects[0].extremes().unwrap()).collect();
        assert_eq!(extremes[0], Extremes { best: "200", worst: "20000" });
        assert_eq!(extremes[1], Extremes { best: "20000", worst: "200" });
        let ratio = found[1].effects[0].values[1].ratio.value.unwrap();
        assert!((ratio - 1.9).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn what_is_not_shown_is_no_extreme() {
        let all = cells([("hdd-15k", [100.0, 101.0, 99.5]), ("nvme-pm1725", [100.0, 0.0, 0.0])]);
        let found = device_effects(&all);
        assert_eq!(found[0].effects[0].extremes(), None);
        // Without a result of some value, nobody knows which is best.
        assert_eq!(found[1].effects[0].extremes(), None);
        assert!(device_effects(&all[..3]).is_empty());
    }
}
