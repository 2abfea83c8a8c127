//! What a lab is written as for other programs and for tickets.

use crate::common::{ONE_CELL, Shape, build};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use report::{export_hlog, export_markdown, figure, raster};
use std::collections::BTreeMap;

const LAB: Shape = Shape {
    name: "a|b <i>*c*</i>",
    connections: &[8, 32],
    repeats: 2,
    warmup_s: 2,
    window_s: 6,
    ..ONE_CELL
};

#[test]
fn any_hdr_histogram_library_reads_the_response_times() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &LAB);
    let files = export_hlog(&results, lab, &scratch.path().join("logs")).unwrap();
    let names: Vec<_> =
        files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "cell-1-repeat-1.hlog",
            "cell-1-repeat-2.hlog",
            "cell-2-repeat-1.hlog",
            "cell-2-repeat-2.hlog"
        ]
    );
    let cell = &results.cells(lab).unwrap()[0];
    let repeat = &results.repeats(cell.id).unwrap()[0];
    let mut stored: BTreeMap<String, u64> = BTreeMap::new();
    let count = |row: store::IntervalRow| {
        *stored.entry(row.transaction).or_default() += row.latency.count();
    };
    results.for_each_interval(repeat.id, count).unwrap();
    stored.retain(|_, count| *count > 0);
    let log = std::fs::read(&files[0]).unwrap();
    let mut read: BTreeMap<String, u64> = BTreeMap::new();
    let mut ends_s: f64 = 0.0;
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.unwrap() else { continue };
        let bytes = openssl::base64::decode_block(interval.encoded_histogram()).unwrap();
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        // Maxima are in ms, histograms in ns.
        let max_ms = histogram.max() as f64 / 1e6;
        assert!((interval.max() / max_ms - 1.0).abs() < 0.01, "{} {max_ms}", interval.max());
        *read.entry(interval.tag().unwrap().as_str().to_owned()).or_default() += histogram.len();
        ends_s = ends_s.max((interval.start_timestamp() + interval.duration()).as_secs_f64());
    }
    assert_eq!(read, stored);
    assert!((ends_s - 8.0).abs() < 0.1, "{ends_s}");
}

#[test]
fn a_ticket_has_the_answer_and_a_table() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &LAB);
    let text = export_markdown(&results, lab).unwrap();
    assert!(
        text.starts_with(
            "## a\\|b \\<i\\>\\*c\\*\\</i\\>\n\nHow does throughput depend on \
        connections (8, 32)?\n\n- "
        ),
        "{text}"
    );
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows.iter().all(|row| row.matches(" |").count() == 5), "{text}");
    assert!(text.contains("not comparable with published TPC-C results"), "{text}");
}

#[test]
fn a_chart_is_a_picture_with_the_numbers_of_the_lab() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &LAB);
    let svg = figure(&results, lab, "throughput-by-connections").unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("Throughput, NOPM by connections"), "{svg}");
    // A mark for each cell says its mean, and a whisker of each has the interval of two repeats.
    let cell = &results.cells(lab).unwrap()[0];
    let means = results
        .repeats(cell.id)
        .unwrap()
        .into_iter()
        .map(|repeat| results.summary(repeat.id).unwrap().rates.nopm.unwrap());
    let mean = means.sum::<f64>() / 2.0;
    let told: Vec<f64> = svg
        .split("<title>")
        .skip(2)
        .map(|of| of.split(": ").nth(1).unwrap().split('<').next().unwrap())
        .map(|number| number.replace(',', "").parse().unwrap())
        .collect();
    assert_eq!(told.len(), 2, "{svg}");
    assert!((told[0] / mean - 1.0).abs() < 0.01, "{told:?} {mean}");
    assert_eq!(svg.matches("h8").count(), 4, "{svg}");
    // As PNG: twice the size, and written on, for text takes the font of the machine.
    let png = raster(&svg).unwrap();
    let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((&png[1..4], size(16)), (&b"PNG"[..], 2 * 760));
    let blank = raster(&svg.replace("<text", "<desc").replace("</text", "</desc")).unwrap();
    assert!(png.len() > blank.len() + 1_000, "{} and {} bytes", png.len(), blank.len());
    let refused = figure(&results, lab, "no-such").unwrap_err();
    assert!(refused.to_string().contains("throughput-by-connections"), "{refused}");
}
