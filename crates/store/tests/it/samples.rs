//! Samples beside the load: stored raw, read back by metric.

use crate::common::running;
use store::MetricSource::Host;
use store::{Metric, MetricIds, MetricKind, Moment, SampleBatch};
use testkit::metric;

#[test]
fn samples_come_back_by_metric_and_time() {
    let directory = tempfile::tempdir().unwrap();
    let (results, _, _, repeat) = running(&directory.path().join("mydyno.db"));
    let user = metric((Host, MetricKind::Counter), "cpu_user_ns", "cpu0");
    let running = metric((Host, MetricKind::Gauge), "processes_running", "");
    let batch = |at_offset_ns, values: &[(&Metric, i64)]| SampleBatch {
        at_offset_ns,
        values: values.iter().map(|(m, value)| ((*m).clone(), *value)).collect(),
    };
    let mut ids = MetricIds::default();
    let first = batch(5, &[(&user, i64::MAX), (&running, 2)]);
    results.append_samples(repeat, &mut ids, &[first]).unwrap();
    // A writer that knows no numbers yet finds those of before.
    let later = [batch(1_000, &[(&user, 7)]), batch(2_000, &[(&user, 9)])];
    results.append_samples(repeat, &mut MetricIds::default(), &later).unwrap();
    let all = results.samples(repeat).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].metric, user);
    assert_eq!(all[0].samples, [(5, i64::MAX), (1_000, 7), (2_000, 9)]);
    assert_eq!((&all[1].metric, &all[1].samples[..]), (&running, &[(5, 2)][..]));
}

#[test]
fn the_status_of_both_moments_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (results, _, _, repeat) = running(&directory.path().join("mydyno.db"));
    let pair = |value: &str| vec![("Questions".to_owned(), value.to_owned())];
    results.record_server(repeat, Moment::Start, &[], &pair("5")).unwrap();
    results.record_server(repeat, Moment::End, &[], &pair("6")).unwrap();
    results.record_server(repeat, Moment::End, &[], &pair("7")).unwrap();
    assert_eq!(results.status(repeat, Moment::Start).unwrap(), pair("5"));
    assert_eq!(results.status(repeat, Moment::End).unwrap(), pair("7"));
}
