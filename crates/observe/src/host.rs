//! Facts about the machine that a result belongs to. What cannot be read is left out, never
//! guessed.

use std::fs;
use std::path::Path;
use system::{free_bytes, meminfo_bytes, size_bytes};

/// Hardware and system of this machine, and the file system at `data` where one is named.
pub fn host_facts(data: Option<&Path>) -> Vec<(String, String)> {
    let uname = rustix::system::uname();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let os = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let facts = [
        ("host_name", Some(uname.nodename().to_string_lossy().into_owned())),
        ("cpu_model", field(&cpuinfo, "model name")),
        ("cpu_cores", std::thread::available_parallelism().ok().map(|n| n.to_string())),
        ("cpu_mhz", field(&cpuinfo, "cpu MHz")),
        ("memory_bytes", meminfo_bytes("MemTotal").map(|bytes| bytes.to_string())),
        ("kernel", Some(uname.release().to_string_lossy().into_owned())),
        ("architecture", Some(uname.machine().to_string_lossy().into_owned())),
        ("os", os.map(|name| name.trim_matches('"').to_owned())),
        ("cpu_governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("virtualisation", field(&cpuinfo, "flags").and_then(|flags| hypervisor(&flags))),
        ("file_system", data.and_then(file_system)),
        ("free_bytes", data.and_then(|data| free_bytes(data).ok()).map(|bytes| bytes.to_string())),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.filter(|(_, value)| !value.is_empty()).collect()
}

/// The first line of a file that the kernel writes.
pub fn first_line(path: &str) -> Option<String> {
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

/// The largest resident set that this process has had.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    size_bytes(&status, "VmHWM").ok()?
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
