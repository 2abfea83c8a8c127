//! Places and device counters: what is written is read, and the summary's rates come from it.

use crate::common::{device_io, placed_cell, result, running_as};
use store::{RequestKind, Results, StoreError};

#[test]
fn what_storage_did_is_kept_and_summed_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let (results, _, cell, repeat) = running_as(&path, placed_cell());
    assert!(results.device_io(repeat).unwrap().is_none());
    results.record_device_io(repeat, &device_io()).unwrap();
    results.record_device_io(repeat, &device_io()).unwrap();
    results.finish_repeat(repeat, &result()).unwrap();
    drop(results);

    let results = Results::open(&path).unwrap();
    let what = results.cell(cell).unwrap().what;
    assert_eq!(what.places, placed_cell().places);
    let words = what.devices_in_words();
    assert_eq!(words.as_deref(), Some("hdd-15k (8 % used), redo nvme-pm1725"));
    let stored = results.device_io(repeat).unwrap().unwrap();
    assert_eq!(stored.shim, device_io().shim);
    assert_eq!(stored.roles[0].requests[0].kind, RequestKind::Read);
    let summary = results.summary(repeat).unwrap();
    assert_eq!(summary.fidelity, Some(0.99));
    assert_eq!(summary.overrun_share, Some(0.002));
    // 2 us of the 98 us that the device took.
    assert_eq!(summary.lateness_share, Some(2.0 / 98.0));
    assert_eq!(summary.devices[0].lateness_share, summary.lateness_share);
    let roles: Vec<&str> = summary.devices.iter().map(|d| d.role.as_str()).collect();
    assert_eq!(roles, ["data", "redo", "temp"]);
    let data = &summary.devices[0];
    assert_eq!(data.used.as_deref(), Some("8 % used"));
    assert_eq!(data.queue_depth_mean, Some(4.0));
    assert_eq!(data.busy_share, Some(0.5));
    let read = data.read.as_ref().unwrap();
    assert_eq!((read.per_s, read.mb_per_s), (Some(500.0), Some(8.192)));
    assert_eq!(read.response_mean_us, Some(100.0));
    assert!(read.response_p99_us.is_some_and(|us| (us - 100.0).abs() < 0.2));
    assert!(data.write.is_none() && summary.devices[1].read.is_none());
    let shim = summary.shim.unwrap();
    assert_eq!(shim.cache_hit_share, Some(0.75));
    assert_eq!(shim.model_us_per_call, Some(2.0));
}

#[test]
fn a_failed_repeat_shows_places_and_no_rates() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let (results, _, _, repeat) = running_as(&path, placed_cell());
    results.record_device_io(repeat, &device_io()).unwrap();
    testkit::fail(&results, repeat, "server_died");
    let summary = results.summary(repeat).unwrap();
    assert_eq!(summary.devices.len(), 3);
    assert!(summary.devices.iter().all(|device| device.read.is_none()));
    assert!(summary.fidelity.is_none() && summary.shim.is_none());
}

#[test]
fn another_device_is_another_cell() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let (results, lab, cell, _) = running_as(&path, placed_cell());
    let mut again = placed_cell();
    again.places[0].backing = "elsewhere".to_owned();
    assert_eq!(results.begin_cell(lab, &again).unwrap(), cell);
    again.places[1].device = "sata-850pro".to_owned();
    let error = results.begin_cell(lab, &again).unwrap_err();
    assert!(matches!(&error, StoreError::CellDiffers { name, .. } if name == "redo"), "{error}");
}
