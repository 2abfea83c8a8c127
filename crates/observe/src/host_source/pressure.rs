//! For how long work waited for what the machine had too little of, from /proc/pressure (Linux
//! 4.20; not where it was started without).

use crate::error::ObserveError;
use crate::proc_file::{ProcLine, ProcText, as_stored};
use crate::sampler::Readings;
use store::MetricSource::Host;

/// What work can wait for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resource {
    Cpu,
    Io,
    Memory,
}

impl Resource {
    pub(super) const ALL: [Resource; 3] = [Resource::Cpu, Resource::Io, Resource::Memory];

    pub(super) fn path(self) -> &'static str {
        match self {
            Resource::Cpu => "/proc/pressure/cpu",
            Resource::Io => "/proc/pressure/io",
            Resource::Memory => "/proc/pressure/memory",
        }
    }

    /// This part of the host, for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Resource::Cpu => "the host's pressure of CPU",
            Resource::Io => "the host's pressure of I/O",
            Resource::Memory => "the host's pressure of memory",
        }
    }

    /// The metric of a line that begins with `kind`.
    fn metric(self, kind: &str) -> Option<&'static str> {
        match (self, kind) {
            (Resource::Cpu, "some") => Some("pressure_cpu_some_us"),
            (Resource::Io, "some") => Some("pressure_io_some_us"),
            (Resource::Io, "full") => Some("pressure_io_full_us"),
            (Resource::Memory, "some") => Some("pressure_memory_some_us"),
            (Resource::Memory, "full") => Some("pressure_memory_full_us"),
            // All of the machine cannot wait for cores: some of it has them. Newer kernels print a
            // line of zeros.
            _ => None,
        }
    }

    /// Reads the text of its file.
    pub(super) fn read(self, text: &ProcText<'_>, into: &mut Readings) -> Result<(), ObserveError> {
        for line in text.lines() {
            let kind = line.text.split(' ').next().unwrap_or_default();
            if let Some(name) = self.metric(kind) {
                into.counter(Host, name, "", as_stored(total_us(line)?));
            }
        }
        Ok(())
    }
}

fn total_us(line: ProcLine<'_>) -> Result<u64, ObserveError> {
    let mut words = line.text.split_ascii_whitespace();
    let total = words.find_map(|word| word.strip_prefix("total="));
    let total = total.ok_or_else(|| line.malformed("it has no total="))?;
    line.part(total).fields().number("total")
}

#[cfg(test)]
mod tests {
    use super::Resource;
    use crate::error::ObserveError;
    use crate::proc_file::ProcText;
    use crate::sampler::Readings;
    use std::path::Path;

    fn read(resource: Resource, text: &str) -> Result<Readings, ObserveError> {
        let mut readings = Readings::default();
        let path = Path::new(resource.path());
        resource.read(&ProcText::new(path, text), &mut readings)?;
        Ok(readings)
    }

    #[test]
    fn totals_are_taken() {
        let some = "some avg10=2.97 avg60=2.35 avg300=5.24 total=13170722485\n";
        let full = "full avg10=0.00 avg60=0.50 avg300=0.63 total=470556272\n";
        let both = format!("{some}{full}");
        let io = read(Resource::Io, &both).unwrap();
        assert_eq!(io.value("pressure_io_some_us", ""), Some(13_170_722_485));
        assert_eq!(io.value("pressure_io_full_us", ""), Some(470_556_272));
        let memory = read(Resource::Memory, &both).unwrap();
        let full_us = memory.value("pressure_memory_full_us", "");
        assert_eq!((full_us, memory.values().len()), (Some(470_556_272), 2));
        // 5.4 has one line, newer kernels two.
        for text in [some, &both] {
            let cpu = read(Resource::Cpu, text).unwrap();
            let some_us = cpu.value("pressure_cpu_some_us", "");
            assert_eq!((some_us, cpu.values().len()), (Some(13_170_722_485), 1));
        }
    }

    #[test]
    fn other_forms_are_errors() {
        for (text, says) in [
            ("some avg10=2.97\n", "line 1: it has no total="),
            ("some total=x\n", "line 1: total is \"x\""),
            ("full avg10=0 total=\n", "line 1: it ends before total"),
        ] {
            let error = read(Resource::Io, text).unwrap_err().to_string();
            assert!(error.starts_with("/proc/pressure/io ") && error.contains(says), "{error}");
        }
    }
}
