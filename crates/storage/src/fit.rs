//! A profile of a log of iostat, where fio cannot run: response times are fitted by what was asked
//! of the device, and the profile says what the log told.
//!
//! Three parameters each, by rates (in thousands per second), the queue (as iostat has it) and the
//! residual `ln(fitted / measured)`:
//! - A read takes its own time, that of the requests before it, and a part for the flushes beside
//!   it: `own + pace x queue + part x flushes`.
//! - A write waits for its share of the queue, which is the smaller the more requests pass, and the
//!   more often writes are small ones with a flush behind them: `queue x e^(level - (reads +
//!   writes) / scale) / flushes^power`.
//! - A flush grows with the requests beside it, `least x e^((reads + writes) / scale)`. One is
//!   under way at a time, behind a write that waits for the queue, so it takes less than
//!   `1 / flushes - pace x queue`. Of both: `1 / (1 / the one + 1 / the other)`.

use crate::error::{StorageError, StorageResult};
use crate::iostat::{IostatLog, IostatReport, LoggedRequests};
use crate::probe::{Naming, PROTECTED_FLUSH_US_MAX, cite, tenth, whole};
use device::{Profile, Sheet, SolidState};
use serde::Serialize;
use std::array::from_fn;
use std::path::Path;

/// Places of the kinds of requests.
const READ: usize = 0;
const WRITE: usize = 1;
const FLUSH: usize = 2;

type Parameters = [f64; 3];

/// One more than there are parameters.
const REPORTS_MIN: usize = 4;
const ROUNDS: usize = 600;
/// Less than one flush in a second is none.
const FLUSHES_MIN: f64 = 1e-3;
/// What a flush leaves of the time until the next one, at least.
const ROOM_MIN: f64 = 0.05;
/// A rate that is concluded may be so much above what was seen.
const BEYOND_SEEN: f64 = 2.0;
/// A read has to wait for others where as many are outstanding at all times.
const ALONE_MAX: f64 = 2.0;
/// How much longer the longest queue is than the shortest where a log tells what waiting is.
const QUEUES_APART: f64 = 1.5;
/// The writes that SATA devices hold.
const HELD_WRITES: u32 = 32;
/// A device's capacity, of which a log says nothing.
const CAPACITY_BYTES: u64 = 1_000_000_000_000;

/// How long requests of each kind take; none where too few were logged.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedTimes([Option<Parameters>; 3]);

/// Requests of a kind over the time of a report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FittedRequests {
    pub per_s: f64,
    pub measured_ms: f64,
    pub fitted_ms: f64,
    /// Of the fitted by the measured time.
    pub ratio: f64,
}

/// A report, by its number, and how its times are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FittedReport {
    pub report: usize,
    pub queue: f64,
    pub read: Option<FittedRequests>,
    pub write: Option<FittedRequests>,
    pub flush: Option<FittedRequests>,
}

/// Where there were some, in a time that iostat does not round to 0.
fn timed(requests: LoggedRequests) -> Option<LoggedRequests> {
    (requests.per_s > 0.0 && requests.mean_ms > 0.0).then_some(requests)
}

/// Reads and writes, in thousands per second.
fn requests(at: &IostatReport) -> f64 {
    (at.kinds[READ].per_s + at.kinds[WRITE].per_s) / 1e3
}

fn model_ms(kind: usize, at: &IostatReport, [a, b, c]: Parameters) -> f64 {
    let flushes = (at.kinds[FLUSH].per_s / 1e3).max(FLUSHES_MIN);
    match kind {
        READ => a.exp() + b.exp() * at.queue + c.exp() * at.kinds[FLUSH].per_s / 1e3,
        WRITE => at.queue * (a - b * requests(at) - c * flushes.ln()).exp(),
        _ => {
            let room_ms = (1.0 / flushes - c.exp() * at.queue).max(ROOM_MIN / flushes);
            1.0 / (1.0 / (a + b.exp() * requests(at)).exp() + 1.0 / room_ms)
        }
    }
}

impl FittedTimes {
    /// Fits.
    ///
    /// # Errors
    /// Too few reports have reads, or writes.
    pub fn of(reports: &[IostatReport]) -> Result<FittedTimes, String> {
        let counts: [usize; 3] =
            from_fn(|kind| reports.iter().filter_map(|at| timed(at.kinds[kind])).count());
        match counts {
            [reads, writes, _] if reads.min(writes) < REPORTS_MIN => Err(format!(
                "{reads} of its tables have reads and {writes} have writes, and {REPORTS_MIN} of \
                 each are needed for three parameters; log longer, under a load that has both"
            )),
            _ => Ok(FittedTimes(from_fn(|kind| {
                (counts[kind] >= REPORTS_MIN).then(|| fitted(kind, reports))
            }))),
        }
    }

    pub fn report(&self, at: &IostatReport) -> FittedReport {
        let [read, write, flush] = from_fn(|kind| {
            let LoggedRequests { per_s, mean_ms: measured_ms, .. } = timed(at.kinds[kind])?;
            let fitted_ms = model_ms(kind, at, self.0[kind]?);
            Some(FittedRequests { per_s, measured_ms, fitted_ms, ratio: fitted_ms / measured_ms })
        });
        FittedReport { report: at.number, queue: at.queue, read, write, flush }
    }
}

fn most(reports: &[IostatReport], of: impl Fn(&IostatReport) -> f64) -> f64 {
    reports.iter().map(of).fold(f64::MIN_POSITIVE, f64::max)
}

/// Least squares by the method of Nelder and Mead, from parts of the least time on, by queue and
/// rates as they were.
fn fitted(kind: usize, reports: &[IostatReport]) -> Parameters {
    let squares = |of: Parameters| -> (f64, Parameters) {
        let with = reports.iter().filter_map(|at| Some((at, timed(at.kinds[kind])?.mean_ms)));
        (with.map(|(at, ms)| (model_ms(kind, at, of) / ms).ln().powi(2)).sum(), of)
    };
    let least = quick_ms(kind, reports).ln();
    let queue = most(reports, |at| at.queue).ln();
    let flushes = most(reports, |at| at.kinds[FLUSH].per_s / 1e3).max(FLUSHES_MIN).ln();
    let begin = match kind {
        READ => [least, least - queue, least - flushes - 1.0],
        WRITE => [least, 0.0, 0.0],
        _ => [least, -most(reports, requests).ln(), -flushes - queue - 2.0],
    };
    let beside = |n: usize| from_fn(|m| begin[m] + if n == m { 0.5 } else { 0.0 });
    let mut corners: [_; 4] = from_fn(|n| squares(beside(n)));
    for _ in 0..ROUNDS {
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [first, second, third, last] = corners;
        let centre: Parameters = from_fn(|n| (first.1[n] + second.1[n] + third.1[n]) / 3.0);
        let at = |far: f64| squares(from_fn(|n| centre[n] + far * (last.1[n] - centre[n])));
        let mirrored = at(-1.0);
        let better = match mirrored.0 {
            sum if sum < first.0 => [at(-2.0), mirrored].into_iter().find(|of| of.0 <= sum),
            sum if sum < third.0 => Some(mirrored),
            sum => Some(at(if sum < last.0 { -0.5 } else { 0.5 })).filter(|of| of.0 < last.0),
        };
        match better {
            Some(better) => corners[3] = better,
            None => {
                corners =
                    corners.map(|of| squares(from_fn(|n| f64::midpoint(of.1[n], first.1[n]))));
            }
        }
    }
    corners[0].1
}

/// A profile, and what the log does not tell of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedProfile {
    pub reports: Vec<FittedReport>,
    pub profile: Profile,
    pub untold: Vec<String>,
}

/// Fits response times to a log, and makes a profile.
///
/// # Errors
/// As [`FittedTimes::of`], or where no device could have the figures.
pub fn fit(log: &IostatLog, path: &Path, naming: &Naming) -> StorageResult<FittedProfile> {
    let bad = |why| StorageError::BadLog { path: path.to_owned(), why };
    let times = FittedTimes::of(&log.reports).map_err(bad)?;
    let (profile, untold) = profile(&times, log, naming);
    let contradicts = |error| bad(format!("it contradicts itself: {error}; log longer"));
    profile.validate().map_err(contradicts)?;
    let reports = log.reports.iter().map(|at| times.report(at)).collect();
    Ok(FittedProfile { reports, profile, untold })
}

fn profile(times: &FittedTimes, log: &IostatLog, naming: &Naming) -> (Profile, Vec<String>) {
    let reports = &log.reports;
    let mean = |of: fn(&IostatReport) -> f64| {
        reports.iter().map(of).sum::<f64>() / reports.len().max(1) as f64
    };
    let mb_per_s = |kind: usize| most(reports, |at| at.kinds[kind].kib_per_s) * 1024e-6;
    let quick_us = |kind| tenth(quick_ms(kind, reports) * 1e3);
    let [own_ms, pace_ms, part_ms] = times.0[READ].unwrap_or_default().map(f64::exp);
    // While less than one request was outstanding, most of them were alone.
    let own_ms = own_ms.max(quick_ms(READ, reports) * (1.0 - least_queue(reports)));
    let read_us = tenth(own_ms * 1e3);
    let slow_us = tenth((own_ms + part_ms * mean(|at| at.kinds[FLUSH].per_s / 1e3)) * 1e3);
    let (write_us, seen) = (quick_us(WRITE), most(reports, requests) * 1e3);
    let is_told = (seen..=seen * BEYOND_SEEN).contains(&(1e3 / pace_ms));
    // One read after another is as many as their time allows.
    let read_iops = whole(if is_told { 1e3 / pace_ms } else { seen }.max(1e3 / own_ms));
    let units = (read_iops * slow_us * 1e-6 * 1.25).ceil().max(1.0) as u32;
    let reading = tenth(mb_per_s(READ)).max(read_iops * 4096e-6);
    let writing = tenth(mb_per_s(WRITE));
    let link = reading.max(writing).max(4096.0 / read_us.min(write_us)).ceil();
    let has_flushes = times.0[FLUSH].is_some();
    let flush_us = if has_flushes { quick_us(FLUSH) } else { write_us };
    let protected = has_flushes && flush_us <= PROTECTED_FLUSH_US_MAX;
    let waits = protected && mean(|at| at.kinds[FLUSH].mean_ms * 1e3) > flush_us * 2.0;
    let mut profile = Profile {
        name: naming.name.clone(),
        title: format!("{} of a log of iostat", log.device),
        capacity_bytes: CAPACITY_BYTES,
        sheet: Sheet {
            random_read_iops: Some(read_iops),
            random_read_queue_depth: Some(units.saturating_mul(2)),
            read_latency_us: Some(read_us),
            flush_latency_us: protected.then_some(flush_us),
            ..Sheet::default()
        },
        solid_state: Some(SolidState {
            read_latency_us: read_us,
            random_read_iops: read_iops,
            sequential_read_mb_per_s: reading,
            write_latency_us: write_us,
            random_write_iops: whole(writing / 4096e-6),
            sequential_write_mb_per_s: writing,
            flush_us,
            power_loss_protected: protected,
            units: Some(units),
            interface_mb_per_s: Some(link),
            read_latency_while_writing_us: Some(slow_us),
            flush_queue_depth: waits.then_some(HELD_WRITES),
            ..SolidState::default()
        }),
        ..Profile::default()
    };
    let guessed = (!has_flushes).then_some(("solid_state.flush_us", "a guess: as a write"));
    let concluded: Vec<_> = CONCLUDED.into_iter().chain(guessed).collect();
    cite(&mut profile, &concluded, &naming.source);
    let unseen = (!is_told).then_some(seen);
    (profile, untold(reports, [reading, writing], unseen, has_flushes))
}

/// What the log does not tell: of rates up to which megabytes in a second, and where it is not
/// known either, up to how many reads and writes.
fn untold(
    reports: &[IostatReport],
    [reading, writing]: [f64; 2],
    unseen: Option<f64>,
    has_flushes: bool,
) -> Vec<String> {
    let least = least_queue(reports);
    let longest = most(reports, |at| at.queue);
    let all = [
        Some("how large the device and its cache are: capacity_bytes is a guess".to_owned()),
        Some(format!("reads of more than {reading} MB/s (sequential_read_mb_per_s)")),
        Some(format!(
            "writes of more than {writing} MB/s (random_write_iops, sequential_write_mb_per_s)"
        )),
        unseen.map(|seen| format!("more than {seen:.0} reads and writes/s (random_read_iops)")),
        (least > ALONE_MAX).then(|| format!("a read alone: the queue was never below {least:.1}")),
        (longest < least * QUEUES_APART).then(|| {
            format!("what a request waits for others: the queue was {least:.1} to {longest:.1}")
        }),
        Some(match has_flushes {
            true => "what a loss of power leaves: that is concluded from flush_us".to_owned(),
            false => "flushes: it has none (sysstat before 12), flush_us is a guess".to_owned(),
        }),
    ];
    all.into_iter().flatten().collect()
}

fn least_queue(reports: &[IostatReport]) -> f64 {
    reports.iter().map(|at| at.queue).fold(f64::INFINITY, f64::min)
}

const CONCLUDED: [(&str, &str); 6] = [
    ("capacity_bytes", "a guess: a log does not tell it"),
    ("sheet.random_read_queue_depth", "derived: twice solid_state.units"),
    ("solid_state.units", "derived: those that random_read_iops needs, and a quarter more"),
    ("solid_state.interface_mb_per_s", "derived: the fastest of what was logged"),
    ("solid_state.random_write_iops", "derived: the most that was logged, in pages of 4 KiB"),
    (
        "solid_state.flush_queue_depth",
        "concluded: flushes took longer beside requests, as where they wait for writes on SATA",
    ),
];

/// The time that a twentieth of the reports is below: shorter ones are chance.
fn quick_ms(kind: usize, reports: &[IostatReport]) -> f64 {
    let times = reports.iter().filter_map(|at| timed(at.kinds[kind]));
    let mut times: Vec<f64> = times.map(|of| of.mean_ms).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 20).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::{FLUSH, FittedProfile, FittedTimes, READ, WRITE, fit, model_ms};
    use crate::iostat::{IostatLog, IostatReport, LoggedRequests};
    use crate::probe::Naming;
    use device::Profile;
    use std::path::Path;

    /// Runs of a published study (its file says which); all of their reads are of 16 KiB.
    fn study() -> (Vec<String>, Vec<IostatReport>) {
        let text = include_str!("../tests/percona-2026.csv");
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let of = |n: usize| cells[n].parse::<f64>().unwrap();
            let requests = |per_s, kib: f64, mean_ms| LoggedRequests {
                per_s,
                kib_per_s: per_s * kib,
                mean_ms,
            };
            let reads = requests(of(4), 16.0, of(5));
            let writes = requests(of(6), of(8), of(7));
            let kinds = [reads, writes, requests(of(9), 0.0, of(10))];
            (cells[..4].join(" "), IostatReport { number: 0, queue: of(11), kinds })
        });
        rows.unzip()
    }

    /// Rows that the others tell more than a quarter off, with the ratio to what was measured.
    fn off(kind: usize) -> Vec<(String, f64)> {
        let (names, reports) = study();
        let ratios = (0..reports.len()).map(|n| {
            let others = [&reports[..n], &reports[n + 1..]].concat();
            let fitted = FittedTimes::of(&others).unwrap().report(&reports[n]);
            [fitted.read, fitted.write, fitted.flush][kind].unwrap().ratio
        });
        let all: Vec<(String, f64)> = names.into_iter().zip(ratios).collect();
        assert_eq!(all.len(), 30);
        all.into_iter().filter(|(_, ratio)| (ratio - 1.0).abs() > 0.25).collect()
    }

    #[test]
    fn reads_and_writes_of_a_published_log_are_told_by_its_other_rows() {
        assert_eq!(off(READ), []);
        assert_eq!(off(WRITE), []);
    }

    /// Four of the thirty, with flushes of 0.04 to 0.3 ms, are not. No model that grows with rates,
    /// lengths and queue can tell the first and the third: MySQL did more of everything there than
    /// MariaDB, and its flushes took half as long.
    #[test]
    fn most_flushes_of_a_published_log_are_told_by_its_other_rows() {
        let off = off(FLUSH);
        let names: Vec<&str> = off.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "mariadb 10.11.16 2 1",
            "mariadb 10.11.16 12 1",
            "mysql 5.7.44 2 1",
            "mysql 5.7.44 2 4",
        ];
        assert_eq!(names, expected, "{off:?}");
        assert!(off.iter().all(|(_, ratio)| (0.5..1.65).contains(ratio)), "{off:?}");
    }

    fn log(reports: Vec<IostatReport>) -> IostatLog {
        IostatLog { device: "sda".to_owned(), reports }
    }

    fn fitted(reports: Vec<IostatReport>) -> FittedProfile {
        let naming = Naming { name: "mine".to_owned(), source: "fitted".to_owned() };
        fit(&log(reports), Path::new("iostat.log"), &naming).unwrap()
    }

    #[test]
    fn a_profile_says_what_the_log_told_and_what_it_did_not() {
        let (_, reports) = study();
        let told = fitted(reports.clone());
        let text = toml::to_string(&told.profile).unwrap();
        assert_eq!(Profile::parse(&text).unwrap(), told.profile);
        let solid = told.profile.solid_state.clone().unwrap();
        // Never more than 18,256 reads and writes in a second, with up to 56 outstanding.
        assert!((18_256.0..18_600.0).contains(&solid.random_read_iops), "{solid:?}");
        assert!((120.0..140.0).contains(&solid.read_latency_us), "{solid:?}");
        assert!(solid.read_latency_while_writing_us > Some(solid.read_latency_us), "{solid:?}");
        assert!(solid.power_loss_protected && solid.flush_us < 100.0, "{solid:?}");
        let says = |of: &FittedProfile, what: &str| of.untold.iter().any(|it| it.contains(what));
        assert!(!says(&told, "flushes: it has none") && !says(&told, "a read alone"));

        let calm = |at: &IostatReport| {
            let [reads, writes, _] = at.kinds;
            IostatReport { kinds: [reads, writes, LoggedRequests::default()], ..*at }
        };
        let calm = fitted(reports.iter().filter(|at| at.queue > 20.0).map(calm).collect());
        for what in ["flushes: it has none", "a read alone", "the queue was never below 20.6"] {
            assert!(says(&calm, what), "{:?}", calm.untold);
        }
        assert!(!calm.profile.solid_state.as_ref().unwrap().power_loss_protected);
        // No flush waited for writes: that has no figure, and so no source.
        let text = toml::to_string(&calm.profile).unwrap();
        assert_eq!(Profile::parse(&text).unwrap(), calm.profile);
        assert!(calm.reports.iter().all(|of| of.flush.is_none() && of.read.is_some()));
    }

    /// Of a level load no model tells what is a read's own time and what is waiting.
    #[test]
    fn reads_that_were_nearly_alone_are_no_shorter_than_they_were() {
        let kinds = [(500.0, 0.3), (300.0, 0.1)].map(|(per_s, mean_ms)| LoggedRequests {
            per_s,
            kib_per_s: per_s * 16.0,
            mean_ms,
        });
        let kinds = [kinds[0], kinds[1], LoggedRequests::default()];
        let level = fitted(vec![IostatReport { number: 0, queue: 0.2, kinds }; 40]);
        let solid = level.profile.solid_state.unwrap();
        assert!((240.0..=300.0).contains(&solid.read_latency_us), "{solid:?}");
        assert!(solid.read_latency_while_writing_us >= Some(240.0), "{solid:?}");
    }

    #[test]
    fn what_a_model_made_is_found_again() {
        let [read, write] = [[-2.0, -3.0, -3.0], [-1.0, 0.1, 0.5]];
        let reports = (1..=40).map(|n| {
            let rates = [300 * (n % 7 + 1), 200 * (n % 5 + 1), 100 * (n % 3 + 1)];
            let kinds = rates
                .map(|of| LoggedRequests { per_s: f64::from(of), ..LoggedRequests::default() });
            let mut at = IostatReport { number: 0, queue: f64::from(n), kinds };
            at.kinds[READ].mean_ms = model_ms(READ, &at, read);
            at.kinds[WRITE].mean_ms = model_ms(WRITE, &at, write);
            at
        });
        let times = FittedTimes::of(&reports.collect::<Vec<_>>()).unwrap();
        for (found, made) in [(times.0[READ].unwrap(), read), (times.0[WRITE].unwrap(), write)] {
            let off = found.iter().zip(made).map(|(found, made)| (found - made).abs());
            assert!(off.fold(0.0, f64::max) < 1e-3, "{found:?}, not {made:?}");
        }
    }

    #[test]
    fn too_few_reports_are_refused() {
        let (_, reports) = study();
        let error = FittedTimes::of(&reports[..3]).unwrap_err();
        assert!(
            error.contains("3 of its tables have reads and 3 have writes, and 4 of each"),
            "{error}"
        );
        let mut reads = reports;
        reads.iter_mut().for_each(|at| at.kinds[WRITE] = LoggedRequests::default());
        let error = FittedTimes::of(&reads).unwrap_err();
        assert!(error.contains("30 of its tables have reads and 0 have writes"), "{error}");
    }
}
