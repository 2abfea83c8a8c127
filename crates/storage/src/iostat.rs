//! What `iostat -x` wrote, of one device: sysstat 11 and 12. Columns are found by their names.

use crate::error::{StorageError, StorageResult, io_at};
use crate::regular::{SymbolicLinks, read_regular};
use std::collections::BTreeMap;
use std::path::Path;

/// A day of seconds of many devices.
const LOG_BYTES_MAX: u64 = 1 << 30;
/// No device does so much of anything.
const FIGURE_MAX: f64 = 1e12;

/// Requests of a kind over the time of a report, with their mean time; of flushes, which sysstat
/// before 12 does not count, all are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoggedRequests {
    pub per_s: f64,
    pub kib_per_s: f64,
    pub mean_ms: f64,
}

/// A device over the time of one report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IostatReport {
    /// The first of the log has 1: what went on since the start of the system, which is skipped.
    pub number: usize,
    /// Requests outstanding.
    pub queue: f64,
    /// Reads, writes and flushes.
    pub kinds: [LoggedRequests; 3],
}

/// The reports in which a device had something to do.
#[derive(Clone, Debug, PartialEq)]
pub struct IostatLog {
    pub device: String,
    pub reports: Vec<IostatReport>,
}

/// By device, in the order of the log.
type Devices = BTreeMap<String, Vec<IostatReport>>;
type Columns<'a> = BTreeMap<&'a str, f64>;

/// Reads a log.
///
/// # Errors
/// It cannot be read, is none, has several devices of which none is named, or not the named one.
pub fn read_iostat(path: &Path, device: Option<&str>) -> StorageResult<IostatLog> {
    let text = read_regular(path, LOG_BYTES_MAX, SymbolicLinks::Followed);
    let text = text.map_err(io_at("read", path))?;
    log_of(&text, device).map_err(|why| StorageError::BadLog { path: path.to_owned(), why })
}

fn log_of(text: &str, device: Option<&str>) -> Result<IostatLog, String> {
    let mut devices = tables(text)?;
    let all = devices.keys().cloned().collect::<Vec<_>>().join(", ");
    let is_busy = |at: &IostatReport| at.queue > 0.0 && at.kinds[0].per_s + at.kinds[1].per_s > 0.0;
    devices.values_mut().for_each(|reports| reports.retain(is_busy));
    let mut busy = devices.keys().filter(|name| !devices[*name].is_empty());
    let device = match (device, busy.next(), busy.next()) {
        _ if text.trim_start().starts_with('{') => {
            Err("it is JSON; write one with `LC_ALL=C iostat -x 1 > iostat.log`".into())
        }
        _ if all.is_empty() => {
            Err("it has no second table; write one with `LC_ALL=C iostat -x 1 > iostat.log`".into())
        }
        (Some(named), _, _) if !devices.contains_key(named) => {
            Err(format!("it has no device {named}; --device takes {all}"))
        }
        (Some(named), _, _) if !devices[named].is_empty() => Ok(named.to_owned()),
        (None, Some(only), None) => Ok(only.clone()),
        (None, Some(_), Some(_)) => Err(format!("name one of its devices: --device {all}")),
        _ => {
            Err("no table after the first has reads or writes with a queue (aqu-sz) above 0; log \
                  a busy time"
                .to_owned())
        }
    }?;
    let reports = devices.remove(&device).unwrap_or_default();
    Ok(IostatLog { device, reports })
}

fn tables(text: &str) -> Result<Devices, String> {
    let (mut devices, mut names, mut number) = (Devices::new(), Vec::new(), 0);
    // Is the next table, or this one, of the time since the system started?
    let (mut begins, mut is_first) = (true, false);
    // A log that is cut may end within a line.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for (line, at) in whole.lines().zip(1..) {
        let mut words = line.split_whitespace();
        match words.next() {
            // What iostat begins with: a log may be of several.
            Some("Linux") => begins = true,
            Some("Device" | "Device:") => {
                names = words.collect();
                (number, is_first) = (number + 1, std::mem::take(&mut begins));
            }
            None | Some("avg-cpu:") => names.clear(),
            Some(device) if device.contains('\u{1b}') => {
                return Err(format!("line {at} has colours; log again with S_COLORS=never"));
            }
            Some(device) if !names.is_empty() && !is_first => {
                let values = names.iter().zip(words.chain(std::iter::repeat("nothing")));
                let columns = values.map(|(name, text)| value(name, text).map(|it| (*name, it)));
                let report = columns.collect::<Result<_, _>>().and_then(|it| report(number, &it));
                let report = report.map_err(|why| format!("line {at} has {why}"))?;
                devices.entry(device.to_owned()).or_default().push(report);
            }
            Some(_) => {}
        }
    }
    Ok(devices)
}

fn value(name: &str, text: &str) -> Result<f64, String> {
    let is_possible = |value: &f64| (0.0..FIGURE_MAX).contains(value);
    text.parse().ok().filter(is_possible).ok_or_else(|| match text.contains(',') {
        true => format!("a decimal comma ({text}); log again with LC_ALL=C"),
        false => format!("{text} as {name}; log again with S_COLORS=never, without -h"),
    })
}

fn report(number: usize, columns: &Columns<'_>) -> Result<IostatReport, String> {
    let of = |name: &str| columns.get(name).copied();
    let need = |name: &str, found: Option<f64>| {
        found.ok_or_else(|| {
            format!("no column {name}; log with `LC_ALL=C iostat -x 1` of sysstat 11 or newer")
        })
    };
    let requests = |kind: &str| -> Result<LoggedRequests, String> {
        let [per_s, kib, mib, mean] =
            ["/s", "kB/s", "MB/s", "_await"].map(|it| kind.to_owned() + it);
        Ok(LoggedRequests {
            per_s: need(&per_s, of(&per_s))?,
            kib_per_s: need(&kib, of(&kib).or(of(&mib).map(|mib| mib * 1024.0)))?,
            mean_ms: need(&mean, of(&mean))?,
        })
    };
    let [per_s, mean_ms] = ["f/s", "f_await"].map(|name| of(name).unwrap_or(0.0));
    Ok(IostatReport {
        number,
        queue: need("aqu-sz", of("aqu-sz").or(of("avgqu-sz")))?,
        kinds: [requests("r")?, requests("w")?, LoggedRequests { per_s, kib_per_s: 0.0, mean_ms }],
    })
}

#[cfg(test)]
mod tests {
    use super::{IostatReport, LoggedRequests, log_of};

    const TWELVE: &str = "\
Linux 6.8.0 (db1) \t11/29/26 \t_x86_64_\t(80 CPU)

11/29/26 10:00:00
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    2.00    0.00   96.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s \
 %wrqm w_await wareq-sz     d/s     dkB/s d_await     f/s f_await  aqu-sz  %util
sda              9.00     99.00     0.00   0.00    9.00    11.00    9.00     99.00     0.00 \
  0.00    9.00    11.00    0.00      0.00    0.00    9.00    9.00    9.00   9.00

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    2.00    0.00   96.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s \
 %wrqm w_await wareq-sz     d/s     dkB/s d_await     f/s f_await  aqu-sz  %util
sda           3645.00  58320.00     0.00   0.00    0.39    16.00 1927.00  41912.25     0.00 \
  0.00    1.14    21.75    0.00      0.00    0.00  518.90    0.21    3.71  68.74
";

    const READS: LoggedRequests =
        LoggedRequests { per_s: 3645.0, kib_per_s: 58_320.0, mean_ms: 0.39 };
    const WRITES: LoggedRequests =
        LoggedRequests { per_s: 1927.0, kib_per_s: 41_912.25, mean_ms: 1.14 };
    const FLUSHES: LoggedRequests = LoggedRequests { per_s: 518.9, kib_per_s: 0.0, mean_ms: 0.21 };
    const SDA: IostatReport =
        IostatReport { number: 2, queue: 3.71, kinds: [READS, WRITES, FLUSHES] };

    const ELEVEN: &str = "\
Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await \
r_await w_await  svctm  %util
sda               0.00     0.00    9.00    9.00    99.00    99.00    11.00     9.00    9.00 \
   9.00    9.00   9.00   9.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await \
r_await w_await  svctm  %util
sda               0.00     0.00 3645.00 1927.00 58320.00 41912.25    11.00     3.71    9.00 \
   0.39    1.14   9.00   9.00
sdb               0.00     0.00    0.00    0.00     0.00     0.00     0.00     0.00    0.00 \
   0.00    0.00   0.00   0.00
";

    #[test]
    fn tables_of_both_versions_are_read() {
        let log = log_of(TWELVE, None).unwrap();
        assert_eq!((log.device.as_str(), &log.reports[..]), ("sda", &[SDA][..]));
        // What is written after a new start of iostat is of the time since the system's start.
        let twice = log_of(&[TWELVE, TWELVE].concat(), Some("sda")).unwrap();
        assert_eq!(twice.reports, [SDA, IostatReport { number: 4, ..SDA }]);
        // sdb does nothing, and need not be told apart.
        let old = log_of(ELEVEN, None).unwrap();
        let kinds = [READS, WRITES, LoggedRequests::default()];
        assert_eq!(old.reports, [IostatReport { kinds, ..SDA }]);
        let cut = log_of(&format!("{TWELVE}sda  3645.00 583"), None).unwrap();
        assert_eq!(cut.reports, [SDA]);
    }

    #[test]
    fn what_is_no_log_of_one_busy_device_is_refused() {
        let table = "\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz\nsda 9 9 9 9 9 9 9\n";
        let two = format!("{table}{table}sdb 7 7 7 7 7 7 7\n");
        for (text, device, why) in [
            ("r/s w/s", None, "no second table"),
            ("{\"sysstat\": {}}", None, "it is JSON"),
            (ELEVEN, Some("sdc"), "no device sdc; --device takes sda, sdb"),
            (ELEVEN, Some("sdb"), "no table after the first has reads or writes"),
            (&two, None, "name one of its devices: --device sda, sdb"),
            (&TWELVE.replace("0.39", "0,39"), None, "has a decimal comma (0,39)"),
            (&TWELVE.replace("0.39", "0.4k"), None, "has 0.4k as r_await"),
            (&TWELVE.replace("0.39", "-0.39"), None, "has -0.39 as r_await"),
            (&TWELVE.replace("sda", "\u{1b}[32;1msda\u{1b}[0m"), None, "has colours"),
            (&TWELVE.replace("3645.00", "1e15"), None, "has 1e15 as r/s"),
            (&TWELVE.replace("68.74", "nan"), None, "has nan as %util"),
            (&TWELVE.replace("r_await", "r_time"), None, "has no column r_await"),
            (&TWELVE.replace(" 518.90", "\nsdb"), None, "has nothing as"),
        ] {
            let error = log_of(text, device).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
