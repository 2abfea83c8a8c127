//! What fio writes, as far as it is needed.

use super::job::Pattern;
use device::page::AccessKind;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What one job gave.
#[derive(Clone, Debug, PartialEq)]
pub struct FioResult {
    pub iops: f64,
    /// Megabytes, 10^6.
    pub mb_per_s: f64,
    pub requests: u64,
    /// From the submission of a request to its completion; of a mix, its reads'.
    pub latency: Latency,
    /// The latency of flushes, where the job has them.
    pub flush: Option<Latency>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    pub mean_us: f64,
    pub deviation_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
}

// Types of the document; what is not needed is left out, and fio may add to it.

#[derive(Deserialize)]
struct FioDocument {
    jobs: Vec<JobReport>,
}

#[derive(Deserialize)]
struct JobReport {
    error: i32,
    read: Direction,
    write: Direction,
    sync: Sync,
}

#[derive(Deserialize)]
struct Direction {
    iops: f64,
    bw_bytes: f64,
    total_ios: u64,
    clat_ns: LatencyTimes,
}

#[derive(Deserialize)]
struct Sync {
    lat_ns: Option<LatencyTimes>,
}

#[derive(Deserialize)]
struct LatencyTimes {
    max: f64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// Reads the document of a single job; the error says what is wrong with it.
pub(super) fn parse(text: &str, pattern: Pattern) -> Result<FioResult, String> {
    // Some versions print a warning before it.
    let begin = text.find('{').ok_or("fio wrote no JSON document")?;
    let document: FioDocument = serde_json::from_str(&text[begin..])
        .map_err(|error| format!("its document is not understood: {error}"))?;
    let job = document.jobs.first().ok_or("its document has no job")?;
    if job.error != 0 {
        let why = std::io::Error::from_raw_os_error(job.error);
        return Err(format!("its job failed: {why}"));
    }
    let of = |kind: &AccessKind| if *kind == AccessKind::Read { &job.read } else { &job.write };
    let directions: Vec<&Direction> = pattern.kinds().iter().map(of).collect();
    let sum = |number: fn(&Direction) -> f64| directions.iter().map(|of| number(of)).sum::<f64>();
    let Some(direction) = directions.first().filter(|of| of.total_ios > 0) else {
        return Err("its job did nothing in its time; give it more seconds".to_owned());
    };
    let flushes = job.sync.lat_ns.as_ref().filter(|times| times.count > 0);
    Ok(FioResult {
        iops: sum(|of| of.iops),
        mb_per_s: sum(|of| of.bw_bytes) / 1e6,
        requests: directions.iter().map(|of| of.total_ios).sum(),
        latency: direction.clat_ns.latency(),
        flush: flushes.map(LatencyTimes::latency),
    })
}

impl LatencyTimes {
    fn latency(&self) -> Latency {
        let percentile = |name: &str| self.percentile.get(name).copied().unwrap_or(0.0) / 1e3;
        Latency {
            mean_us: self.mean / 1e3,
            deviation_us: self.stddev / 1e3,
            p50_us: percentile("50.000000"),
            p99_us: percentile("99.000000"),
            max_us: self.max / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::fio::Pattern;

    /// A document of fio 3.33: random writes, each flushed.
    const SAMPLE: &str = include_str!("sample.json");

    #[test]
    fn a_document_of_the_real_fio() {
        let measured = parse(SAMPLE, Pattern::FlushedWrite).unwrap();
        assert_eq!(measured.requests, 194_109);
        assert!((measured.latency.mean_us - 3.906_732).abs() < 1e-6);
        assert!((measured.latency.p99_us - 2.512).abs() < 1e-9);
        assert!((measured.latency.max_us - 101_834.252).abs() < 1e-6);
        let flush = measured.flush.unwrap();
        assert!((flush.mean_us - 0.798_188_802).abs() < 1e-9);
        let with_warning = format!("fio: a warning\n{SAMPLE}");
        assert_eq!(parse(&with_warning, Pattern::RandomWrite).unwrap(), measured);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let nothing = parse(SAMPLE, Pattern::RandomRead).unwrap_err();
        assert!(nothing.contains("did nothing"), "{nothing}");
        let failed = SAMPLE.replace("\"error\" : 0", "\"error\" : 28");
        let failed = parse(&failed, Pattern::RandomWrite).unwrap_err();
        assert!(failed.contains("No space left"), "{failed}");
        assert!(parse("", Pattern::RandomRead).is_err());
        assert!(parse("{}", Pattern::RandomRead).is_err());
    }
}
