//! Response times as interval logs of HdrHistogram, one file for each repeat: what
//! HistogramLogAnalyzer and every HdrHistogram library reads. A line is an interval of one
//! transaction type, its tag.

use crate::error::{ReportResult, cannot_write};
use analyse::labels_of_stored;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use store::{IntervalRow, LabId, Results};

/// The unit of the log's maxima is a ms; histograms are in ns.
const NS_PER_MS: f64 = 1e6;

/// Writes `cell-1-repeat-1.hlog` and so on; returns their paths. Repeats without an interval have
/// none.
///
/// # Errors
/// There is no such lab, the file cannot be read, or a log cannot be written.
pub fn export_hlog(results: &Results, lab: LabId, directory: &Path) -> ReportResult<Vec<PathBuf>> {
    let lab_name = results.lab(lab)?.name;
    let cells = results.cells(lab)?;
    std::fs::create_dir_all(directory).map_err(cannot_write(directory))?;
    let mut written = Vec::new();
    for (cell, (label, _)) in cells.iter().zip(labels_of_stored(&cells)) {
        let ordinal = cell.what.ordinal;
        for repeat in results.repeats(cell.id)? {
            let mut rows = Vec::new();
            results.for_each_interval(repeat.id, |row| rows.push(row))?;
            rows.retain(|row| !row.latency.histogram.is_empty());
            if rows.is_empty() {
                continue;
            }
            let path = directory.join(format!("cell-{ordinal}-repeat-{}.hlog", repeat.ordinal));
            let title = format!("{lab_name}, cell {ordinal}: {label}");
            let began_ns = u64::try_from(repeat.started_utc_ns).unwrap_or(0);
            let log = interval_log(&title, began_ns, &rows).map_err(cannot_write(&path))?;
            std::fs::write(&path, log).map_err(cannot_write(&path))?;
            written.push(path);
        }
    }
    Ok(written)
}

fn interval_log(title: &str, began_ns: u64, rows: &[IntervalRow]) -> Result<Vec<u8>, String> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let began = UNIX_EPOCH + Duration::from_nanos(began_ns);
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment(&title.replace(['\n', '\r'], " "))
        .add_comment("response times in ns, maxima in ms; phases: warmup, window, drain")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut log, &mut serializer)
        .map_err(|cause| cause.to_string())?;
    let mut phase = None;
    for row in rows {
        if phase.replace(row.phase) != Some(row.phase) {
            let comment = format!("phase {}", row.phase.name());
            writer.write_comment(&comment).map_err(|cause| cause.to_string())?;
        }
        let start = Duration::from_nanos(row.start_offset_ns);
        let length = Duration::from_nanos(row.end_offset_ns - row.start_offset_ns);
        // Names of transactions have no comma, space or line's end.
        let tag = Tag::new(&row.transaction);
        writer
            .write_histogram(&row.latency.histogram, start, length, tag)
            .map_err(|cause| format!("{cause:?}"))?;
    }
    Ok(log)
}
