//! Facts about the machine that a result belongs to. What cannot be read is left out, never
//! guessed.

use std::fs;
use std::path::Path;

/// Hardware and system of this machine, and the file system at `data` where one is named.
pub fn host_facts(data: Option<&Path>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.push((name.to_owned(), value));
        }
    };
    let uname = rustix::system::uname();
    add("host_name", Some(uname.nodename().to_string_lossy().into_owned()));
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    add("cpu_model", field(&cpuinfo, "model name"));
    let cores = std::thread::available_parallelism().ok();
    add("cpu_cores", cores.map(|n| n.to_string()));
    add("cpu_mhz", field(&cpuinfo, "cpu MHz"));
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    add(
        "memory_bytes",
        field(&meminfo, "MemTotal")
            .and_then(|text| bytes_of_kib(&text))
            .map(|bytes| bytes.to_string()),
    );
    add("kernel", Some(uname.release().to_string_lossy().into_owned()));
    add("architecture", Some(uname.machine().to_string_lossy().into_owned()));
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let os = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    add("os", os.map(|name| name.trim_matches('"').to_owned()));
    let governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    add("cpu_governor", first_line(governor));
    add("virtualisation", field(&cpuinfo, "flags").and_then(|flags| hypervisor(&flags)));
    if let Some(data) = data {
        add("file_system", file_system(data));
        add("free_bytes", free_bytes(data).map(|bytes| bytes.to_string()));
    }
    facts
}

fn first_line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.to_owned())
}

/// The value of the first `name : value` line.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(':'))
    })?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn hypervisor(flags: &str) -> Option<String> {
    flags.split(' ').any(|flag| flag == "hypervisor").then(|| "yes".to_owned())
}

/// A file system that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub device: String,
    pub point: String,
    /// `ext4`
    pub kind: String,
    pub options: Vec<String>,
}

/// The file system that holds `path`: the longest mount point that is a prefix of it; `None` where
/// there is no such path.
pub fn mount_of(path: &Path) -> Option<Mount> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let (device, point, kind) = (words.next()?, words.next()?, words.next()?);
        let options = words.next()?.split(',').map(str::to_owned).collect();
        path.starts_with(&point).then_some(Mount { device, point, kind, options })
    };
    mounts.lines().filter_map(mount).max_by_key(|mount| mount.point.len())
}

/// Type and device of the file system that holds `path`.
pub fn file_system(path: &Path) -> Option<String> {
    mount_of(path).map(|mount| format!("{} on {}", mount.kind, mount.device))
}

/// Bytes that an ordinary user may still write at `path`.
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

/// The largest resident set that this process has had.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    bytes_of_kib(&field(&status, "VmHWM")?)
}

/// `/proc` gives sizes as `123 kB`, meaning KiB.
fn bytes_of_kib(text: &str) -> Option<u64> {
    let kib: u64 = text.trim_end_matches(" kB").parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_facts() {
        let facts = host_facts(Some(Path::new("/tmp")));
        let value = |name: &str| facts.iter().find(|(key, _)| key == name).map(|(_, v)| v.clone());
        assert!(value("cpu_cores").is_some_and(|cores| cores.parse::<u32>().is_ok_and(|n| n > 0)));
        assert!(value("memory_bytes").is_some_and(|bytes| bytes.parse::<u64>().is_ok()));
        assert!(value("kernel").is_some());
        assert!(value("file_system").is_some_and(|text| text.contains(" on ")));
        assert!(peak_rss_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 17\nmodel name\t: AMD\n";
        assert_eq!(field(text, "model name").as_deref(), Some("AMD"));
        assert_eq!(field(text, "model").as_deref(), Some("17"));
        assert_eq!(field(text, "mode"), None);
    }
}
